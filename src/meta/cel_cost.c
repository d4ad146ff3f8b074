/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What an expression may cost at most: the tree is walked with the largest sizes that the limits of
 * the schemas allow.  k8s: cel-go checker/cost.go, apiserver/pkg/cel/common/schemas.go; where
 * cel-go gives up on the size of a made value, it is derived from what it is made of.
 */

#include "meta/cel_parts.h"

#include "base/banned.h"
#include "meta/structural.h"

enum {
    REQUEST_MAX = 3 << 20,
    TIME_MAX = 64,
    KEY_MAX = 253, /* k8s counts none: no schema says how long the keys of a map are */
};

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

/* k8s: apiserver/pkg/cel/library/cost.go */
enum { AUTHORIZER_COST = 350000 };

uint64_t cel_call_cost(char cost, uint64_t s0, uint64_t s1)
{
    switch (cost) {
    case 's':
        return cel_add(1, cel_tenth(s0));
    case 'p':
        return cel_add(1, cel_tenth(s1));
    case 'x':
        return cel_add(1, cel_mul(cel_tenth(s0), cel_tenth(s1)));
    case 'r':
        return cel_add(1, cel_mul(cel_tenth(s0), s1 / 4 + 1));
    case '+':
        return cel_add(1, cel_add(cel_tenth(s0), cel_tenth(s1)));
    case '=':
        return cel_add(1, cel_tenth(s0 < s1 ? s0 : s1));
    case 'i':
        return cel_add(1, s1);
    case 'l':
        return cel_add(1, s0);
    case 'q':
        return cel_add(1, cel_mul(s0, s1));
    case 'a':
        return AUTHORIZER_COST;
    default:
        return 1;
    }
}

/* ---- sizes of schemas ---- */

/* Bytes that a value has in JSON at least. */
static uint64_t min_size(const struct schema *s, unsigned depth)
{
    uint64_t n = 2;

    if (!s || depth > 8)
        return 1;
    switch ((int)s->type) {
    case SCHEMA_BOOL:
        return 4;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
    case SCHEMA_INT_OR_STRING:
    case SCHEMA_ANY:
        return 1;
    case SCHEMA_OBJECT:
        for (size_t i = 0; i < s->nfields; i++)
            if (s->fields[i].required && !s->fields[i].default_value)
                n += s->fields[i].name.n + 4 + min_size(s->fields[i].type, depth + 1);
        return n;
    default:
        return 2;
    }
}

static uint64_t enum_size(const struct json *enums)
{
    uint64_t n = 0;

    json_for_each (e, enums)
        if (json_str(e).n > n)
            n = json_str(e).n;
    return n;
}

static uint64_t string_size(const struct schema *s, enum cel_kind kind)
{
    const struct schema_limits *l = s->rules ? s->rules->limits : NULL;

    if (kind == CEL_DURATION || kind == CEL_TIMESTAMP)
        return TIME_MAX;
    if (l && l->max_length >= 0)
        return cel_mul((uint64_t)l->max_length, kind == CEL_BYTES ? 1 : 4);
    if (s->rules && s->rules->enums)
        return enum_size(s->rules->enums);
    return REQUEST_MAX - 2;
}

/* Items or bytes at most; 1 for what has no size. */
static uint64_t type_size(const struct cel_type *t)
{
    const struct schema *s = t->schema;
    const struct schema_limits *l = s && s->rules ? s->rules->limits : NULL;

    if (!s)
        return t->kind == CEL_DYN || t->kind == CEL_STRING || t->kind == CEL_BYTES ||
                       t->kind == CEL_LIST || t->kind == CEL_MAP
                   ? REQUEST_MAX
                   : 1;
    switch ((int)t->kind) {
    case CEL_LIST:
        if (l && l->max_items >= 0)
            return (uint64_t)l->max_items;
        return (REQUEST_MAX - 2) / (min_size(s->items, 0) + 1);
    case CEL_MAP:
        if (l && l->max_properties >= 0)
            return (uint64_t)l->max_properties;
        return (REQUEST_MAX - 2) / (min_size(s->items, 0) + 6);
    case CEL_OBJECT:
        return s->nfields;
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_DYN:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return string_size(s, t->kind);
    default:
        return 1;
    }
}

/* ---- the walk ---- */

struct guess {
    uint64_t cost, size, item; /* item: size of the items, UINT64_MAX where the type tells */
};

struct estimator {
    struct guess locals[2 * CEL_DEPTH_MAX + 2];
};

static struct guess walk(struct estimator *e, const struct cel_node *n);

static struct guess of_type(const struct cel_type *t)
{
    return (struct guess){ .size = type_size(t), .item = UINT64_MAX };
}

static uint64_t item_size(const struct guess *g, const struct cel_type *t)
{
    if (g->item != UINT64_MAX)
        return g->item;
    return t->item ? type_size(t->item) : REQUEST_MAX;
}

static struct guess walk_constant(const struct cel_node *n)
{
    struct guess g = { .size = cel_size(&n->value), .item = UINT64_MAX };

    if (n->value.kind != CEL_LIST)
        return g;
    g.cost = 10;
    g.item = 1;
    for (size_t i = 0; i < n->value.n; i++)
        if (cel_size(&n->value.values[i]) > g.item)
            g.item = cel_size(&n->value.values[i]);
    return g;
}

static struct guess walk_all(struct estimator *e, const struct cel_node *n)
{
    struct guess out = { .size = 1, .item = 0 };

    for (size_t i = 0; i < n->nargs; i++) {
        struct guess g = walk(e, n->args[i]);

        out.cost = cel_add(out.cost, g.cost);
        if (g.size > out.item)
            out.item = g.size;
    }
    return out;
}

static struct guess walk_if(struct estimator *e, const struct cel_node *n)
{
    struct guess c = walk(e, n->args[0]), a = walk(e, n->args[1]), b = walk(e, n->args[2]);

    if (b.cost > a.cost)
        a.cost = b.cost;
    if (b.size > a.size)
        a.size = b.size;
    if (b.item > a.item)
        a.item = b.item;
    a.cost = cel_add(c.cost, a.cost);
    return a;
}

static struct guess walk_select(struct estimator *e, const struct cel_node *n)
{
    struct guess up = walk(e, n->args[0]), g = of_type(n->type);

    if (n->type->kind == CEL_OPTIONAL && n->type->item)
        g.size = type_size(n->type->item);
    if (n->args[0]->type->kind == CEL_MAP && up.item != UINT64_MAX)
        g.size = up.item;
    g.cost = cel_add(up.cost, n->op != CEL_OP_HAS);
    return g;
}

static struct guess walk_index(struct estimator *e, const struct cel_node *n)
{
    struct guess up = walk(e, n->args[0]), i = walk(e, n->args[1]), g = of_type(n->type);

    g.size = item_size(&up, n->args[0]->type);
    g.cost = cel_add(cel_add(up.cost, i.cost), 1);
    return g;
}

/* The dearest overload it can be; made values are as large as all arguments together. */
static struct guess walk_call(struct estimator *e, const struct cel_node *n)
{
    struct guess args[CEL_ARGS_MAX], out = { .item = UINT64_MAX };
    uint64_t most = 1, sizes = 0;

    for (size_t i = 0; i < n->nargs; i++) {
        args[i] = walk(e, n->args[i]);
        out.cost = cel_add(out.cost, args[i].cost);
        sizes = cel_add(sizes, args[i].size);
    }
    for (const struct cel_function *f = n->fn ? n->fn : n->overloads;
         f->name && str_is(n->name, f->name); f++) {
        uint64_t cost =
            cel_call_cost(f->cost, n->nargs ? args[0].size : 1, n->nargs > 1 ? args[1].size : 1);

        most = cost > most ? cost : most;
        if (n->fn)
            break;
    }
    out.cost = cel_add(out.cost, most);
    out.size = n->type->kind == CEL_BOOL || n->type->kind == CEL_INT ? 1 : sizes ? sizes : 1;
    if (str_is(n->name, "string") && n->nargs && args[0].size == 1)
        out.size = TIME_MAX;
    if (str_is(n->name, "replace"))
        out.size = cel_mul(args[0].size, args[2].size > 1 ? args[2].size : 1);
    if (n->type->kind == CEL_LIST && n->nargs)
        out.item = n->args[0]->type->kind == CEL_LIST ? item_size(&args[0], n->args[0]->type)
                                                      : args[0].size;
    return out;
}

static struct guess walk_loop(struct estimator *e, const struct cel_node *n)
{
    struct guess range = walk(e, n->args[0]), each = { 0 }, last = { 0 }, out;
    const struct cel_type *t = n->args[0]->type;
    uint64_t item = item_size(&range, t), key = t->kind == CEL_MAP ? KEY_MAX : 1;
    bool once = n->loop == CEL_OPT_MAP || n->loop == CEL_OPT_FLAT_MAP;
    uint64_t turns = once ? 1 : range.size;

    e->locals[n->slot] =
        (struct guess){ .size = t->kind == CEL_MAP || n->two ? key : item, .item = UINT64_MAX };
    e->locals[n->slot + 1] = (struct guess){ .size = item, .item = UINT64_MAX };
    for (size_t i = 1; i < n->nargs; i++) {
        last = walk(e, n->args[i]);
        each.cost = cel_add(each.cost, last.cost);
    }
    out.cost = cel_add(cel_add(range.cost, 1), cel_mul(cel_add(each.cost, 1), turns));
    out.size = once ? last.size : n->loop <= CEL_EXISTS_ONE ? 1 : range.size;
    out.item = n->loop == CEL_TO_LIST || n->loop == CEL_TO_MAP ? last.size : item;
    return out;
}

static struct guess walk(struct estimator *e, const struct cel_node *n)
{
    struct guess g = { .size = 1, .item = UINT64_MAX };

    switch (n->op) {
    case CEL_OP_CONST:
        return walk_constant(n);
    case CEL_OP_VAR:
        g = of_type(n->type);
        g.cost = 1;
        return g;
    case CEL_OP_LOCAL:
        g = e->locals[n->slot];
        g.cost = 1;
        return g;
    case CEL_OP_SELECT:
    case CEL_OP_OPT_SELECT:
    case CEL_OP_HAS:
        return walk_select(e, n);
    case CEL_OP_INDEX:
    case CEL_OP_OPT_INDEX:
        return walk_index(e, n);
    case CEL_OP_IF:
        return walk_if(e, n);
    case CEL_OP_AND:
    case CEL_OP_OR:
        return walk_all(e, n);
    case CEL_OP_LIST:
    case CEL_OP_MAP:
        g = walk_all(e, n);
        g.cost = cel_add(g.cost, n->op == CEL_OP_LIST ? 10 : 30);
        g.size = n->nargs;
        return g;
    case CEL_OP_CALL:
        return walk_call(e, n);
    case CEL_OP_LOOP:
        return walk_loop(e, n);
    case CEL_OP_IDENT:
        break;
    }
    return g;
}

uint64_t cel_estimate(const struct cel_program *p)
{
    struct estimator e = { 0 };

    return walk(&e, p->root).cost;
}

uint64_t cel_cardinality(const struct schema *s)
{
    return REQUEST_MAX / (min_size(s, 0) + 1);
}
