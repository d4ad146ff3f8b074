/* SPDX-License-Identifier: Apache-2.0 */

/* k8s: cel-go parser/gen/CEL.g4, a function a rule, and what parser.go says of what was read. */

#include "object/cel/cel_fault_walk.h"

#include "base/banned.h"

#define NUMBERS (ONE(INT) | ONE(FLOAT))
#define LITERALS \
    (NUMBERS | ONE(UINT) | ONE(STRING) | ONE(BYTES) | ONE(TRUE) | ONE(FALSE) | ONE(NULL))
#define MEMBER \
    (LITERALS | ONE(LBRACKET) | ONE(LBRACE) | ONE(LPAREN) | ONE(DOT) | ONE(MINUS) | ONE(IDENT))
#define EXPR      (MEMBER | ONE(NOT))
#define OPT_EXPR  (EXPR | ONE(QUESTION))
#define NAME      (ONE(IDENT) | ONE(QUOTED))
#define OPT_NAME  (NAME | ONE(QUESTION))
#define RELATIONS (ONE(EQ) | ONE(NE) | ONE(IN) | ONE(LT) | ONE(LE) | ONE(GE) | ONE(GT))
#define PRODUCTS  (ONE(STAR) | ONE(SLASH) | ONE(PERCENT))
#define SUMS      (ONE(PLUS) | ONE(MINUS))
#define POSTFIX   (ONE(DOT) | ONE(LBRACKET) | REST)

/* What an expression is to the macros. */
enum kind { NOTHING, LITERAL, IDENT, SELECT, CALL, LIST, MAP };

struct thing {
    enum kind kind;
    int64_t at;
    str name;
    unsigned depth;
};

static const struct thing nothing = { .kind = NOTHING, .at = CEL_BEFORE };

static struct thing expr(struct walk *w, set follow);

/* ---- macros ---- */

struct args {
    size_t n;
    struct thing first[2];
    unsigned depth;
};

static const struct macro {
    const char *name;
    size_t vars, least, most; /* arguments with the variables */
    const char *why;          /* the first is no name */
} macros[] = {
    { "all", 1, 2, 2, "argument must be a simple name" },
    { "all", 2, 3, 3, "argument must be a simple name" },
    { "exists", 1, 2, 2, "argument must be a simple name" },
    { "exists", 2, 3, 3, "argument must be a simple name" },
    { "exists_one", 1, 2, 2, "argument must be a simple name" },
    { "exists_one", 2, 3, 3, "argument must be a simple name" },
    { "existsOne", 1, 2, 2, "argument must be a simple name" },
    { "existsOne", 2, 3, 3, "argument must be a simple name" },
    { "filter", 1, 2, 2, "argument is not an identifier" },
    { "map", 1, 2, 3, "argument is not an identifier" },
    { "transformList", 2, 3, 4, "argument must be a simple name" },
    { "transformMap", 2, 3, 4, "argument must be a simple name" },
    { "transformMapEntry", 2, 3, 4, "argument must be a simple name" },
    { "optMap", 1, 2, 2, "optMap() variable name must be a simple identifier" },
    { "optFlatMap", 1, 2, 2, "optFlatMap() variable name must be a simple identifier" },
    { "sortBy", 1, 2, 2, "argument is not an identifier" },
};

/* What is wrong with a call of a macro, and where. */
static const char *macro_fault(struct walk *w, const struct macro *m, struct thing target,
                               const struct args *args, int64_t *at)
{
    bool sort = str_is(str_of(m->name), "sortBy"), opt = str_starts(str_of(m->name), STR("opt"));

    *at = target.at;
    if (sort && (target.kind == NOTHING || target.kind == LITERAL || target.kind == MAP))
        return "sortBy can only be applied to a list, identifier, comprehension, call or select "
               "expression";
    for (size_t i = 0; i < m->vars; i++) {
        *at = args->first[i].at;
        if (args->first[i].kind != IDENT)
            return m->why;
    }
    if (m->vars == 2 && str_eq(args->first[0].name, args->first[1].name))
        return arena_printf(w->arena, "duplicate variable name: %.*s",
                            STR_ARG(args->first[0].name));
    for (size_t i = 0; i < m->vars && !opt; i++) {
        *at = args->first[i].at;
        if (str_is(args->first[i].name, "__result__"))
            return "iteration variable overwrites accumulator variable";
    }
    return NULL;
}

static struct thing method(struct walk *w, struct thing target, str name, int64_t open,
                           const struct args *args)
{
    struct thing t = { .kind = CALL, .at = open };

    for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++) {
        const struct macro *m = &macros[i];
        const char *why;
        int64_t at;

        if (!str_is(name, m->name) || args->n < m->least || args->n > m->most)
            continue;
        why = macro_fault(w, m, target, args, &at);
        if (!why)
            break;
        walk_meaning(w, at, why);
        t = (struct thing){ .kind = NOTHING, .at = at };
        break;
    }
    t.depth = (target.depth > args->depth ? target.depth : args->depth) + 1;
    return t;
}

static struct thing has_macro(struct walk *w, int64_t open, const struct args *args)
{
    struct thing t = { .kind = SELECT, .at = open, .depth = args->depth };

    if (args->first[0].kind == SELECT)
        return t;
    walk_meaning(w, args->first[0].at, "invalid argument to has() macro");
    return (struct thing){ .kind = NOTHING, .at = args->first[0].at, .depth = args->depth };
}

/* ---- lists of things ---- */

static void add(struct args *args, struct thing t)
{
    if (args->n < 2)
        args->first[args->n] = t;
    args->n++;
    if (t.depth > args->depth)
        args->depth = t.depth;
}

static void exprs(struct walk *w, set follow, struct args *out)
{
    struct frame was = walk_enter(w, RULE_EXPRS, follow);

    add(out, expr(w, ONE(COMMA) | REST));
    while (walk_type(w) == WORD_COMMA) {
        (void)walk_take(w);
        add(out, expr(w, ONE(COMMA) | REST));
    }
    walk_leave(w, RULE_EXPRS, was);
}

/* Behind the opening parenthesis of a call; false: the rule that it is in ends. */
static bool arguments(struct walk *w, unsigned state, set then, struct args *out)
{
    if (!walk_choose(w, state, EXPR | ONE(RPAREN)))
        return false;
    if (has(EXPR, walk_type(w)))
        exprs(w, ONE(RPAREN), out);
    return walk_need(w, state + 1, WORD_RPAREN, then);
}

static struct thing opt_expr(struct walk *w, set follow)
{
    struct frame was = walk_enter(w, RULE_OPT_EXPR, follow);
    struct thing t = nothing;

    if (walk_choose(w, 238, OPT_EXPR)) {
        if (walk_type(w) == WORD_QUESTION)
            (void)walk_take(w);
        t = expr(w, REST);
    }
    walk_leave(w, RULE_OPT_EXPR, was);
    return t;
}

/* A comma with more behind it; else it is the one that may end a literal. */
static bool more(struct walk *w, set first)
{
    if (walk_type(w) != WORD_COMMA || !has(first, walk_word(w, 1).type))
        return false;
    (void)walk_take(w);
    return true;
}

static void items(struct walk *w, set follow, struct args *out)
{
    struct frame was = walk_enter(w, RULE_LIST, follow);

    do
        add(out, opt_expr(w, ONE(COMMA) | REST));
    while (more(w, OPT_EXPR));
    walk_leave(w, RULE_LIST, was);
}

static void entries(struct walk *w, set follow, struct args *out)
{
    struct frame was = walk_enter(w, RULE_ENTRIES, follow);
    unsigned state = 221;

    do {
        size_t mark = w->nmeanings;

        add(out, opt_expr(w, ONE(COLON)));
        if (!walk_need(w, state, WORD_COLON, EXPR)) { /* a key alone is not looked at */
            w->nmeanings = mark;
            break;
        }
        add(out, expr(w, ONE(COMMA) | REST));
        state = 225;
    } while (more(w, OPT_EXPR));
    walk_leave(w, RULE_ENTRIES, was);
}

/* What is wrong with the name of a field, or NULL. */
static const char *field_name(struct walk *w, set follow)
{
    struct frame was = walk_enter(w, RULE_NAME, follow);
    const char *why = "unsupported ident kind";

    if (walk_choose(w, 235, NAME)) {
        bool is_quoted = walk_type(w) == WORD_QUOTED;

        if (!is_quoted && walk_type(w) != WORD_IDENT) {
            (void)walk_no_form(w, 235, 0);
        } else {
            (void)walk_take(w);
            why = is_quoted ? "unsupported syntax: '`'" : NULL;
        }
    }
    walk_leave(w, RULE_NAME, was);
    return why;
}

static const char *field(struct walk *w, set follow)
{
    struct frame was = walk_enter(w, RULE_FIELD, follow);
    const char *why = "unsupported ident kind";

    if (walk_choose(w, 216, OPT_NAME)) {
        if (walk_type(w) == WORD_QUESTION)
            (void)walk_take(w);
        why = field_name(w, REST);
    }
    walk_leave(w, RULE_FIELD, was);
    return why;
}

static void fields(struct walk *w, set follow, struct args *out)
{
    struct frame was = walk_enter(w, RULE_FIELDS, follow);
    int64_t at = walk_here(w);
    unsigned state = 203;

    do {
        const char *why = field(w, ONE(COLON));
        size_t mark;

        if (!walk_need(w, state, WORD_COLON, EXPR))
            break;
        mark = w->nmeanings;
        add(out, expr(w, ONE(COMMA) | REST));
        if (why) { /* its value is not looked at */
            w->nmeanings = mark;
            walk_meaning(w, at, why);
        }
        state = 207;
    } while (more(w, OPT_NAME));
    walk_leave(w, RULE_FIELDS, was);
}

/* ---- primary ---- */

static const struct braces {
    unsigned state; /* and the two that follow it */
    enum cel_word_type close;
    set first;
    void (*items)(struct walk *w, set follow, struct args *out);
    enum kind kind;
} list_braces = { 150, WORD_RBRACKET, OPT_EXPR, items, LIST },
  map_braces = { 158, WORD_RBRACE, OPT_EXPR, entries, MAP },
  message_braces = { 177, WORD_RBRACE, OPT_NAME, fields, MAP };

static struct thing literal_of(struct walk *w, const struct braces *b)
{
    struct thing t = { .kind = b->kind, .at = walk_take(w) };
    set end = ONE(COMMA) | (set)1 << b->close;
    struct args args = { 0 };

    if (!walk_choose(w, b->state, b->first | end))
        return t;
    if (has(b->first, walk_type(w)))
        b->items(w, end, &args);
    t.depth = args.depth;
    if (!walk_choose(w, b->state + 1, end))
        return t;
    if (walk_type(w) == WORD_COMMA)
        (void)walk_take(w);
    (void)walk_need(w, b->state + 2, b->close, REST);
    return t;
}

static struct thing literal(struct walk *w, set follow)
{
    struct frame was = walk_enter(w, RULE_LITERAL, follow);
    struct thing t = nothing;

    if (walk_choose(w, 256, LITERALS | ONE(MINUS))) {
        bool negative = walk_type(w) == WORD_MINUS;
        set s = negative ? NUMBERS : LITERALS;
        int64_t at = walk_here(w);

        if (!has(s, walk_word(w, negative).type)) {
            (void)walk_no_form(w, 256, negative);
        } else {
            const char *why;

            if (negative)
                (void)walk_take(w);
            why = cel_word_value_fault(w->arena, w->text, walk_word(w, 0), negative);
            if (why)
                walk_meaning(w, at, why);
            (void)walk_take(w);
            t = (struct thing){ .kind = LITERAL, .at = at };
        }
    }
    walk_leave(w, RULE_LITERAL, was);
    return t;
}

/* A name, perhaps called. */
static struct thing named(struct walk *w)
{
    int64_t start = walk_here(w), open = 0;
    bool rooted = walk_type(w) == WORD_DOT;
    struct args args = { 0 };
    struct thing t;
    size_t mark;
    bool called;

    if (rooted)
        (void)walk_take(w);
    t = (struct thing){ .kind = IDENT, .at = walk_here(w) };
    t.name = str_sub(w->text, walk_word(w, 0).at, walk_word(w, 0).end - walk_word(w, 0).at);
    (void)walk_take(w);
    mark = w->nmeanings;
    called = walk_type(w) == WORD_LPAREN;
    if (called) {
        open = walk_take(w);
        (void)arguments(w, 141, REST, &args);
        t.depth = args.depth;
    }
    if (cel_is_reserved(t.name)) {
        w->nmeanings = mark; /* arguments are not looked at */
        walk_meaning(w, start,
                     arena_printf(w->arena, "reserved identifier: %.*s", STR_ARG(t.name)));
        return (struct thing){ .kind = NOTHING, .at = start };
    }
    if (!called)
        return t;
    if (!rooted && args.n == 1 && str_is(t.name, "has"))
        return has_macro(w, open, &args);
    return (struct thing){ .kind = CALL, .at = open, .depth = args.depth };
}

static struct thing message(struct walk *w)
{
    while (walk_type(w) != WORD_LBRACE && !w->over)
        (void)walk_take(w);
    return literal_of(w, &message_braces);
}

/* Whether names and dots end in a brace. */
static bool is_message(struct walk *w)
{
    size_t i = walk_type(w) == WORD_DOT;

    while (walk_word(w, i + 1).type == WORD_DOT && walk_word(w, i + 2).type == WORD_IDENT)
        i += 2;
    return walk_word(w, i + 1).type == WORD_LBRACE;
}

static struct thing primary_form(struct walk *w)
{
    enum cel_word_type first = walk_type(w);
    struct thing t;

    if (first == WORD_LPAREN) {
        (void)walk_take(w);
        t = expr(w, ONE(RPAREN));
        (void)walk_need(w, 146, WORD_RPAREN, REST);
        return t;
    }
    if (first == WORD_LBRACKET || first == WORD_LBRACE)
        return literal_of(w, first == WORD_LBRACE ? &map_braces : &list_braces);
    if (first == WORD_IDENT || (first == WORD_DOT && walk_word(w, 1).type == WORD_IDENT))
        return is_message(w) ? message(w) : named(w);
    if (has(LITERALS | ONE(MINUS), first))
        return literal(w, REST);
    (void)walk_no_form(w, 184, first == WORD_DOT);
    return nothing;
}

static struct thing primary(struct walk *w, set follow)
{
    struct frame was = walk_enter(w, RULE_PRIMARY, follow);
    struct thing t = walk_choose(w, 184, MEMBER) ? primary_form(w) : nothing;

    walk_leave(w, RULE_PRIMARY, was);
    return t;
}

/* ---- members ---- */

static bool index_of(struct walk *w, struct thing *t)
{
    struct thing i = nothing;

    *t = (struct thing){ .kind = CALL, .at = walk_take(w), .depth = t->depth + 1 };
    if (!walk_choose(w, 121, OPT_EXPR))
        return false;
    if (walk_type(w) == WORD_QUESTION)
        (void)walk_take(w);
    i = expr(w, ONE(RBRACKET));
    if (i.depth >= t->depth)
        t->depth = i.depth + 1;
    return walk_need(w, 124, WORD_RBRACKET, POSTFIX);
}

static bool call_of(struct walk *w, struct thing *t)
{
    struct args args = { 0 };
    int64_t open;
    str name;
    bool fine;

    (void)walk_take(w);
    name = str_sub(w->text, walk_word(w, 0).at, walk_word(w, 0).end - walk_word(w, 0).at);
    (void)walk_take(w);
    open = walk_take(w);
    fine = arguments(w, 115, POSTFIX, &args);
    *t = method(w, *t, name, open, &args);
    return fine;
}

static void select_of(struct walk *w, struct thing *t)
{
    int64_t dot = walk_take(w), at;
    bool opt = walk_type(w) == WORD_QUESTION;
    const char *why;

    if (opt)
        (void)walk_take(w);
    at = walk_here(w);
    why = field_name(w, POSTFIX);
    if (why)
        walk_meaning(w, at, why);
    *t = (struct thing){ .kind = opt ? CALL : SELECT, .at = dot, .depth = t->depth + 1 };
}

static struct thing member(struct walk *w, set follow)
{
    struct frame was = walk_enter(w, RULE_MEMBER, follow);
    struct thing t = primary(w, POSTFIX);
    bool fine = true;

    while (fine && (walk_type(w) == WORD_DOT || walk_type(w) == WORD_LBRACKET)) {
        enum cel_word_type second = walk_word(w, 1).type;

        if (walk_type(w) == WORD_LBRACKET) {
            fine = index_of(w, &t);
        } else if (second == WORD_IDENT && walk_word(w, 2).type == WORD_LPAREN) {
            fine = call_of(w, &t);
        } else if (has(OPT_NAME, second)) {
            select_of(w, &t);
        } else {
            fine = walk_no_form(w, 126, 1);
            if (w->depth[RULE_MEMBER]) /* k8s: it has left the rule, and leaves it again */
                w->depth[RULE_MEMBER]--;
        }
    }
    walk_leave(w, RULE_MEMBER, was);
    return t;
}

/* Behind a minus: whether another one follows that is no number's sign; *fine false: nothing that
 * can. */
static bool more_minus(struct walk *w, bool *fine)
{
    walk_go_round(w, MEMBER);
    if (walk_type(w) != WORD_MINUS)
        *fine = has(MEMBER, walk_type(w)) || walk_no_form(w, 96, 0);
    else
        *fine = has(MEMBER, walk_word(w, 1).type) || walk_no_form(w, 96, 1);
    return *fine && walk_type(w) == WORD_MINUS;
}

static struct thing signs(struct walk *w)
{
    enum cel_word_type sign = walk_type(w);
    int64_t at = walk_here(w);
    bool odd = false, fine = true, again;
    struct thing t = nothing;

    do {
        (void)walk_take(w);
        odd = !odd;
        if (sign == WORD_NOT) {
            walk_go_round(w, EXPR);
            again = walk_type(w) == WORD_NOT;
        } else {
            again = more_minus(w, &fine);
        }
    } while (again);
    if (fine)
        t = member(w, REST);
    return odd ? (struct thing){ .kind = CALL, .at = at, .depth = t.depth } : t;
}

static struct thing unary(struct walk *w, set follow)
{
    struct frame was = walk_enter(w, RULE_UNARY, follow);
    struct thing t = { .kind = LITERAL, .at = walk_here(w) };

    if (walk_choose(w, 99, EXPR)) {
        enum cel_word_type first = walk_type(w), second = walk_word(w, first == WORD_MINUS).type;

        if (!has(EXPR, first))
            (void)walk_no_form(w, 99, 0);
        else if (first == WORD_MINUS && !has(MEMBER, second))
            (void)walk_no_form(w, 99, 1);
        else if (first == WORD_NOT || (first == WORD_MINUS && !has(NUMBERS, second)))
            t = signs(w);
        else
            t = member(w, REST);
    }
    walk_leave(w, RULE_UNARY, was);
    return t;
}

/* ---- operators ---- */

static struct thing joined(struct thing a, struct thing b, int64_t at)
{
    return (struct thing){ .kind = CALL,
                           .at = at,
                           .depth = (a.depth > b.depth ? a.depth : b.depth) + 1 };
}

static struct thing calc(struct walk *w, set follow, unsigned least)
{
    struct frame was = walk_enter(w, RULE_CALC, follow);
    set behind = PRODUCTS | SUMS | REST;
    struct thing t = unary(w, behind);

    while ((least <= 2 && has(PRODUCTS, walk_type(w))) || (least <= 1 && has(SUMS, walk_type(w)))) {
        unsigned inner = has(PRODUCTS, walk_type(w)) ? 3 : 2;
        int64_t at = walk_take(w);

        t = joined(t, calc(w, behind, inner), at);
    }
    walk_leave(w, RULE_CALC, was);
    return t;
}

static struct thing relation(struct walk *w, set follow, unsigned least)
{
    struct frame was = walk_enter(w, RULE_RELATION, follow);
    set behind = RELATIONS | REST;
    struct thing t = calc(w, behind, 0);

    while (least <= 1 && has(RELATIONS, walk_type(w))) {
        int64_t at = walk_take(w);

        t = joined(t, relation(w, behind, 2), at);
    }
    walk_leave(w, RULE_RELATION, was);
    return t;
}

struct place {
    struct place *next;
    int64_t at;
};

/* Terms with && between them, or with ||. */
static struct thing terms(struct walk *w, set follow, bool or)
{
    enum rule rule = or ? RULE_OR : RULE_AND;
    struct frame was = walk_enter(w, rule, follow);
    set behind = (or ? ONE(OR) : ONE(AND)) | REST;
    struct thing t = or ? terms(w, behind, false) : relation(w, behind, 0);
    /* k8s: cel-go makes a balanced tree of them: it is where the one in the middle is */
    struct place *last = NULL, *middle = NULL;

    for (size_t n = 0; walk_type(w) == (or ? WORD_OR : WORD_AND); n++) {
        struct place *op = arena_new_of(w->arena, struct place);
        struct thing next;

        op->at = walk_take(w);
        if (last)
            last->next = op;
        middle = !middle ? op : n % 2 ? middle->next : middle;
        last = op;
        next = or ? terms(w, behind, false) : relation(w, behind, 0);
        t = (struct thing){ .kind = CALL,
                            .at = middle->at,
                            .depth = next.depth > t.depth ? next.depth : t.depth };
    }
    walk_leave(w, rule, was);
    return t;
}

static struct thing expr(struct walk *w, set follow)
{
    struct frame was = walk_enter(w, RULE_EXPR, follow);
    struct thing t = w->over ? nothing : terms(w, ONE(QUESTION) | REST, true);

    if (walk_type(w) == WORD_QUESTION) {
        int64_t at = walk_take(w);

        t = joined(t, terms(w, ONE(COLON), true), at);
        if (walk_need(w, 40, WORD_COLON, EXPR)) {
            struct thing no = expr(w, REST);

            if (no.depth >= t.depth)
                t.depth = no.depth + 1;
        }
    }
    walk_leave(w, RULE_EXPR, was);
    return t;
}

void cel_syntax_faults(str text, struct cel_faults *out)
{
    struct walk w = { .arena = out->arena, .text = text, .out = out, .failed_at = SIZE_MAX };
    struct thing t;

    w.frame.behind = ONE(END);
    t = expr(&w, ONE(END));
    w.frame.recovery = 0;
    (void)walk_need(&w, 35, WORD_END, ONE(END));
    if (w.over)
        return;
    if (t.depth > CEL_DEPTH_MAX) { /* what is deepest comes first */
        cel_fault(out, CEL_NOWHERE, "max recursion depth exceeded");
        return;
    }
    for (size_t i = 0; i < w.nmeanings; i++)
        cel_fault(out, w.meanings[i].at, "%s", w.meanings[i].why);
}
