/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/lookup.h"

#include "base/banned.h"
#include "rest/rows.h"

struct each {
    struct arena *arena;
    const struct kind *kind;
    lookup_known_fn *known; /* may be NULL */
    lookup_fn *fn;
    void *arg;
    struct status *st;
    bool failed;
};

static int get(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
               str at, bool managed, const struct json **out, struct status *st)
{
    struct row row;
    int found = rows_get(r, a, i, k, at, 0, &row, st);

    if (found <= 0)
        return found;
    if (!managed)
        row.obj.managed = STR_NONE;
    return row_tree(a, k, &row, STR_NONE, out, st) < 0 ? -1 : 1;
}

int lookup_get(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
               str namespace_, str name, const struct json **out, struct status *st)
{
    return get(r, a, i, k, row_name(a, k, namespace_, name), true, out, st);
}

int lookup_plain(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
                 str namespace_, str name, const struct json **out, struct status *st)
{
    return get(r, a, i, k, row_name(a, k, namespace_, name), false, out, st);
}

/* The row is valid during the call only, its tree for as long as the arena. */
static bool give(void *arg, const struct row *row)
{
    struct each *e = arg;
    struct row kept = *row;
    const struct json *tree;

    if (e->known && e->known(e->arg, row->name, row->stored_rev))
        return true;
    kept.obj.text = str_dup(e->arena, row->obj.text);
    kept.uid = str_dup(e->arena, row->uid);
    kept.created = str_dup(e->arena, row->created);
    if (row_tree(e->arena, e->kind, &kept, STR_NONE, &tree, e->st) < 0) {
        e->failed = true;
        return false;
    }
    return e->fn(e->arg, tree);
}

int lookup_unknown(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
                   lookup_known_fn *known, lookup_fn *fn, void *arg, struct status *st)
{
    struct each e = { .arena = a, .kind = k, .known = known, .fn = fn, .arg = arg, .st = st };
    struct rows_range range = { .instance = i, .kind = k };

    return rows_scan(r, &range, give, &e, st) < 0 || e.failed ? -1 : 0;
}

int lookup_each(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
                str namespace_, lookup_fn *fn, void *arg, struct status *st)
{
    struct each e = { .arena = a, .kind = k, .fn = fn, .arg = arg, .st = st };
    struct rows_range range = { .instance = i, .kind = k };

    if (namespace_.n)
        range.prefix = str_printf(a, "%.*s/", STR_ARG(namespace_));
    if (rows_scan(r, &range, give, &e, st) < 0 || e.failed)
        return -1;
    return 0;
}
