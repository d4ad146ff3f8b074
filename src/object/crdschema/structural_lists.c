/* SPDX-License-Identifier: Apache-2.0 */

/* k8s: apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go */

#include "base/banned.h"

#include "base/map.h"
#include "object/crdschema/structural_internal.h"
#include "json/order.h"

enum { FEW = 32 };

struct lists {
    struct arena *arena;
    struct status *st; /* NULL: only counted */
    size_t n;
};

static void walk(struct lists *l, const struct schema *s, const struct json *v,
                 const struct spot *at);

static void tell(struct lists *l, enum cause_type type, const struct spot *at,
                 const struct json *value, const char *what)
{
    l->n++;
    if (l->st)
        status_cause(l->st, type, spot_path(l->arena, at, true), json_text(l->arena, value), "%s",
                     what);
}

/* What of an item must differ: all of it, or its keys. */
static struct json key_of(struct lists *l, const struct schema *s, const struct json *item)
{
    struct json_object o;

    if (s->list_type != SCHEMA_LIST_MAP)
        return *item;
    o = json_object_new(l->arena);
    for (size_t i = 0; i < s->nlist_keys; i++) {
        const struct json *v = json_get(item, s->list_keys[i]);

        if (v)
            json_put(&o, s->list_keys[i], *v);
    }
    return json_object_value(&o);
}

/* Most lists are short, and their items differ in a string already. */
static bool surely_differ(const struct schema *s, const struct json *list)
{
    str texts[FEW];
    bool ascending = true;

    if (list->n > FEW)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct json *v = &list->items[i];

        if (s->list_type == SCHEMA_LIST_MAP)
            v = json_get(v, s->list_keys[0]);
        if (!json_is(v, JSON_STRING))
            return false;
        texts[i] = json_str(v);
        ascending = ascending && (i == 0 || str_cmp(texts[i - 1], texts[i]) < 0);
    }
    for (uint32_t i = 1; !ascending && i < list->n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (str_eq(texts[i], texts[j]))
                return false;
    return true;
}

/* Each value that stands more than once is told where it stands for the second time. */
static void check_unique(struct lists *l, const struct schema *s, const struct json *list,
                         const struct spot *up)
{
    struct spot at = { .up = up, .kind = SPOT_INDEX };
    struct map seen = { 0 };
    static int once, twice;
    scoped_buf text;

    buf_init(&text, SIZE_MAX / 4);
    for (uint32_t i = 0; i < list->n; i++) {
        struct json had = key_of(l, s, &list->items[i]), key = json_by_name(l->arena, &had);
        str k;
        int *times;

        buf_clear(&text);
        json_print_canonical(&text, &key);
        times = map_get(&seen, buf_str(&text));
        if (times == &twice)
            continue;
        at.index = i;
        if (times)
            tell(l, CAUSE_DUPLICATE, &at, &key, "");
        k = str_dup(l->arena, buf_str(&text));
        (void)map_put(&seen, k, times ? &twice : &once);
    }
    map_release(&seen);
}

static bool is_typed(const struct schema *s)
{
    return s->list_type == SCHEMA_LIST_SET ||
           (s->list_type == SCHEMA_LIST_MAP && s->nlist_keys > 0);
}

static void check_list(struct lists *l, const struct schema *s, const struct json *list,
                       const struct spot *up)
{
    struct spot at = { .up = up, .kind = SPOT_INDEX };

    for (uint32_t i = 0; s->list_type == SCHEMA_LIST_MAP && i < list->n; i++) {
        const struct json *item = &list->items[i];

        at.index = i;
        if (item->type == JSON_OBJECT || item->type == JSON_NULL)
            continue;
        tell(l, CAUSE_INVALID, &at, item, "must be an object for an array of list-type map");
        return;
    }
    if (list->n > 1 && is_typed(s) && !surely_differ(s, list))
        check_unique(l, s, list, up);
}

static void walk_members(struct lists *l, const struct schema *s, const struct json *v,
                         const struct spot *up)
{
    struct schema_walk fields = schema_walk(s);
    struct spot at = { .up = up };

    json_for_each_member (m, v) {
        const struct schema_field *f = schema_walk_field(&fields, m->name);
        const struct schema *type = f ? f->type : s->rules->additional;

        at.kind = f ? SPOT_FIELD : SPOT_KEY;
        at.name = m->name;
        if (type)
            walk(l, type, &m->value, &at);
    }
}

static void walk(struct lists *l, const struct schema *s, const struct json *v,
                 const struct spot *up)
{
    struct spot at = { .up = up, .kind = SPOT_INDEX };
    const struct schema *items;

    if (!s->rules || !s->rules->below_lists)
        return;
    items = s->rules->items;
    walk_members(l, s, v, up);
    if (v->type != JSON_ARRAY)
        return;
    check_list(l, s, v, up);
    if (!items || !items->rules || !items->rules->below_lists)
        return;
    for (uint32_t i = 0; i < v->n; i++) {
        at.index = i;
        walk(l, items, &v->items[i], &at);
    }
}

size_t structural_check_lists(struct arena *a, const struct schema *s, const struct json *obj,
                              struct status *st)
{
    struct lists l = { .arena = a, .st = st };

    walk(&l, s, obj, NULL);
    return l.n;
}
