/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The grammar of cel-spec, by recursive descent; macros become loops at once.  Chains of && and ||
 * are one node, so that long ones are not deep.
 */

#include "meta/cel_parts.h"

#include "base/banned.h"

enum { NESTING_MAX = 2 * CEL_DEPTH_MAX }; /* two a parenthesis */

struct parser {
    struct arena *arena;
    struct cel_lexer lex;
    unsigned depth;
    const char *why;
    size_t at;
};

static struct cel_node *expression(struct parser *p);
static struct cel_node *unary(struct parser *p);

static void *fail(struct parser *p, size_t at, const char *why)
{
    if (!p->why) {
        p->why = why;
        p->at = at;
    }
    return NULL;
}

/* k8s: as ANTLR says it: a word too many, if what follows could stand here, else a wrong one. */
static void *expected(struct parser *p, bool (*goes_on)(const struct cel_lexer *),
                      const char *wanted)
{
    const struct cel_lexer *l = &p->lex;
    struct cel_lexer next = *l;
    str word = str_sub(l->text, l->start, l->at - l->start);

    if (l->token == TOKEN_BAD)
        return fail(p, l->start, l->why);
    cel_lex(&next);
    return fail(p, l->start,
                arena_printf(p->arena, "Syntax error: %s input '%.*s' expecting %s",
                             l->token != TOKEN_END && goes_on(&next) ? "extraneous" : "mismatched",
                             STR_ARG(l->token == TOKEN_END ? STR("<EOF>") : word), wanted));
}

static bool starts(const struct cel_lexer *l)
{
    static const char *const ops[] = { "[", "{", "(", ".", "-", "!" };

    for (size_t i = 0; l->token == TOKEN_OP && i < sizeof(ops) / sizeof(*ops); i++)
        if (str_is(l->word, ops[i]))
            return true;
    return l->token != TOKEN_OP && l->token != TOKEN_END && l->token != TOKEN_BAD &&
           l->token != TOKEN_QUOTED_IDENT && !str_is(l->word, "in");
}

/* Where an expression must begin. */
static void *unexpected(struct parser *p)
{
    return expected(p, starts,
                    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, "
                    "NUM_UINT, STRING, BYTES, IDENTIFIER}");
}

static bool ends(const struct cel_lexer *l)
{
    return l->token == TOKEN_END;
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

static bool nothing(const struct cel_lexer *l)
{
    (void)l;
    return false;
}

static bool need(struct parser *p, const char *op)
{
    if (take(p, op))
        return true;
    if (str_is(str_of(op), ")") && p->lex.token == TOKEN_END)
        return fail(p, p->lex.start, "Syntax error: missing ')' at '<EOF>'");
    return expected(p, nothing, arena_printf(p->arena, "'%s'", op));
}

static bool is_word(const struct cel_lexer *l, const char *op)
{
    return l->token == TOKEN_OP && str_is(l->word, op);
}

static bool goes_on_list(const struct cel_lexer *l)
{
    return is_word(l, "]") || is_word(l, ",");
}

static bool goes_on_map(const struct cel_lexer *l)
{
    return is_word(l, "}") || is_word(l, ",");
}

static bool goes_on_call(const struct cel_lexer *l)
{
    return is_word(l, ")") || is_word(l, ",");
}

/* Behind an item of a list, a map, or arguments. */
static bool need_more(struct parser *p, const char *close)
{
    if (take(p, ","))
        return true;
    return expected(p,
                    close[0] == ']'   ? goes_on_list
                    : close[0] == '}' ? goes_on_map
                                      : goes_on_call,
                    arena_printf(p->arena, "{'%s', ','}", close));
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
    if (depth >= CEL_DEPTH_MAX)
        return fail(p, n->at, "expression recursion limit exceeded: 250");
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
    while (!take(p, close)) {
        bool optional = marks && take(p, "?");
        struct cel_node *n = expression(p);

        if (!n)
            return false;
        push(p, out, n, optional);
        if (take(p, close))
            return true;
        if (!need_more(p, close))
            return false;
        if (is_op(p, close) && !marks) /* only literals may end in a comma */
            return unexpected(p);
    }
    return true;
}

static struct cel_node *map_literal(struct parser *p, size_t at)
{
    struct nodes l = { 0 };

    while (!take(p, "}")) {
        bool optional = take(p, "?");
        struct cel_node *k = expression(p), *v;

        if (!k || !need(p, ":") || !(v = expression(p)))
            return NULL;
        push(p, &l, k, false);
        push(p, &l, v, optional);
        if (!is_op(p, "}") && !need_more(p, "}"))
            return NULL;
    }
    return of_nodes(p, CEL_OP_MAP, at, &l);
}

/* ---- macros ---- */

static struct cel_node *has_macro(struct parser *p, struct cel_node *n, const struct nodes *args)
{
    if (args->n != 1)
        return n;
    if (args->all[0]->op != CEL_OP_SELECT)
        return fail(p, args->all[0]->at, "invalid argument to has() macro");
    args->all[0]->op = CEL_OP_HAS;
    args->all[0]->at = n->at;
    return args->all[0];
}

static const struct macro {
    const char *name;
    enum cel_loop loop;
    unsigned vars, nargs; /* with the variables */
} macros[] = {
    { "all", CEL_ALL, 1, 2 },
    { "all", CEL_ALL, 2, 3 },
    { "exists", CEL_EXISTS, 1, 2 },
    { "exists", CEL_EXISTS, 2, 3 },
    { "exists_one", CEL_EXISTS_ONE, 1, 2 },
    { "exists_one", CEL_EXISTS_ONE, 2, 3 },
    { "existsOne", CEL_EXISTS_ONE, 1, 2 },
    { "existsOne", CEL_EXISTS_ONE, 2, 3 },
    { "filter", CEL_FILTER, 1, 2 },
    { "map", CEL_TO_LIST, 1, 2 },
    { "map", CEL_TO_LIST, 1, 3 },
    { "transformList", CEL_TO_LIST, 2, 3 },
    { "transformList", CEL_TO_LIST, 2, 4 },
    { "transformMap", CEL_TO_MAP, 2, 3 },
    { "transformMap", CEL_TO_MAP, 2, 4 },
    { "transformMapEntry", CEL_TO_ENTRY, 2, 3 },
    { "transformMapEntry", CEL_TO_ENTRY, 2, 4 },
    { "optMap", CEL_OPT_MAP, 1, 2 },
    { "optFlatMap", CEL_OPT_FLAT_MAP, 1, 2 },
    { "sortBy", CEL_SORT_BY, 1, 2 },
};

static const struct macro *find_macro(str name, size_t nargs)
{
    for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++)
        if (macros[i].nargs == nargs && str_is(name, macros[i].name))
            return &macros[i];
    return NULL;
}

static struct cel_node *loop(struct parser *p, const struct macro *m, struct cel_node *range,
                             size_t at, const struct nodes *args)
{
    size_t body = args->n - m->vars;
    struct cel_node *n = node(p, CEL_OP_LOOP, at, 1 + body);

    for (size_t i = 0; i < m->vars; i++)
        if (args->all[i]->op != CEL_OP_IDENT)
            return fail(p, args->all[i]->at,
                        m->loop == CEL_FILTER || (m->loop == CEL_TO_LIST && m->vars == 1)
                            ? "argument is not an identifier"
                            : "argument must be a simple name");
    n->loop = m->loop;
    n->two = m->vars == 2;
    n->name = args->all[0]->name;
    n->name2 = n->two ? args->all[1]->name : STR_NONE;
    if (n->two && str_eq(n->name, n->name2))
        return fail(p, args->all[1]->at, "duplicate iteration variable name");
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

static struct cel_node *member(struct parser *p, struct cel_node *target, size_t at)
{
    bool optional = take(p, "?");
    struct cel_node *n;
    str name = p->lex.word;
    size_t call_at;
    bool quoted = p->lex.token == TOKEN_QUOTED_IDENT;

    if (quoted) /* k8s: its environments do not take them */
        return fail(p, p->lex.start, "unsupported syntax: '`'");
    if (p->lex.token != TOKEN_IDENT || str_is(name, "in") || str_is(name, "true") ||
        str_is(name, "false") || str_is(name, "null"))
        return fail(p, p->lex.start,
                    arena_printf(p->arena, "Syntax error: no viable alternative at input '%.*s'",
                                 STR_ARG(str_sub(p->lex.text, at, p->lex.at - at))));
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

static struct cel_node *ident(struct parser *p)
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
    if (is_reserved(name))
        return fail(p, at, arena_printf(p->arena, "reserved identifier: %.*s", STR_ARG(name)));
    call_at = p->lex.start;
    if (!take(p, "(")) {
        n = node(p, CEL_OP_IDENT, at, 0);
        n->name = name;
        return done(p, n);
    }
    if (!arguments(p, ")", false, &args) || !(n = of_nodes(p, CEL_OP_CALL, call_at, &args)))
        return NULL;
    n->name = name;
    return str_is(name, "has") ? has_macro(p, n, &args) : n;
}

static struct cel_node *literal(struct parser *p)
{
    struct cel_lexer l = p->lex;

    if (l.token == TOKEN_INT && l.u > INT64_MAX)
        return fail(p, l.start, "invalid int literal");
    cel_lex(&p->lex);
    switch (l.token) {
    case TOKEN_INT:
        return constant(p, l.start, cel_int(l.i));
    case TOKEN_UINT:
        return constant(p, l.start, cel_uint(l.u));
    case TOKEN_DOUBLE:
        return constant(p, l.start, cel_double(l.f));
    case TOKEN_BYTES:
        return constant(p, l.start, (struct cel_value){ .kind = CEL_BYTES, .s = l.word });
    case TOKEN_STRING:
        if (!str_utf8_valid(l.word))
            return fail(p, l.start, "string literal is not valid UTF-8");
        return constant(p, l.start, cel_str(l.word));
    case TOKEN_END:
    case TOKEN_IDENT:
    case TOKEN_QUOTED_IDENT:
    case TOKEN_OP:
    case TOKEN_BAD:
        break;
    }
    p->lex = l;
    return unexpected(p);
}

static struct cel_node *primary(struct parser *p)
{
    size_t at = p->lex.start;
    struct nodes items = { 0 };
    struct cel_node *n;

    if (take(p, "(")) {
        n = expression(p);
        return n && need(p, ")") ? n : NULL;
    }
    if (take(p, "["))
        return arguments(p, "]", true, &items) ? of_nodes(p, CEL_OP_LIST, at, &items) : NULL;
    if (take(p, "{"))
        return map_literal(p, at);
    (void)take(p, "."); /* names from the root: there is no other place */
    if (p->lex.token == TOKEN_IDENT && str_is(p->lex.word, "in"))
        return unexpected(p);
    return p->lex.token == TOKEN_IDENT ? ident(p) : literal(p);
}

static str dotted(struct arena *a, const struct cel_node *n)
{
    if (n->op != CEL_OP_SELECT)
        return n->name;
    return str_printf(a, "%.*s.%.*s", STR_ARG(dotted(a, n->args[0])), STR_ARG(n->name));
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
            return fail(p, at,
                        arena_printf(p->arena, "undeclared reference to '%.*s' (in container '')",
                                     STR_ARG(dotted(p->arena, n))));
        } else {
            break;
        }
    }
    return n;
}

static struct cel_node *negative(struct parser *p, size_t at)
{
    struct cel_lexer l = p->lex;
    struct cel_node *n;

    /* A number with its sign: the least int has no positive form. */
    if (l.token == TOKEN_INT && l.u == (uint64_t)INT64_MAX + 1) {
        cel_lex(&p->lex);
        return constant(p, at, cel_int(INT64_MIN));
    }
    n = unary(p);
    if (n && n->op == CEL_OP_CONST && n->value.kind == CEL_INT && l.token == TOKEN_INT) {
        n->value.i = -n->value.i;
        return n;
    }
    if (n && n->op == CEL_OP_CONST && n->value.kind == CEL_DOUBLE && l.token == TOKEN_DOUBLE) {
        n->value.f = -n->value.f;
        return n;
    }
    return n ? call(p, at, STR("-_"), n, NULL) : NULL;
}

static struct cel_node *unary(struct parser *p)
{
    size_t at = p->lex.start;
    struct cel_node *n;

    if (++p->depth > NESTING_MAX) {
        p->depth--;
        return fail(p, at, "expression recursion limit exceeded: 250");
    }
    if (take(p, "!")) {
        n = unary(p);
        n = n ? call(p, at, STR("!_"), n, NULL) : NULL;
    } else if (take(p, "-")) {
        n = negative(p, at);
    } else {
        n = postfix(p);
    }
    p->depth--;
    return n;
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
static struct cel_node *binary(struct parser *p, unsigned level)
{
    struct cel_node *n = level == 3 ? unary(p) : binary(p, level + 1);
    const char *name;

    while (n && (name = binary_at(p, level))) {
        size_t at = p->lex.start;
        struct cel_node *b;

        cel_lex(&p->lex);
        b = level == 3 ? unary(p) : binary(p, level + 1);
        n = b ? call(p, at, str_of(name), n, b) : NULL;
    }
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

    if (++p->depth > NESTING_MAX) {
        p->depth--;
        return fail(p, p->lex.start, "expression recursion limit exceeded: 250");
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

struct cel_node *cel_parse(struct arena *a, str text, const char **why, size_t *at)
{
    struct parser p = { .arena = a, .lex = { .arena = a, .text = text } };
    struct cel_node *n;

    if (text.n > CEL_TEXT_MAX)
        n = fail(&p, 0, "expression code point size exceeds limit: 100000");
    else if (!str_utf8_valid(text))
        n = fail(&p, 0, "expression is not valid UTF-8");
    else {
        cel_lex(&p.lex);
        n = expression(&p);
        if (n && p.lex.token != TOKEN_END)
            n = expected(&p, ends, "<EOF>");
    }
    if (n)
        return n;
    *why = p.why;
    *at = p.at;
    return NULL;
}

bool cel_is_expression(struct arena *a, str text, size_t *at, const char **why)
{
    return cel_parse(a, text, why, at) != NULL;
}
