/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi_v3.h"

#include <stdio.h>

#include "apiserver/call/version.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/openapi.h"
#include "apiserver/discovery/openapi_site.h"
#include "base/banned.h"

/* To be raised when equal catalogs give other documents than before. */
enum { OPENAPI_REVISION = 2 };

void openapi_v3_hash(char out[OPENAPI_HASH_LEN + 1], const struct catalog *c, str name)
{
    uint64_t program = str_hash(version_kubernetes(), OPENAPI_REVISION, 3);

    (void)snprintf(out, OPENAPI_HASH_LEN + 1, "%016llX",
                   (unsigned long long)str_hash(name, c->etag, program));
}

static void add_root(struct arena *a, struct json_object *paths, const struct catalog *c,
                     str prefix, str name)
{
    struct json_object o = json_object_new(a);
    char hash[OPENAPI_HASH_LEN + 1];

    openapi_v3_hash(hash, c, name);
    json_add(&o, STR("serverRelativeURL"),
             json_of_str(str_printf(a, "%.*s/openapi/v3/%.*s?hash=%s", STR_ARG(prefix),
                                    STR_ARG(name), hash)));
    json_add(paths, name, json_object_value(&o));
}

const struct json *openapi_v3_root(struct arena *a, const struct catalog *c, str prefix)
{
    struct json_object o = json_object_new(a), paths = json_object_new(a);
    struct discovery_group *groups;
    const str *names;
    size_t n = discovery_groups(a, c, &groups), nnames = openapi_site_names(a, groups, n, &names);

    for (size_t i = 0; i < nnames; i++)
        add_root(a, &paths, c, prefix, names[i]);
    for (size_t i = 0; i < n; i++) {
        str group = groups[i].name;

        for (size_t v = 0; v < groups[i].nversions; v++) {
            str version = groups[i].versions[v];

            add_root(a, &paths, c, prefix,
                     group.n == 0
                         ? str_printf(a, "api/%.*s", STR_ARG(version))
                         : str_printf(a, "apis/%.*s/%.*s", STR_ARG(group), STR_ARG(version)));
        }
    }
    json_add(&o, STR("paths"), json_object_value(&paths));
    return json_object_done(&o);
}

/* A group version of CRDs only; Kubernetes says less in its document. */
static bool is_custom(const struct catalog *c, str group, str version)
{
    for (size_t i = 0; i < c->nkinds; i++)
        if (!c->kinds[i]->schema_id && str_eq(c->kinds[i]->group, group) &&
            str_eq(c->kinds[i]->version, version))
            return false;
    return true;
}

static const struct json *document(struct openapi_schemas *s, struct json_object *paths)
{
    struct arena *a = s->arena;
    struct json_object o = json_object_new(a), info = json_object_new(a),
                       components = json_object_new(a);
    struct json schemas = openapi_schemas_done(s);

    json_add(&info, STR("title"), json_of_str(STR("Kairship")));
    json_add(&info, STR("version"), json_of_str(version_kubernetes()));
    if (schemas.n > 0)
        json_add(&components, STR("schemas"), schemas);
    if (!s->custom)
        json_add(&components, STR("securitySchemes"), openapi_security(a));
    openapi_schemas_release(s);
    json_add(&o, STR("openapi"), json_of_str(STR("3.0.0")));
    json_add(&o, STR("info"), json_object_value(&info));
    json_add(&o, STR("paths"), json_object_value(paths));
    json_add(&o, STR("components"), json_object_value(&components));
    return json_object_done(&o);
}

const struct json *openapi_v3(struct arena *a, const struct catalog *c, str group, str version)
{
    struct json_object paths = json_object_new(a);
    struct openapi_params *params = arena_new_of(a, struct openapi_params);
    struct openapi_schemas schemas;

    if (!catalog_has_group(c, group, version))
        return NULL;
    openapi_schemas_init(&schemas, a, c, OPENAPI_V3);
    schemas.custom = is_custom(c, group, version);
    params->s = &schemas;
    openapi_paths_add(params, &paths, group, version);
    return document(&schemas, &paths);
}

const struct json *openapi_v3_site(struct arena *a, const struct catalog *c, str name)
{
    struct json_object paths = json_object_new(a);
    struct openapi_schemas schemas;

    openapi_schemas_init(&schemas, a, c, OPENAPI_V3);
    if (openapi_site_add(&schemas, &paths, name))
        return document(&schemas, &paths);
    openapi_schemas_release(&schemas);
    return NULL;
}
