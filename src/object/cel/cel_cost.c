/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a call costs when it is made.
 *
 * k8s: apiserver/pkg/cel/library/cost.go; cel-go: interpreter/runtimecost.go, ext/lists.go, sets.go
 */

#include "object/cel/cel_internal.h"

#include "base/banned.h"
#include "object/cel/cel_net.h"

uint64_t cel_mul(uint64_t a, uint64_t b)
{
    uint64_t out;

    return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

uint64_t cel_add(uint64_t a, uint64_t b)
{
    uint64_t out;

    return __builtin_add_overflow(a, b, &out) ? UINT64_MAX : out;
}

enum {
    AUTHORIZER_COST = 350000,
    LIST_COST = 10,
    SELECTOR_COST = 50, /* of a requirement: a list and a struct */
};

static uint64_t rounded_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

/* k8s: actualSize; of text in code points, of addresses in bytes */
static uint64_t size_of(const struct cel_value *v)
{
    const struct cel_ip *ip = v->thing;

    switch ((int)v->kind) {
    case CEL_STRING:
        return (uint64_t)cel_code_points(v->s);
    case CEL_OPTIONAL:
        return v->values ? size_of(v->values) : 1;
    case CEL_IP:
        return ip->v4 ? 4 : 16;
    case CEL_CIDR:
        return rounded_up(ip->bits, 8);
    default:
        return cel_size(v);
    }
}

/* k8s: traversalCost, which rounds down */
static uint64_t walk(struct cel_run *r, const struct cel_value *v)
{
    uint64_t cost = 0;

    if (v->kind == CEL_STRING || v->kind == CEL_BYTES)
        return v->s.n / 10;
    if (v->kind != CEL_LIST && v->kind != CEL_MAP && v->kind != CEL_OBJECT)
        return 1;
    for (size_t i = 0; i < v->n && cel_work(r, 1); i++) {
        struct cel_value item = v->kind == CEL_LIST ? cel_item(r, v, i) : cel_entry(r, v, i);
        struct cel_value key = v->kind == CEL_LIST ? item : cel_key(v, i);

        cost += walk(r, &item) + (v->kind == CEL_LIST ? 0 : walk(r, &key));
    }
    return cost;
}

uint64_t cel_sort_cost(const struct cel_value *first, uint64_t n)
{
    bool text = n && (first->kind == CEL_STRING || first->kind == CEL_BYTES);
    uint64_t pairs = cel_mul(n, n);

    return cel_add(cel_add(cel_mul(pairs, 2), text ? pairs / 10 : 0), 1 + LIST_COST);
}

static uint64_t list_cost(struct cel_run *r, const struct cel_value *list)
{
    struct cel_value first = list->n ? cel_item(r, list, 0) : *list;

    return cel_sort_cost(&first, list->n);
}

static bool knows_items(const struct cel_type *t)
{
    return t->kind == CEL_LIST && t->item->kind != CEL_DYN && t->item->kind != CEL_PARAM;
}

/* k8s: containsIP, containsCIDR; text must be read first */
static uint64_t range_cost(char cost, uint64_t size, const struct cel_value *other, bool known)
{
    uint64_t out = rounded_up(2 * size, 10);

    if (cost == 'C')
        out += cel_tenth(size) + 1;
    return out + (known && other->kind == CEL_STRING ? cel_tenth(size_of(other)) : 0);
}

static uint64_t selector_cost(uint64_t size)
{
    return LIST_COST + cel_tenth(size) + rounded_up(size, 2) * SELECTOR_COST;
}

/* A list of constants is a set to cel-go, when these can be keys. */
static bool is_set(const struct cel_node *n)
{
    if (!cel_is_constant(n))
        return false;
    for (size_t i = 0; i < n->value.n; i++)
        if (n->value.values[i].kind > CEL_STRING)
            return false;
    return true;
}

/* Those whose cost depends on the overload, which is known. */
static uint64_t known_cost(const struct cel_node *n, char cost, const struct cel_value *v)
{
    uint64_t a = size_of(&v[0]), b = n->nargs > 1 ? size_of(&v[1]) : 1;

    switch (cost) {
    case 'S':
        return cel_tenth(a);
    case '+':
        return cel_tenth(cel_add(a, b));
    case '=':
        if (v[0].kind >= CEL_QUANTITY && str_is(n->name, "_==_"))
            return 1;
        return cel_tenth(a < b ? a : b);
    default:
        return is_set(n->args[1]) ? 0 : b;
    }
}

static uint64_t flatten_cost(const struct cel_node *n, const struct cel_value *v)
{
    uint64_t depth = n->nargs > 1 && v[1].kind == CEL_INT ? (v[1].i < 0 ? 0 : (uint64_t)v[1].i) : 1;

    return cel_add(cel_mul(depth, size_of(&v[0])), 1 + LIST_COST);
}

uint64_t cel_call_cost(struct cel_run *r, const struct cel_node *n, const struct cel_function *f,
                       const struct cel_value *v, const struct cel_value *out)
{
    switch (f->cost) {
    case '0':
        return 0;
    case 's':
        return cel_tenth(size_of(&v[0]));
    case '2':
        return rounded_up(2 * size_of(&v[0]), 10);
    case 'j':
        return rounded_up(2 * size_of(out), 10);
    case 'x':
        return cel_mul(cel_tenth(size_of(&v[0])), cel_tenth(size_of(&v[1])));
    case 'r':
        return cel_mul(cel_tenth(1 + size_of(&v[0])), rounded_up(size_of(&v[1]), 4));
    case 'v':
        return cel_mul(cel_tenth(1 + size_of(&v[1])), cel_format_cost(&v[0]));
    case 't':
        return walk(r, &v[0]);
    case 'o':
        return cel_add(size_of(out), 1 + LIST_COST);
    case 'f':
        return flatten_cost(n, v);
    case 'U':
        if (!knows_items(n->args[0]->type))
            return 1;
        return list_cost(r, &v[0]);
    case 'u':
        return list_cost(r, &v[0]);
    case 'q':
    case 'Q':
        return cel_add(1, cel_mul(f->cost == 'Q' ? 2 : 1, cel_mul(size_of(&v[0]), size_of(&v[1]))));
    case 'l':
        return selector_cost(size_of(&v[1]));
    case 'c':
    case 'C':
        return range_cost(f->cost, size_of(&v[0]), &v[1], n->fn != NULL);
    case 'a':
        return AUTHORIZER_COST;
    default:
        return n->fn ? known_cost(n, f->cost, v) : 1;
    }
}
