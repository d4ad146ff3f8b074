/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/enablements.h"

#include <stdlib.h>

#include "base/banned.h"

void enablements_init(struct enablements *e, struct arena *a)
{
    *e = (struct enablements){ .arena = a, .complete = true };
}

static void *grown(struct arena *a, const void *old, size_t n, size_t *cap, size_t size)
{
    void *p;

    if (n < *cap)
        return NULL;
    *cap = *cap ? *cap * 2 : 8;
    p = arena_alloc_n(a, *cap, size);
    if (n)
        memcpy(p, old, n * size);
    return p;
}

static struct enablement *add_version(struct enablements *e, str group, str version)
{
    struct enablement *more;

    if (!version.n || e->n == ENABLEMENTS_MAX) {
        e->complete = false;
        return NULL;
    }
    more = grown(e->arena, e->at, e->n, &e->cap, sizeof(*e->at));
    if (more)
        e->at = more;
    e->at[e->n] = (struct enablement){
        .group_version = str_printf(e->arena, "%.*s%s%.*s", STR_ARG(group), group.n ? "/" : "",
                                    STR_ARG(version)),
    };
    return &e->at[e->n++];
}

static void add_resource(struct enablements *e, struct enablement *to, str name, str kind)
{
    void *more;

    if (!name.n || !kind.n || str_find(name, '/', 0) >= 0)
        return; /* a subresource */
    if (e->names == ENABLEMENTS_NAMES) {
        e->complete = false;
        return;
    }
    e->names++;
    more = grown(e->arena, to->resources, to->n, &to->cap, sizeof(*to->resources));
    if (more)
        to->resources = more;
    to->resources[to->n].name = str_dup(e->arena, name);
    to->resources[to->n++].kind = str_dup(e->arena, kind);
}

/* ---- documents ---- */

static void add_aggregated(struct enablements *e, const struct json *doc)
{
    json_for_each (group, json_get(doc, STR("items")))
        json_for_each (version, json_get(group, STR("versions"))) {
            struct enablement *to = add_version(e, json_get_str(group, "metadata.name"),
                                                json_get_str(version, "version"));

            if (str_is(json_get_str(version, "freshness"), "Stale"))
                e->complete = false;
            json_for_each (r, to ? json_get(version, STR("resources")) : NULL)
                add_resource(e, to, json_get_str(r, "resource"),
                             json_get_str(r, "responseKind.kind"));
        }
}

/* Only what is a path of plain names is asked for. */
static void ask(struct enablements *e, const char *root, str group_version)
{
    str *paths;

    for (size_t i = 0; i < group_version.n; i++) {
        char c = group_version.p[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '.' && c != '-' &&
            c != '/') {
            e->complete = false;
            return;
        }
    }
    if (!group_version.n || e->nasked == ENABLEMENTS_MAX) {
        e->complete = false;
        return;
    }
    paths = arena_array(e->arena, str, e->nasked + 1);
    if (e->nasked)
        memcpy(paths, e->asked, e->nasked * sizeof(*paths));
    paths[e->nasked++] = str_printf(e->arena, "%s/%.*s", root, STR_ARG(group_version));
    e->asked = paths;
}

void enablements_add(struct enablements *e, const struct json *doc)
{
    str kind = json_get_str(doc, "kind");

    if (str_is(kind, "APIGroupDiscoveryList")) {
        add_aggregated(e, doc);
    } else if (str_is(kind, "APIVersions")) {
        json_for_each (v, json_get(doc, STR("versions")))
            ask(e, "/api", json_str(v));
    } else if (str_is(kind, "APIGroupList")) {
        json_for_each (group, json_get(doc, STR("groups")))
            json_for_each (v, json_get(group, STR("versions")))
                ask(e, "/apis", json_get_str(v, "groupVersion"));
    } else {
        e->complete = false;
    }
}

void enablements_add_list(struct enablements *e, const struct json *doc)
{
    struct enablement *to = NULL;

    if (str_is(json_get_str(doc, "kind"), "APIResourceList"))
        to = add_version(e, STR_NONE, json_get_str(doc, "groupVersion"));
    else
        e->complete = false;
    json_for_each (r, to ? json_get(doc, STR("resources")) : NULL)
        add_resource(e, to, json_get_str(r, "name"), json_get_str(r, "kind"));
}

/* ---- as status ---- */

static int by_version(const void *a, const void *b)
{
    return str_cmp(((const struct enablement *)a)->group_version,
                   ((const struct enablement *)b)->group_version);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b); /* the name is first */
}

const struct json *enablements_json(struct enablements *e, struct arena *a)
{
    struct json_array out = json_array_new(a);

    if (e->n)
        qsort(e->at, e->n, sizeof(*e->at), by_version);
    for (size_t i = 0; i < e->n; i++) {
        struct json_object o = json_object_new(a);
        struct json_array names = json_array_new(a);

        if (e->at[i].n)
            qsort(e->at[i].resources, e->at[i].n, sizeof(*e->at[i].resources), by_name);
        for (size_t k = 0; k < e->at[i].n; k++) {
            struct json_object r = json_object_new(a);

            json_add(&r, STR("name"), json_of_str(str_dup(a, e->at[i].resources[k].name)));
            json_add(&r, STR("kind"), json_of_str(str_dup(a, e->at[i].resources[k].kind)));
            json_push(&names, json_object_value(&r));
        }
        json_add(&o, STR("groupVersion"), json_of_str(str_dup(a, e->at[i].group_version)));
        if (names.n)
            json_add(&o, STR("resources"), json_array_value(&names));
        json_push(&out, json_object_value(&o));
    }
    return json_array_done(&out);
}
