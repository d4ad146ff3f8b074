/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel_internal.h"

#include "base/banned.h"

struct scope {
    const struct scope *up;
    str name;
    const struct cel_type *type;
    uint16_t slot;
};

struct checker {
    struct cel_program *prog;
    struct arena *arena;
    const struct scope *scope;
    uint16_t depth; /* locals in use */
    bool exempt;    /* in the arguments of format(), where a list may hold anything */
    struct cel_findings *faults;
    struct cel_findings late; /* what cel-go's validators find: told when there are no others */
};

static const struct cel_type *check(struct checker *c, struct cel_node *n);

__attribute__((format(printf, 3, 4))) static const struct cel_type *
fail(struct checker *c, const struct cel_node *n, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    cel_finding(c->faults, n->at, "%s", arena_vprintf(c->arena, fmt, ap));
    va_end(ap);
    return &cel_wrong;
}

__attribute__((format(printf, 3, 4))) static void later(struct checker *c, const struct cel_node *n,
                                                        const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    cel_finding(&c->late, n->at, "%s", arena_vprintf(c->arena, fmt, ap));
    va_end(ap);
}

static str text(struct checker *c, const struct cel_type *t)
{
    return cel_type_text(c->arena, t);
}

static bool is_any(const struct cel_type *t)
{
    return t->kind == CEL_DYN || t->kind == CEL_PARAM;
}

/* ---- names ---- */

static const struct scope *find_local(const struct checker *c, str name)
{
    for (const struct scope *s = c->scope; s; s = s->up)
        if (str_eq(s->name, name))
            return s;
    return NULL;
}

static bool find_var(const struct checker *c, str name, size_t *out)
{
    for (size_t i = 0; i < c->prog->nvars; i++) {
        if (!str_eq(c->prog->vars[i].name, name))
            continue;
        *out = i;
        return true;
    }
    return false;
}

/* "a.b.c" when it is only names, and the first is no variable; else empty. */
static str qualified(const struct checker *c, const struct cel_node *n)
{
    size_t var;
    str up;

    if (n->op == CEL_OP_IDENT)
        return find_local(c, n->name) || find_var(c, n->name, &var) ? STR_NONE : n->name;
    if (n->op != CEL_OP_SELECT)
        return STR_NONE;
    up = qualified(c, n->args[0]);
    return up.n ? str_printf(c->arena, "%.*s.%.*s", STR_ARG(up), STR_ARG(n->name)) : up;
}

static const struct cel_type *type_value(struct cel_node *n, enum cel_kind kind)
{
    n->op = CEL_OP_CONST;
    n->nargs = 0;
    n->value = (struct cel_value){ .kind = CEL_TYPE, .type = kind };
    return &cel_types[CEL_TYPE];
}

static const struct cel_type *undeclared(struct checker *c, const struct cel_node *n)
{
    return fail(c, n, "undeclared reference to '%s%.*s' (in container '')", n->rooted ? "." : "",
                STR_ARG(n->name));
}

static const struct cel_type *check_ident(struct checker *c, struct cel_node *n)
{
    const struct scope *local = find_local(c, n->name);
    enum cel_kind kind;
    size_t var;

    if (local) {
        n->op = CEL_OP_LOCAL;
        n->slot = local->slot;
        return local->type;
    }
    if (find_var(c, n->name, &var)) {
        n->op = CEL_OP_VAR;
        n->slot = (uint16_t)var;
        c->prog->used |= 1ull << (var & 63);
        return c->prog->vars[var].type;
    }
    if (cel_type_named(n->name, &kind))
        return type_value(n, kind);
    return undeclared(c, n);
}

/* ---- fields and items ---- */

/* To cel-go these are objects whose fields nobody declared. */
static bool is_opaque(enum cel_kind kind)
{
    return kind >= CEL_QUANTITY && kind <= CEL_DECISION && kind != CEL_IP && kind != CEL_CIDR;
}

static const struct cel_type *field_of(struct checker *c, struct cel_node *n,
                                       const struct cel_type *t)
{
    const struct cel_type *field;

    if (is_any(t))
        return &cel_types[CEL_DYN];
    if (t->kind == CEL_MAP && (t->key->kind == CEL_STRING || is_any(t->key)))
        return t->item;
    if (t->kind != CEL_OBJECT)
        return fail(c, n,
                    is_opaque(t->kind) ? "unexpected failed resolution of '%.*s'"
                                       : "type '%.*s' does not support field selection",
                    STR_ARG(text(c, t)));
    field = cel_field_type(c->arena, t, n->name);
    if (!field)
        return fail(c, n, "undefined field '%.*s'", STR_ARG(n->name));
    (void)cel_unescape(c->arena, n->name, &n->name);
    return field;
}

/* A variable may have a dot in its name: then n becomes its name. */
static bool is_dotted_var(struct checker *c, struct cel_node *n)
{
    str dotted;
    size_t var;

    if (find_local(c, n->args[0]->name))
        return false;
    dotted = str_printf(c->arena, "%.*s.%.*s", STR_ARG(n->args[0]->name), STR_ARG(n->name));
    if (!find_var(c, dotted, &var))
        return false;
    n->op = CEL_OP_IDENT;
    n->nargs = 0;
    n->name = dotted;
    return true;
}

static const struct cel_type *check_select(struct checker *c, struct cel_node *n)
{
    str whole = n->op == CEL_OP_SELECT ? qualified(c, n) : STR_NONE;
    bool optional = n->op == CEL_OP_OPT_SELECT;
    const struct cel_type *t;
    enum cel_kind kind;

    if (whole.n && cel_type_named(whole, &kind))
        return type_value(n, kind);
    if (n->op == CEL_OP_SELECT && n->args[0]->op == CEL_OP_IDENT && is_dotted_var(c, n))
        return check_ident(c, n);
    t = check(c, n->args[0]);
    if (t->kind == CEL_OPTIONAL) {
        optional = true;
        t = t->item;
    }
    t = field_of(c, n, t);
    if (n->op == CEL_OP_HAS)
        return &cel_types[CEL_BOOL];
    return optional && t != &cel_wrong ? cel_optional_of(c->arena, t) : t;
}

static const struct cel_type *check_index(struct checker *c, struct cel_node *n)
{
    const struct cel_type *t = check(c, n->args[0]), *i = check(c, n->args[1]);
    bool optional = n->op == CEL_OP_OPT_INDEX;
    const struct cel_type *of, *item = NULL;

    of = t;
    if (t->kind == CEL_OPTIONAL) {
        optional = true;
        of = t->item;
    }
    if (is_any(of) && t == of && optional)
        return &cel_types[CEL_DYN]; /* of a list or of a map: two overloads */
    if (is_any(of))
        item = &cel_types[CEL_DYN];
    else if ((of->kind == CEL_LIST && (is_any(i) || i->kind == CEL_INT)) ||
             (of->kind == CEL_MAP && cel_join(of->key, i)))
        item = of->item;
    if (!item)
        return fail(c, n, "found no matching overload for '%s' applied to '(%.*s, %.*s)'",
                    n->op == CEL_OP_OPT_INDEX ? "_[?_]" : "_[_]", STR_ARG(text(c, t)),
                    STR_ARG(text(c, i)));
    return optional ? cel_optional_of(c->arena, item) : item;
}

/* ---- literals ---- */

static const struct cel_type *element(struct checker *c, struct cel_node *n, bool optional)
{
    const struct cel_type *t = check(c, n);

    if (!optional || is_any(t))
        return t;
    if (t->kind == CEL_OPTIONAL)
        return t->item;
    return fail(c, n, "expected type 'optional_type(%.*s)' but found '%.*s'", STR_ARG(text(c, t)),
                STR_ARG(text(c, t)));
}

struct elements {
    const struct cel_type *joined, *first;
    bool told; /* of a list only the first that differs is told */
};

static bool has_param(const struct cel_type *t)
{
    if (t->kind == CEL_LIST || t->kind == CEL_MAP || t->kind == CEL_OPTIONAL)
        return has_param(t->item) || (t->kind == CEL_MAP && has_param(t->key));
    return t->kind == CEL_PARAM || t == &cel_wrong;
}

/* cel-go: cel/validator.go ValidateHomogeneousAggregateLiterals */
static void join_into(struct checker *c, const struct cel_node *n, struct elements *e,
                      const struct cel_type *t)
{
    const struct cel_type *joined = cel_join(e->joined, t);

    e->joined = joined ? joined : &cel_types[CEL_DYN];
    if (!e->first)
        e->first = t;
    if (e->told || c->exempt || cel_same_type(e->first, t) ||
        (joined && (has_param(e->first) || has_param(t))))
        return;
    later(c, n, "expected type '%.*s' but found '%.*s'", STR_ARG(text(c, e->first)),
          STR_ARG(text(c, t)));
    e->told = true;
}

/* A list or map of constants is one: `x in ['a', 'b']` makes none each time. */
static void fold_literal(struct checker *c, struct cel_node *n, bool map)
{
    struct cel_run run = { .arena = c->prog->arena, .limit = UINT64_MAX };
    bool plain = !map;

    for (size_t i = 0; i < n->nargs; i++) {
        if (!cel_is_constant(n->args[i]) || n->optional)
            return;
        plain = plain && n->args[i]->op == CEL_OP_CONST;
    }
    n->value = cel_run_node(&run, n);
    n->folded = !plain && n->value.kind != CEL_ERROR;
    if (plain) {
        n->op = CEL_OP_CONST;
        n->nargs = 0;
    }
}

static const struct cel_type *check_literal(struct checker *c, struct cel_node *n)
{
    struct elements item = { .joined = &cel_types[CEL_PARAM] }, key = item;
    bool map = n->op == CEL_OP_MAP;

    for (size_t i = 0; i < n->nargs; i++) {
        const struct cel_type *t = element(c, n->args[i], n->optional && n->optional[i]);

        join_into(c, n->args[i], map && i % 2 == 0 ? &key : &item, t);
    }
    fold_literal(c, n, map);
    return map ? cel_map_of(c->arena, key.joined, item.joined) : cel_list_of(c->arena, item.joined);
}

/* ---- operators ---- */

static const struct cel_type *check_logic(struct checker *c, struct cel_node *n)
{
    const struct cel_type *result = &cel_types[CEL_BOOL];

    for (size_t i = 0; i < n->nargs; i++) {
        const struct cel_type *t = check(c, n->args[i]);

        if (t->kind == CEL_BOOL || is_any(t))
            continue;
        fail(c, n->args[i], "expected type 'bool' but found '%.*s'", STR_ARG(text(c, t)));
        /* k8s: cel-go has a balanced tree of two each, of which this is at the top */
        if (n->nargs == 2 || (n->nargs == 3 && i == 2))
            result = &cel_wrong;
    }
    return result;
}

/* A choice, written or made by a macro. */
static const struct cel_type *choose(struct checker *c, const struct cel_node *n,
                                     const struct cel_type *t, const struct cel_type *a,
                                     const struct cel_type *b)
{
    const struct cel_type *joined = t->kind == CEL_BOOL || is_any(t) ? cel_join(a, b) : NULL;

    return joined ? joined
                  : fail(c, n,
                         "found no matching overload for '_?_:_' applied to '(%.*s, %.*s, %.*s)'",
                         STR_ARG(text(c, t)), STR_ARG(text(c, a)), STR_ARG(text(c, b)));
}

static const struct cel_type *check_if(struct checker *c, struct cel_node *n)
{
    const struct cel_type *t = check(c, n->args[0]), *a = check(c, n->args[1]);

    return choose(c, n, t, a, check(c, n->args[2]));
}

/* ---- calls ---- */

static const struct cel_type *no_overload(struct checker *c, const struct cel_node *n)
{
    str list = STR_NONE;

    for (size_t i = n->receiver; i < n->nargs; i++)
        list = str_printf(c->arena, "%.*s%s%.*s", STR_ARG(list), i > n->receiver ? ", " : "",
                          STR_ARG(text(c, n->args[i]->type)));
    if (n->receiver)
        return fail(c, n, "found no matching overload for '%.*s' applied to '%.*s.(%.*s)'",
                    STR_ARG(n->name), STR_ARG(text(c, n->args[0]->type)), STR_ARG(list));
    return fail(c, n, "found no matching overload for '%.*s' applied to '(%.*s)'", STR_ARG(n->name),
                STR_ARG(list));
}

/* `sets.contains(…)`: what looks like a receiver is a part of the name. */
static void join_name(struct checker *c, struct cel_node *n)
{
    str space = n->receiver ? qualified(c, n->args[0]) : STR_NONE, whole;

    if (space.n == 0)
        return;
    whole = str_printf(c->arena, "%.*s.%.*s", STR_ARG(space), STR_ARG(n->name));
    if (!cel_find(whole))
        return;
    n->name = whole;
    n->receiver = false;
    n->args++;
    n->nargs--;
}

static const struct cel_type *try_overload(struct checker *c, const struct cel_node *n,
                                           const struct cel_function *f)
{
    struct cel_binding bind = { 0 };
    const char *sig = f->sig;

    if (!cel_sig_fits(f, n->receiver, n->nargs))
        return NULL;
    for (size_t i = 0; i < n->nargs; i++)
        if (!cel_sig_takes(c->arena, &sig, n->args[i]->type, &bind))
            return NULL;
    sig++;
    return cel_sig_type(c->arena, &sig, &bind);
}

static void set_kinds(struct cel_node *n)
{
    const char *sig = n->fn->sig;

    for (size_t i = 0; i < n->nargs; i++)
        n->kinds[i] = (uint8_t)cel_sig_next(&sig);
}

/* Constant patterns are compiled with the expression, constant times and formats are tried. */
static void check_constant(struct checker *c, struct cel_node *n)
{
    const struct cel_node *last = n->nargs ? n->args[n->nargs - 1] : NULL;
    int64_t a;
    int32_t b;
    str s, why = STR_NONE;

    if (n->receiver && n->nargs == 2 && str_is(n->name, "format"))
        cel_check_format(&c->late, n);
    if (!last || last->op != CEL_OP_CONST || last->value.kind != CEL_STRING)
        return;
    s = last->value.s;
    if (str_is(n->name, "duration") && !cel_parse_duration(s, &a))
        later(c, last, "invalid duration argument");
    if (str_is(n->name, "timestamp") && !cel_parse_timestamp(s, &a, &b))
        later(c, last, "invalid timestamp argument");
    if (n->nargs != 2 ||
        (!str_is(n->name, "matches") && !str_is(n->name, "find") && !str_is(n->name, "findAll")))
        return;
    n->pattern = str_is(n->name, "matches") ? pattern_compile(c->prog->arena, s, &why)
                                            : pattern_compile_find(c->prog->arena, s, &why);
    if (!n->pattern)
        later(c, last, "invalid matches argument");
}

/* A conversion of a constant is made once; one that cannot be made is known now. */
static void fold_conversion(struct checker *c, struct cel_node *n)
{
    static const char *const conversions[] = {
        "bool", "bytes", "double", "duration", "dyn", "int", "string", "type", "uint", "timestamp"
    };
    struct cel_run run = { .arena = c->prog->arena, .limit = UINT64_MAX, .node = n };
    size_t i = 0;

    while (i < sizeof(conversions) / sizeof(*conversions) && !str_is(n->name, conversions[i]))
        i++;
    if (i == sizeof(conversions) / sizeof(*conversions) || n->receiver || n->nargs != 1 || !n->fn ||
        !cel_is_constant(n->args[0]))
        return;
    n->value = n->fn->fn(&run, &n->args[0]->value);
    n->folded = n->value.kind != CEL_ERROR;
    if (!n->folded && !c->prog->unmade.n)
        c->prog->unmade =
            str_printf(c->arena, "program instantiation failed: %.*s", STR_ARG(n->value.s));
}

static const struct cel_type *check_call(struct checker *c, struct cel_node *n)
{
    const struct cel_type *result = NULL;
    const struct cel_function *f;
    bool any = false;

    join_name(c, n);
    c->exempt = n->receiver && str_is(n->name, "format");
    for (size_t i = 0; i < n->nargs; i++)
        any |= is_any(check(c, n->args[i]));
    c->exempt = false;
    n->overloads = cel_find(n->name);
    if (!n->overloads || n->nargs > CEL_ARGS_MAX)
        return undeclared(c, n);
    for (f = n->overloads; f->name && str_is(n->name, f->name); f++) {
        const struct cel_type *t = try_overload(c, n, f);

        if (!t)
            continue;
        n->fn = result ? NULL : f;
        result = result ? cel_join(result, t) : t;
        if (!result)
            result = &cel_types[CEL_DYN];
        if (!any)
            break;
    }
    if (!result)
        return no_overload(c, n);
    if (n->fn)
        set_kinds(n);
    check_constant(c, n);
    fold_conversion(c, n);
    return result;
}

/* ---- loops ---- */

static void loop_vars(struct checker *c, const struct cel_node *n, const struct cel_type *range,
                      const struct cel_type **first, const struct cel_type **second)
{
    bool optional = n->loop == CEL_OPT_MAP || n->loop == CEL_OPT_FLAT_MAP;

    *first = *second = is_any(range) ? &cel_types[CEL_DYN] : &cel_wrong;
    if (is_any(range))
        return;
    if (optional ? range->kind == CEL_OPTIONAL : range->kind == CEL_LIST) {
        *first = n->two ? &cel_types[CEL_INT] : range->item;
        *second = range->item;
    } else if (range->kind == CEL_MAP && !optional && n->loop != CEL_SORT_BY) {
        *first = range->key;
        *second = range->item;
    } else {
        fail(c, n->args[0],
             "expression of type '%.*s' cannot be range of a comprehension (must be list, map, or "
             "dynamic)",
             STR_ARG(text(c, range)));
    }
}

static bool has_order(const struct cel_type *t)
{
    switch ((int)t->kind) {
    case CEL_BOOL:
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return true;
    default:
        return is_any(t);
    }
}

/* What a loop makes of what its last part is. */
static const struct cel_type *loop_made(struct checker *c, const struct cel_node *n,
                                        const struct cel_type *range, const struct cel_type *last)
{
    bool any = is_any(last);
    const struct cel_type *key = range->kind == CEL_MAP    ? range->key
                                 : range->kind == CEL_LIST ? &cel_types[CEL_INT]
                                                           : &cel_types[CEL_DYN];

    switch ((int)n->loop) {
    case CEL_FILTER:
        return range->kind == CEL_LIST
                   ? range
                   : cel_list_of(c->arena,
                                 range->kind == CEL_MAP ? range->key : &cel_types[CEL_DYN]);
    case CEL_TO_LIST:
        return cel_list_of(c->arena, last);
    case CEL_TO_MAP:
        return cel_map_of(c->arena, key, last);
    case CEL_TO_ENTRY:
        return any ? &cel_types[CEL_MAP] : last->kind == CEL_MAP ? last : NULL;
    case CEL_OPT_MAP:
        return cel_optional_of(c->arena, last);
    case CEL_OPT_FLAT_MAP:
        return any ? &cel_types[CEL_OPTIONAL] : last->kind == CEL_OPTIONAL ? last : NULL;
    case CEL_SORT_BY:
        return has_order(last) ? range : NULL;
    default:
        return &cel_types[CEL_BOOL];
    }
}

static const struct cel_type *loop_result(struct checker *c, const struct cel_node *n,
                                          const struct cel_type *range,
                                          const struct cel_type *condition,
                                          const struct cel_type *last)
{
    const struct cel_type *made = loop_made(c, n, range, last);

    if (n->loop == CEL_SORT_BY && !made)
        return fail(c, n,
                    "found no matching overload for '@sortByAssociatedKeys' applied to "
                    "'%.*s.(list(%.*s))'",
                    STR_ARG(text(c, range)), STR_ARG(text(c, last)));
    if (!made)
        return fail(c, n, "found no matching overload for a macro applied to '(%.*s)'",
                    STR_ARG(text(c, last)));
    if (n->loop == CEL_EXISTS_ONE) {
        (void)choose(c, n, last, &cel_types[CEL_INT], &cel_types[CEL_INT]);
        return made;
    }
    if (n->loop == CEL_FILTER || condition)
        return choose(c, n, condition ? condition : last, made, made);
    if ((n->loop == CEL_ALL || n->loop == CEL_EXISTS) && last->kind != CEL_BOOL && !is_any(last))
        fail(c, n->args[n->nargs - 1], "expected type 'bool' but found '%.*s'",
             STR_ARG(text(c, last)));
    return made;
}

static const struct cel_type *check_loop(struct checker *c, struct cel_node *n)
{
    const struct cel_type *range = check(c, n->args[0]), *last, *condition = NULL;
    struct scope one = { .up = c->scope, .name = n->name, .slot = c->depth };
    struct scope two = { .up = &one, .name = n->name2, .slot = (uint16_t)(c->depth + 1) };

    loop_vars(c, n, range, &one.type, &two.type);
    n->slot = c->depth;
    c->depth = (uint16_t)(c->depth + 2);
    if (c->depth > c->prog->nlocals)
        c->prog->nlocals = c->depth;
    c->scope = n->two ? &two : &one;
    last = check(c, n->args[1]);
    for (size_t i = 2; i < n->nargs; i++) {
        condition = last;
        last = check(c, n->args[i]);
    }
    c->scope = one.up;
    c->depth = n->slot;
    return loop_result(c, n, range, condition, last);
}

/* ---- all ---- */

static const struct cel_type *check_op(struct checker *c, struct cel_node *n)
{
    switch (n->op) {
    case CEL_OP_CONST:
        return &cel_types[n->value.kind];
    case CEL_OP_IDENT:
    case CEL_OP_VAR:
    case CEL_OP_LOCAL:
        return check_ident(c, n);
    case CEL_OP_SELECT:
    case CEL_OP_OPT_SELECT:
    case CEL_OP_HAS:
        return check_select(c, n);
    case CEL_OP_INDEX:
    case CEL_OP_OPT_INDEX:
        return check_index(c, n);
    case CEL_OP_AND:
    case CEL_OP_OR:
        return check_logic(c, n);
    case CEL_OP_IF:
        return check_if(c, n);
    case CEL_OP_LIST:
    case CEL_OP_MAP:
        return check_literal(c, n);
    case CEL_OP_CALL:
        return check_call(c, n);
    case CEL_OP_LOOP:
        return check_loop(c, n);
    }
    return &cel_wrong;
}

static void set_attribute(struct cel_node *n)
{
    switch ((int)n->op) {
    case CEL_OP_VAR:
    case CEL_OP_LOCAL:
        n->attribute = n->unit = true;
        return;
    case CEL_OP_IF:
        n->attribute = true;
        return;
    case CEL_OP_SELECT:
    case CEL_OP_OPT_SELECT:
    case CEL_OP_INDEX:
    case CEL_OP_OPT_INDEX:
        n->attribute = true;
        n->unit = n->args[0]->unit || !n->args[0]->attribute;
        return;
    default:
        return;
    }
}

static const struct cel_type *check(struct checker *c, struct cel_node *n)
{
    bool exempt = c->exempt;

    c->exempt = exempt && (n->op == CEL_OP_LIST || n->op == CEL_OP_MAP);
    n->type = check_op(c, n);
    c->exempt = exempt;
    set_attribute(n);
    return n->type;
}

int cel_check(struct cel_program *p, struct cel_findings *faults)
{
    struct checker c = {
        .prog = p, .arena = p->arena, .faults = faults, .late = { .arena = faults->arena }
    };

    (void)check(&c, p->root);
    if (!faults->n)
        *faults = c.late;
    return faults->n ? -1 : 0;
}
