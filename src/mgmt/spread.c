/* SPDX-License-Identifier: Apache-2.0 */

/* Where objects of an instance go: what their bindings say, for a page of them at once. */

#include "base/banned.h"
#include "base/map.h"
#include "mgmt/cluster.h"
#include "mgmt/resource.h"
#include "object/meta/karmada.h"

enum { CHUNK = 500 };

static const struct resource bindings = {
    .ref = { .group = STR_INIT("work.karmada.io"), .resource = STR_INIT("resourcebindings") },
};
static const struct resource cluster_bindings = {
    .ref = { .group = STR_INIT("work.karmada.io"),
             .resource = STR_INIT("clusterresourcebindings") },
    .cluster_scoped = true,
};
static const struct resource clusters = {
    .ref = { .group = STR_INIT("cluster.karmada.io"), .resource = STR_INIT("clusters") },
    .cluster_scoped = true,
};

struct spread {
    struct map bindings; /* "namespace/name" */
    struct map clusters; /* name */
};

static void release(void *arg)
{
    struct spread *s = arg;

    map_release(&s->bindings);
    map_release(&s->clusters);
}

static void keep(struct arena *a, struct map *m, const struct json *obj)
{
    const struct json **value = arena_new_of(a, const struct json *);
    str namespace = json_get_str(obj, "metadata.namespace");
    str name = json_get_str(obj, "metadata.name");

    *value = obj;
    (void)map_put(
        m, namespace.n ? str_printf(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name)) : name,
        value);
}

static const struct json *kept(const struct map *m, str key)
{
    const struct json **value = map_get(m, key);

    return value ? *value : NULL;
}

static str binding_of(const struct resource_call *c, const struct json *obj)
{
    return karmada_binding_name(c->arena, json_get_str(obj, "metadata.name"),
                                str_of(c->what->kind));
}

static int load_bindings(struct resource_call *c, struct spread *s,
                         const struct json *const *objects, size_t n, struct status *st)
{
    struct search_find f =
        resource_find(c, c->what->cluster_scoped ? &cluster_bindings : &bindings);
    str *names = arena_array(c->arena, str, n);
    const struct json **found;
    size_t nfound;

    for (size_t i = 0; i < n; i++)
        names[i] = binding_of(c, objects[i]);
    f.names = names;
    f.nnames = n;
    f.namespaces = &c->namespace;
    f.nnamespaces = c->namespace.n ? 1 : 0;
    if (resource_search(c, &f, &found, &nfound, NULL, st) < 0)
        return -1;
    for (size_t i = 0; i < nfound; i++)
        keep(c->arena, &s->bindings, found[i]);
    return 0;
}

static int load_clusters(struct resource_call *c, struct spread *s, struct status *st)
{
    struct search_find f = resource_find(c, &clusters);
    const struct json **found;
    size_t n;

    if (map_size(&s->bindings) == 0)
        return 0;
    if (resource_search(c, &f, &found, &n, NULL, st) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        keep(c->arena, &s->clusters, found[i]);
    return 0;
}

int spread_load(struct resource_call *c, const struct json *const *objects, size_t n,
                struct status *st)
{
    struct spread *s = arena_new_of(c->arena, struct spread);

    c->spread = NULL;
    if (c->at_member)
        return 0; /* a member's own: it goes nowhere */
    arena_defer(c->arena, release, s);
    for (size_t i = 0; i < n; i += CHUNK)
        if (load_bindings(c, s, objects + i, n - i < CHUNK ? n - i : CHUNK, st) < 0)
            return -1;
    if (load_clusters(c, s, st) < 0)
        return -1;
    c->spread = s;
    return 0;
}

/* What the binding says of it there, or NULL. */
static const struct json *item_of(const struct json *binding, str cluster)
{
    json_for_each (item, json_path(binding, "status.aggregatedStatus"))
        if (str_eq(json_get_str(item, "clusterName"), cluster))
            return item;
    return NULL;
}

/* A binding that follows another one has its clusters in what requires it. */
static void push_targets(const struct resource_call *c, const struct json *binding,
                         const struct json *targets, struct json_array *out)
{
    json_for_each (target, targets) {
        struct json_object o = json_object_new(c->arena);
        str name = json_get_str(target, "name");
        const struct json *item = item_of(binding, name);
        bool there = false;

        for (uint32_t i = 0; i < out->n; i++)
            there |= str_eq(json_get_str(&out->items[i], "name"), name);
        if (there)
            continue;
        json_add(&o, STR("name"), json_of_str(name));
        json_add(&o, STR("provider"),
                 json_of_str(cluster_provider(
                     json_get_str(kept(&c->spread->clusters, name), "spec.provider"))));
        json_add(&o, STR("applied"), json_of_bool(json_bool(json_get(item, STR("applied")))));
        if (json_get(item, STR("unknownSince")))
            json_add(&o, STR("unknownSince"), *json_get(item, STR("unknownSince")));
        json_push(out, json_object_value(&o));
    }
}

const struct json *spread_of(const struct resource_call *c, const struct json *obj)
{
    struct json_array out = json_array_new(c->arena);
    str namespace = json_get_str(obj, "metadata.namespace"), binding = binding_of(c, obj);
    const struct json *found = NULL;

    if (namespace.n)
        binding = str_printf(c->arena, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(binding));
    if (c->spread)
        found = kept(&c->spread->bindings, binding);
    push_targets(c, found, json_path(found, "spec.clusters"), &out);
    json_for_each (by, json_path(found, "spec.requiredBy"))
        push_targets(c, found, json_get(by, STR("clusters")), &out);
    return json_array_done(&out);
}
