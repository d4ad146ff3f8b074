/* SPDX-License-Identifier: Apache-2.0 */

/* Lists, sets and optional values. */

#include "object/cel/cel_functions.h"

#include <stdlib.h>

#include "base/banned.h"

static struct cel_value *copy(struct cel_run *r, const struct cel_value *list)
{
    struct cel_value *out;

    /* The memory of a copy. */
    if (!cel_work(r, 8 * (uint64_t)list->n))
        return NULL;
    out = arena_alloc_raw(r->arena, (list->n + 1) * sizeof(*out));
    for (size_t i = 0; i < list->n; i++)
        out[i] = cel_item(r, list, i);
    return out;
}

CEL_FN(list_index)
{
    for (size_t i = 0; i < v[0].n; i++) {
        struct cel_value item = cel_item(r, &v[0], i);

        if (cel_equal(r, &item, &v[1]))
            return cel_int((int64_t)i);
    }
    return cel_int(-1);
}

CEL_FN(list_last_index)
{
    for (size_t i = v[0].n; i > 0; i--) {
        struct cel_value item = cel_item(r, &v[0], i - 1);

        if (cel_equal(r, &item, &v[1]))
            return cel_int((int64_t)i - 1);
    }
    return cel_int(-1);
}

CEL_FN(is_sorted)
{
    for (size_t i = 1; i < v[0].n; i++) {
        struct cel_value a = cel_item(r, &v[0], i - 1), b = cel_item(r, &v[0], i);
        int order = cel_order(&a, &b);

        if (order == CEL_UNORDERED)
            return cel_no_overload(r);
        if (order > 0)
            return cel_bool(false);
    }
    return cel_bool(true);
}

static struct cel_value plus(struct cel_run *r, const struct cel_value *a,
                             const struct cel_value *b)
{
    struct cel_value both[] = { *a, *b };

    if (a->kind != b->kind)
        return cel_no_overload(r);
    switch ((int)a->kind) {
    case CEL_INT:
        return cel_fn_add_int(r, both);
    case CEL_UINT:
        return cel_fn_add_uint(r, both);
    case CEL_DOUBLE:
        return cel_fn_add_double(r, both);
    case CEL_DURATION:
        return cel_fn_add_duration(r, both);
    default:
        return cel_no_overload(r);
    }
}

/* The zero of an empty list is that of its static type. */
CEL_FN(sum)
{
    const struct cel_type *t = r->node->type;
    struct cel_value out = { .kind = t->kind };

    if (v[0].n == 0)
        return t->kind == CEL_DYN || t->kind == CEL_PARAM ? cel_int(0) : out;
    out = cel_item(r, &v[0], 0);
    for (size_t i = 1; i < v[0].n && out.kind != CEL_ERROR; i++) {
        struct cel_value item = cel_item(r, &v[0], i);

        out = plus(r, &out, &item);
    }
    return out;
}

static struct cel_value extreme(struct cel_run *r, const struct cel_value *list, int sign,
                                const char *name)
{
    struct cel_value best;

    if (list->n == 0)
        return cel_error(r, "%s called on empty list", name);
    best = cel_item(r, list, 0);
    for (size_t i = 1; i < list->n; i++) {
        struct cel_value item = cel_item(r, list, i);
        int order = cel_order(&item, &best);

        if (order == CEL_UNORDERED)
            return cel_no_overload(r);
        if (order == sign)
            best = item;
    }
    return best;
}

CEL_FN(list_min)
{
    return extreme(r, &v[0], -1, "min");
}

CEL_FN(list_max)
{
    return extreme(r, &v[0], 1, "max");
}

CEL_FN(reverse_list)
{
    struct cel_value *out = copy(r, &v[0]);

    if (!out)
        return cel_no_overload(r);
    for (size_t i = 0; i < v[0].n / 2; i++) {
        struct cel_value t = out[i];

        out[i] = out[v[0].n - 1 - i];
        out[v[0].n - 1 - i] = t;
    }
    return cel_list(out, v[0].n);
}

CEL_FN(distinct)
{
    struct cel_value *out = copy(r, &v[0]);
    size_t n = 0;

    if (!out)
        return cel_no_overload(r);
    for (size_t i = 0; i < v[0].n; i++) {
        size_t k = 0;

        while (k < n && !cel_equal(r, &out[k], &out[i]))
            k++;
        if (r->steps > CEL_STEPS_MAX)
            break;
        if (k == n)
            out[n++] = out[i];
    }
    return cel_list(out, n);
}

/* Everything below a list up to `depth` lists deep: first counted, then copied. */
static bool flat(struct cel_run *r, const struct cel_value *list, int64_t depth, unsigned nesting,
                 struct cel_value *out, size_t *n)
{
    for (size_t i = 0; i < list->n; i++) {
        struct cel_value item = cel_item(r, list, i);

        if (!cel_work(r, 8))
            return false;
        if (item.kind == CEL_LIST && depth > 0 && nesting < CEL_DEPTH_MAX) {
            if (!flat(r, &item, depth - 1, nesting + 1, out, n))
                return false;
            continue;
        }
        if (out)
            out[*n] = item;
        ++*n;
    }
    return true;
}

CEL_FN(flatten)
{
    int64_t depth = r->node->nargs == 2 ? v[1].i : 1;
    struct cel_value *out;
    size_t n = 0;

    if (depth < 0)
        return cel_error(r, "level must be non-negative");
    if (!flat(r, &v[0], depth, 0, NULL, &n))
        return cel_no_overload(r);
    out = arena_alloc_raw(r->arena, (n + 1) * sizeof(*out));
    n = 0;
    if (!flat(r, &v[0], depth, 0, out, &n))
        return cel_no_overload(r);
    return cel_list(out, n);
}

CEL_FN(slice)
{
    struct cel_value *all;
    int64_t from = v[1].i, to = v[2].i;

    if (from < 0 || to < 0)
        return cel_error(r, "cannot slice(%lld, %lld), negative indexes not supported",
                         (long long)from, (long long)to);
    if (from > to)
        return cel_error(r,
                         "cannot slice(%lld, %lld), start index must be less than or equal to "
                         "end index",
                         (long long)from, (long long)to);
    if (to > v[0].n)
        return cel_error(r, "cannot slice(%lld, %lld), list is length %u", (long long)from,
                         (long long)to, v[0].n);
    all = copy(r, &v[0]);
    return all ? cel_list(all + from, (size_t)(to - from)) : cel_no_overload(r);
}

static int by_order(const void *a, const void *b)
{
    int order = cel_order(a, b);

    return order == CEL_UNORDERED ? 0 : order;
}

CEL_FN(sort)
{
    struct cel_value *out = copy(r, &v[0]);

    if (!out)
        return cel_no_overload(r);
    for (size_t i = 0; i < v[0].n; i++)
        if (out[i].kind != out[0].kind || cel_order(&out[i], &out[i]) != 0)
            return cel_error(r, "list elements must be comparable");
    if (v[0].n)
        qsort(out, v[0].n, sizeof(*out), by_order);
    return cel_list(out, v[0].n);
}

CEL_FN(first)
{
    struct cel_value item;

    if (v[0].n == 0)
        return cel_optional(r->arena, NULL);
    item = cel_item(r, &v[0], 0);
    return cel_optional(r->arena, &item);
}

CEL_FN(last)
{
    struct cel_value item;

    if (v[0].n == 0)
        return cel_optional(r->arena, NULL);
    item = cel_item(r, &v[0], v[0].n - 1);
    return cel_optional(r->arena, &item);
}

CEL_FN(range)
{
    struct cel_value *out;

    if (v[0].i < 0 || v[0].i > 1000000 || !cel_work(r, 8 * (uint64_t)v[0].i))
        return cel_error(r, "lists.range: %lld is out of range", (long long)v[0].i);
    out = arena_alloc_raw(r->arena, ((size_t)v[0].i + 1) * sizeof(*out));
    for (int64_t i = 0; i < v[0].i; i++)
        out[i] = cel_int(i);
    return cel_list(out, (size_t)v[0].i);
}

/* ---- sets ---- */

static bool is_in(struct cel_run *r, const struct cel_value *list, const struct cel_value *x)
{
    struct cel_value v[] = { *x, *list };

    return cel_fn_in_list(r, v).b;
}

/* How many of b's items are in a; all of them or one is enough. */
static bool holds(struct cel_run *r, const struct cel_value *a, const struct cel_value *b, bool all)
{
    for (size_t i = 0; i < b->n && r->steps <= CEL_STEPS_MAX; i++) {
        struct cel_value item = cel_item(r, b, i);

        if (is_in(r, a, &item) != all)
            return !all;
    }
    return all;
}

CEL_FN(sets_contains)
{
    return cel_bool(holds(r, &v[0], &v[1], true));
}

CEL_FN(sets_equivalent)
{
    return cel_bool(holds(r, &v[0], &v[1], true) && holds(r, &v[1], &v[0], true));
}

CEL_FN(sets_intersects)
{
    return cel_bool(holds(r, &v[0], &v[1], false));
}

/* ---- optional values ---- */

CEL_FN(optional_of_value)
{
    return cel_optional(r->arena, &v[0]);
}

CEL_FN(optional_none)
{
    (void)v;
    return cel_optional(r->arena, NULL);
}

CEL_FN(optional_non_zero)
{
    return cel_optional(r->arena, cel_is_zero(&v[0]) ? NULL : &v[0]);
}

CEL_FN(has_value)
{
    (void)r;
    return cel_bool(v[0].values != NULL);
}

CEL_FN(value)
{
    return v[0].values ? *v[0].values : cel_error(r, "optional.none() dereference");
}

CEL_FN(or_optional)
{
    (void)r;
    return v[0].values ? v[0] : v[1];
}

CEL_FN(or_value)
{
    (void)r;
    return v[0].values ? *v[0].values : v[1];
}
