/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "federation/controllers/propagation/splitter.h"
#include "federation/interp/interp.h"
#include "object/meta/condition.h"

enum { NAME_MAX_SHARD = 63, LABEL_MAX = 63, HASH_TEXT = 8 };

/* ---- names ---- */

static str hashed(struct arena *a, str text)
{
    /* Keys of zero: a name, which must not depend on the process. */
    return str_printf(a, "%08x", (unsigned)(str_hash(text, 0, 0) & 0xffffffffU));
}

str shard_name(struct arena *a, str name, str cluster)
{
    str full = str_printf(a, "%.*s--%.*s", STR_ARG(name), STR_ARG(cluster));

    if (full.n <= NAME_MAX_SHARD)
        return full;
    return str_printf(a, "%.*s-%.*s", STR_ARG(str_sub(full, 0, NAME_MAX_SHARD - HASH_TEXT - 1)),
                      STR_ARG(hashed(a, full)));
}

str shard_owner_label(struct arena *a, str name)
{
    if (name.n <= LABEL_MAX)
        return name;
    return str_printf(a, "%.*s-%.*s", STR_ARG(str_sub(name, 0, LABEL_MAX - HASH_TEXT - 1)),
                      STR_ARG(hashed(a, name)));
}

/* ---- what it mounts ---- */

/*
 * The names of ConfigMaps and Secrets in a pod's spec become those of their copies for this
 * cluster.  A table of where names stand: paths of lists and members, the last one is the name.
 */
static const char *const mounts[] = {
    "volumes[].configMap.name",
    "volumes[].secret.secretName",
    "volumes[].projected.sources[].configMap.name",
    "volumes[].projected.sources[].secret.name",
    "imagePullSecrets[].name",
    "initContainers[].envFrom[].configMapRef.name",
    "initContainers[].envFrom[].secretRef.name",
    "initContainers[].env[].valueFrom.configMapKeyRef.name",
    "initContainers[].env[].valueFrom.secretKeyRef.name",
    "containers[].envFrom[].configMapRef.name",
    "containers[].envFrom[].secretRef.name",
    "containers[].env[].valueFrom.configMapKeyRef.name",
    "containers[].env[].valueFrom.secretKeyRef.name",
};

struct rename {
    struct arena *arena;
    str cluster;
};

static const struct json *renamed(const struct rename *r, const struct json *v, str path);

static const struct json *renamed_items(const struct rename *r, const struct json *list, str path)
{
    struct json_array out = json_array_new(r->arena);
    bool same = true;

    json_for_each (item, list) {
        const struct json *now = renamed(r, item, path);

        same &= now == item;
        json_push(&out, *now);
    }
    return same ? list : json_array_done(&out);
}

/* The value with the name at the end of the path put in place; the same where there is none. */
static const struct json *renamed(const struct rename *r, const struct json *v, str path)
{
    const struct json *child, *now;
    str rest = path, word;
    bool list;

    (void)str_split(&rest, '.', &word);
    list = str_ends(word, STR("[]"));
    word.n -= list ? 2 : 0;
    child = json_get(v, word);
    if (!child)
        return v;
    if (rest.p)
        now = list ? renamed_items(r, child, rest) : renamed(r, child, rest);
    else
        now =
            json_str(child).n
                ? json_box(r->arena, json_of_str(shard_name(r->arena, json_str(child), r->cluster)))
                : child;
    return now == child ? v : json_set(r->arena, v, str_z(r->arena, word), now);
}

static const struct json *with_mounts(struct arena *a, const struct json *spec, str cluster)
{
    static const char *const templates[] = { "template.spec", "jobTemplate.spec.template.spec" };
    struct rename r = { a, cluster };

    for (size_t i = 0; i < sizeof(templates) / sizeof(*templates); i++) {
        const struct json *pod = json_path(spec, templates[i]), *now = pod;

        if (!json_is(pod, JSON_OBJECT))
            continue;
        for (size_t j = 0; j < sizeof(mounts) / sizeof(*mounts); j++)
            now = renamed(&r, now, str_of(mounts[j]));
        if (now != pod)
            spec = json_set(a, spec, templates[i], now);
    }
    return spec;
}

/* ---- the shard ---- */

static struct json owner(struct arena *a, const struct json *root)
{
    struct json_object o = json_object_new(a);
    struct json_array all = json_array_new(a);

    json_add(&o, STR("apiVersion"), json_of_str(json_get_str(root, "apiVersion")));
    json_add(&o, STR("kind"), json_of_str(json_get_str(root, "kind")));
    json_add(&o, STR("name"), json_of_str(json_get_str(root, "metadata.name")));
    json_add(&o, STR("uid"), json_of_str(json_get_str(root, "metadata.uid")));
    json_add(&o, STR("controller"), json_true);
    json_push(&all, json_object_value(&o));
    return json_array_value(&all);
}

static struct json_object map_of(struct arena *a, const struct json *root, const char *path)
{
    const struct json *v = json_path(root, path);

    return json_object_from(a, json_is(v, JSON_OBJECT) ? v : &json_empty_object);
}

const struct json *shard_of(struct arena *a, const struct json *root, str cluster, int64_t replicas)
{
    struct json_object meta = json_object_new(a), out = json_object_new(a);
    struct json_object labels = map_of(a, root, "metadata.labels");
    struct json_object notes = map_of(a, root, "metadata.annotations");
    str name = json_get_str(root, "metadata.name");

    json_put(&labels, STR(SPLITTER_CLUSTER), json_of_str(cluster));
    json_put(&labels, STR(SPLITTER_OWNED), json_of_str(shard_owner_label(a, name)));
    json_remove(&notes, STR("kubectl.kubernetes.io/last-applied-configuration"));
    json_add(&meta, STR("name"), json_of_str(shard_name(a, name, cluster)));
    json_add(&meta, STR("namespace"), json_of_str(json_get_str(root, "metadata.namespace")));
    json_add(&meta, STR("labels"), json_object_value(&labels));
    if (notes.n)
        json_add(&meta, STR("annotations"), json_object_value(&notes));
    json_add(&meta, STR("ownerReferences"), owner(a, root));
    json_add(&out, STR("apiVersion"), json_of_str(json_get_str(root, "apiVersion")));
    json_add(&out, STR("kind"), json_of_str(json_get_str(root, "kind")));
    json_add(&out, STR("metadata"), json_object_value(&meta));
    json_for_each_member (m, root) {
        bool common = str_is(m->name, "apiVersion") || str_is(m->name, "kind") ||
                      str_is(m->name, "metadata") || str_is(m->name, "status");
        const struct json *v = &m->value;

        if (common)
            continue;
        if (str_is(m->name, "spec"))
            v = with_mounts(a, v, cluster);
        if (str_is(m->name, "spec") && replicas >= 0)
            v = json_set(a, v, "replicas", json_box(a, json_of_int(replicas)));
        json_add(&out, m->name, *v);
    }
    return json_object_done(&out);
}

const struct json *shard_updated(struct arena *a, const struct json *existing,
                                 const struct json *wanted)
{
    static const char *const parts[] = { "metadata.labels", "metadata.annotations",
                                         "metadata.ownerReferences" };
    const struct json *now = existing;

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (json_path(wanted, parts[i]) || json_path(existing, parts[i]))
            now = json_set(a, now, parts[i], json_path(wanted, parts[i]));
    json_for_each_member (m, existing)
        if (!str_is(m->name, "metadata") && !str_is(m->name, "status") &&
            !json_get(wanted, m->name))
            now = json_set(a, now, str_z(a, m->name), NULL);
    json_for_each_member (m, wanted)
        if (!str_is(m->name, "metadata"))
            now = json_set(a, now, str_z(a, m->name), &m->value);
    return json_equal(now, existing) ? existing : now;
}

enum shard_claim shard_claim(const struct json *shard, str kind, str name, str uid)
{
    json_for_each (o, json_path(shard, "metadata.ownerReferences"))
        if (str_eq(json_get_str(o, "kind"), kind) && str_eq(json_get_str(o, "name"), name))
            return str_eq(json_get_str(o, "uid"), uid) ? SHARD_MINE : SHARD_STALE;
    return SHARD_OTHERS;
}

/* ---- the sum ---- */

/* As a binding's status.aggregatedStatus, which is what is known how to sum up. */
static const struct json *aggregated(struct arena *a, const struct json *root,
                                     const struct json *shards, const struct json *silent)
{
    struct json_array all = json_array_new(a);
    const struct json *generation = json_path(root, "metadata.generation");

    json_for_each (shard, shards) {
        struct json_object o = json_object_new(a);
        struct json_object status = map_of(a, shard, "status");
        const struct json *own = json_path(shard, "metadata.generation");
        str cluster =
            json_str(json_get(json_path(shard, "metadata.labels"), STR(SPLITTER_CLUSTER)));
        const struct json *since = json_get(silent, cluster);
        enum interp_health health = since ? INTERP_UNKNOWN : interp_health(shard);

        if (own)
            json_put(&status, STR("generation"), *own);
        if (generation)
            json_put(&status, STR("resourceTemplateGeneration"), *generation);
        json_add(&o, STR("clusterName"), json_of_str(cluster));
        json_add(&o, STR("applied"), json_true);
        json_add(&o, STR("status"), json_object_value(&status));
        json_add(&o, STR("health"), json_of_str(str_of(interp_health_name(health))));
        if (since)
            json_add(&o, STR(INTERP_UNKNOWN_SINCE), *since);
        json_push(&all, json_object_value(&o));
    }
    return json_array_done(&all);
}

/* There is no shard that could tell.  It begins when the root says it first. */
static const struct json *with_trouble(struct arena *a, const struct json *was,
                                       const struct json *status, const char *trouble,
                                       int64_t now_s)
{
    struct condition c = { .type = "Progressing",
                           .status = "False",
                           .reason = trouble,
                           .message = STR("no cluster can take it"),
                           .updates = true };
    const struct json *told = condition_set(a, json_get(was, STR("conditions")), &c, now_s);
    struct json_array all = json_array_new(a);

    json_for_each (o, condition_remove(a, json_get(status, STR("conditions")), c.type))
        json_push(&all, *o);
    json_push(&all, *condition_find(told, c.type));
    return json_set(a, status ? status : &json_empty_object, "conditions", json_array_done(&all));
}

const struct json *shard_sum(struct arena *a, const struct json *root, const struct json *shards,
                             const struct json *silent, const char *trouble, int64_t now_s)
{
    const struct interp_moment m = { .now_s = now_s };
    const struct json *was = json_get(root, STR("status"));
    const struct json *items = aggregated(a, root, shards, silent);
    const struct json *now = interp_aggregate(a, root, items, &m);

    if (!now)
        now = was;
    if (trouble && str_is(json_get_str(root, "kind"), "Deployment"))
        now = with_trouble(a, was, now, trouble, now_s);
    if (!now || (was && json_equal(was, now)))
        return NULL;
    return now;
}
