/* SPDX-License-Identifier: Apache-2.0 */

/* Comparing, merging and pruning by schema. */

#include <stdlib.h>

#include "base/banned.h"
#include "object/meta/typed.h"
#include "json/scan.h"

enum { FEW = 16 };

/* ---- items of lists ---- */

struct merge_item {
    struct fieldset_node id;
    const struct json *value;
    size_t at;
};

struct items {
    struct merge_item *list;   /* in the order of the list */
    struct merge_item *sorted; /* NULL before items_sort */
    size_t n;
};

static int compare_items(const void *a, const void *b)
{
    const struct merge_item *x = a, *y = b;
    int c = str_cmp(x->id.text, y->id.text);

    return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

/* Items without a proper key are left out: they are of nobody. */
static struct items items_of(struct arena *a, struct typed_place p, enum shape shape,
                             const struct json *v)
{
    struct items out = { arena_array(a, struct merge_item, 2 * json_len(v) + 1), NULL, 0 };

    json_for_each (item, v) {
        struct merge_item *it = &out.list[out.n];

        if (place_element(a, p, shape, item, &it->id))
            continue;
        it->value = item;
        it->at = out.n++;
    }
    return out;
}

/* By key, where that is wanted. */
static void items_sort(struct items *s)
{
    s->sorted = s->list + s->n;
    if (s->n == 0)
        return;
    memcpy(s->sorted, s->list, s->n * sizeof(*s->list));
    qsort(s->sorted, s->n, sizeof(*s->list), compare_items);
}

/* The first of that key, or NULL. */
static const struct merge_item *items_find(const struct items *s, str text)
{
    size_t from = 0, to = s->n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (str_cmp(s->sorted[middle].id.text, text) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < s->n && str_eq(s->sorted[from].id.text, text) ? &s->sorted[from] : NULL;
}

/* How many of the same key follow each other from i on. */
static size_t run_of(const struct items *s, size_t i)
{
    size_t n = 1;

    while (i + n < s->n && str_eq(s->sorted[i + n].id.text, s->sorted[i].id.text))
        n++;
    return n;
}

/* ---- comparing ---- */

struct level {
    struct fieldset_builder added, modified, removed;
    bool zero; /* what was is the zero of a native type, of which defaults are no part */
};

static struct level level_new(struct arena *a)
{
    return (struct level){ { .arena = a }, { .arena = a }, { .arena = a }, false };
}

static bool is_nothing(const struct json *v)
{
    return !v || v->type == JSON_NULL || json_len(v) == 0;
}

/* Parts that two trees share need not be looked at. */
static bool is_same(const struct json *a, const struct json *b)
{
    return a && b && a->type == b->type && a->n == b->n && a->i == b->i;
}

static void push(struct fieldset_builder *out, const struct fieldset_node *id, bool member,
                 struct fieldset_builder *below)
{
    struct fieldset_node n = *id;

    if (!member && (!below || below->n == 0))
        return;
    n.member = member;
    n.below = below ? fieldset_done(below) : (struct fieldset){ 0 };
    fieldset_push(out, &n);
}

static struct fieldset added_below(struct arena *a, struct typed_place p, const struct json *now);

/* Duplicates are one field together. */
static struct fieldset without_twins(struct fieldset all, struct fieldset_node *nodes)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < all.n; i++) {
        if (n == 0 || !str_eq(nodes[n - 1].text, nodes[i].text))
            nodes[n++] = nodes[i];
        else
            nodes[n - 1].below = (struct fieldset){ 0 };
    }
    return (struct fieldset){ nodes, n };
}

static struct fieldset added_items(struct arena *a, struct typed_place p, enum shape shape,
                                   const struct json *now)
{
    struct fieldset_builder out = { .arena = a };
    struct fieldset_node id;

    fieldset_reserve(&out, now->n);
    json_for_each (item, now) {
        struct fieldset_node *n;

        if (place_element(a, p, shape, item, &id))
            continue;
        n = fieldset_next(&out);
        *n = (struct fieldset_node){ .text = id.text, .kind = id.kind, .member = true };
        n->below = added_below(a, place_item(p), item);
    }
    return without_twins(fieldset_done(&out), out.nodes);
}

static struct fieldset added_members(struct arena *a, struct typed_place p, const struct json *now)
{
    struct fieldset_builder out = { .arena = a };

    fieldset_reserve(&out, now->n);
    json_for_each_member (m, now) {
        struct fieldset_node *n = fieldset_next(&out);

        *n = (struct fieldset_node){ .text = m->name, .kind = PATH_NAME, .member = true };
        if (place_may_cut(&m->value))
            n->below = added_below(a, place_member(p, m->name), &m->value);
    }
    return fieldset_done(&out);
}

/* What is new is new with all that is in it. */
static struct fieldset added_below(struct arena *a, struct typed_place p, const struct json *now)
{
    enum shape shape = place_shape(p, NULL, now);

    if (shape == SHAPE_LEAF || is_nothing(now))
        return (struct fieldset){ 0 };
    return shape == SHAPE_MAP ? added_members(a, p, now) : added_items(a, p, shape, now);
}

static void compare_at(struct typed_place p, const struct fieldset_node *id, const struct json *was,
                       const struct json *now, struct level *out);

static void compare_members(struct typed_place p, const struct json *was, const struct json *now,
                            struct level *out)
{
    struct arena *a = out->added.arena;
    const struct json_member **x = sorted_members(a, was), **y = sorted_members(a, now);
    size_t i = 0, j = 0, n = was && was->type == JSON_OBJECT ? was->n : 0,
           m = now && now->type == JSON_OBJECT ? now->n : 0;

    while (i < n || j < m) {
        int c = i == n ? 1 : j == m ? -1 : str_cmp(x[i]->name, y[j]->name);
        struct fieldset_node id = { .kind = PATH_NAME, .text = c <= 0 ? x[i]->name : y[j]->name };
        struct typed_place below = place_member(p, id.text);
        bool defaulted = out->zero && below.field && below.field->defaulted;
        const struct json *old = c <= 0 && !defaulted ? &x[i]->value : NULL;

        if (old || c >= 0)
            compare_at(below, &id, old, c >= 0 ? &y[j]->value : NULL, out);
        i += c <= 0;
        j += c >= 0;
    }
}

static bool runs_equal(const struct items *x, size_t i, size_t n, const struct items *y, size_t j,
                       size_t m)
{
    if (n != m)
        return false;
    for (size_t k = 0; k < n; k++)
        if (!json_equal(x->sorted[i + k].value, y->sorted[j + k].value))
            return false;
    return true;
}

/* Items of one key: one and one, or duplicates, which are one field together. */
static void compare_runs(struct typed_place p, const struct items *x, size_t i, size_t n,
                         const struct items *y, size_t j, size_t m, struct level *out)
{
    const struct fieldset_node *id = n ? &x->sorted[i].id : &y->sorted[j].id;
    const struct json *was = n ? x->sorted[i].value : NULL, *now = m ? y->sorted[j].value : NULL;

    if (n <= 1 && m <= 1) {
        compare_at(place_item(p), id, was, now, out);
    } else if (n >= 2 && m >= 2) {
        if (!runs_equal(x, i, n, y, j, m))
            push(&out->modified, id, true, NULL);
    } else if (n >= 2) {
        if (now)
            compare_at(place_item(p), id, NULL, now, out);
        push(&out->removed, id, true, NULL);
    } else {
        push(&out->added, id, true, NULL);
    }
}

static void compare_lists(struct typed_place p, enum shape shape, const struct json *was,
                          const struct json *now, struct level *out)
{
    struct arena *a = out->added.arena;
    struct items x = items_of(a, p, shape, was), y = items_of(a, p, shape, now);
    size_t i = 0, j = 0;

    items_sort(&x);
    items_sort(&y);
    while (i < x.n || j < y.n) {
        int c = i == x.n ? 1 : j == y.n ? -1 : str_cmp(x.sorted[i].id.text, y.sorted[j].id.text);
        size_t n = c <= 0 ? run_of(&x, i) : 0, m = c >= 0 ? run_of(&y, j) : 0;

        compare_runs(p, &x, i, n, &y, j, m, out);
        i += n;
        j += m;
    }
}

/* Of what was there. */
static void compare_old(struct typed_place p, const struct fieldset_node *id,
                        const struct json *was, const struct json *now, struct level *out)
{
    struct level below = level_new(out->added.arena);
    enum shape shape;
    bool modified = false;

    below.zero = out->zero;
    shape = place_shape(p, was, now);
    if (shape == SHAPE_LEAF || (is_nothing(was) && is_nothing(now)))
        modified = now && !json_equal(was, now);
    else if (shape == SHAPE_MAP)
        compare_members(p, was, now, &below);
    else
        compare_lists(p, shape, was, now, &below);
    push(&out->added, id, false, &below.added);
    push(&out->removed, id, !now, &below.removed);
    push(&out->modified, id, modified, &below.modified);
}

static void compare_at(struct typed_place p, const struct fieldset_node *id, const struct json *was,
                       const struct json *now, struct level *out)
{
    if (!was)
        *fieldset_next(&out->added) =
            (struct fieldset_node){ .text = id->text,
                                    .kind = id->kind,
                                    .member = true,
                                    .below = added_below(out->added.arena, p, now) };
    else if (!is_same(was, now) || out->zero)
        compare_old(p, id, was, now, out);
}

struct comparison typed_compare(struct arena *a, const struct schema *s, const struct json *was,
                                const struct json *now)
{
    struct level out = level_new(a);

    out.zero = !was && !s->rules && s->zero;
    compare_members(place_root(s), out.zero ? s->zero : was, now, &out);
    return (struct comparison){ fieldset_done(&out.added), fieldset_done(&out.modified),
                                fieldset_done(&out.removed) };
}

/* ---- merging ---- */

static struct json merge_at(struct arena *a, struct typed_place p, const struct json *live,
                            const struct json *config);

static bool same_text(const struct json *x, const struct json *y)
{
    return json_is(x, JSON_STRING) && json_is(y, JSON_STRING) && x->n &&
           scan_equal(json_str(x), json_str(y));
}

/* Where members of an object are, asked for about in their order. */
struct finder {
    const struct json *in;
    const struct json_member **sorted; /* of many */
    uint32_t n, next;
};

static struct finder finder_of(struct arena *a, const struct json *v)
{
    struct finder f = { .in = v, .n = json_is(v, JSON_OBJECT) ? v->n : 0 };

    if (f.n > FEW)
        f.sorted = sorted_members(a, v);
    return f;
}

static const struct json_member *find_sorted(const struct finder *f, str name)
{
    uint32_t from = 0, to = f->n;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int c = str_cmp(name, f->sorted[middle]->name);

        if (c == 0)
            return f->sorted[middle];
        if (c < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

static const struct json_member *find_member(struct finder *f, str name)
{
    if (f->sorted)
        return find_sorted(f, name);
    for (uint32_t k = 0; k < f->n; k++) {
        const struct json_member *m = &f->in->members[f->next++];

        f->next = f->next == f->n ? 0 : f->next;
        if (scan_equal(m->name, name))
            return m;
    }
    return NULL;
}

static struct json merge_member(struct arena *a, struct typed_place p, const struct json *live,
                                const struct json_member *config)
{
    const struct json *v = &config->value;

    if (!live)
        return *v;
    if (!place_may_cut(live) && !place_may_cut(v))
        return json_equal(live, v) ? *live : *v;
    return merge_at(a, place_member(p, config->name), live, v);
}

static struct json in_order(struct arena *a, struct json_object *o)
{
    struct json v = json_object_value(o);
    const struct json_member **sorted = sorted_members(a, &v);
    struct json_object out = json_object_new(a);

    for (uint32_t i = 0; i < v.n; i++)
        json_add(&out, sorted[i]->name, sorted[i]->value);
    return json_object_value(&out);
}

/* Of what a configuration says most is so already: an object is made at the first difference. */
static struct json merge_members(struct arena *a, struct typed_place p, const struct json *live,
                                 const struct json *config)
{
    struct finder f = finder_of(a, live);
    struct json_object out = json_object_new(a);
    bool changed = false, added = false;

    json_for_each_member (m, config) {
        const struct json_member *was = find_member(&f, m->name);
        struct json v;

        if (was && same_text(&was->value, &m->value)) /* as most are */
            continue;
        v = merge_member(a, p, was ? &was->value : NULL, m);
        if (was && is_same(&was->value, &v))
            continue;
        if (!changed)
            out = json_object_from(a, live);
        changed = true;
        if (was)
            out.members[was - live->members].value = v;
        else
            json_add(&out, m->name, v);
        added = added || !was;
    }
    if (!changed && live)
        return *live;
    return added ? in_order(a, &out) : json_object_value(&out);
}

struct list_merge {
    struct arena *arena;
    struct typed_place item;
    struct items live, config;
    bool *merged;                           /* config items that are in the result */
    const struct merge_item *const *shared; /* config's that live has too, in order */
    size_t nshared, next;
    struct json_array out;
};

static void take_config(struct list_merge *m, const struct merge_item *c)
{
    const struct merge_item *l = items_find(&m->live, c->id.text);

    json_push(&m->out, merge_at(m->arena, m->item, l ? l->value : NULL, c->value));
    m->merged[c->at] = true;
    if (m->next < m->nshared && m->shared[m->next] == c)
        m->next++;
}

/* It is wanted, but others come first. */
static bool is_early(const struct list_merge *m, const struct merge_item *live,
                     const struct merge_item *config)
{
    return !str_eq(live->id.text, config->id.text) && m->next < m->nshared &&
           !str_eq(m->shared[m->next]->id.text, live->id.text);
}

/*
 * The applied order holds among what was applied, the live order among the rest; what stood before
 * an applied item stays before it.
 */
static void merge_items(struct list_merge *m)
{
    size_t i = 0, j = 0;

    while (i < m->live.n || j < m->config.n) {
        const struct merge_item *l = i < m->live.n ? &m->live.list[i] : NULL;
        const struct merge_item *c = j < m->config.n ? &m->config.list[j] : NULL;
        const struct merge_item *wanted = l ? items_find(&m->config, l->id.text) : NULL;

        if (l && !wanted) {
            json_push(&m->out, *l->value);
            i++;
        } else if (l && (!c || m->merged[wanted->at] || is_early(m, l, c))) {
            i++;
        } else if (c) { /* as there is one of both */
            i += l && str_eq(l->id.text, c->id.text);
            take_config(m, c);
            j++;
        }
    }
}

static bool is_unchanged(const struct json *live, const struct json_array *now)
{
    if (json_len(live) != now->n)
        return false;
    for (uint32_t i = 0; i < now->n; i++)
        if (!is_same(&live->items[i], &now->items[i]))
            return false;
    return true;
}

/* The usual case: both have the same items in the same order. */
static bool same_keys(const struct list_merge *m)
{
    if (m->live.n != m->config.n)
        return false;
    for (size_t i = 0; i < m->live.n; i++)
        if (!str_eq(m->live.list[i].id.text, m->config.list[i].id.text))
            return false;
    return true;
}

/* Any two lists. */
static void merge_any(struct list_merge *m)
{
    const struct merge_item **shared =
        arena_array(m->arena, const struct merge_item *, m->config.n + 1);

    items_sort(&m->live);
    items_sort(&m->config);
    for (size_t i = 0; i < m->config.n; i++)
        if (items_find(&m->live, m->config.list[i].id.text))
            shared[m->nshared++] = &m->config.list[i];
    m->shared = shared;
    m->merged = arena_array(m->arena, bool, m->config.n + 1);
    merge_items(m);
}

static struct json merge_elements(struct arena *a, struct typed_place p, enum shape shape,
                                  const struct json *live, const struct json *config)
{
    struct list_merge m = { .arena = a,
                            .item = place_item(p),
                            .live = items_of(a, p, shape, live),
                            .config = items_of(a, p, shape, config),
                            .out = json_array_new(a) };

    if (same_keys(&m))
        for (size_t i = 0; i < m.live.n; i++)
            json_push(&m.out, merge_at(a, m.item, m.live.list[i].value, m.config.list[i].value));
    else
        merge_any(&m);
    return is_unchanged(live, &m.out) ? *live : json_array_value(&m.out);
}

/* The same of lists with one key that is a string, before anything is made of it. */
static bool same_names(struct typed_place p, const struct json *live, const struct json *config)
{
    size_t n;
    const str *keys = place_keys(p, &n);

    if (n != 1 || !json_is(live, JSON_ARRAY) || !json_is(config, JSON_ARRAY) ||
        live->n != config->n)
        return false;
    for (size_t i = 0; i < live->n; i++)
        if (!same_text(place_key(&live->items[i], keys[0]), place_key(&config->items[i], keys[0])))
            return false;
    return true;
}

static struct json merge_pairs(struct arena *a, struct typed_place p, const struct json *live,
                               const struct json *config)
{
    struct json out = *live, *items = NULL;

    for (uint32_t i = 0; i < live->n; i++) {
        struct json v = merge_at(a, place_item(p), &live->items[i], &config->items[i]);

        if (is_same(&live->items[i], &v))
            continue;
        if (!items) {
            items = arena_alloc_raw(a, live->n * sizeof(*items));
            memcpy(items, live->items, live->n * sizeof(*items));
            out.items = items;
        }
        items[i] = v;
    }
    return out;
}

static struct json merge_lists(struct arena *a, struct typed_place p, enum shape shape,
                               const struct json *live, const struct json *config)
{
    if (shape == SHAPE_KEYED && same_names(p, live, config))
        return merge_pairs(a, p, live, config);
    if (shape == SHAPE_SET && json_equal(live, config))
        return *live;
    return merge_elements(a, p, shape, live, config);
}

static struct json merge_at(struct arena *a, struct typed_place p, const struct json *live,
                            const struct json *config)
{
    enum shape shape = place_shape(p, live, config);

    if (live && shape == SHAPE_LEAF && json_equal(live, config))
        return *live; /* what did not change is shared, and need not be looked at again */
    if (!live || shape == SHAPE_LEAF || (is_nothing(live) && is_nothing(config)))
        return *config;
    if (is_nothing(config))
        return *live;
    if (shape == SHAPE_MAP)
        return merge_members(a, p, live, config);
    return merge_lists(a, p, shape, live, config);
}

const struct json *typed_merge(struct arena *a, const struct schema *s, const struct json *live,
                               const struct json *config)
{
    return json_box(a, merge_members(a, place_root(s), live, config));
}

/* ---- pruning ---- */

static struct json prune_below(struct arena *a, struct typed_place p, const struct json *v,
                               const struct fieldset *last, const struct fieldset *kept);

/* False when the element goes. */
static bool prune_element(struct arena *a, struct typed_place p, const struct fieldset_node *id,
                          const struct json *v, const struct fieldset *last,
                          const struct fieldset *kept, struct json *out)
{
    const struct fieldset_node *l = fieldset_find(last, id->kind, id->text);
    const struct fieldset_node *k = fieldset_find(kept, id->kind, id->text);
    static const struct fieldset none;

    *out = *v;
    if (!l)
        return true;
    /* A declared field is owned by whoever owns something in it. */
    if ((l->member || p.declared) && !(k && (k->member || p.declared)))
        return false;
    *out = prune_below(a, p, v, &l->below, k ? &k->below : &none);
    return true;
}

static struct json prune_items(struct arena *a, struct typed_place p, enum shape shape,
                               const struct json *v, const struct fieldset *last,
                               const struct fieldset *kept)
{
    struct json_array out = json_array_new(a);

    json_for_each (item, v) {
        struct fieldset_node id;
        struct json left = *item;

        if (place_element(a, p, shape, item, &id) ||
            prune_element(a, place_item(p), &id, item, last, kept, &left))
            json_push(&out, left);
    }
    return out.n ? json_array_value(&out) : json_null;
}

static struct json prune_below(struct arena *a, struct typed_place p, const struct json *v,
                               const struct fieldset *last, const struct fieldset *kept)
{
    enum shape shape = place_shape(p, v, NULL);
    struct json_object out;

    if (shape == SHAPE_LEAF || fieldset_empty(last) || is_nothing(v))
        return *v;
    if (shape != SHAPE_MAP)
        return prune_items(a, p, shape, v, last, kept);
    out = json_object_new(a);
    json_for_each_member (m, v) {
        struct fieldset_node id = { .kind = PATH_NAME, .text = m->name };
        struct json left;

        if (prune_element(a, place_member(p, m->name), &id, &m->value, last, kept, &left))
            json_add(&out, m->name, left);
    }
    return out.n ? json_object_value(&out) : json_null;
}

const struct json *typed_prune(struct arena *a, const struct schema *s, const struct json *v,
                               const struct fieldset *last, const struct fieldset *kept)
{
    struct json out = prune_below(a, place_root(s), v, last, kept);

    return json_box(a, out.type == JSON_NULL ? json_empty_object : out);
}
