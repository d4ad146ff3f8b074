/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What an expression may cost at most: the tree is walked with the largest sizes that the limits of
 * the schemas allow.  k8s: cel-go checker/cost.go, apiserver/pkg/cel/common/schemas.go.  A rule is
 * taken or refused by this number, so it is cel-go's in everything, its oddities included.
 */

#include "object/crdschema/cel_estimate.h"
#include "object/crdschema/cel_estimate_internal.h"

#include "base/banned.h"
#include "object/crdschema/structural.h"

enum {
    REQUEST_MAX = 3 << 20,
    TIME_MAX = 32,
    DATE_MAX = 12,
    LIST_COST = 10,
    MAP_COST = 30,
};

/* ---- spans ---- */

struct cel_span cel_span_add(struct cel_span a, struct cel_span b)
{
    return (struct cel_span){ cel_add(a.min, b.min), cel_add(a.max, b.max) };
}

struct cel_span cel_span_mul(struct cel_span a, struct cel_span b)
{
    return (struct cel_span){ cel_mul(a.min, b.min), cel_mul(a.max, b.max) };
}

static uint64_t times(uint64_t n, double factor)
{
    double product = (double)n * factor;
    uint64_t down;

    if (product >= 0x1p64)
        return UINT64_MAX;
    down = (uint64_t)product;
    return down + ((double)down < product);
}

struct cel_span cel_span_times(struct cel_span a, double factor)
{
    return (struct cel_span){ times(a.min, factor), times(a.max, factor) };
}

struct cel_span cel_span_union(struct cel_span a, struct cel_span b)
{
    return (struct cel_span){ a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max };
}

struct cel_span cel_size_of(const struct cel_guess *g)
{
    return g->sized ? g->size : (struct cel_span){ 0, UINT64_MAX };
}

/* ---- sizes of schemas ---- */

static str format_of(const struct schema *s)
{
    return s->rules && s->rules->limits ? s->rules->limits->format_text : STR_NONE;
}

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
    case SCHEMA_STRING:
        if (str_is(format_of(s), "duration"))
            return 3;
        if (str_is(format_of(s), "date"))
            return DATE_MAX;
        return str_is(format_of(s), "date-time") ? 21 : 2;
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
        return str_is(format_of(s), "date") ? DATE_MAX : TIME_MAX;
    if (l && l->max_length >= 0)
        return cel_mul((uint64_t)l->max_length, kind == CEL_BYTES ? 1 : 4);
    if (kind == CEL_STRING && s->rules && s->rules->enums)
        return enum_size(s->rules->enums);
    return REQUEST_MAX - 2;
}

/* Items or bytes at most.  Numbers, objects and the keys of maps have none. */
static uint64_t most_of(const struct cel_type *t)
{
    const struct schema *s = t->schema;
    const struct schema_limits *l = s && s->rules ? s->rules->limits : NULL;

    if (!s)
        return 0;
    switch ((int)t->kind) {
    case CEL_LIST:
        if (l && l->max_items >= 0)
            return (uint64_t)l->max_items;
        return (REQUEST_MAX - 2) / (min_size(s->items, 0) + 1);
    case CEL_MAP:
        if (l && l->max_properties >= 0)
            return (uint64_t)l->max_properties;
        return (REQUEST_MAX - 2) / (min_size(s->items, 0) + 6);
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_DYN:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return string_size(s, t->kind);
    default:
        return 0;
    }
}

/* ---- places ---- */

struct estimator {
    const struct cel_program *prog;
    const struct cel_type *root; /* what every place is below */
    struct cel_guess locals[2 * CEL_DEPTH_MAX + 2];
};

enum step { STEP_ITEMS, STEP_KEYS, STEP_NOWHERE };

static const struct cel_type *plain(const struct cel_type *t)
{
    return t->kind == CEL_OPTIONAL && t->item ? t->item : t;
}

/* k8s: the first step of what has no place leads to the root, whatever it is */
static void go(const struct cel_type *root, struct cel_guess *g, const struct cel_guess *from,
               enum step step)
{
    const struct cel_type *at = from->place;

    g->placed = true;
    if (!from->placed)
        g->place = root;
    else if (!at || step == STEP_NOWHERE)
        g->place = NULL;
    else if (step == STEP_ITEMS)
        g->place = at->kind == CEL_LIST || at->kind == CEL_MAP ? at->item : NULL;
    else
        g->place = at->kind == CEL_MAP ? at->key : NULL;
}

static void go_field(struct estimator *e, struct cel_guess *g, const struct cel_guess *from,
                     const struct cel_node *n)
{
    const struct cel_type *at = from->place;

    g->placed = true;
    if (!from->placed)
        g->place = e->root;
    else if (!at || at->kind != CEL_OBJECT)
        g->place = NULL;
    else if (plain(n->args[0]->type) == at)
        g->place = plain(n->type);
    else
        g->place = cel_field_type(e->prog->arena, at, n->name);
}

static bool is_scalar(const struct cel_type *t)
{
    switch ((int)plain(t)->kind) {
    case CEL_BOOL:
    case CEL_DOUBLE:
    case CEL_DURATION:
    case CEL_INT:
    case CEL_TIMESTAMP:
    case CEL_UINT:
        return true;
    default:
        return false;
    }
}

/* The size that its place or its type tells, where nothing else has. */
static void settle(struct cel_guess *g, const struct cel_type *t)
{
    if (g->sized)
        return;
    g->sized = (g->placed && g->place) || is_scalar(t);
    g->size = g->placed && g->place ? (struct cel_span){ 0, most_of(g->place) } : cel_span_of(1);
}

struct cel_span cel_items_size(const struct cel_type *root, const struct cel_guess *list)
{
    struct cel_guess g = { 0 };

    if (list->placed)
        go(root, &g, list, STEP_ITEMS);
    if (g.place)
        return (struct cel_span){ 0, most_of(g.place) };
    return (struct cel_span){ 0, UINT64_MAX };
}

/* ---- the walk ---- */

static struct cel_guess walk(struct estimator *e, const struct cel_node *n);

static void enter(struct cel_span *entry, bool *any, struct cel_span size)
{
    *entry = *any ? cel_span_union(*entry, size) : size;
    *any = true;
}

static struct cel_guess constant(const struct cel_value *v)
{
    struct cel_guess g = { .sized = true, .size = cel_span_of(cel_size(v)) };
    bool any = false;

    if (v->kind == CEL_STRING)
        g.size = cel_span_of((uint64_t)cel_code_points(v->s));
    if (v->kind != CEL_LIST)
        return g;
    g.cost = cel_span_of(LIST_COST);
    g.entered = true;
    g.key = cel_span_of(1);
    for (size_t i = 0; i < v->n; i++) {
        struct cel_guess item = constant(&v->values[i]);

        g.cost = cel_span_add(g.cost, item.cost);
        enter(&g.val, &any, item.size);
    }
    return g;
}

static struct cel_guess walk_constant(struct estimator *e, const struct cel_node *n)
{
    struct cel_guess g;

    if (n->value.kind != CEL_TYPE)
        return constant(&n->value);
    /* The name of a type is a variable, so it has a place. */
    g = (struct cel_guess){ .cost = cel_span_of(1), .placed = true, .place = e->root };
    settle(&g, n->type);
    return g;
}

/* A variable of a loop, by its name. */
static struct cel_guess named(const struct cel_guess *local, const struct cel_type *t)
{
    struct cel_guess g = *local;

    g.cost = cel_span_of(1);
    g.sized = false;
    settle(&g, t);
    if (!g.sized) {
        g.sized = local->sized;
        g.size = local->size;
    }
    return g;
}

static struct cel_guess walk_name(struct estimator *e, const struct cel_node *n)
{
    struct cel_guess g = { .cost = cel_span_of(1), .placed = true, .place = e->root };

    if (n->op == CEL_OP_LOCAL)
        return named(&e->locals[n->slot], n->type);
    settle(&g, n->type);
    return g;
}

static struct cel_guess walk_literal(struct estimator *e, const struct cel_node *n)
{
    bool map = n->op == CEL_OP_MAP, keys = false, values = false;
    struct cel_guess g = { .cost = cel_span_of(map ? MAP_COST : LIST_COST),
                           .sized = true,
                           .size = cel_span_of(map ? n->nargs / 2 : n->nargs),
                           .entered = true,
                           .of_map = map,
                           .key = cel_span_of(map ? 0 : 1) };

    for (size_t i = 0; i < n->nargs; i++) {
        struct cel_guess item = walk(e, n->args[i]);

        g.cost = cel_span_add(g.cost, item.cost);
        if (map && i % 2 == 0)
            enter(&g.key, &keys, cel_size_of(&item));
        else
            enter(&g.val, &values, cel_size_of(&item));
    }
    return g;
}

/* The first may be enough, or all are asked. */
static struct cel_guess walk_logic(struct estimator *e, const struct cel_node *n)
{
    struct cel_guess g = { .sized = true, .size = cel_span_of(1) };

    for (size_t i = 0; i < n->nargs; i++) {
        struct cel_guess arg = walk(e, n->args[i]);

        g.cost.max = cel_add(g.cost.max, arg.cost.max);
        if (i == 0)
            g.cost.min = arg.cost.min;
    }
    return g;
}

static struct cel_guess either(struct cel_span cost, const struct cel_guess *a,
                               const struct cel_guess *b)
{
    struct cel_guess g = { .cost = cel_span_add(cost, cel_span_union(a->cost, b->cost)),
                           .sized = true,
                           .size = cel_span_union(cel_size_of(a), cel_size_of(b)),
                           .entered = a->entered && b->entered,
                           .of_map = a->of_map };

    if (g.entered) {
        g.key = cel_span_union(a->key, b->key);
        g.val = cel_span_union(a->val, b->val);
    }
    return g;
}

static struct cel_guess walk_if(struct estimator *e, const struct cel_node *n)
{
    struct cel_guess c = walk(e, n->args[0]), a = walk(e, n->args[1]), b = walk(e, n->args[2]);

    return either(c.cost, &a, &b);
}

static struct cel_guess walk_select(struct estimator *e, const struct cel_node *n)
{
    struct cel_guess up = walk(e, n->args[0]), g = { .cost = up.cost };
    enum cel_kind kind = n->args[0]->type->kind;

    if (n->op == CEL_OP_OPT_SELECT ||
        (n->op == CEL_OP_SELECT && (kind == CEL_MAP || kind == CEL_OBJECT || kind == CEL_PARAM)))
        g.cost = cel_span_add(g.cost, cel_span_of(1));
    if (n->op == CEL_OP_SELECT)
        go_field(e, &g, &up, n);
    settle(&g, n->type);
    return g;
}

static struct cel_guess walk_index(struct estimator *e, const struct cel_node *n)
{
    struct cel_guess up = walk(e, n->args[0]), i = walk(e, n->args[1]);
    struct cel_guess g = { .cost = cel_span_add(cel_span_add(up.cost, i.cost), cel_span_of(1)) };

    if (n->op == CEL_OP_INDEX && n->args[0]->type->kind != CEL_OPTIONAL) {
        go(e->root, &g, &up, STEP_ITEMS);
        g.sized = up.entered;
        g.size = up.val;
    }
    settle(&g, n->type);
    return g;
}

static struct cel_guess walk_call(struct estimator *e, const struct cel_node *n)
{
    struct cel_guess args[CEL_ARGS_MAX], g;

    for (size_t i = 0; i < n->nargs; i++)
        args[i] = walk(e, n->args[i]);
    g = cel_guess_call(e->prog->arena, e->root, n, args);
    settle(&g, n->type);
    return g;
}

/* ---- loops ---- */

static void bind_locals(struct estimator *e, const struct cel_node *n,
                        const struct cel_guess *range)
{
    struct cel_guess *first = &e->locals[n->slot], *second = first + 1;
    bool list = range->entered ? !range->of_map : n->args[0]->type->kind == CEL_LIST;
    bool by_key = n->two || !list;

    *first =
        (struct cel_guess){ .sized = range->entered, .size = by_key ? range->key : range->val };
    *second = (struct cel_guess){ .sized = range->entered, .size = range->val };
    go(e->root, first, range, !by_key ? STEP_ITEMS : list ? STEP_NOWHERE : STEP_KEYS);
    go(e->root, second, range, STEP_ITEMS);
}

/* What is made of the range item by item; `step` adds one. */
static struct cel_guess collect(const struct cel_node *n, const struct cel_guess *range,
                                const struct cel_guess *item, struct cel_span step,
                                const struct cel_guess *condition)
{
    bool list = n->loop == CEL_FILTER || n->loop == CEL_TO_LIST || n->loop == CEL_SORT_BY;
    struct cel_guess g = { .sized = true,
                           .size = cel_size_of(range),
                           .entered = list,
                           .key = cel_span_of(1),
                           .val = { 0, cel_size_of(item).max } };

    if (condition)
        step = cel_span_add(condition->cost, cel_span_union(step, cel_span_of(1)));
    g.cost = cel_span_add(range->cost, cel_span_of((list ? LIST_COST : MAP_COST) + 1));
    g.cost = cel_span_add(g.cost, cel_span_mul(g.size, step));
    return g;
}

/* k8s: cel-go ext/lists.go sortByMacro: a list of keys is made, and sorted together with it */
static struct cel_guess sort_by(const struct cel_node *n, const struct cel_guess *range,
                                const struct cel_guess *key)
{
    struct cel_guess input = *range, keys, g;

    input.cost = cel_span_of(1);
    keys = collect(n, &input, key, cel_span_add(key->cost, cel_span_of(LIST_COST + 2)), NULL);
    g = cel_guess_sort(n->args[1]->type, &keys);
    g.cost = cel_span_add(g.cost, cel_span_add(range->cost, cel_span_of(LIST_COST + 1)));
    return g;
}

/* k8s: cel-go cel/library.go optMap: range.hasValue() ? optional.of(result) : optional.none() */
static struct cel_guess opt_map(struct estimator *e, const struct cel_node *n,
                                const struct cel_guess *range)
{
    struct cel_guess result, none = { .cost = cel_span_of(1) };

    e->locals[n->slot] = (struct cel_guess){ 0 };
    result = walk(e, n->args[1]);
    result.cost = cel_span_add(cel_span_add(result.cost, range->cost),
                               cel_span_of(LIST_COST + (n->loop == CEL_OPT_MAP ? 2 : 1)));
    if (n->loop == CEL_OPT_MAP) {
        result.sized = result.entered = result.placed = false;
        settle(&result, n->type);
    }
    settle(&none, n->type);
    return either(cel_span_add(range->cost, cel_span_of(1)), &result, &none);
}

static struct cel_guess quantify(const struct cel_node *n, const struct cel_guess *range,
                                 struct cel_span cost)
{
    struct cel_guess g = { .cost = cel_span_add(range->cost, cel_span_of(1)),
                           .sized = true,
                           .size = cel_span_of(1) };
    struct cel_span turn;

    if (n->loop == CEL_EXISTS_ONE) {
        turn = (struct cel_span){ cel_add(cost.min, 1), cel_add(cost.max, 2) };
        g.cost = cel_span_add(g.cost, cel_span_of(1));
    } else {
        uint64_t condition = n->loop == CEL_ALL ? 2 : 3;

        turn = (struct cel_span){ 1 + condition, cel_add(cost.max, 1 + condition) };
    }
    g.cost = cel_span_add(g.cost, cel_span_mul(cel_size_of(range), turn));
    return g;
}

/* Of what a filter leaves. */
static const struct cel_type *item_type(const struct cel_node *n)
{
    return n->type->item ? n->type->item : &cel_types[CEL_DYN];
}

static struct cel_guess walk_loop(struct estimator *e, const struct cel_node *n)
{
    struct cel_guess range = walk(e, n->args[0]), first, condition, *filter = NULL;

    if (n->loop == CEL_OPT_MAP || n->loop == CEL_OPT_FLAT_MAP)
        return opt_map(e, n, &range);
    bind_locals(e, n, &range);
    first = walk(e, n->args[1]);
    if (n->loop == CEL_ALL || n->loop == CEL_EXISTS || n->loop == CEL_EXISTS_ONE)
        return quantify(n, &range, first.cost);
    if (n->loop == CEL_SORT_BY)
        return sort_by(n, &range, &first);
    if (n->loop == CEL_FILTER || n->nargs > 2) {
        condition = first;
        filter = &condition;
        first =
            n->loop == CEL_FILTER ? named(&e->locals[n->slot], item_type(n)) : walk(e, n->args[2]);
    }
    return collect(n, &range, &first,
                   cel_span_add(first.cost, cel_span_of(n->loop == CEL_TO_MAP     ? 3
                                                        : n->loop == CEL_TO_ENTRY ? 2
                                                                                  : LIST_COST + 2)),
                   filter);
}

static struct cel_guess walk(struct estimator *e, const struct cel_node *n)
{
    switch (n->op) {
    case CEL_OP_CONST:
        return walk_constant(e, n);
    case CEL_OP_VAR:
    case CEL_OP_LOCAL:
        return walk_name(e, n);
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
        return walk_logic(e, n);
    case CEL_OP_LIST:
    case CEL_OP_MAP:
        return walk_literal(e, n);
    case CEL_OP_CALL:
        return walk_call(e, n);
    case CEL_OP_LOOP:
        return walk_loop(e, n);
    case CEL_OP_IDENT:
        break;
    }
    return (struct cel_guess){ 0 };
}

uint64_t cel_estimate(const struct cel_program *p)
{
    struct estimator e = { .prog = p, .root = plain(p->vars[0].type) };

    return walk(&e, p->root).cost.max;
}

uint64_t cel_cardinality(const struct schema *s)
{
    return REQUEST_MAX / (min_size(s, 0) + 1);
}
