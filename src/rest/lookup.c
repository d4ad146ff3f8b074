/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/lookup.h"

#include "base/banned.h"
#include "rest/rows.h"

struct each {
    struct arena *arena;
    const struct kind *kind;
    lookup_fn *fn;
    void *arg;
    struct status *st;
    bool failed;
};

static int tree_of(struct arena *a, const struct kind *k, const struct row *row,
                   const struct json **out, struct status *st)
{
    struct obj_frame frame = { .type = str_from(k->storage->type_prefix, 1),
                               .rev = row->rev,
                               .uid = row->uid,
                               .created = row->created };

    if (obj_tree(a, &row->obj, &frame, out, st) < 0)
        return -1;
    if (k->ops && k->ops->from_stored)
        *out = k->ops->from_stored(a, *out);
    return 0;
}

int lookup_get(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
               str namespace_, str name, const struct json **out, struct status *st)
{
    struct row row;
    int found = rows_get(r, a, i, k, row_name(a, k, namespace_, name), 0, &row, st);

    if (found <= 0)
        return found;
    return tree_of(a, k, &row, out, st) < 0 ? -1 : 1;
}

/* The row is valid during the call only, its tree for as long as the arena. */
static bool give(void *arg, const struct row *row)
{
    struct each *e = arg;
    struct row kept = *row;
    const struct json *tree;

    kept.obj.text = str_dup(e->arena, row->obj.text);
    kept.uid = str_dup(e->arena, row->uid);
    kept.created = str_dup(e->arena, row->created);
    if (tree_of(e->arena, e->kind, &kept, &tree, e->st) < 0) {
        e->failed = true;
        return false;
    }
    return e->fn(e->arg, tree);
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
