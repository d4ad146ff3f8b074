/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/discovery_merge.h"

#include <stdlib.h>

#include "apiserver/discovery/discovery.h"
#include "base/banned.h"
#include "kinds/defaults.h"

/* One version in a document, of whom it may be. */
struct one {
    struct json value;
    str version;
    int priority;
};

static bool is_aggregated_form(const struct json *list)
{
    return str_is(json_get_str(list, "kind"), "APIGroupDiscoveryList");
}

static str group_name(const struct json *group)
{
    str name = json_get_str(group, "name");

    return name.n ? name : json_get_str(group, "metadata.name");
}

bool aggregated_has(const struct aggregated *g, str group, str version)
{
    for (size_t i = 0; i < g->n; i++)
        if (str_eq(g->at[i].group, group) && (!version.n || str_eq(g->at[i].version, version)))
            return true;
    return false;
}

/* ---- versions ---- */

static struct json legacy_version(struct arena *a, const struct aggregated_version *v)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("groupVersion"),
             json_of_str(str_printf(a, "%.*s/%.*s", STR_ARG(v->group), STR_ARG(v->version))));
    json_add(&o, STR("version"), json_of_str(v->version));
    return json_object_value(&o);
}

static struct json discovery_version(struct arena *a, const struct aggregated_version *v)
{
    struct json_object o = json_object_new(a);
    const struct json *resources;
    struct status st;

    status_init(&st, a);
    json_add(&o, STR("version"), json_of_str(v->version));
    if (v->resources.n && json_parse(a, v->resources, NULL, &resources, &st) == 0)
        json_add(&o, STR("resources"), *resources);
    json_add(&o, STR("freshness"),
             json_of_str(v->stale || !v->resources.n ? STR("Stale") : STR("Current")));
    return json_object_value(&o);
}

/* The higher priority first, then as Kubernetes orders versions. */
static int cmp_ones(const void *a, const void *b)
{
    const struct one *x = a, *y = b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return discovery_version_cmp(x->version, y->version);
}

/* Those of the document that nobody else serves, and those of others. */
static struct json versions_of(struct arena *a, const struct json *own, str group, bool legacy,
                               const struct aggregated *g)
{
    struct one *all = arena_array(a, struct one, json_len(own) + g->n + 1);
    struct json_array out = json_array_new(a);
    size_t n = 0;

    json_for_each (v, own) {
        str version = json_get_str(v, "version");

        if (!aggregated_has(g, group, version))
            all[n++] = (struct one){ *v, version, defaults_priority(group, version).version };
    }
    for (size_t i = 0; i < g->n; i++)
        if (str_eq(g->at[i].group, group))
            all[n++] = (struct one){ legacy ? legacy_version(a, &g->at[i])
                                            : discovery_version(a, &g->at[i]),
                                     g->at[i].version, g->at[i].version_priority };
    qsort(all, n, sizeof(*all), cmp_ones);
    for (size_t i = 0; i < n; i++)
        json_push(&out, all[i].value);
    return json_array_value(&out);
}

/* ---- groups ---- */

static struct json with_versions(struct arena *a, const struct json *group, str name, bool legacy,
                                 const struct aggregated *g)
{
    struct json_object o = json_object_from(a, group);
    struct json versions = versions_of(a, json_get(group, STR("versions")), name, legacy, g);

    json_put(&o, STR("versions"), versions);
    if (legacy)
        json_put(&o, STR("preferredVersion"), *json_at(&versions, 0));
    return json_object_value(&o);
}

static struct json new_group(struct arena *a, str name, bool legacy, const struct aggregated *g)
{
    struct json_object o = json_object_new(a), metadata = json_object_new(a);

    json_add(legacy ? &o : &metadata, STR("name"), json_of_str(name));
    if (!legacy)
        json_add(&o, STR("metadata"), json_object_value(&metadata));
    return with_versions(a, json_object_done(&o), name, legacy, g);
}

static int priority_of(const struct aggregated *g, str group)
{
    int most = 0;

    for (size_t i = 0; i < g->n; i++)
        if (str_eq(g->at[i].group, group) && g->at[i].group_priority > most)
            most = g->at[i].group_priority;
    return most;
}

static bool has_group(const struct json *groups, str name)
{
    json_for_each (o, groups)
        if (str_eq(group_name(o), name))
            return true;
    return false;
}

static bool was_pushed(const struct json_array *out, str name)
{
    for (size_t i = 0; i < out->n; i++)
        if (str_eq(group_name(&out->items[i]), name))
            return true;
    return false;
}

/* The new groups with at least that priority that are not there yet, the highest first. */
static void push_new(struct arena *a, struct json_array *out, const struct json *own, int least,
                     bool legacy, const struct aggregated *g)
{
    for (;;) {
        str best = STR_NONE;

        for (size_t i = 0; i < g->n; i++) {
            str name = g->at[i].group;

            if (has_group(own, name) || was_pushed(out, name) || priority_of(g, name) < least)
                continue;
            if (!best.n || priority_of(g, name) > priority_of(g, best) ||
                (priority_of(g, name) == priority_of(g, best) && str_cmp(name, best) < 0))
                best = name;
        }
        if (!best.n)
            return;
        json_push(out, new_group(a, best, legacy, g));
    }
}

const struct json *merge_groups(struct arena *a, const struct json *doc, const struct aggregated *g)
{
    bool legacy = !is_aggregated_form(doc);
    const char *field = legacy ? "groups" : "items";
    const struct json *own = json_get(doc, str_of(field));
    struct json_array out = json_array_new(a);

    json_for_each (o, own) {
        str name = group_name(o);

        push_new(a, &out, own, defaults_priority(name, STR_NONE).group + 1, legacy, g);
        json_push(&out,
                  aggregated_has(g, name, STR_NONE) ? with_versions(a, o, name, legacy, g) : *o);
    }
    push_new(a, &out, own, 0, legacy, g);
    return json_set(a, doc, field, json_array_done(&out));
}

const struct json *merge_group(struct arena *a, const struct json *doc, str group,
                               const struct aggregated *g)
{
    struct json_object o = json_object_new(a);
    struct json *out;

    if (!aggregated_has(g, group, STR_NONE))
        return doc;
    if (!doc) {
        json_add(&o, STR("kind"), json_of_str(STR("APIGroup")));
        json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
        json_add(&o, STR("name"), json_of_str(group));
        doc = json_object_done(&o);
    }
    out = arena_new_of(a, struct json);
    *out = with_versions(a, doc, group, true, g);
    return out;
}

/* ---- paths ---- */

static int cmp_texts(const void *a, const void *b)
{
    return str_cmp(json_str(a), json_str(b));
}

static void push_once(struct json_array *r, str path)
{
    for (size_t i = 0; i < r->n; i++)
        if (str_eq(json_str(&r->items[i]), path))
            return;
    json_push(r, json_of_str(path));
}

const struct json *merge_paths(struct arena *a, const struct json *doc, const struct aggregated *g)
{
    struct json_array paths = json_array_new(a);

    json_for_each (p, json_get(doc, STR("paths")))
        json_push(&paths, *p);
    for (size_t i = 0; i < g->n; i++) {
        push_once(&paths, str_printf(a, "/apis/%.*s", STR_ARG(g->at[i].group)));
        push_once(&paths, str_printf(a, "/apis/%.*s/%.*s", STR_ARG(g->at[i].group),
                                     STR_ARG(g->at[i].version)));
    }
    qsort(paths.items, paths.n, sizeof(*paths.items), cmp_texts);
    return json_set(a, doc, "paths", json_array_done(&paths));
}

const struct json *merge_openapi(struct arena *a, const struct json *doc, str prefix,
                                 const struct aggregated *g)
{
    struct json_object paths = json_object_from(a, json_get(doc, STR("paths")));

    for (size_t i = 0; i < g->n; i++) {
        const struct aggregated_version *v = &g->at[i];
        str name = str_printf(a, "apis/%.*s/%.*s", STR_ARG(v->group), STR_ARG(v->version));
        struct json_object o = json_object_new(a);

        json_remove(&paths, name);
        if (!v->openapi.n)
            continue;
        json_add(&o, STR("serverRelativeURL"),
                 json_of_str(str_printf(a, "%.*s/openapi/v3/%.*s?hash=%.*s", STR_ARG(prefix),
                                        STR_ARG(name), STR_ARG(v->openapi))));
        json_put(&paths, name, json_object_value(&o));
    }
    return json_set(a, doc, "paths", json_object_done(&paths));
}
