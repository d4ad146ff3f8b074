/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/members/api_types.h"

#include "base/banned.h"

enum { IMPORTS_PAGE = 50 };

/* ---- names ---- */

struct api_type api_type_of(const struct json *spec)
{
    return (struct api_type){ json_get_str(spec, "plural"),
                              json_get_str(spec, "groupVersion.group"),
                              json_get_str(spec, "groupVersion.version") };
}

bool api_type_parse(str name, struct api_type *out)
{
    str rest = name;

    *out = (struct api_type){ 0 };
    if (!str_split(&rest, '.', &out->plural) || !str_split(&rest, '.', &out->version) || !rest.n)
        return false;
    out->group = str_is(rest, "core") ? STR_NONE : rest;
    return out->plural.n && out->version.n;
}

bool api_type_eq(const struct api_type *a, const struct api_type *b)
{
    return str_eq(a->plural, b->plural) && str_eq(a->group, b->group) &&
           str_eq(a->version, b->version);
}

static str group_word(str group)
{
    return group.n ? group : STR("core");
}

str api_type_name(struct arena *a, const struct api_type *t)
{
    return str_printf(a, "%.*s.%.*s.%.*s", STR_ARG(t->plural), STR_ARG(t->version),
                      STR_ARG(group_word(t->group)));
}

str api_type_crd_name(struct arena *a, const struct api_type *t)
{
    return str_printf(a, "%.*s.%.*s", STR_ARG(t->plural), STR_ARG(group_word(t->group)));
}

str api_type_import_name(struct arena *a, const struct api_type *t, str location)
{
    return str_printf(a, "%.*s.%.*s.%.*s.%.*s", STR_ARG(t->plural), STR_ARG(location),
                      STR_ARG(t->version), STR_ARG(group_word(t->group)));
}

/* ---- places ---- */

str api_instance(const struct informer_key *k)
{
    return str_is(k->instance, "root") ? STR_NONE : k->instance;
}

static struct client_ref ref_of(str instance, const char *group, const char *version,
                                const char *resource, str name)
{
    return (struct client_ref){ .instance = instance,
                                .group = str_of(group),
                                .version = str_of(version),
                                .resource = str_of(resource),
                                .name = name };
}

struct client_ref api_import_ref(str instance, str name)
{
    return ref_of(instance, "apiresource.kcp.dev", "v1alpha1", "apiresourceimports", name);
}

struct client_ref api_negotiated_ref(str instance, str name)
{
    return ref_of(instance, "apiresource.kcp.dev", "v1alpha1", "negotiatedapiresources", name);
}

struct client_ref api_crd_ref(str instance, str name)
{
    return ref_of(instance, "apiextensions.k8s.io", "v1", "customresourcedefinitions", name);
}

struct client_ref api_cluster_ref(str instance, str name)
{
    return ref_of(instance, "workload.kcp.dev", "v1alpha1", "clusters", name);
}

/* ---- looking ---- */

int api_look(struct client *c, struct arena *a, const struct client_ref *ref,
             const struct json **out, struct status *st)
{
    *out = NULL;
    if (client_get(c, a, ref, out, st) == 0)
        return 1;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

int api_type_is_native(struct client *c, struct arena *a, str instance, const struct api_type *t,
                       bool *out, struct status *st)
{
    struct client_ref crd = api_crd_ref(instance, api_type_crd_name(a, t));
    struct client_request req = { .method = STR("GET") };
    const struct json *found;
    int rc;

    *out = false;
    req.path =
        str_printf(a, "%s%.*s/%s%.*s%s%.*s", instance.n ? "/clusters/" : "", STR_ARG(instance),
                   t->group.n ? "apis/" : "api", STR_ARG(t->group), "/", STR_ARG(t->version));
    if (client_do(c, a, &req, &found, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    json_for_each (r, json_get(found, STR("resources")))
        *out |= str_eq(json_get_str(r, "name"), t->plural);
    if (!*out)
        return 0;
    rc = api_look(c, a, &crd, &found, st);
    *out = rc == 0;
    return rc < 0 ? -1 : 0;
}

int api_each_import(struct client *c, str instance,
                    void (*each)(void *arg, const struct json *import), void *arg,
                    struct status *st)
{
    struct client_ref ref = api_import_ref(instance, STR_NONE);
    struct client_query q = { .limit = IMPORTS_PAGE };
    scoped_arena tokens = arena_new();

    do {
        scoped_arena page = arena_new();
        const struct json *list;
        struct status mine;

        status_init(&mine, page);
        if (client_list(c, page, &ref, &q, &list, &mine) < 0) {
            status_copy(st, &mine);
            return -1;
        }
        json_for_each (i, json_get(list, STR("items")))
            each(arg, i);
        q.continue_token = str_dup(tokens, json_get_str(list, "metadata.continue"));
    } while (q.continue_token.n);
    return 0;
}
