/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The grammar of cel-spec, by recursive descent; macros become loops at once.  Chains of && and ||
 * are one node, so that long ones are not deep.
 */

#include "object/cel/cel_internal.h"

#include "base/banned.h"

enum { FOUND_MAX = 64 }; /* bytes of a token in a message */

struct parser {
    struct arena *arena;
    struct cel_lexer lex;
    unsigned depth, calcs, relations; /* rules of the grammar that are open in themselves */
    struct cel_findings *faults;
};

static struct cel_node *expression(struct parser *p);

static void *fail(struct parser *p, int64_t at, const char *why)
{
    if (!p->faults->n)
        cel_finding(p->faults, at, "%s", why);
    return NULL;
}

static void *too_deep(struct parser *p)
{
    return fail(p, CEL_NOWHERE, "expression recursion limit exceeded: 250");
}

static const char *found(struct parser *p)
{
    const struct cel_lexer *l = &p->lex;
    str text = str_cut(str_sub(l->text, l->start, l->at - l->start), FOUND_MAX);

    if (l->token == TOKEN_END)
        return "the end";
    if (l->token == TOKEN_STRING || l->token == TOKEN_BYTES)
        return "a string";
    return arena_printf(p->arena, "'%.*s'", STR_ARG(text));
}

/* The token that comes is not what may stand there. */
static void *expected(struct parser *p, const char *what)
{
    int64_t at = (int64_t)p->lex.start;

    if (p->lex.token == TOKEN_BAD)
        return fail(p, at, p->lex.why);
    return fail(p, at,
                arena_printf(p->arena, "Syntax error: expected %s but found %s", what, found(p)));
}

static void *no_expression(struct parser *p)
{
    return expected(p, "an expression");
}

static bool is_op(const struct parser *p, const char *op)
{
    return p->lex.token == TOKEN_OP && str_is(p->lex.word, op);
}

static bool take(struct parser *p, const char *op)
{
    if (!is_op(p, op))
        return false;
    cel_lex(&p->lex);
    return true;
}

static bool need(struct parser *p, const char *op)
{
    return take(p, op) || expected(p, arena_printf(p->arena, "'%s'", op));
}

static struct cel_node *node(struct parser *p, enum cel_op op, size_t at, size_t nargs)
{
    struct cel_node *n = arena_new_of(p->arena, struct cel_node);

    n->op = op;
    n->at = (uint32_t)at;
    n->nargs = (uint32_t)nargs;
    n->args = arena_array(p->arena, struct cel_node *, nargs + 1);
    return n;
}

/* Once its arguments are there. */
static struct cel_node *done(struct parser *p, struct cel_node *n)
{
    unsigned depth = 0;

    for (size_t i = 0; i < n->nargs; i++) {
        if (!n->args[i])
            return NULL;
        if (n->args[i]->depth > depth)
            depth = n->args[i]->depth;
    }
    if (depth > CEL_DEPTH_MAX)
        return too_deep(p);
    n->depth = (uint16_t)(depth + 1);
    return n;
}

static struct cel_node *constant(struct parser *p, size_t at, struct cel_value v)
{
    struct cel_node *n = node(p, CEL_OP_CONST, at, 0);

    n->value = v;
    return done(p, n);
}

static struct cel_node *call(struct parser *p, size_t at, str name, struct cel_node *a,
                             struct cel_node *b)
{
    struct cel_node *n = node(p, CEL_OP_CALL, at, b ? 2 : 1);

    n->name = name;
    n->args[0] = a;
    if (b)
        n->args[1] = b;
    return done(p, n);
}

/* ---- lists of things ---- */

struct nodes {
    struct cel_node **all;
    bool *optional;
    size_t n, cap;
    bool any_optional;
};

static void push(struct parser *p, struct nodes *l, struct cel_node *n, bool optional)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 4;
        struct cel_node **all = arena_array(p->arena, struct cel_node *, cap);
        bool *flags = arena_array(p->arena, bool, cap);

        if (l->n) {
            memcpy(all, l->all, l->n * sizeof(*all));
            memcpy(flags, l->optional, l->n * sizeof(*flags));
        }
        l->all = all;
        l->optional = flags;
        l->cap = cap;
    }
    l->all[l->n] = n;
    l->optional[l->n++] = optional;
    l->any_optional |= optional;
}

static struct cel_node *of_nodes(struct parser *p, enum cel_op op, size_t at, const struct nodes *l)
{
    struct cel_node *n = node(p, op, at, 0);

    n->nargs = (uint32_t)l->n;
    n->args = l->all;
    n->optional = l->any_optional ? l->optional : NULL;
    return done(p, n);
}

static bool arguments(struct parser *p, const char *close, bool marks, struct nodes *out)
{
    if (marks && take(p, ",")) /* k8s: a literal may be nothing but a comma */
        return need(p, close);
    while (!take(p, close)) {
        bool optional = marks && take(p, "?");
        struct cel_node *n = expression(p);

        if (!n)
            return false;
        push(p, out, n, optional);
        if (take(p, close))
            return true;
        if (!take(p, ","))
            return expected(p, arena_printf(p->arena, "',' or '%s'", close));
        if (is_op(p, close) && !marks) /* only literals may end in a comma */
            return no_expression(p);
    }
    return true;
}

static struct cel_node *map_literal(struct parser *p, size_t at)
{
    struct nodes l = { 0 };

    if (take(p, ",") && !is_op(p, "}"))
        return expected(p, "'}'");
    while (!take(p, "}")) {
        bool optional = take(p, "?");
        struct cel_node *k = expression(p), *v;

        if (!k || !need(p, ":") || !(v = expression(p)))
            return NULL;
        push(p, &l, k, false);
        push(p, &l, v, optional);
        if (!is_op(p, "}") && !take(p, ","))
            return expected(p, "',' or '}'");
    }
    return of_nodes(p, CEL_OP_MAP, at, &l);
}

/* ---- macros ---- */

static struct cel_node *has_macro(struct parser *p, struct cel_node *n, const struct nodes *args)
{
    if (args->n != 1)
        return n;
    if (args->all[0]->op != CEL_OP_SELECT && args->all[0]->op != CEL_OP_HAS)
        return fail(p, args->all[0]->at, "invalid argument to has() macro");
    args->all[0]->op = CEL_OP_HAS;
    args->all[0]->at = n->at;
    return args->all[0];
}

#define NO_SIMPLE_NAME "argument must be a simple name"
#define NO_IDENTIFIER  "argument is not an identifier"

static const struct macro {
    const char *name;
    enum cel_loop loop;
    unsigned vars, nargs; /* with the variables */
    const char *no_name;  /* told of a variable that is none */
} macros[] = {
    { "all", CEL_ALL, 1, 2, NO_SIMPLE_NAME },
    { "all", CEL_ALL, 2, 3, NO_SIMPLE_NAME },
    { "exists", CEL_EXISTS, 1, 2, NO_SIMPLE_NAME },
    { "exists", CEL_EXISTS, 2, 3, NO_SIMPLE_NAME },
    { "exists_one", CEL_EXISTS_ONE, 1, 2, NO_SIMPLE_NAME },
    { "exists_one", CEL_EXISTS_ONE, 2, 3, NO_SIMPLE_NAME },
    { "existsOne", CEL_EXISTS_ONE, 1, 2, NO_SIMPLE_NAME },
    { "existsOne", CEL_EXISTS_ONE, 2, 3, NO_SIMPLE_NAME },
    { "filter", CEL_FILTER, 1, 2, NO_IDENTIFIER },
    { "map", CEL_TO_LIST, 1, 2, NO_IDENTIFIER },
    { "map", CEL_TO_LIST, 1, 3, NO_IDENTIFIER },
    { "transformList", CEL_TO_LIST, 2, 3, NO_SIMPLE_NAME },
    { "transformList", CEL_TO_LIST, 2, 4, NO_SIMPLE_NAME },
    { "transformMap", CEL_TO_MAP, 2, 3, NO_SIMPLE_NAME },
    { "transformMap", CEL_TO_MAP, 2, 4, NO_SIMPLE_NAME },
    { "transformMapEntry", CEL_TO_ENTRY, 2, 3, NO_SIMPLE_NAME },
    { "transformMapEntry", CEL_TO_ENTRY, 2, 4, NO_SIMPLE_NAME },
    { "optMap", CEL_OPT_MAP, 1, 2, "optMap() variable name must be a simple identifier" },
    { "optFlatMap", CEL_OPT_FLAT_MAP, 1, 2,
      "optFlatMap() variable name must be a simple identifier" },
    { "sortBy", CEL_SORT_BY, 1, 2, NO_IDENTIFIER },
};

static const struct macro *find_macro(str name, size_t nargs)
{
    for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++)
        if (macros[i].nargs == nargs && str_is(name, macros[i].name))
            return &macros[i];
    return NULL;
}

/* k8s: cel-go has its result in a variable of that name. */
static bool may_be_variable(const struct macro *m, str name)
{
    return m->loop == CEL_OPT_MAP || m->loop == CEL_OPT_FLAT_MAP || !str_is(name, "__result__");
}

/* With its dot, which no name in the body has. */
static str variable(struct parser *p, const struct cel_node *n)
{
    return n->rooted ? str_printf(p->arena, ".%.*s", STR_ARG(n->name)) : n->name;
}

static struct cel_node *loop(struct parser *p, const struct macro *m, struct cel_node *range,
                             size_t at, const struct nodes *args)
{
    size_t body = args->n - m->vars;
    struct cel_node *n = node(p, CEL_OP_LOOP, at, 1 + body);

    for (size_t i = 0; i < m->vars; i++) {
        if (args->all[i]->op != CEL_OP_IDENT)
            return fail(p, args->all[i]->at, m->no_name);
        if (!may_be_variable(m, args->all[i]->name))
            return fail(p, args->all[i]->at, "iteration variable overwrites accumulator variable");
    }
    if (m->loop == CEL_SORT_BY && (range->op == CEL_OP_CONST || range->op == CEL_OP_MAP))
        return fail(p, range->at,
                    "sortBy can only be applied to a list, identifier, comprehension, call or "
                    "select expression");
    n->loop = m->loop;
    n->two = m->vars == 2;
    n->name = variable(p, args->all[0]);
    n->name2 = n->two ? variable(p, args->all[1]) : STR_NONE;
    if (n->two && str_eq(n->name, n->name2))
        return fail(p, args->all[1]->at,
                    arena_printf(p->arena, "duplicate variable name: %.*s", STR_ARG(n->name)));
    n->args[0] = range;
    for (size_t i = 0; i < body; i++)
        n->args[1 + i] = args->all[m->vars + i];
    return done(p, n);
}

/* ---- expressions ---- */

static struct cel_node *method(struct parser *p, struct cel_node *target, str name, size_t at)
{
    struct nodes args = { 0 };
    const struct macro *m;
    struct nodes all = { 0 };
    struct cel_node *n;

    if (!arguments(p, ")", false, &args))
        return NULL;
    m = find_macro(name, args.n);
    if (m)
        return loop(p, m, target, at, &args);
    push(p, &all, target, false);
    for (size_t i = 0; i < args.n; i++)
        push(p, &all, args.all[i], false);
    n = of_nodes(p, CEL_OP_CALL, at, &all);
    if (!n)
        return NULL;
    n->name = name;
    n->receiver = true;
    return n;
}

/* Words that are no names. */
static bool is_literal(str name)
{
    return str_is(name, "in") || str_is(name, "true") || str_is(name, "false") ||
           str_is(name, "null");
}

static struct cel_node *member(struct parser *p, struct cel_node *target, size_t at)
{
    bool optional = take(p, "?");
    struct cel_node *n;
    str name = p->lex.word;
    size_t call_at;

    /* k8s: its environments do not take `quoted` ones */
    if (p->lex.token == TOKEN_QUOTED_IDENT)
        return fail(p, (int64_t)p->lex.start, "unsupported syntax: '`'");
    if (p->lex.token != TOKEN_IDENT || is_literal(name))
        return expected(p, "a name");
    cel_lex(&p->lex);
    call_at = p->lex.start; /* k8s: cel-go: a call is where its parenthesis is */
    if (!optional && take(p, "("))
        return method(p, target, name, call_at);
    n = node(p, optional ? CEL_OP_OPT_SELECT : CEL_OP_SELECT, at, 1);
    n->name = name;
    n->args[0] = target;
    return done(p, n);
}

/* k8s: cel-go parser.go reservedIds */
static bool is_reserved(str name)
{
    static const char *const words[] = { "as",   "break",    "const",     "continue", "else",
                                         "for",  "function", "if",        "import",   "let",
                                         "loop", "package",  "namespace", "return",   "var",
                                         "void", "while" };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (str_is(name, words[i]))
            return true;
    return false;
}

static struct cel_node *ident(struct parser *p, bool rooted)
{
    size_t at = p->lex.start, call_at;
    str name = p->lex.word;
    struct nodes args = { 0 };
    struct cel_node *n;

    cel_lex(&p->lex);
    if (str_is(name, "true") || str_is(name, "false"))
        return constant(p, at, cel_bool(str_is(name, "true")));
    if (str_is(name, "null"))
        return constant(p, at, (struct cel_value){ .kind = CEL_NULL });
    if (is_reserved(name) && !is_op(p, "{"))
        return fail(p, (int64_t)at,
                    arena_printf(p->arena, "reserved identifier: %.*s", STR_ARG(name)));
    call_at = p->lex.start;
    if (!take(p, "(")) {
        n = node(p, CEL_OP_IDENT, at, 0);
        n->name = name;
        n->rooted = rooted;
        return done(p, n);
    }
    if (!arguments(p, ")", false, &args) || !(n = of_nodes(p, CEL_OP_CALL, call_at, &args)))
        return NULL;
    n->name = name;
    n->rooted = rooted;
    return str_is(name, "has") && !rooted ? has_macro(p, n, &args) : n;
}

/* Whether a minus comes that is a number's sign. */
static bool is_signed(const struct parser *p)
{
    struct cel_lexer next = p->lex;

    if (!is_op(p, "-"))
        return false;
    cel_lex(&next);
    return next.token == TOKEN_INT || next.token == TOKEN_DOUBLE;
}

static bool value(const struct cel_lexer *l, bool negative, struct cel_value *out)
{
    switch (l->token) {
    case TOKEN_INT: /* the least has no positive form */
        *out = cel_int(negative ? (int64_t)-l->u : l->i);
        return true;
    case TOKEN_UINT:
        *out = cel_uint(l->u);
        return true;
    case TOKEN_DOUBLE:
        *out = cel_double(negative ? -l->f : l->f);
        return true;
    case TOKEN_BYTES:
        *out = (struct cel_value){ .kind = CEL_BYTES, .s = l->word };
        return true;
    case TOKEN_STRING:
        *out = cel_str(l->word);
        return true;
    case TOKEN_END:
    case TOKEN_IDENT:
    case TOKEN_QUOTED_IDENT:
    case TOKEN_OP:
    case TOKEN_BAD:
        break;
    }
    return false;
}

static struct cel_node *literal(struct parser *p)
{
    size_t at = p->lex.start;
    bool negative = is_signed(p) && take(p, "-");
    struct cel_value v;

    if (!value(&p->lex, negative, &v))
        return no_expression(p);
    if (p->lex.token == TOKEN_INT && p->lex.u > (uint64_t)INT64_MAX + negative)
        return fail(p, (int64_t)at, "invalid int literal");
    cel_lex(&p->lex);
    return constant(p, at, v);
}

static struct cel_node *primary(struct parser *p)
{
    size_t at = p->lex.start;
    struct nodes items = { 0 };
    struct cel_node *n;
    bool rooted;

    if (take(p, "(")) {
        n = expression(p);
        return n && need(p, ")") ? n : NULL;
    }
    if (take(p, "["))
        return arguments(p, "]", true, &items) ? of_nodes(p, CEL_OP_LIST, at, &items) : NULL;
    if (take(p, "{"))
        return map_literal(p, at);
    rooted = take(p, "."); /* names from the root: there is no other place */
    if (p->lex.token == TOKEN_IDENT && str_is(p->lex.word, "in"))
        return rooted ? expected(p, "a name") : no_expression(p);
    if (rooted && (p->lex.token != TOKEN_IDENT || is_literal(p->lex.word)))
        return expected(p, "a name");
    return p->lex.token == TOKEN_IDENT ? ident(p, rooted) : literal(p);
}

static str dotted(struct arena *a, const struct cel_node *n)
{
    str before;

    if (n->op != CEL_OP_SELECT)
        return n->name;
    before = dotted(a, n->args[0]); /* made once: STR_ARG() has its argument twice */
    return str_printf(a, "%.*s.%.*s", STR_ARG(before), STR_ARG(n->name));
}

static struct cel_node *postfix(struct parser *p)
{
    struct cel_node *n = primary(p);

    while (n) {
        size_t at = p->lex.start;

        if (take(p, ".")) {
            n = member(p, n, at);
        } else if (take(p, "[")) {
            struct cel_node *i = node(p, take(p, "?") ? CEL_OP_OPT_INDEX : CEL_OP_INDEX, at, 2);

            i->args[0] = n;
            i->args[1] = expression(p);
            n = i->args[1] && need(p, "]") ? done(p, i) : NULL;
        } else if (is_op(p, "{") && (n->op == CEL_OP_IDENT || n->op == CEL_OP_SELECT)) {
            return fail(p, (int64_t)at,
                        arena_printf(p->arena, "undeclared reference to '%.*s' (in container '')",
                                     STR_ARG(dotted(p->arena, n))));
        } else {
            break;
        }
    }
    return n;
}

static struct cel_node *unary(struct parser *p)
{
    size_t at = p->lex.start;
    const char *op = is_op(p, "!") ? "!" : "-";
    struct cel_node *n;
    bool odd = false;

    /* k8s: two of them are none */
    if (!is_signed(p))
        while (take(p, op))
            odd = !odd;
    n = postfix(p);
    return n && odd ? call(p, at, op[0] == '!' ? STR("!_") : STR("-_"), n, NULL) : n;
}

static const struct {
    const char *op, *name;
    unsigned level;
} binaries[] = {
    { "*", "_*_", 3 },   { "/", "_/_", 3 },   { "%", "_%_", 3 },   { "+", "_+_", 2 },
    { "-", "_-_", 2 },   { "<", "_<_", 1 },   { "<=", "_<=_", 1 }, { ">", "_>_", 1 },
    { ">=", "_>=_", 1 }, { "==", "_==_", 1 }, { "!=", "_!=_", 1 }, { "in", "@in", 1 },
};

static const char *binary_at(const struct parser *p, unsigned level)
{
    if (p->lex.token != TOKEN_OP && !(p->lex.token == TOKEN_IDENT && str_is(p->lex.word, "in")))
        return NULL;
    for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++)
        if (binaries[i].level == level && str_is(p->lex.word, binaries[i].op))
            return binaries[i].name;
    return NULL;
}

/* 1: relations, 2: sums, 3: products; 4: what they join. */
static struct cel_node *binary(struct parser *p, unsigned level);

static struct cel_node *operand(struct parser *p, unsigned level)
{
    return level == 3 ? unary(p) : binary(p, level + 1);
}

/* k8s: what is right of an operator is in a rule of its own, inside of the one of the operator. */
static struct cel_node *right(struct parser *p, unsigned level)
{
    unsigned *open = level == 1 ? &p->relations : &p->calcs;
    struct cel_node *n = NULL;

    if (++*open <= CEL_DEPTH_MAX)
        n = operand(p, level);
    else
        too_deep(p);
    --*open;
    return n;
}

static struct cel_node *binary(struct parser *p, unsigned level)
{
    unsigned none = 0, *open = level == 1 ? &p->relations : level == 2 ? &p->calcs : &none;
    struct cel_node *n = NULL;
    const char *name;

    if (++*open <= CEL_DEPTH_MAX)
        n = operand(p, level);
    else
        too_deep(p);
    while (n && (name = binary_at(p, level))) {
        size_t at = p->lex.start;
        struct cel_node *b;

        cel_lex(&p->lex);
        b = right(p, level);
        n = b ? call(p, at, str_of(name), n, b) : NULL;
    }
    --*open;
    return n;
}

static struct cel_node *chain(struct parser *p, bool or)
{
    struct cel_node *n = or ? chain(p, false) : binary(p, 1);
    size_t at = p->lex.start;
    struct nodes l = { 0 };

    if (!n || !is_op(p, or ? "||" : "&&"))
        return n;
    push(p, &l, n, false);
    while (take(p, or ? "||" : "&&")) {
        n = or ? chain(p, false) : binary(p, 1);
        if (!n)
            return NULL;
        push(p, &l, n, false);
    }
    return of_nodes(p, or ? CEL_OP_OR : CEL_OP_AND, at, &l);
}

static struct cel_node *expression(struct parser *p)
{
    struct cel_node *n, *c;
    size_t at;

    if (++p->depth > CEL_DEPTH_MAX) {
        p->depth--;
        return too_deep(p);
    }
    n = chain(p, true);
    at = p->lex.start;
    if (n && take(p, "?")) {
        c = node(p, CEL_OP_IF, at, 3);
        c->args[0] = n;
        c->args[1] = chain(p, true);
        if (c->args[1] && need(p, ":"))
            c->args[2] = expression(p);
        n = done(p, c);
    }
    p->depth--;
    return n;
}

struct cel_node *cel_parse(str text, struct cel_findings *faults)
{
    struct arena *a = faults->arena;
    struct parser p = { .arena = a, .lex = { .arena = a, .text = text }, .faults = faults };
    struct cel_node *n;

    if (!str_utf8_valid(text))
        return fail(&p, CEL_NOWHERE, "expression is not valid UTF-8");
    if (cel_code_points(text) > CEL_TEXT_MAX)
        return fail(&p, CEL_NOWHERE,
                    arena_printf(a,
                                 "expression code point size exceeds limit: size: %lld, limit %d",
                                 (long long)cel_code_points(text), CEL_TEXT_MAX));
    cel_lex(&p.lex);
    n = expression(&p);
    return n && p.lex.token != TOKEN_END ? expected(&p, "an operator or the end") : n;
}
