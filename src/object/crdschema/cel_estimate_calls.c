/* SPDX-License-Identifier: Apache-2.0 */

/* k8s: apiserver/pkg/cel/library/cost.go, cel-go checker/cost.go functionCost, ext/lists.go */

#include "object/crdschema/cel_estimate_internal.h"

#include "base/banned.h"

enum {
    AUTHORIZER_COST = 350000,
    LIST_COST = 10,
    FORMAT_MAX = 64,
    FORMAT_REGEX = 32, /* what a pattern of a format is counted for */
};

#define TRAVERSAL 0.1
#define REGEX     0.25

struct estimated_call {
    const struct cel_type *root;
    const struct cel_node *node;
    const struct cel_guess *args;
    struct cel_span cost; /* to be set: of this overload alone */
    bool sized;           /* to be set, with the size of the result */
    struct cel_span size;
};

typedef void (*coster)(struct estimated_call *c);

static struct cel_span arg_size(const struct estimated_call *c, size_t i)
{
    return cel_size_of(&c->args[i]);
}

static void result(struct estimated_call *c, struct cel_span size)
{
    c->sized = true;
    c->size = size;
}

static void cost_check(struct estimated_call *c)
{
    c->cost = cel_span_of(AUTHORIZER_COST);
}

/* The whole of the first argument is read. */
static void cost_read(struct estimated_call *c)
{
    c->cost = cel_span_times(arg_size(c, 0), TRAVERSAL);
}

static void cost_read_twice(struct estimated_call *c)
{
    c->cost = cel_span_times(arg_size(c, 0), 2 * TRAVERSAL);
}

static void cost_same(struct estimated_call *c)
{
    cost_read(c);
    result(c, arg_size(c, 0));
}

static void cost_items(struct estimated_call *c)
{
    const struct cel_type *list = c->node->args[0]->type;
    struct cel_span each = cel_span_of(1);

    if (list->kind != CEL_LIST) {
        cost_read(c);
        return;
    }
    if (list->item->kind == CEL_STRING || list->item->kind == CEL_BYTES)
        each = cel_span_add(each, cel_span_times(cel_items_size(c->root, &c->args[0]), TRAVERSAL));
    c->cost = cel_span_mul(arg_size(c, 0), each);
}

static uint64_t quotient(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static void cost_replace(struct estimated_call *c)
{
    struct cel_span s = arg_size(c, 0), from = arg_size(c, 1), to = arg_size(c, 2);
    struct cel_span count = { 0 }, kept = { 0 };

    if (from.min == 0) {
        count.max = cel_add(s.max, 1);
        kept.max = s.max;
    } else if (to.max <= from.min) {
        kept.max = s.max;
    } else {
        count.max = quotient(s.max, from.min);
    }
    if (from.max == 0) {
        count.min = cel_add(s.min, 1);
        kept.min = s.min;
    } else if (from.max <= to.min) {
        kept.min = s.min;
    } else {
        count.min = quotient(s.min, from.max);
    }
    cost_read_twice(c);
    result(c, cel_span_add(cel_span_mul(count, to), kept));
}

static const struct cel_value *int_of(const struct cel_node *n)
{
    return n->op == CEL_OP_CONST && n->value.kind == CEL_INT ? &n->value : NULL;
}

static void cost_split(struct estimated_call *c)
{
    const struct cel_value *limit = c->node->nargs > 2 ? int_of(c->node->args[2]) : NULL;

    cost_read_twice(c);
    result(c, (struct cel_span){ 0, limit ? (uint64_t)limit->i : arg_size(c, 0).max });
}

static void cost_join(struct estimated_call *c)
{
    struct cel_span n = arg_size(c, 0), size = cel_span_mul(n, cel_items_size(c->root, c->args));
    struct cel_span between = { n.min ? n.min - 1 : 0, n.max ? n.max - 1 : 0 };

    if (c->node->nargs > 1)
        size = cel_span_add(size, cel_span_mul(arg_size(c, 1), between));
    c->cost = cel_span_times(size, TRAVERSAL);
    result(c, size);
}

static void cost_matches(struct estimated_call *c)
{
    struct cel_span text = cel_span_add(arg_size(c, 0), cel_span_of(1));

    c->cost = cel_span_mul(cel_span_times(text, TRAVERSAL), cel_span_times(arg_size(c, 1), REGEX));
}

static void cost_find(struct estimated_call *c)
{
    cost_matches(c);
    result(c, (struct cel_span){ 0, arg_size(c, 0).max });
}

static void cost_contains(struct estimated_call *c)
{
    c->cost = cel_span_mul(cel_span_times(arg_size(c, 0), TRAVERSAL),
                           cel_span_times(arg_size(c, 1), TRAVERSAL));
}

static void cost_starts(struct estimated_call *c)
{
    c->cost = cel_span_times(arg_size(c, 1), TRAVERSAL);
}

static void cost_validate(struct estimated_call *c)
{
    c->cost = cel_span_times(cel_span_times(arg_size(c, 1), TRAVERSAL), FORMAT_REGEX);
}

/* Addresses are 4 to 16 bytes; one that is a string is read. */
static void add_address(struct estimated_call *c)
{
    if (c->node->args[1]->type->kind == CEL_STRING)
        c->cost = cel_span_add(c->cost, cel_span_times(arg_size(c, 1), TRAVERSAL));
}

static void cost_contains_ip(struct estimated_call *c)
{
    c->cost = (struct cel_span){ 1, 4 };
    add_address(c);
}

static void cost_contains_cidr(struct estimated_call *c)
{
    c->cost = (struct cel_span){ 3, 7 };
    add_address(c);
}

static void cost_to_bytes(struct estimated_call *c)
{
    struct cel_span s = arg_size(c, 0);

    cost_read(c);
    result(c, (struct cel_span){ s.min, s.max * 4 });
}

static void cost_from_bytes(struct estimated_call *c)
{
    struct cel_span s = arg_size(c, 0);

    cost_read(c);
    result(c, (struct cel_span){ s.min / 4, s.max });
}

static void cost_quote(struct estimated_call *c)
{
    struct cel_span s = arg_size(c, 0);

    cost_read(c);
    result(c, (struct cel_span){ s.min + 2, s.max * 2 + 2 });
}

static void cost_concat(struct estimated_call *c)
{
    struct cel_span size = cel_span_add(arg_size(c, 0), arg_size(c, 1));

    c->cost = cel_span_times(size, TRAVERSAL);
    result(c, size);
}

static void cost_append(struct estimated_call *c)
{
    c->cost = cel_span_of(1);
    result(c, cel_span_add(arg_size(c, 0), arg_size(c, 1)));
}

static void cost_in(struct estimated_call *c)
{
    c->cost = arg_size(c, 1);
}

static void cost_compare(struct estimated_call *c)
{
    uint64_t a = arg_size(c, 0).max, b = arg_size(c, 1).max, most = a < b ? a : b;

    c->cost = cel_span_times((struct cel_span){ most != 0, most }, TRAVERSAL);
}

static void cost_equals(struct estimated_call *c)
{
    const struct cel_type *a = c->node->args[0]->type, *b = c->node->args[1]->type;

    cost_compare(c);
    if (a->kind != b->kind)
        return;
    switch ((int)a->kind) {
    case CEL_IP:
    case CEL_CIDR:
    case CEL_QUANTITY:
    case CEL_AUTHORIZER:
    case CEL_PATH_CHECK:
    case CEL_GROUP_CHECK:
    case CEL_RESOURCE_CHECK:
    case CEL_DECISION:
    case CEL_SEMVER:
        c->cost = cel_span_of(1);
        break;
    case CEL_FORMAT:
        c->cost = cel_span_times((struct cel_span){ 1, FORMAT_MAX }, TRAVERSAL);
        break;
    case CEL_URL:
        c->cost = (struct cel_span){ 1, c->args[1].sized ? c->args[1].size.max : 1 };
        c->cost = cel_span_times(c->cost, TRAVERSAL);
        break;
    default:
        break;
    }
}

/* ---- lists ---- */

static void make_list(struct estimated_call *c, double factor, struct cel_span size)
{
    c->cost = cel_span_add(cel_span_times(size, factor), cel_span_of(LIST_COST + 1));
    result(c, size);
}

static uint64_t number(const struct cel_node *n, uint64_t otherwise)
{
    const struct cel_value *v = int_of(n);

    return !v ? otherwise : v->i < 0 ? 0 : (uint64_t)v->i;
}

static void cost_slice(struct estimated_call *c)
{
    uint64_t from = number(c->node->args[1], 0);

    make_list(c, 1, cel_span_of(number(c->node->args[2], arg_size(c, 0).max) - from));
}

static void cost_range(struct estimated_call *c)
{
    make_list(c, 1, cel_span_of(number(c->node->args[0], UINT64_MAX)));
}

static void cost_reverse(struct estimated_call *c)
{
    make_list(c, 1, arg_size(c, 0));
}

static void cost_flatten(struct estimated_call *c)
{
    uint64_t depth = c->node->nargs > 1 ? number(c->node->args[1], UINT64_MAX) : 1;

    make_list(c, (double)depth, arg_size(c, 0));
}

static void cost_distinct(struct estimated_call *c)
{
    make_list(c, 2, cel_span_mul(arg_size(c, 0), arg_size(c, 0)));
}

static void sort_list(struct estimated_call *c, const struct cel_type *item, struct cel_span size)
{
    bool text = item->kind == CEL_STRING || item->kind == CEL_BYTES || item->kind == CEL_DYN;

    make_list(c, text ? 2 + TRAVERSAL : 2, cel_span_mul(size, size));
}

static void cost_sort(struct estimated_call *c)
{
    const struct cel_type *list = c->node->args[0]->type;

    sort_list(c, list->item ? list->item : &cel_types[CEL_DYN], arg_size(c, 0));
}

static void cost_sets(struct estimated_call *c)
{
    double factor = str_is(c->node->name, "sets.equivalent") ? 2 : 1;

    c->cost = cel_span_times(cel_span_mul(arg_size(c, 0), arg_size(c, 1)), factor);
    c->cost = cel_span_add(c->cost, cel_span_of(1));
}

/* ---- all ---- */

static const struct {
    const char *name, *sig; /* NULL: each of that name */
    coster cost;
} costs[] = {
    { "_==_", NULL, cost_equals },
    { "_!=_", NULL, cost_compare },
    { "@in", "ALA:b", cost_in },
    { "_+_", "ss:s", cost_concat },
    { "_+_", "yy:y", cost_concat },
    { "_+_", "LALA:LA", cost_append },
    { "check", NULL, cost_check },
    { "isSorted", NULL, cost_items },
    { "sum", NULL, cost_items },
    { "max", NULL, cost_items },
    { "min", NULL, cost_items },
    { "indexOf", NULL, cost_items },
    { "lastIndexOf", NULL, cost_items },
    { "url", NULL, cost_same },
    { "lowerAscii", NULL, cost_same },
    { "upperAscii", NULL, cost_same },
    { "substring", NULL, cost_same },
    { "trim", NULL, cost_same },
    { "replace", NULL, cost_replace },
    { "split", NULL, cost_split },
    { "join", NULL, cost_join },
    { "find", NULL, cost_find },
    { "findAll", NULL, cost_find },
    { "cidr", NULL, cost_read },
    { "isIP", NULL, cost_read },
    { "isCIDR", NULL, cost_read },
    { "ip", "s:I", cost_read },
    { "ip.isCanonical", NULL, cost_read_twice },
    { "containsIP", NULL, cost_contains_ip },
    { "containsCIDR", NULL, cost_contains_cidr },
    { "quantity", NULL, cost_read },
    { "isQuantity", NULL, cost_read },
    { "semver", NULL, cost_read },
    { "isSemver", NULL, cost_read },
    { "validate", NULL, cost_validate },
    { "format", NULL, cost_read },
    { "bytes", "s:y", cost_to_bytes },
    { "string", "y:s", cost_from_bytes },
    { "strings.quote", NULL, cost_quote },
    { "startsWith", NULL, cost_starts },
    { "endsWith", NULL, cost_starts },
    { "matches", "s.s:b", cost_matches },
    { "contains", NULL, cost_contains },
    { "slice", NULL, cost_slice },
    { "lists.range", NULL, cost_range },
    { "reverse", NULL, cost_reverse },
    { "flatten", NULL, cost_flatten },
    { "distinct", NULL, cost_distinct },
    { "sort", NULL, cost_sort },
    { "sets.contains", NULL, cost_sets },
    { "sets.intersects", NULL, cost_sets },
    { "sets.equivalent", NULL, cost_sets },
};

static void cost_overload(struct estimated_call *c, const struct cel_function *f)
{
    c->cost = cel_span_of(1);
    c->sized = false;
    for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++)
        if (strcmp(costs[i].name, f->name) == 0 &&
            (!costs[i].sig || strcmp(costs[i].sig, f->sig) == 0)) {
            costs[i].cost(c);
            return;
        }
    if (f->cost == '=') /* the order of strings and bytes */
        cost_compare(c);
}

/* An overload that the call may be, as the types tell. */
static bool may_be(struct arena *a, const struct cel_node *n, const struct cel_function *f)
{
    struct cel_binding bind = { 0 };
    const char *sig = f->sig;

    if (!cel_sig_fits(f, n->receiver, n->nargs))
        return false;
    for (size_t i = 0; i < n->nargs; i++)
        if (!cel_sig_takes(a, &sig, n->args[i]->type, &bind))
            return false;
    return true;
}

/* Lists that are joined hold what both hold; dyn() changes nothing. */
static void pass_entries(struct cel_guess *g, const struct cel_node *n,
                         const struct cel_guess *args)
{
    bool dyn = str_is(n->name, "dyn");
    const struct cel_guess *other = dyn ? args : args + 1;

    if (dyn) {
        g->sized = args->sized;
        g->size = args->size;
    }
    if ((!dyn && !str_is(n->name, "_+_")) || !args->entered || !other->entered)
        return;
    g->entered = true;
    g->of_map = args->of_map;
    g->key = cel_span_union(args->key, other->key);
    g->val = cel_span_union(args->val, other->val);
}

struct cel_guess cel_guess_call(struct arena *a, const struct cel_type *root,
                                const struct cel_node *n, const struct cel_guess *args)
{
    struct estimated_call c = { .root = root, .node = n, .args = args };
    struct cel_guess g = { .cost = { UINT64_MAX, 0 } };

    for (const struct cel_function *f = n->fn ? n->fn : n->overloads;
         f->name && str_is(n->name, f->name); f++) {
        if (!n->fn && !may_be(a, n, f))
            continue;
        cost_overload(&c, f);
        g.cost = cel_span_union(g.cost, c.cost);
        if (c.sized) {
            g.size = g.sized ? cel_span_union(g.size, c.size) : c.size;
            g.sized = true;
        }
        if (n->fn)
            break;
    }
    for (size_t i = 0; i < n->nargs; i++)
        g.cost = cel_span_add(g.cost, args[i].cost);
    pass_entries(&g, n, args);
    return g;
}

struct cel_guess cel_guess_sort(const struct cel_type *item, const struct cel_guess *keys)
{
    struct estimated_call c = { 0 };

    sort_list(&c, item, cel_size_of(keys));
    return (struct cel_guess){ .cost = cel_span_add(c.cost, keys->cost),
                               .sized = true,
                               .size = c.size };
}
