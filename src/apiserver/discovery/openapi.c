/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi.h"

#include "apiserver/call/version.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/openapi_site.h"
#include "base/banned.h"

static struct json info(struct arena *a)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("title"), json_of_str(STR("Kairship")));
    json_add(&o, STR("version"), json_of_str(version_kubernetes()));
    return json_object_value(&o);
}

/* {"BearerToken": …}: how callers say who they are */
struct json openapi_security(struct arena *a)
{
    struct json_object o = json_object_new(a), token = json_object_new(a);

    json_add(&token, STR("description"), json_of_str(STR("Bearer Token authentication")));
    json_add(&token, STR("type"), json_of_str(STR("apiKey")));
    json_add(&token, STR("name"), json_of_str(STR("authorization")));
    json_add(&token, STR("in"), json_of_str(STR("header")));
    json_add(&o, STR("BearerToken"), json_object_value(&token));
    return json_object_value(&o);
}

static struct json security(struct arena *a)
{
    struct json_array r = json_array_new(a);
    struct json_object o = json_object_new(a);

    json_add(&o, STR("BearerToken"), json_empty_array);
    json_push(&r, json_object_value(&o));
    return json_array_value(&r);
}

static void add_paths(struct openapi_params *p, struct json_object *paths)
{
    struct arena *a = p->s->arena;
    const struct catalog *c = p->s->catalog;
    struct discovery_group *groups;
    const str *names;
    size_t n = discovery_groups(a, c, &groups), nnames = openapi_site_names(a, groups, n, &names);

    for (size_t i = 0; i < n; i++)
        for (size_t v = 0; v < groups[i].nversions; v++)
            openapi_paths_add(p, paths, groups[i].name, groups[i].versions[v]);
    for (size_t i = 0; i < nnames; i++)
        (void)openapi_site_add(p->s, paths, names[i]);
}

const struct json *openapi_v2(struct arena *a, const struct catalog *c)
{
    struct json_object o = json_object_new(a), paths = json_object_new(a);
    struct openapi_schemas schemas;
    struct openapi_params *params = arena_new_of(a, struct openapi_params);

    openapi_schemas_init(&schemas, a, c, OPENAPI_V2);
    params->s = &schemas;
    add_paths(params, &paths);
    json_add(&o, STR("swagger"), json_of_str(STR("2.0")));
    json_add(&o, STR("info"), info(a));
    json_add(&o, STR("paths"), json_object_value(&paths));
    json_add(&o, STR("definitions"), openapi_schemas_done(&schemas));
    json_add(&o, STR("parameters"), openapi_params_shared(params));
    json_add(&o, STR("securityDefinitions"), openapi_security(a));
    json_add(&o, STR("security"), security(a));
    openapi_schemas_release(&schemas);
    return json_object_done(&o);
}
