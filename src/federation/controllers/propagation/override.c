/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/override.h"

#include <stdlib.h>

#include "base/banned.h"
#include "federation/controllers/propagation/override_image.h"
#include "federation/controllers/propagation/resource_selector.h"

enum { DOCUMENT_MAX = 3 << 20 }; /* of a field that a fieldOverrider has changed */

/* ---- JSON pointers ---- */

/* What stands at "/a/b~1c/0", or NULL. */
static const struct json *at_pointer(struct arena *a, const struct json *v, str path)
{
    str rest = path, part;

    if (path.n == 0 || path.p[0] != '/')
        return NULL;
    rest = str_from(path, 1);
    while (v && str_split(&rest, '/', &part)) {
        char *name = str_z(a, part);
        size_t n = 0;
        uint64_t index;

        for (size_t i = 0; i < part.n; i++)
            if (part.p[i] == '~' && i + 1 < part.n && (part.p[i + 1] | 1) == '1')
                name[n++] = part.p[++i] == '1' ? '/' : '~';
            else
                name[n++] = part.p[i];
        if (json_is(v, JSON_ARRAY))
            v = str_to_u64(part, &index) ? json_at(v, (size_t)index) : NULL;
        else
            v = json_get(v, (str){ name, n });
    }
    return v;
}

static struct json operation(struct arena *a, str op, str path, const struct json *value)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("op"), json_of_str(op));
    json_add(&o, STR("path"), json_of_str(path));
    if (!str_is(op, "remove"))
        json_add(&o, STR("value"), value ? *value : json_null);
    return json_object_value(&o);
}

static int replace_at(struct arena *a, const struct json **object, str path, str text,
                      struct status *st)
{
    struct json_array patch = json_array_new(a);
    struct json value = json_of_str(text);

    json_push(&patch, operation(a, STR("replace"), path, &value));
    return json_patch(a, *object, json_array_done(&patch), object, st);
}

/* Operations whose path is in that member.  Only what is there is replaced; json_patch would add.
 */
static int change(struct arena *a, const struct json **doc, const struct json *list,
                  const char *member, struct status *st)
{
    json_for_each (o, list) {
        struct json_array patch = json_array_new(a);
        str op = json_get_str(o, "operator"), path = json_get_str(o, member);

        if (str_is(op, "replace") && path.n && !at_pointer(a, *doc, path))
            return status_set(st, REASON_INVALID,
                              "replace operation does not apply: doc is missing key: %.*s: missing "
                              "value",
                              STR_ARG(path));
        json_push(&patch, operation(a, op, path, json_get(o, STR("value"))));
        if (json_patch(a, *doc, json_array_done(&patch), doc, st) < 0)
            return -1;
    }
    return 0;
}

/* ---- the overriders, each over the whole object ---- */

/* Where the containers are: kinds of which Karmada knows. */
static const char *containers_of(const struct json *object)
{
    static const char *const workloads[] = { "ReplicaSet", "Deployment", "DaemonSet", "StatefulSet",
                                             "Job" };
    str kind = json_get_str(object, "kind");

    if (str_is(kind, "Pod"))
        return "spec.containers";
    for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++)
        if (str_is(kind, workloads[i]))
            return "spec.template.spec.containers";
    return NULL;
}

static int image_at(struct arena *a, const struct json **object, const struct json *overrider,
                    struct status *st)
{
    str path = json_get_str(overrider, "predicate.path"), image;
    const struct json *now = at_pointer(a, *object, path);

    if (!json_is(now, JSON_STRING))
        return status_set(st, REASON_INVALID,
                          "failed to obtain imageValue with predicate path(%.*s)", STR_ARG(path));
    if (override_image_change(a, json_str(now), overrider, &image, st) < 0)
        return -1;
    return replace_at(a, object, path, image, st);
}

static int image(struct arena *a, const struct json **object, const struct json *overrider,
                 struct status *st)
{
    const char *path = containers_of(*object);
    struct json_array list = json_array_new(a);

    if (json_is(json_get(overrider, STR("predicate")), JSON_OBJECT))
        return image_at(a, object, overrider, st);
    if (!path || json_len(json_path(*object, path)) == 0)
        return 0;
    json_for_each (c, json_path(*object, path)) {
        str name;

        if (override_image_change(a, json_get_str(c, "image"), overrider, &name, st) < 0)
            return -1;
        json_push(&list, *json_set(a, c, "image", json_box(a, json_of_str(name))));
    }
    *object = json_set(a, *object, path, json_array_done(&list));
    return 0;
}

static bool among(const struct json *list, const struct json *v)
{
    json_for_each (x, list)
        if (json_equal(x, v))
            return true;
    return false;
}

/* A container's command or args, with what the overrider adds or removes. */
static struct json changed_words(struct arena *a, const struct json *now,
                                 const struct json *overrider)
{
    const struct json *value = json_get(overrider, STR("value"));
    str op = json_get_str(overrider, "operator");
    struct json_array words = json_array_new(a);

    json_for_each (w, now)
        if (!str_is(op, "remove") || !among(value, w))
            json_push(&words, *w);
    if (str_is(op, "add"))
        json_for_each (w, value)
            json_push(&words, *w);
    return json_array_value(&words);
}

static int words(struct arena *a, const struct json **object, const struct json *overrider,
                 const char *field)
{
    const char *path = containers_of(*object);
    str name = json_get_str(overrider, "containerName");
    struct json_array list = json_array_new(a);

    if (!path || json_len(json_path(*object, path)) == 0)
        return 0;
    json_for_each (c, json_path(*object, path)) {
        struct json_object o;

        if (!json_is(c, JSON_OBJECT) || !str_eq(json_get_str(c, "name"), name)) {
            json_push(&list, *c);
            continue;
        }
        o = json_object_from(a, c);
        json_put(&o, str_of(field), changed_words(a, json_get(c, str_of(field)), overrider));
        json_push(&list, json_object_value(&o));
    }
    *object = json_set(a, *object, path, json_array_done(&list));
    return 0;
}

static int command(struct arena *a, const struct json **object, const struct json *overrider,
                   struct status *st)
{
    (void)st;
    return words(a, object, overrider, "command");
}

static int args(struct arena *a, const struct json **object, const struct json *overrider,
                struct status *st)
{
    (void)st;
    return words(a, object, overrider, "args");
}

/* Keys that are not there are neither replaced nor removed. */
static int pairs(struct arena *a, const struct json **object, const struct json *overrider,
                 const char *path)
{
    const struct json *now = json_path(*object, path);
    str op = json_get_str(overrider, "operator");
    struct json_object o =
        json_object_from(a, json_is(now, JSON_OBJECT) ? now : &json_empty_object);

    json_for_each_member (m, json_get(overrider, STR("value"))) {
        if (!str_is(op, "add") && !json_get(now, m->name))
            continue;
        if (str_is(op, "remove"))
            json_remove(&o, m->name);
        else
            json_put(&o, m->name, m->value);
    }
    if (now || o.n)
        *object = json_set(a, *object, path, json_object_done(&o));
    return 0;
}

static int labels(struct arena *a, const struct json **object, const struct json *overrider,
                  struct status *st)
{
    (void)st;
    return pairs(a, object, overrider, "metadata.labels");
}

static int annotations(struct arena *a, const struct json **object, const struct json *overrider,
                       struct status *st)
{
    (void)st;
    return pairs(a, object, overrider, "metadata.annotations");
}

/* A document inside of a string: read, patched, written again. */
static int field(struct arena *a, const struct json **object, const struct json *overrider,
                 struct status *st)
{
    str path = json_get_str(overrider, "fieldPath");
    const struct json *text = at_pointer(a, *object, path), *doc;
    const struct json *yaml = json_get(overrider, STR("yaml"));
    bool is_yaml = json_len(yaml) > 0;
    scoped_buf b;

    buf_init(&b, DOCUMENT_MAX);
    if (!json_is(text, JSON_STRING))
        return status_set(st, REASON_INVALID,
                          "Get object's value by overrider's path(%.*s) is not string",
                          STR_ARG(path));
    if ((is_yaml ? json_parse_yaml(a, json_str(text), NULL, &doc, st)
                 : json_parse(a, json_str(text), NULL, &doc, st)) < 0 ||
        change(a, &doc, is_yaml ? yaml : json_get(overrider, STR("json")), "subPath", st) < 0)
        return status_wrap(st, "field %.*s", STR_ARG(path));
    if (is_yaml)
        json_print_yaml(&b, doc);
    else
        json_print_sorted(&b, doc);
    if (buf_overflown(&b))
        return status_set(st, REASON_INVALID, "field %.*s is too long", STR_ARG(path));
    return replace_at(a, object, path, str_dup(a, buf_str(&b)), st);
}

static int plaintext(struct arena *a, const struct json **object, const struct json *overrider,
                     struct status *st)
{
    struct json_array one = json_array_new(a);

    json_push(&one, *overrider);
    return change(a, object, json_array_done(&one), "path", st);
}

/* In the order of Karmada's struct; they are applied in this order too, but plaintext last. */
static const struct {
    const char *list;
    int (*apply)(struct arena *a, const struct json **object, const struct json *overrider,
                 struct status *st);
} kinds[] = {
    { "plaintext", plaintext },      { "imageOverrider", image },
    { "commandOverrider", command }, { "argsOverrider", args },
    { "labelsOverrider", labels },   { "annotationsOverrider", annotations },
    { "fieldOverrider", field },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

int override_apply_overriders(struct arena *a, const struct json *manifest,
                              const struct json *overriders, const struct json **out,
                              struct status *st)
{
    for (size_t i = 1; i <= KINDS; i++)
        json_for_each (o, json_get(overriders, str_of(kinds[i % KINDS].list)))
            if (kinds[i % KINDS].apply(a, &manifest, o, st) < 0)
                return -1;
    *out = manifest;
    return 0;
}

/* ---- policies ---- */

struct match {
    const struct json *policy;
    enum resource_precision precision;
    str name;
};

static int by_precision(const void *x, const void *y)
{
    const struct match *a = x, *b = y;

    if (a->precision != b->precision)
        return a->precision < b->precision ? -1 : 1;
    return str_cmp(a->name, b->name);
}

/* Policies that mean the object, in the order in which they are applied. */
static struct match *matches(struct arena *a, const struct json *policies,
                             const struct json *object, size_t *n)
{
    struct match *list = arena_array(a, struct match, json_len(policies) + 1);

    *n = 0;
    json_for_each (p, policies) {
        const struct json *selectors = json_path(p, "spec.resourceSelectors");
        enum resource_precision exact =
            json_len(selectors) ? resource_precision(a, selectors, object) : RESOURCE_BY_KIND;

        if (exact != RESOURCE_NOT_MEANT)
            list[(*n)++] = (struct match){ .policy = p,
                                           .precision = exact,
                                           .name = json_get_str(p, "metadata.name") };
    }
    if (*n > 1)
        qsort(list, *n, sizeof(*list), by_precision);
    return list;
}

/* Members in the order in which Karmada's structs have them, so that the annotation is the same. */
static struct json in_order(struct arena *a, const struct json *v);

static struct json all_in_order(struct arena *a, const struct json *list)
{
    struct json_array items = json_array_new(a);

    json_for_each (v, list)
        json_push(&items, in_order(a, v));
    return json_array_value(&items);
}

/* Operations of patches always say a value there, null if need be. */
static struct json in_order(struct arena *a, const struct json *v)
{
    static const char *const names[] = { "predicate", "component", "containerName", "fieldPath",
                                         "json",      "yaml",      "path",          "subPath",
                                         "operator",  "value" };
    bool is_patch = json_get(v, STR("path")) || json_get(v, STR("subPath"));
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct json *m = json_get(v, str_of(names[i]));

        if (m && (str_is(str_of(names[i]), "json") || str_is(str_of(names[i]), "yaml")))
            json_add(&o, str_of(names[i]), all_in_order(a, m));
        else if (m)
            json_add(&o, str_of(names[i]), *m);
        else if (is_patch && str_is(str_of(names[i]), "value"))
            json_add(&o, STR("value"), json_null);
    }
    return json_object_value(&o);
}

static struct json record_of(struct arena *a, str policy, const struct json *overriders)
{
    struct json_object rec = json_object_new(a), all = json_object_new(a);

    for (size_t i = 0; i < KINDS; i++) {
        const struct json *list = json_get(overriders, str_of(kinds[i].list));

        if (json_len(list))
            json_add(&all, str_of(kinds[i].list), all_in_order(a, list));
    }
    json_add(&rec, STR("policyName"), json_of_str(policy));
    json_add(&rec, STR("overriders"), json_object_value(&all));
    return json_object_value(&rec);
}

/* Few, and already nearly in order: insertion keeps equal names as they came. */
static const struct json *by_name(struct json_array *r)
{
    for (uint32_t i = 1; i < r->n; i++) {
        struct json v = r->items[i];
        uint32_t j = i;

        for (; j > 0 && str_cmp(json_get_str(&v, "policyName"),
                                json_get_str(&r->items[j - 1], "policyName")) < 0;
             j--)
            r->items[j] = r->items[j - 1];
        r->items[j] = v;
    }
    return r->n ? json_array_done(r) : NULL;
}

static int apply_policy(struct arena *a, const struct match *m, const struct sched_cluster *cluster,
                        struct override_result *out, struct json_array *applied, struct status *st)
{
    const struct json *rules = json_path(m->policy, "spec.overrideRules");
    struct json_array old = json_array_new(a);

    if (json_len(rules) == 0) { /* the form before there were rules */
        json_push(&old, *json_get(m->policy, STR("spec")));
        rules = json_array_done(&old);
    }
    json_for_each (rule, rules) {
        const struct json *overriders = json_get(rule, STR("overriders"));

        if (!overriders || !sched_matches(a, json_get(rule, STR("targetCluster")), cluster))
            continue;
        if (override_apply_overriders(a, out->manifest, overriders, &out->manifest, st) < 0) {
            out->failed = m->name;
            return -1;
        }
        json_push(applied, record_of(a, m->name, overriders));
    }
    return 0;
}

int override_apply(struct arena *a, const struct json *manifest, const struct json *policies,
                   const struct sched_cluster *cluster, struct override_result *out,
                   struct status *st)
{
    struct json_array applied = json_array_new(a);
    size_t n;
    struct match *list = matches(a, policies, manifest, &n);

    *out = (struct override_result){ .manifest = manifest };
    for (size_t i = 0; i < n; i++)
        if (json_get(list[i].policy, STR("spec")) &&
            apply_policy(a, &list[i], cluster, out, &applied, st) < 0)
            return -1;
    out->applied = by_name(&applied);
    return 0;
}
