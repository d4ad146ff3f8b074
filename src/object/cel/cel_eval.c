/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A walk over the checked tree.  The tree is at most CEL_DEPTH_MAX deep, and every step has a cost,
 * so that a run ends; once the limit is passed each node gives an error at once.
 */

#include "object/cel/cel_internal.h"

#include <stdlib.h>

#include "base/banned.h"

enum {
    LOCALS_FEW = 8, /* four loops in each other: on the stack */
    LIST_COST = 10,
    MAP_COST = 30,
};

static struct cel_value over(struct cel_run *r)
{
    (void)r;
    return (struct cel_value){ .kind = CEL_ERROR,
                               .s = STR("operation cancelled: actual cost limit exceeded") };
}

bool cel_over_limit(const struct cel_run *run)
{
    return run->cost > run->limit || run->steps > CEL_STEPS_MAX;
}

/* ---- fields and items ---- */

static bool is_map(const struct cel_value *v)
{
    return v->kind == CEL_MAP || v->kind == CEL_OBJECT;
}

/* Fields that are null are absent. */
static bool get_field(struct cel_run *r, const struct cel_value *v, str name, struct cel_value *out)
{
    struct cel_value key = cel_str(name);

    return cel_lookup(r, v, &key, out) && !(v->kind == CEL_OBJECT && out->kind == CEL_NULL);
}

static struct cel_value wrap(struct cel_run *r, const struct cel_value *v)
{
    return v && v->kind == CEL_ERROR ? *v : cel_optional(r->arena, v);
}

/* As an index, or one of the two of a choice. */
static struct cel_value run_part(struct cel_run *r, const struct cel_node *n)
{
    struct cel_value v = cel_run_node(r, n);

    r->cost -= n->unit;
    return v;
}

static struct cel_value select_field(struct cel_run *r, const struct cel_node *n)
{
    struct cel_value v = cel_run_node(r, n->args[0]), out;
    bool optional = n->op == CEL_OP_OPT_SELECT, found;

    r->cost += !n->args[0]->attribute;
    if (v.kind == CEL_ERROR)
        return v;
    if (v.kind == CEL_OPTIONAL) {
        if (!v.values)
            return n->op == CEL_OP_HAS ? cel_bool(false) : v;
        v = *v.values;
        optional = n->op != CEL_OP_HAS;
    }
    if (!is_map(&v))
        return cel_no_overload(r);
    found = get_field(r, &v, n->name, &out);
    if (n->op == CEL_OP_HAS)
        return cel_bool(found);
    if (!cel_charge(r, found || !optional))
        return over(r);
    if (optional)
        return wrap(r, found ? &out : NULL);
    return found ? out : cel_error(r, "no such key: %.*s", STR_ARG(n->name));
}

static bool to_index(const struct cel_value *v, int64_t *out)
{
    if (v->kind == CEL_INT)
        *out = v->i;
    else if (v->kind == CEL_UINT)
        *out = v->u > INT64_MAX ? INT64_MAX : (int64_t)v->u;
    else if (v->kind == CEL_DOUBLE && v->f >= -1e15 && v->f <= 1e15 &&
             v->f == (double)(int64_t)v->f)
        *out = (int64_t)v->f;
    else
        return false;
    return true;
}

static struct cel_value no_key(struct cel_run *r, const struct cel_value *key)
{
    struct cel_value s = cel_to_string(r, key);

    return s.kind == CEL_STRING ? cel_error(r, "no such key: %.*s", STR_ARG(s.s))
                                : cel_error(r, "no such key");
}

static struct cel_value index_value(struct cel_run *r, const struct cel_node *n)
{
    struct cel_value v = cel_run_node(r, n->args[0]), key, out;
    bool optional = n->op == CEL_OP_OPT_INDEX, found;
    int64_t i = 0;

    r->cost += !n->args[0]->attribute;
    if (v.kind == CEL_ERROR)
        return v;
    key = run_part(r, n->args[1]);
    if (key.kind == CEL_ERROR)
        return key;
    if (v.kind == CEL_OPTIONAL) {
        if (!v.values)
            return v;
        v = *v.values;
        optional = true;
    }
    if (v.kind == CEL_LIST) {
        if (!to_index(&key, &i))
            return cel_no_overload(r);
        found = i >= 0 && i < v.n;
        if (found)
            out = cel_item(r, &v, (size_t)i);
    } else if (is_map(&v)) {
        found = cel_lookup(r, &v, &key, &out);
    } else {
        return cel_no_overload(r);
    }
    if (!cel_charge(r, found || !optional))
        return over(r);
    if (!found && !optional)
        return v.kind == CEL_LIST ? cel_error(r, "index out of bounds: %lld", (long long)i)
                                  : no_key(r, &key);
    return optional ? wrap(r, found ? &out : NULL) : out;
}

/* ---- literals ---- */

/* An element that is `?`: false when there is none. */
static bool unwrap(struct cel_run *r, bool optional, struct cel_value *v)
{
    if (!optional || v->kind == CEL_ERROR)
        return true;
    if (v->kind != CEL_OPTIONAL) {
        *v = cel_no_overload(r);
        return true;
    }
    if (!v->values)
        return false;
    *v = *v->values;
    return true;
}

static struct cel_value make_list(struct cel_run *r, const struct cel_node *n)
{
    struct cel_value *items;
    size_t k = 0;

    if (!cel_charge(r, LIST_COST))
        return over(r);
    items = arena_alloc_raw(r->arena, (n->nargs + 1) * sizeof(*items));
    for (size_t i = 0; i < n->nargs; i++) {
        items[k] = cel_run_node(r, n->args[i]);
        if (!unwrap(r, n->optional && n->optional[i], &items[k]))
            continue;
        if (items[k].kind == CEL_ERROR)
            return items[k];
        k++;
    }
    return cel_list(items, k);
}

static bool is_key(const struct cel_value *v)
{
    return v->kind == CEL_STRING || v->kind == CEL_BOOL || v->kind == CEL_INT ||
           v->kind == CEL_UINT;
}

/* A map that grows; keys are compared pairwise, which the steps pay. */
struct growing {
    struct cel_value *values;
    size_t n, cap;
};

static bool put_entry(struct cel_run *r, struct growing *g, const struct cel_value *k,
                      const struct cel_value *v, struct cel_value *err)
{
    struct cel_value map = { .kind = CEL_MAP, .n = (uint32_t)g->n, .values = g->values }, old;

    if (k->kind == CEL_ERROR || v->kind == CEL_ERROR) {
        *err = k->kind == CEL_ERROR ? *k : *v;
        return false;
    }
    if (!is_key(k)) {
        *err = cel_error(r, "unsupported key type");
        return false;
    }
    if (cel_lookup(r, &map, k, &old)) {
        *err = cel_error(r, "Failed with repeated key");
        return false;
    }
    if (g->n == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 4;
        struct cel_value *more = arena_alloc_raw(r->arena, 2 * cap * sizeof(*more));

        if (g->n)
            memcpy(more, g->values, 2 * g->n * sizeof(*more));
        g->values = more;
        g->cap = cap;
    }
    g->values[2 * g->n] = *k;
    g->values[2 * g->n++ + 1] = *v;
    return true;
}

/* In a map that is written down the last of two equal keys counts. */
static bool replace_entry(struct cel_run *r, struct growing *g, const struct cel_value *k,
                          const struct cel_value *v)
{
    for (size_t i = 0; i < g->n; i++) {
        if (!cel_equal(r, &g->values[2 * i], k))
            continue;
        g->values[2 * i + 1] = *v;
        return true;
    }
    return false;
}

static struct cel_value map_of(const struct growing *g)
{
    return (struct cel_value){ .kind = CEL_MAP, .n = (uint32_t)g->n, .values = g->values };
}

static struct cel_value make_map(struct cel_run *r, const struct cel_node *n)
{
    struct growing g = { 0 };
    struct cel_value err;

    if (!cel_charge(r, MAP_COST))
        return over(r);
    for (size_t i = 0; i + 1 < n->nargs; i += 2) {
        struct cel_value k = cel_run_node(r, n->args[i]), v = cel_run_node(r, n->args[i + 1]);

        if (!unwrap(r, n->optional && n->optional[i + 1], &v))
            continue;
        if (v.kind != CEL_ERROR && is_key(&k) && replace_entry(r, &g, &k, &v))
            continue;
        if (!put_entry(r, &g, &k, &v, &err))
            return err;
    }
    return map_of(&g);
}

/* ---- operators ---- */

/* One that decides wins over errors, on either side. */
static struct cel_value logic(struct cel_run *r, const struct cel_node *n)
{
    bool decides = n->op == CEL_OP_OR;
    struct cel_value err = { .kind = CEL_NULL };

    for (size_t i = 0; i < n->nargs; i++) {
        struct cel_value v = cel_run_node(r, n->args[i]);

        if (cel_over_limit(r))
            return over(r);
        if (v.kind == CEL_BOOL && v.b == decides)
            return v;
        if (v.kind == CEL_BOOL)
            continue;
        if (err.kind == CEL_NULL)
            err = v.kind == CEL_ERROR ? v : cel_no_overload(r);
    }
    return err.kind == CEL_NULL ? cel_bool(!decides) : err;
}

static struct cel_value condition(struct cel_run *r, const struct cel_node *n)
{
    struct cel_value v = cel_run_node(r, n->args[0]);

    if (v.kind != CEL_BOOL)
        return v.kind == CEL_ERROR ? v : cel_no_overload(r);
    return run_part(r, n->args[v.b ? 1 : 2]);
}

static bool kinds_fit(const uint8_t *kinds, const struct cel_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (kinds[i] != CEL_DYN && kinds[i] != v[i].kind &&
            !(kinds[i] == CEL_MAP && v[i].kind == CEL_OBJECT))
            return false;
    return true;
}

static const struct cel_function *dispatch(const struct cel_node *n, const struct cel_value *v)
{
    for (const struct cel_function *f = n->overloads; f->name && str_is(n->name, f->name); f++) {
        uint8_t kinds[CEL_ARGS_MAX];
        const char *sig = f->sig;

        if (!cel_sig_fits(f, n->receiver, n->nargs))
            continue;
        for (size_t i = 0; i < n->nargs; i++)
            kinds[i] = (uint8_t)cel_sig_next(&sig);
        if (kinds_fit(kinds, v, n->nargs))
            return f;
    }
    return NULL;
}

static struct cel_value call(struct cel_run *r, const struct cel_node *n)
{
    struct cel_value v[CEL_ARGS_MAX], out;
    const struct cel_function *f = n->fn;
    const struct cel_value *bad = NULL;

    for (size_t i = 0; i < n->nargs && !(bad && n->nargs > 2); i++) {
        v[i] = cel_run_node(r, n->args[i]);
        if (v[i].kind == CEL_ERROR && !bad)
            bad = &v[i];
    }
    if (bad) {
        r->cost += n->nargs <= 2;
        return *bad;
    }
    if (!f || !kinds_fit(n->kinds, v, n->nargs))
        f = dispatch(n, v);
    if (!f)
        return cel_no_overload(r);
    if (cel_over_limit(r))
        return over(r);
    r->node = n;
    out = f->fn(r, v);
    return cel_charge(r, f->cost == '1' ? 1 : cel_call_cost(r, n, f, v, &out)) ? out : over(r);
}

/* ---- loops ---- */

struct looping {
    struct cel_value range;
    struct growing map;
    struct cel_value *items; /* of the list that is made */
    size_t n, cap;
    size_t found;
    struct cel_value err; /* CEL_NULL: none */
    bool decided;
};

static struct cel_value body(struct cel_run *r, const struct cel_node *n)
{
    /* With three arguments the first says whether the second is wanted. */
    if (n->nargs == 3) {
        struct cel_value take = cel_run_node(r, n->args[1]);

        if (take.kind != CEL_BOOL)
            return take.kind == CEL_ERROR ? take : cel_no_overload(r);
        if (!take.b)
            return (struct cel_value){ .kind = CEL_DYN };
    }
    return cel_run_node(r, n->args[n->nargs - 1]);
}

static void put_all(struct cel_run *r, struct looping *l, const struct cel_value *m)
{
    if (!is_map(m)) {
        l->err = m->kind == CEL_ERROR ? *m : cel_no_overload(r);
        return;
    }
    for (size_t i = 0; i < m->n && l->err.kind == CEL_NULL; i++) {
        struct cel_value k = cel_key(m, i), v = cel_entry(r, m, i);

        (void)put_entry(r, &l->map, &k, &v, &l->err);
    }
}

static void push(struct cel_run *r, struct looping *l, const struct cel_value *v)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 8;
        struct cel_value *more = arena_alloc_raw(r->arena, cap * sizeof(*more));

        if (l->n)
            memcpy(more, l->items, l->n * sizeof(*more));
        l->items = more;
        l->cap = cap;
    }
    l->items[l->n++] = *v;
}

/*
 * What macros cost beside their parts: those that cel-go makes of them.  `turn` is for each one
 * that is looked at, `taken` for each that goes into the result; where a loop ends before its
 * range does, `stop` is for the look at that.
 */
static const struct {
    uint8_t turn, taken, stop, result;
} macros[] = {
    [CEL_ALL] = { 3, 0, 2, 1 },
    [CEL_EXISTS] = { 4, 0, 3, 1 },
    [CEL_EXISTS_ONE] = { 0, 2, 0, 2 },
    [CEL_FILTER] = { 0, LIST_COST + 3, 0, 1 },
    [CEL_TO_LIST] = { 0, LIST_COST + 2, 0, 1 },
    [CEL_TO_MAP] = { 0, 3, 0, 1 },
    [CEL_TO_ENTRY] = { 0, 2, 0, 1 },
};

/* A list of one constant is no work. */
static uint64_t taken_cost(const struct cel_node *n)
{
    bool constant = n->loop == CEL_TO_LIST && cel_is_constant(n->args[n->nargs - 1]);

    return macros[n->loop].taken - (constant ? LIST_COST : 0);
}

/* What one turn gave; decided: the rest does not matter. */
static void turn(struct cel_run *r, const struct cel_node *n, struct looping *l,
                 const struct cel_value *first, const struct cel_value *v)
{
    bool test = n->loop <= CEL_FILTER;

    if (v->kind == CEL_DYN)
        return;
    if (v->kind == CEL_ERROR || (test && v->kind != CEL_BOOL)) {
        l->err = v->kind == CEL_ERROR ? *v : cel_no_overload(r);
        l->decided = n->loop != CEL_ALL && n->loop != CEL_EXISTS;
        return;
    }
    switch (n->loop) {
    case CEL_ALL:
    case CEL_EXISTS:
        l->found += v->b == (n->loop == CEL_EXISTS);
        l->decided = l->found > 0;
        break;
    case CEL_EXISTS_ONE:
        l->found += v->b;
        r->cost += v->b ? taken_cost(n) : 0;
        break;
    case CEL_FILTER:
        if (v->b)
            push(r, l, first);
        r->cost += v->b ? taken_cost(n) : 0;
        break;
    case CEL_TO_LIST:
        push(r, l, v);
        r->cost += taken_cost(n);
        break;
    case CEL_TO_MAP:
        (void)put_entry(r, &l->map, first, v, &l->err);
        r->cost += taken_cost(n);
        l->decided = l->err.kind != CEL_NULL;
        break;
    case CEL_TO_ENTRY:
        put_all(r, l, v);
        r->cost += taken_cost(n);
        l->decided = l->err.kind != CEL_NULL;
        break;
    case CEL_OPT_MAP:
    case CEL_OPT_FLAT_MAP:
    case CEL_SORT_BY:
        break;
    }
}

static struct cel_value loop_result(const struct cel_node *n, const struct looping *l)
{
    if ((n->loop == CEL_ALL || n->loop == CEL_EXISTS) && l->found)
        return cel_bool(n->loop == CEL_EXISTS);
    if (l->err.kind != CEL_NULL)
        return l->err;
    switch (n->loop) {
    case CEL_ALL:
    case CEL_EXISTS:
        return cel_bool(n->loop == CEL_ALL);
    case CEL_EXISTS_ONE:
        return cel_bool(l->found == 1);
    case CEL_TO_MAP:
    case CEL_TO_ENTRY:
        return map_of(&l->map);
    case CEL_FILTER:
    case CEL_TO_LIST:
    case CEL_OPT_MAP:
    case CEL_OPT_FLAT_MAP:
    case CEL_SORT_BY:
        break;
    }
    return cel_list(l->items, l->n);
}

static struct cel_value run_loop(struct cel_run *r, const struct cel_node *n,
                                 const struct cel_value *range)
{
    struct looping l = { .range = *range, .err = { .kind = CEL_NULL } };
    struct cel_value *local = &r->locals[n->slot];

    for (size_t i = 0; i < range->n; i++) {
        struct cel_value item, v;

        r->cost += l.decided ? macros[n->loop].stop : macros[n->loop].turn;
        if (l.decided)
            break;
        if (!cel_work(r, 1) || cel_over_limit(r))
            return over(r);
        if (range->kind == CEL_LIST) {
            item = cel_item(r, range, i);
            local[0] = n->two ? cel_int((int64_t)i) : item;
            local[1] = item;
        } else {
            local[0] = cel_key(range, i);
            if (n->two)
                local[1] = cel_entry(r, range, i);
        }
        item = local[0];
        v = body(r, n);
        turn(r, n, &l, &item, &v);
    }
    r->cost += macros[n->loop].result;
    return loop_result(n, &l);
}

/* What it is of is asked twice: whether it is there, and what it is. */
static struct cel_value opt_map(struct cel_run *r, const struct cel_node *n,
                                const struct cel_value *v, uint64_t cost)
{
    struct cel_value out;

    if (v->kind != CEL_OPTIONAL)
        return cel_no_overload(r);
    if (!cel_charge(r, v->values ? 2 + cost + (n->loop == CEL_OPT_MAP) : 2))
        return over(r);
    if (!v->values)
        return *v;
    r->locals[n->slot] = *v->values;
    out = cel_run_node(r, n->args[1]);
    if (n->loop == CEL_OPT_MAP)
        return wrap(r, &out);
    return out.kind == CEL_ERROR || out.kind == CEL_OPTIONAL ? out : cel_no_overload(r);
}

struct pair {
    struct cel_value key, item;
    size_t at;
};

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int order = cel_order(&x->key, &y->key);

    return order != 0 && order != CEL_UNORDERED ? order : (x->at > y->at) - (x->at < y->at);
}

static bool known_type(const struct cel_type *t)
{
    return t->kind != CEL_DYN && t->kind != CEL_PARAM;
}

static struct cel_value sort_by(struct cel_run *r, const struct cel_node *n,
                                const struct cel_value *list)
{
    struct pair *pairs;
    struct cel_value *out;

    if (list->kind != CEL_LIST)
        return cel_no_overload(r);
    if (!cel_work(r, 16 * (uint64_t)list->n))
        return over(r);
    pairs = arena_alloc_raw(r->arena, (list->n + 1) * sizeof(*pairs));
    out = arena_alloc_raw(r->arena, (list->n + 1) * sizeof(*out));
    for (size_t i = 0; i < list->n; i++) {
        if (!cel_charge(r, cel_is_constant(n->args[1]) ? 2 : LIST_COST + 2))
            return over(r);
        pairs[i].at = i;
        pairs[i].item = r->locals[n->slot] = cel_item(r, list, i);
        pairs[i].key = cel_run_node(r, n->args[1]);
        if (pairs[i].key.kind == CEL_ERROR)
            return pairs[i].key;
        if (pairs[i].key.kind != pairs[0].key.kind ||
            cel_order(&pairs[i].key, &pairs[i].key) == CEL_UNORDERED)
            return cel_no_overload(r);
    }
    if (!cel_charge(r, 3 + (known_type(n->args[1]->type)
                                ? cel_sort_cost(list->n ? &pairs[0].key : NULL, list->n)
                                : 1)))
        return over(r);
    if (list->n)
        qsort(pairs, list->n, sizeof(*pairs), by_key);
    for (size_t i = 0; i < list->n; i++)
        out[i] = pairs[i].item;
    return cel_list(out, list->n);
}

static struct cel_value loop(struct cel_run *r, const struct cel_node *n)
{
    uint64_t before = r->cost;
    struct cel_value range = cel_run_node(r, n->args[0]);

    if (range.kind == CEL_ERROR)
        return range;
    if (n->loop == CEL_OPT_MAP || n->loop == CEL_OPT_FLAT_MAP)
        return opt_map(r, n, &range, r->cost - before);
    if (n->loop == CEL_SORT_BY)
        return sort_by(r, n, &range);
    return range.kind == CEL_LIST || is_map(&range) ? run_loop(r, n, &range) : cel_no_overload(r);
}

/* ---- all ---- */

struct cel_value cel_run_node(struct cel_run *r, const struct cel_node *n)
{
    if (n->folded)
        return n->value;
    switch (n->op) {
    case CEL_OP_CONST:
        return n->value;
    case CEL_OP_VAR:
        return cel_charge(r, 1) ? r->vars[n->slot] : over(r);
    case CEL_OP_LOCAL:
        return cel_charge(r, 1) ? r->locals[n->slot] : over(r);
    case CEL_OP_SELECT:
    case CEL_OP_OPT_SELECT:
    case CEL_OP_HAS:
        return select_field(r, n);
    case CEL_OP_INDEX:
    case CEL_OP_OPT_INDEX:
        return index_value(r, n);
    case CEL_OP_AND:
    case CEL_OP_OR:
        return logic(r, n);
    case CEL_OP_IF:
        return condition(r, n);
    case CEL_OP_LIST:
        return make_list(r, n);
    case CEL_OP_MAP:
        return make_map(r, n);
    case CEL_OP_CALL:
        return call(r, n);
    case CEL_OP_LOOP:
        return loop(r, n);
    case CEL_OP_IDENT:
        break;
    }
    return cel_no_overload(r);
}

struct cel_value cel_eval(const struct cel_program *p, const struct cel_value *vars,
                          struct cel_run *run)
{
    struct cel_value few[LOCALS_FEW], out;

    run->vars = vars;
    run->locals = few;
    if (p->nlocals > LOCALS_FEW)
        run->locals = arena_array(run->arena, struct cel_value, p->nlocals);
    out = cel_run_node(run, p->root);
    run->locals = NULL;
    return cel_over_limit(run) ? over(run) : out;
}
