/* SPDX-License-Identifier: Apache-2.0 */
#include "crash/content.h"

#include "base/banned.h"
#include "base/rand.h"

static const struct {
    const char *plural, *kind;
} kinds[KINDS] = { { "configmaps", "ConfigMap" }, { "secrets", "Secret" } };

const char *content_plural(unsigned kind)
{
    return kinds[kind].plural;
}

struct client_ref content_ref(const struct target *t)
{
    return (struct client_ref){ .instance = str_is(t->instance, "root") ? STR_NONE : t->instance,
                                .version = STR("v1"),
                                .resource = str_of(kinds[t->kind].plural),
                                .namespace = t->namespace,
                                .name = t->name };
}

uint64_t content_mix(uint64_t a, uint64_t b)
{
    struct rand_seq r = { a };

    r.state = rand_seq_u64(&r) ^ b;
    return rand_seq_u64(&r);
}

bool content_is_red(uint64_t seed, uint64_t op)
{
    return content_mix(seed, op) & 1;
}

/* Mostly small; some of several pages, so that a kill can come in the middle of a write. */
static str fill(struct arena *a, uint64_t seed, uint64_t op)
{
    static const char digits[] = "0123456789abcdef";
    struct rand_seq r = { content_mix(seed, op) };
    uint32_t chance = rand_seq_below(&r, 100);
    uint32_t most = chance < 80 ? 64 : chance < 98 ? 1000 : 30000;
    size_t n = 4 * (size_t)rand_seq_below(&r, most);
    char *p = arena_alloc(a, n + 16);

    for (size_t i = 0; i < n; i += 16) {
        uint64_t bits = rand_seq_u64(&r);

        for (size_t j = 0; j < 16; j++)
            p[i + j] = digits[bits >> 4 * j & 15];
    }
    return (str){ p, n };
}

static struct json id(struct arena *a, uint64_t op)
{
    return json_of_str(str_printf(a, "%016llx", (unsigned long long)op));
}

static struct json color(uint64_t seed, uint64_t op)
{
    return json_of_str(content_is_red(seed, op) ? STR("red") : STR("blue"));
}

static struct json one(struct arena *a, str name, struct json v)
{
    struct json_object o = json_object_new(a);

    json_add(&o, name, v);
    return json_object_value(&o);
}

static void add_rv(struct arena *a, struct json_object *meta, uint64_t rv)
{
    if (rv)
        json_add(meta, STR("resourceVersion"),
                 json_of_str(str_printf(a, "%llu", (unsigned long long)rv)));
}

const struct json *content_object(struct arena *a, const struct target *t, uint64_t seed,
                                  uint64_t op, uint64_t rv)
{
    struct json_object o = json_object_new(a), meta = json_object_new(a), data = json_object_new(a);

    if (t->name.n)
        json_add(&meta, STR("name"), json_of_str(t->name));
    else
        json_add(&meta, STR("generateName"), json_of_str(STR("g-")));
    json_add(&meta, STR("namespace"), json_of_str(t->namespace));
    json_add(&meta, STR("labels"), one(a, STR("color"), color(seed, op)));
    add_rv(a, &meta, rv);
    json_add(&data, STR("op"), id(a, op));
    json_add(&data, STR("base"), id(a, op));
    json_add(&data, STR("fill"), json_of_str(fill(a, seed, op)));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("kind"), json_of_str(str_of(kinds[t->kind].kind)));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&o, STR("data"), json_object_value(&data));
    return json_object_done(&o);
}

static void step(struct arena *a, struct json_array *steps, const char *verb, const char *path,
                 struct json value)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("op"), json_of_str(str_of(verb)));
    json_add(&o, STR("path"), json_of_str(str_of(path)));
    json_add(&o, STR("value"), value);
    json_push(steps, json_object_value(&o));
}

static const struct json *patch_steps(struct arena *a, uint64_t seed, uint64_t op, uint64_t rv)
{
    struct json_array steps = json_array_new(a);

    if (rv)
        step(a, &steps, "replace", "/metadata/resourceVersion",
             json_of_str(str_printf(a, "%llu", (unsigned long long)rv)));
    step(a, &steps, "replace", "/data/op", id(a, op));
    step(a, &steps, "replace", "/data/fill", json_of_str(fill(a, seed, op)));
    step(a, &steps, "add", "/data/patched", id(a, op));
    step(a, &steps, "replace", "/metadata/labels/color", color(seed, op));
    return json_array_done(&steps);
}

const struct json *content_patch(struct arena *a, enum client_patch_type type, uint64_t seed,
                                 uint64_t op, uint64_t rv)
{
    struct json_object o = json_object_new(a), meta = json_object_new(a), data = json_object_new(a);

    if (type == CLIENT_PATCH_JSON)
        return patch_steps(a, seed, op, rv);
    add_rv(a, &meta, rv);
    json_add(&meta, STR("labels"), one(a, STR("color"), color(seed, op)));
    json_add(&data, STR("op"), id(a, op));
    json_add(&data, STR("fill"), json_of_str(fill(a, seed, op)));
    json_add(&data, STR("patched"), id(a, op));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&o, STR("data"), json_object_value(&data));
    return json_object_done(&o);
}

uint64_t content_rv(const struct json *object)
{
    uint64_t rv = 0;

    (void)str_to_u64(json_get_str(object, "metadata.resourceVersion"), &rv);
    return rv;
}

static bool read_id(const struct json *v, uint64_t *out)
{
    str s = json_str(v);
    uint64_t n = 0;

    if (s.n != 16)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        n = n << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out = n;
    return true;
}

int content_read(const struct json *object, uint64_t seed, struct version *out, const char **wrong)
{
    const struct json *data = json_get(object, STR("data"));
    const struct json *patched = json_get(data, STR("patched"));
    struct version v = { .rv = content_rv(object), .patched = patched != NULL };
    scoped_arena a = arena_new();
    uint64_t again;
    str want;

    if (!json_get(data, STR("op")))
        return 0;
    if (!read_id(json_get(data, STR("op")), &v.op) ||
        !read_id(json_get(data, STR("base")), &v.base)) {
        *wrong = "no numbers in it";
        return -1;
    }
    v.red = content_is_red(seed, v.op);
    v.uid = str_hash(json_get_str(object, "metadata.uid"), 1, 2);
    want = fill(a, seed, v.op);
    *wrong = NULL;
    if (!str_eq(json_get_str(data, "fill"), want))
        *wrong = "the fill is not that of the write";
    else if (!str_is(json_get_str(object, "metadata.labels.color"), v.red ? "red" : "blue"))
        *wrong = "the label is not that of the write";
    else if (patched && (!read_id(patched, &again) || again != v.op))
        *wrong = "half a patch";
    else if (!patched && v.base != v.op)
        *wrong = "half an update";
    else if (json_len(data) != (patched ? 4U : 3U))
        *wrong = "more data than was written";
    else if (!v.rv || str_empty(json_get_str(object, "metadata.uid")))
        *wrong = "no resourceVersion or uid";
    *out = v;
    return *wrong ? -1 : 1;
}
