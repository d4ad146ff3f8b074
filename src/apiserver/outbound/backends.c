/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/outbound/backends.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/mem.h"
#include "json/json.h"

enum { NAME_BYTES = 253, WORDS_MAX = 50, KIND_BYTES = 63 };

/* ---- what is kept ---- */

struct kept {
    struct bytes *bytes; /* resources, then openapi */
    size_t resources;
    uint64_t hash;
    size_t nkey;
    char key[];
};

struct backends {
    pthread_mutex_t mu;
    struct map map; /* guarded by mu, as all below */
    size_t bytes;
};

struct backends *backends_new(void)
{
    struct backends *b = mem_zalloc(sizeof(*b));

    (void)pthread_mutex_init(&b->mu, NULL);
    return b;
}

static void kept_free(struct backends *b, struct kept *k)
{
    if (!k)
        return;
    b->bytes -= k->bytes->n;
    bytes_unref(k->bytes);
    free(k);
}

static void forget_all(struct backends *b)
{
    void *value;
    str key;

    for (size_t at = 0; map_each(&b->map, &at, &key, &value);)
        kept_free(b, value);
    map_release(&b->map);
    b->map = (struct map){ 0 };
}

void backends_free(struct backends *b)
{
    if (!b)
        return;
    forget_all(b);
    (void)pthread_mutex_destroy(&b->mu);
    free(b);
}

static str key_of(struct arena *a, uint32_t instance, str name)
{
    return str_printf(a, "%u/%.*s", instance, STR_ARG(name));
}

static void unref(void *bytes)
{
    bytes_unref(bytes);
}

struct backend backends_get(struct backends *b, struct arena *a, uint32_t instance, str name)
{
    str key = key_of(a, instance, name);
    struct backend out = { 0 };
    struct bytes *bytes = NULL;
    struct kept *k;
    size_t split = 0;

    (void)pthread_mutex_lock(&b->mu);
    k = map_get(&b->map, key);
    if (k) {
        bytes = bytes_ref(k->bytes);
        split = k->resources;
        out.hash = k->hash;
    }
    (void)pthread_mutex_unlock(&b->mu);
    if (!bytes)
        return out;
    arena_defer(a, unref, bytes);
    out.resources = str_sub(bytes_str(bytes), 0, split);
    out.openapi = str_from(bytes_str(bytes), split);
    return out;
}

static struct kept *kept_new(str key, const struct backend *doc)
{
    struct kept *k = mem_zalloc(sizeof(*k) + key.n);

    memcpy(k->key, key.p, key.n);
    k->nkey = key.n;
    k->bytes = bytes_new(doc->resources.n + doc->openapi.n);
    if (doc->resources.n)
        memcpy(k->bytes->p, doc->resources.p, doc->resources.n);
    if (doc->openapi.n)
        memcpy(k->bytes->p + doc->resources.n, doc->openapi.p, doc->openapi.n);
    k->resources = doc->resources.n;
    k->hash = str_hash(doc->openapi, str_hash(doc->resources, 1, 0), 0);
    return k;
}

void backends_put(struct backends *b, uint32_t instance, str name, const struct backend *doc)
{
    scoped_arena a = arena_new();
    struct kept *k = kept_new(key_of(a, instance, name), doc);
    str key = { k->key, k->nkey };

    (void)pthread_mutex_lock(&b->mu);
    if (b->bytes + k->bytes->n > BACKENDS_MAX)
        forget_all(b);
    kept_free(b, map_remove(&b->map, key));
    b->bytes += k->bytes->n;
    (void)map_put(&b->map, key, k);
    (void)pthread_mutex_unlock(&b->mu);
}

void backends_forget(struct backends *b, uint32_t instance, str name)
{
    scoped_arena a = arena_new();

    (void)pthread_mutex_lock(&b->mu);
    kept_free(b, map_remove(&b->map, key_of(a, instance, name)));
    (void)pthread_mutex_unlock(&b->mu);
}

/* ---- what they say ---- */

static bool is_word(str s, size_t max)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '\\' || s.p[i] == '/')
            return false;
    return s.n > 0 && s.n <= max;
}

static bool add_words(struct json_object *o, const struct json *r, const char *name)
{
    struct json_array list = json_array_new(o->arena);

    json_for_each (w, json_get(r, str_of(name)))
        if (is_word(json_str(w), KIND_BYTES) && list.n < WORDS_MAX)
            json_push(&list, *w);
    if (list.n)
        json_add(o, str_of(name), json_array_value(&list));
    return list.n > 0;
}

static void add_kind(struct json_object *o, const struct json *r, str group, str version)
{
    struct json_object kind = json_object_new(o->arena);
    str own = json_get_str(r, "version");

    if (is_word(own, NAME_BYTES)) {
        version = own;
        group = json_get_str(r, "group");
    }
    json_add(&kind, STR("group"), json_of_str(is_word(group, NAME_BYTES) ? group : STR("")));
    json_add(&kind, STR("version"), json_of_str(version));
    json_add(&kind, STR("kind"), json_of_str(json_get_str(r, "kind")));
    json_add(o, STR("responseKind"), json_object_value(&kind));
}

static void add_verbs(struct json_object *o, const struct json *r)
{
    if (!add_words(o, r, "verbs"))
        json_add(o, STR("verbs"), json_empty_array);
}

/* "parent/name": the name; empty when it is one of another. */
static str name_below(const struct json *r, str parent)
{
    str name = json_get_str(r, "name");

    if (name.n <= parent.n + 1 || !str_starts(name, parent) || name.p[parent.n] != '/')
        return STR_NONE;
    return str_from(name, parent.n + 1);
}

static struct json subresources(struct arena *a, const struct json *list, str parent, str group,
                                str version)
{
    struct json_array subs = json_array_new(a);

    json_for_each (r, list) {
        struct json_object o = json_object_new(a);
        str name = name_below(r, parent);

        if (!is_word(name, NAME_BYTES) || !is_word(json_get_str(r, "kind"), KIND_BYTES))
            continue;
        json_add(&o, STR("subresource"), json_of_str(name));
        add_kind(&o, r, group, version);
        add_verbs(&o, r);
        json_push(&subs, json_object_value(&o));
    }
    return json_array_value(&subs);
}

static struct json resource(struct arena *a, const struct json *r, const struct json *list,
                            str group, str version)
{
    struct json_object o = json_object_new(a);
    str name = json_get_str(r, "name"), singular = json_get_str(r, "singularName");
    struct json subs = subresources(a, list, name, group, version);

    json_add(&o, STR("resource"), json_of_str(name));
    add_kind(&o, r, group, version);
    json_add(&o, STR("scope"),
             json_of_str(json_bool(json_get(r, STR("namespaced"))) ? STR("Namespaced")
                                                                   : STR("Cluster")));
    json_add(&o, STR("singularResource"),
             json_of_str(is_word(singular, NAME_BYTES) ? singular : STR("")));
    add_verbs(&o, r);
    (void)add_words(&o, r, "shortNames");
    (void)add_words(&o, r, "categories");
    if (json_len(&subs))
        json_add(&o, STR("subresources"), subs);
    return json_object_value(&o);
}

int backend_read_resources(struct arena *a, str text, str group, str version, str *out,
                           struct status *st)
{
    const struct json *v, *list;
    struct json_array all = json_array_new(a);

    if (text.n > BACKEND_DOC_MAX || json_parse(a, text, NULL, &v, st) < 0 ||
        !str_is(json_get_str(v, "kind"), "APIResourceList"))
        return status_set(st, REASON_UNAVAILABLE, "it does not answer with an APIResourceList");
    list = json_get(v, STR("resources"));
    if (json_len(list) > BACKEND_RESOURCES_MAX)
        return status_set(st, REASON_UNAVAILABLE, "it has more than %d resources",
                          BACKEND_RESOURCES_MAX);
    json_for_each (r, list)
        if (is_word(json_get_str(r, "name"), NAME_BYTES) &&
            is_word(json_get_str(r, "kind"), KIND_BYTES))
            json_push(&all, resource(a, r, list, group, version));
    *out = json_text(a, json_array_done(&all));
    return 0;
}

str backend_read_openapi(struct arena *a, str text, str group, str version)
{
    str name = str_printf(a, "apis/%.*s/%.*s", STR_ARG(group), STR_ARG(version));
    const struct json *v;
    struct status st;
    str url;

    status_init(&st, a);
    if (text.n > BACKEND_DOC_MAX || json_parse(a, text, NULL, &v, &st) < 0)
        return STR_NONE;
    url = json_get_str(json_get(json_get(v, STR("paths")), name), "serverRelativeURL");
    if (!url.n)
        return STR_NONE;
    return str_printf(a, "%016llX", (unsigned long long)str_hash(url, 3, 0));
}
