/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Strategic merge patch by table.  k8s: apimachinery/pkg/util/strategicpatch, whose order of
 * results is part of the contract: what the patch names comes in the patch's order, what only the
 * server has keeps its order, and the two are woven together by the server's old order.
 *
 * Members and items are found by hash where there are many, so that no patch costs more than
 * n log n.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "object/meta/schema.h"

#define DIRECTIVE   "$patch"
#define RETAIN_KEYS "$retainKeys"
#define DELETE_FROM "$deleteFromPrimitiveList"
#define SET_ORDER   "$setElementOrder"

enum { FEW = 16 }; /* members that are searched one by one */

struct merger {
    struct arena *arena;
    struct status *st;
};

static int bad_format(struct merger *m, const char *what)
{
    return status_set(m->st, REASON_BAD_REQUEST, "invalid patch format of %s", what);
}

static int bad_directive(struct merger *m, const struct json *directive)
{
    return status_set(m->st, REASON_UNKNOWN, "unknown patch type: %.*s",
                      STR_ARG(json_text(m->arena, directive)));
}

static int no_merge_key(struct merger *m, str key)
{
    return status_set(m->st, REASON_UNKNOWN, "map does not contain declared merge key: %.*s",
                      STR_ARG(key));
}

/* `$prefix/field` → field */
static bool directive_field(str name, const char *prefix, str *field)
{
    str p = str_of(prefix);

    if (!str_starts(name, p) || name.n <= p.n || name.p[p.n] != '/')
        return false;
    *field = str_from(name, p.n + 1);
    return true;
}

static bool is_directive(str name)
{
    return name.n && name.p[0] == '$' &&
           (str_is(name, DIRECTIVE) || str_is(name, RETAIN_KEYS) ||
            str_starts(name, STR(DELETE_FROM)) || str_starts(name, STR(SET_ORDER)));
}

/* ---- an object that is being changed ---- */

struct work {
    struct json_object o;
    struct map index; /* name → place + 1, when there are many */
    bool indexed;
};

static const char gone[] = ""; /* the name of a member that was removed */

static struct work work_new(struct arena *a, const struct json *v, size_t changes)
{
    struct work w = { .o = json_object_from(a, v) };

    w.indexed = json_len(v) > FEW && changes > FEW;
    for (uintptr_t i = 0; w.indexed && i < w.o.n; i++)
        (void)map_put(&w.index, w.o.members[i].name, (void *)(i + 1));
    return w;
}

static struct json_member *work_find(struct work *w, str name)
{
    if (w->indexed) {
        uintptr_t at = (uintptr_t)map_get(&w->index, name);

        return at ? &w->o.members[at - 1] : NULL;
    }
    for (uint32_t i = 0; i < w->o.n; i++)
        if (w->o.members[i].name.p != gone && str_eq(w->o.members[i].name, name))
            return &w->o.members[i];
    return NULL;
}

static void work_put(struct work *w, str name, struct json v)
{
    struct json_member *m = work_find(w, name);

    if (m) {
        m->value = v;
        return;
    }
    json_add(&w->o, name, v);
    if (w->indexed)
        (void)map_put(&w->index, name, (void *)(uintptr_t)w->o.n);
}

static void work_drop(struct work *w, struct json_member *m)
{
    if (w->indexed)
        (void)map_remove(&w->index, m->name);
    m->name = (str){ gone, 0 };
}

static void work_remove(struct work *w, str name)
{
    struct json_member *m = work_find(w, name);

    if (m)
        work_drop(w, m);
}

static struct json work_done(struct work *w)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->o.n; i++)
        if (w->o.members[i].name.p != gone)
            w->o.members[n++] = w->o.members[i];
    w->o.n = n;
    map_release(&w->index);
    return json_object_value(&w->o);
}

/* ---- lists ---- */

struct patch_item {
    struct json value;
    str key;       /* what it is known by: a scalar itself, or its merge key, as JSON */
    size_t at;     /* in the server's list; SIZE_MAX: not there */
    size_t wanted; /* in the list that gives the order; SIZE_MAX: not there */
};

struct items {
    struct patch_item *p;
    size_t n;
};

/* Places by key; of equal keys the first. */
static struct map index_of(const struct items *list)
{
    struct map m = { 0 };

    for (uintptr_t i = list->n; i > 0; i--)
        (void)map_put(&m, list->p[i - 1].key, (void *)i);
    return m;
}

static size_t place(const struct map *m, str key)
{
    return (size_t)(uintptr_t)map_get(m, key) - 1; /* SIZE_MAX when there is none */
}

/* The items with their keys; merge_key is empty for scalars. */
static int take_items(struct merger *m, const struct json *list, str merge_key, struct items *out)
{
    struct patch_item *p = arena_array(m->arena, struct patch_item, json_len(list));
    size_t n = 0;

    json_for_each (v, list) {
        const struct json *key = merge_key.n ? json_get(v, merge_key) : v;

        if (!key)
            return no_merge_key(m, merge_key);
        p[n++] = (struct patch_item){ .value = *v, .key = json_text(m->arena, key) };
    }
    *out = (struct items){ p, n };
    return 0;
}

static int cmp_wanted(const void *a, const void *b)
{
    const struct patch_item *x = a, *y = b;

    if (x->wanted != y->wanted)
        return x->wanted < y->wanted ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int cmp_at(const void *a, const void *b)
{
    const struct patch_item *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/*
 * Items that `order` names in its order, the others in the server's; before each item of the first
 * sort go those others that stood before it on the server.  k8s: mergeSortedSlice
 */
static struct json arrange(struct merger *m, const struct items *all, const struct items *server,
                           const struct items *order)
{
    struct map at = index_of(server), wanted = index_of(order);
    struct patch_item *left = arena_array(m->arena, struct patch_item, all->n);
    struct patch_item *right = arena_array(m->arena, struct patch_item, all->n);
    struct json_array out = json_array_new(m->arena);
    size_t nleft = 0, nright = 0, i = 0, j = 0;

    for (size_t k = 0; k < all->n; k++) {
        struct patch_item it = all->p[k];

        it.at = place(&at, it.key);
        it.wanted = place(&wanted, it.key);
        if (it.wanted == SIZE_MAX)
            left[nleft++] = it;
        else
            right[nright++] = it;
    }
    map_release(&at);
    map_release(&wanted);
    if (nleft)
        qsort(left, nleft, sizeof(*left), cmp_at);
    if (nright)
        qsort(right, nright, sizeof(*right), cmp_wanted);
    while (i < nleft || j < nright) {
        bool first =
            j == nright || (i < nleft && right[j].at != SIZE_MAX && left[i].at < right[j].at);

        json_push(&out, first ? left[i++].value : right[j++].value);
    }
    return json_array_value(&out);
}

static int merge_object(struct merger *m, const struct schema *s, const struct json *original,
                        const struct json *patch, struct json *out);

/* Each value once, those of the server first. */
static void unite(struct merger *m, const struct items *a, const struct items *b, struct items *out)
{
    struct map seen = { 0 };

    *out = (struct items){ arena_array(m->arena, struct patch_item, a->n + b->n), 0 };
    for (size_t i = 0; i < a->n + b->n; i++) {
        struct patch_item *it = i < a->n ? &a->p[i] : &b->p[i - a->n];

        if (!map_put(&seen, it->key, it))
            out->p[out->n++] = *it;
    }
    map_release(&seen);
}

static int merge_scalars(struct merger *m, const struct json *original, const struct json *patch,
                         struct json *out)
{
    struct items server, wanted, all;

    if (take_items(m, original, STR_NONE, &server) < 0 ||
        take_items(m, patch, STR_NONE, &wanted) < 0)
        return -1;
    unite(m, &server, &wanted, &all);
    *out = arrange(m, &all, &server, &wanted);
    return 0;
}

static int delete_scalars(struct merger *m, const struct json *original, const struct json *patch,
                          struct json *out)
{
    struct json_array kept = json_array_new(m->arena);
    struct items server, unwanted;
    struct map index;

    if (take_items(m, original, STR_NONE, &server) < 0 ||
        take_items(m, patch, STR_NONE, &unwanted) < 0)
        return -1;
    index = index_of(&unwanted);
    for (size_t i = 0; i < server.n; i++)
        if (!map_get(&index, server.p[i].key))
            json_push(&kept, server.p[i].value);
    map_release(&index);
    *out = json_array_value(&kept);
    return 0;
}

/* Items of a patch list by what they say. */
struct instructions {
    struct json_array merge, remove;
    bool replace;
};

static int sort_out(struct merger *m, const struct json *patch, struct instructions *out)
{
    *out = (struct instructions){ json_array_new(m->arena), json_array_new(m->arena), false };
    json_for_each (item, patch) {
        const struct json *directive = json_get(item, STR(DIRECTIVE));
        str word = json_str(directive);

        if (!directive)
            json_push(&out->merge, *item);
        else if (str_is(word, "delete"))
            json_push(&out->remove, *item);
        else if (str_is(word, "replace"))
            out->replace = true;
        else if (str_is(word, "merge"))
            return status_set(m->st, REASON_UNKNOWN,
                              "merging lists cannot yet be specified in the patch");
        else
            return bad_directive(m, directive);
    }
    return 0;
}

static void drop(struct items *list, const struct items *unwanted)
{
    struct map index = index_of(unwanted);
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        if (!map_get(&index, list->p[i].key))
            list->p[n++] = list->p[i];
    list->n = n;
    map_release(&index);
}

static int strip(struct merger *m, const struct json *v, struct json *out);

/* Merges items into those of the same key; new ones are added. */
static int merge_items(struct merger *m, const struct schema *s, const struct items *server,
                       const struct items *patch, struct items *out)
{
    struct map index = index_of(server);
    int rc = 0;

    *out =
        (struct items){ arena_array(m->arena, struct patch_item, server->n + patch->n), server->n };
    if (server->n)
        memcpy(out->p, server->p, server->n * sizeof(*out->p));
    for (size_t i = 0; i < patch->n && rc == 0; i++) {
        size_t at = place(&index, patch->p[i].key);
        struct json v;

        if (at != SIZE_MAX) {
            rc = merge_object(m, s, &out->p[at].value, &patch->p[i].value, &v);
            if (rc == 0)
                out->p[at].value = v;
            continue;
        }
        out->p[out->n] = patch->p[i];
        (void)strip(m, &patch->p[i].value, &out->p[out->n++].value);
        (void)map_put(&index, patch->p[i].key, (void *)(uintptr_t)out->n);
    }
    map_release(&index);
    return rc;
}

static int merge_objects(struct merger *m, const struct schema *s, str key,
                         const struct json *original, const struct json *patch, struct json *out)
{
    struct items server, wanted, unwanted, all;
    struct instructions in;
    struct json merge, rest;

    if (key.n == 0)
        return status_set(m->st, REASON_INVALID, "cannot merge lists without merge key");
    if (sort_out(m, patch, &in) < 0)
        return -1;
    merge = json_array_value(&in.merge);
    rest = json_array_value(&in.remove);
    if (in.replace) {
        *out = merge;
        return 0;
    }
    if (take_items(m, original, key, &server) < 0 || take_items(m, &merge, key, &wanted) < 0 ||
        take_items(m, &rest, key, &unwanted) < 0)
        return -1;
    drop(&server, &unwanted);
    if (merge_items(m, s, &server, &wanted, &all) < 0)
        return -1;
    *out = arrange(m, &all, &server, &wanted);
    return 0;
}

/* All items objects (1), none (0), or something that cannot be merged (-1). */
static int kind_of_items(struct merger *m, const struct json *a, const struct json *b)
{
    size_t objects = 0, lists = 0, nulls = 0;

    for (size_t i = 0; i < json_len(a) + json_len(b); i++) {
        const struct json *v = i < a->n ? json_at(a, i) : json_at(b, i - a->n);

        objects += v->type == JSON_OBJECT;
        lists += v->type == JSON_ARRAY;
        nulls += v->type == JSON_NULL;
    }
    if (lists)
        return status_set(m->st, REASON_INVALID, "lists of lists are not supported");
    if (nulls || (objects && objects != json_len(a) + json_len(b)))
        return status_set(m->st, REASON_UNKNOWN, "list element types are not identical");
    return objects > 0;
}

static int merge_list(struct merger *m, const struct schema_field *f, const struct json *original,
                      const struct json *patch, bool deletes, struct json *out)
{
    int kind;

    if (!deletes && !(f && f->patch_merge)) {
        *out = *patch;
        return 0;
    }
    kind = kind_of_items(m, original, patch);
    if (kind < 0)
        return -1;
    if (kind == 0)
        return (deletes ? delete_scalars : merge_scalars)(m, original, patch, out);
    return merge_objects(m, f ? f->type->items : NULL, f ? f->merge_key : STR_NONE, original, patch,
                         out);
}

/* ---- objects ---- */

/*
 * A value that is new: what only had a meaning beside an old one is left out.  Gives -1 when
 * nothing is left (it was a directive itself).
 */
static int strip(struct merger *m, const struct json *v, struct json *out)
{
    struct json_object o = json_object_new(m->arena);
    struct json_array r = json_array_new(m->arena);
    struct json part;

    *out = *v;
    if (v->type == JSON_OBJECT && json_get(v, STR(DIRECTIVE)))
        return -1;
    json_for_each_member (member, v) {
        if (member->value.type == JSON_NULL || is_directive(member->name))
            continue;
        if (strip(m, &member->value, &part) == 0)
            json_add(&o, member->name, part);
    }
    json_for_each (item, v) {
        if (strip(m, item, &part) == 0)
            json_push(&r, part);
    }
    if (v->type == JSON_OBJECT)
        *out = json_object_value(&o);
    else if (v->type == JSON_ARRAY)
        *out = json_array_value(&r);
    return 0;
}

static struct map names_of(const struct json *list)
{
    struct map m = { 0 };

    json_for_each (item, list) {
        if (item->type == JSON_STRING)
            (void)map_put(&m, json_str(item), (void *)(uintptr_t)1);
    }
    return m;
}

/* Only the named fields stay, and the patch may speak of no others. */
static int retain_keys(struct merger *m, struct work *w, const struct json *patch)
{
    const struct json *keys = json_get(patch, STR(RETAIN_KEYS));
    struct map names;
    bool fits = true;

    if (!keys)
        return 0;
    if (keys->type != JSON_ARRAY)
        return bad_format(m, "retainKeys");
    names = names_of(keys);
    json_for_each_member (member, patch) {
        if (member->value.type != JSON_NULL && !is_directive(member->name))
            fits = fits && map_get(&names, member->name);
    }
    for (uint32_t i = 0; i < w->o.n; i++)
        if (!map_get(&names, w->o.members[i].name))
            work_drop(w, &w->o.members[i]);
    map_release(&names);
    return fits ? 0 : bad_format(m, "retainKeys");
}

/* What the patch lists must stand in the same order in the list of all. */
static int check_order(struct merger *m, const struct json *patch, const struct items *order,
                       str key)
{
    struct json_array plain = json_array_new(m->arena);
    struct items named = { 0 };
    struct json list;
    size_t i = 0;

    json_for_each (item, patch) {
        if (!json_get(item, STR(DIRECTIVE)))
            json_push(&plain, *item);
    }
    list = json_array_value(&plain);
    if (take_items(m, &list, key, &named) < 0)
        return -1;
    for (size_t j = 0; i < named.n && j < order->n; j++)
        i += str_eq(named.p[i].key, order->p[j].key);
    if (i < named.n && order->n)
        return status_set(m->st, REASON_INVALID,
                          "The order in patch list:\n%.*s\n doesn't match " SET_ORDER " list",
                          STR_ARG(json_text(m->arena, patch)));
    return 0;
}

static int set_order(struct merger *m, const struct schema_field *f, struct work *w, str name,
                     const struct json *order, const struct json *patch)
{
    struct json_member *was = work_find(w, name);
    const struct json *original = was ? &was->value : &json_empty_array;
    const struct json *given = patch ? patch : &json_empty_array;
    str key = f->merge_key;
    struct items server = { 0 }, wanted = { 0 }, all = { 0 };
    struct json merged;

    if (order->type != JSON_ARRAY || original->type != JSON_ARRAY || given->type != JSON_ARRAY)
        return bad_format(m, "setElementOrder list");
    if (take_items(m, order, key, &wanted) < 0 || check_order(m, given, &wanted, key) < 0)
        return -1;
    if (!was && !patch)
        return 0;
    if (!patch)
        merged = *original;
    else if (!was)
        (void)strip(m, patch, &merged);
    else if (merge_list(m, f, original, patch, false, &merged) < 0)
        return -1;
    if (take_items(m, original, key, &server) < 0 || take_items(m, &merged, key, &all) < 0)
        return -1;
    work_put(w, name, arrange(m, &all, &server, &wanted));
    return 0;
}

static const struct schema_field *field_of(const struct schema *s, str name)
{
    return s && s->type == SCHEMA_OBJECT ? schema_field(s, name) : NULL;
}

/* All $setElementOrder lists, with the lists they order; those are noted in `done`. */
static int set_orders(struct merger *m, const struct schema *s, struct work *w,
                      const struct json *patch, struct map *done)
{
    str name;

    json_for_each_member (member, patch) {
        if (!str_starts(member->name, STR(SET_ORDER)))
            continue;
        if (!directive_field(member->name, SET_ORDER, &name) || !field_of(s, name))
            return bad_format(m, "setElementOrder list");
        if (set_order(m, field_of(s, name), w, name, &member->value, json_get(patch, name)) < 0)
            return -1;
        (void)map_put(done, name, (void *)(uintptr_t)1);
    }
    return 0;
}

/* One member of the patch; `deletes`: it came as $deleteFromPrimitiveList. */
static int merge_member(struct merger *m, const struct schema *s, struct work *w, str name,
                        const struct json *patch, bool deletes)
{
    const struct schema_field *f = field_of(s, name);
    struct json_member *was = work_find(w, name);
    const struct schema *sub = f ? f->type : s && s->type == SCHEMA_MAP ? s->items : NULL;
    struct json v;

    if (patch->type == JSON_NULL) {
        work_remove(w, name);
        return 0;
    }
    if (was && was->value.type == JSON_ARRAY && patch->type == JSON_ARRAY) {
        if (merge_list(m, f, &was->value, patch, deletes, &v) < 0)
            return -1;
        work_put(w, name, v);
        return 0;
    }
    if (deletes)
        return 0;
    if (was && was->value.type == JSON_OBJECT && patch->type == JSON_OBJECT) {
        if (f && f->replaced)
            v = *patch;
        else if (merge_object(m, sub, &was->value, patch, &v) < 0)
            return -1;
        work_put(w, name, v);
    } else if (strip(m, patch, &v) == 0)
        work_put(w, name, v);
    else
        work_remove(w, name);
    return 0;
}

static int merge_members(struct merger *m, const struct schema *s, struct work *w,
                         const struct json *patch, const struct map *done)
{
    json_for_each_member (member, patch) {
        str name = member->name;
        bool deletes = str_starts(name, STR(DELETE_FROM));

        if (deletes && !directive_field(member->name, DELETE_FROM, &name))
            return bad_format(m, "primitive list");
        if (!deletes && (is_directive(name) || map_get(done, name)))
            continue;
        if (merge_member(m, s, w, name, &member->value, deletes) < 0)
            return -1;
    }
    return 0;
}

static int merge_object(struct merger *m, const struct schema *s, const struct json *original,
                        const struct json *patch, struct json *out)
{
    const struct json *directive = json_get(patch, STR(DIRECTIVE));
    struct map done = { 0 };
    struct work w;
    int rc;

    if (directive && str_is(json_str(directive), "delete")) {
        *out = json_empty_object;
        return 0;
    }
    w = work_new(m->arena, directive ? patch : original, json_len(patch));
    if (directive) {
        rc = str_is(json_str(directive), "replace") ? 0 : bad_directive(m, directive);
        work_remove(&w, STR(DIRECTIVE));
    } else {
        rc = retain_keys(m, &w, patch);
        rc = rc < 0 ? rc : set_orders(m, s, &w, patch, &done);
        rc = rc < 0 ? rc : merge_members(m, s, &w, patch, &done);
    }
    map_release(&done);
    *out = work_done(&w);
    return rc;
}

int strategic_merge(struct arena *a, const struct schema *s, const struct json *doc,
                    const struct json *patch, const struct json **out, struct status *st)
{
    struct merger m = { .arena = a, .st = st };
    struct json v;

    if (patch->type != JSON_OBJECT || doc->type != JSON_OBJECT)
        return status_set(st, REASON_BAD_REQUEST, "invalid JSON document");
    if (merge_object(&m, s, doc, patch, &v) < 0)
        return -1;
    *out = json_box(a, v);
    return 0;
}
