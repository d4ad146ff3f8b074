/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/syncer_types.h"

#include <stdlib.h>

#include "base/banned.h"

enum { TYPES_MAX = 1024, IMPORTS_PAGE = 200 };

/* ---- a set ---- */

static int by_name(const void *a, const void *b)
{
    const struct syncer_type *x = a, *y = b;
    int c = str_cmp(x->group, y->group);

    c = c ? c : str_cmp(x->resource, y->resource);
    return c ? c : str_cmp(x->version, y->version);
}

static void add(struct arena *a, struct syncer_types *t, struct syncer_type type)
{
    if (!t->types)
        t->types = arena_array(a, struct syncer_type, TYPES_MAX);
    if (t->n < TYPES_MAX && type.resource.n && type.version.n)
        t->types[t->n++] = (struct syncer_type){ str_dup(a, type.group), str_dup(a, type.version),
                                                 str_dup(a, type.resource) };
}

/* One version of a resource is enough: the objects are the same. */
static void settle(struct syncer_types *t)
{
    size_t n = 0;

    if (t->n)
        qsort(t->types, t->n, sizeof(*t->types), by_name);
    for (size_t i = 0; i < t->n; i++)
        if (!n || !str_eq(t->types[n - 1].group, t->types[i].group) ||
            !str_eq(t->types[n - 1].resource, t->types[i].resource))
            t->types[n++] = t->types[i];
    t->n = n;
}

bool syncer_types_equal(const struct syncer_types *a, const struct syncer_types *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (by_name(&a->types[i], &b->types[i]) != 0)
            return false;
    return true;
}

const struct json *syncer_types_json(struct arena *a, const struct syncer_types *t)
{
    struct json_array all = json_array_new(a);

    for (size_t i = 0; i < t->n; i++)
        json_push(&all,
                  json_of_str(status_group_resource(a, t->types[i].group, t->types[i].resource)));
    return json_array_done(&all);
}

/* ---- what was negotiated ---- */

static bool holds(const struct json *import, const char *type)
{
    json_for_each (c, json_path(import, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return str_is(json_get_str(c, "status"), "True");
    return false;
}

static void add_imports(struct arena *a, struct syncer_types *t, const struct json *list,
                        str cluster)
{
    json_for_each (i, json_get(list, STR("items"))) {
        const struct json *spec = json_get(i, STR("spec"));

        if (str_eq(json_get_str(spec, "location"), cluster) && holds(i, "Compatible") &&
            holds(i, "Available") && str_is(json_get_str(spec, "scope"), "Namespaced"))
            add(a, t,
                (struct syncer_type){ json_get_str(spec, "groupVersion.group"),
                                      json_get_str(spec, "groupVersion.version"),
                                      json_get_str(spec, "plural") });
    }
}

struct syncer_types syncer_types_of(struct arena *a, const struct json *imports, str cluster)
{
    struct syncer_types t = { 0 };

    add_imports(a, &t, imports, cluster);
    settle(&t);
    return t;
}

int syncer_types_imported(struct client *c, struct arena *a, str instance, str cluster,
                          struct syncer_types *out, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .group = STR("apiresource.kcp.dev"),
                              .version = STR("v1alpha1"),
                              .resource = STR("apiresourceimports") };
    struct client_query q = { .limit = IMPORTS_PAGE };
    struct syncer_types t = { 0 };

    do {
        scoped_arena page = arena_new(); /* schemas are large */
        const struct json *list;

        if (client_list(c, page, &ref, &q, &list, st) < 0) {
            st->message = str_dup(a, st->message);
            return -1;
        }
        add_imports(a, &t, list, cluster);
        q.continue_token = str_dup(a, json_get_str(list, "metadata.continue"));
    } while (q.continue_token.n);
    settle(&t);
    *out = t;
    return 0;
}

/* ---- what was named ---- */

static int preferred(struct client *c, struct arena *a, str instance, str group, str *version,
                     struct status *st)
{
    struct client_request req = { .method = STR("GET") };
    const struct json *v;

    *version = STR("v1");
    if (!group.n)
        return 0;
    req.path = instance.n
                   ? str_printf(a, "/clusters/%.*s/apis/%.*s", STR_ARG(instance), STR_ARG(group))
                   : str_printf(a, "/apis/%.*s", STR_ARG(group));
    if (client_do(c, a, &req, &v, st) < 0)
        return -1;
    *version = json_get_str(v, "preferredVersion.version");
    return 0;
}

int syncer_types_named(struct client *c, struct arena *a, str instance, str names,
                       struct syncer_types *out, struct status *st)
{
    struct syncer_types t = { 0 };

    for (str rest = names, word; str_split(&rest, ',', &word);) {
        struct syncer_type type = { .group = str_trim(word) };

        (void)str_split(&type.group, '.', &type.resource);
        if (preferred(c, a, instance, type.group, &type.version, st) == 0)
            add(a, &t, type);
        else if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    settle(&t);
    *out = t;
    return 0;
}
