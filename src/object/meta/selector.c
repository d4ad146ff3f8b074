/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/selector.h"

#include <stdlib.h>

#include "base/banned.h"
#include "object/meta/names.h"

/* k8s: apimachinery/pkg/labels/selector.go; the grammar is that of its lexer and parser. */
enum selector_token { END, IDENT, CLOSE, COMMA, NOT, EQ, EQ2, NEQ, GT, LT, IN, NOTIN, OPEN, WRONG };

static const struct {
    str text;
    enum selector_token token;
} tokens[] = {
    { STR_INIT(")"), CLOSE },     { STR_INIT(","), COMMA }, { STR_INIT("!"), NOT },
    { STR_INIT("=="), EQ2 },      { STR_INIT("="), EQ },    { STR_INIT("!="), NEQ },
    { STR_INIT(">"), GT },        { STR_INIT("<"), LT },    { STR_INIT("in"), IN },
    { STR_INIT("notin"), NOTIN }, { STR_INIT("("), OPEN },
};

struct parser {
    struct arena *arena;
    struct status *st;
    str text;
    size_t at;
    /* The token that comes next. */
    enum selector_token token;
    str word;
};

static enum selector_token lookup(str word, enum selector_token otherwise)
{
    for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++)
        if (str_eq(tokens[i].text, word))
            return tokens[i].token;
    return otherwise;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
    return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

/* The longest run of symbols that is a token, for none is longer than two. */
static size_t symbol_length(str rest)
{
    return rest.n > 1 && lookup(str_sub(rest, 0, 2), WRONG) != WRONG ? 2 : 1;
}

static void next(struct parser *p)
{
    size_t from, n;
    str rest;

    while (p->at < p->text.n && is_blank(p->text.p[p->at]))
        p->at++;
    from = p->at;
    rest = str_from(p->text, from);
    if (rest.n == 0 || rest.p[0] == '\0') { /* a NUL ends the text there, too */
        p->token = END;
        p->word = STR("");
        return;
    }
    if (is_symbol(rest.p[0])) {
        n = symbol_length(rest);
        p->token = lookup(str_sub(rest, 0, n), WRONG);
    } else {
        for (n = 1; n < rest.n && rest.p[n] && !is_symbol(rest.p[n]) && !is_blank(rest.p[n]);)
            n++;
        p->token = lookup(str_sub(rest, 0, n), IDENT);
    }
    p->word = str_sub(rest, 0, n);
    p->at = from + n;
}

/* Where a key or a value is expected, `in` and `notin` are words like others. */
static bool at_word(const struct parser *p)
{
    return p->token == IDENT || p->token == IN || p->token == NOTIN;
}

static int found(struct parser *p, const char *expected)
{
    return status_set(p->st, REASON_BAD_REQUEST, "found '%.*s'%s", STR_ARG(p->word), expected);
}

static str joined(struct arena *a, const str *parts, size_t n)
{
    str all = parts[0];

    for (size_t i = 1; i < n; i++)
        all = str_printf(a, "%.*s; %.*s", STR_ARG(all), STR_ARG(parts[i]));
    return all;
}

static int invalid(struct parser *p, str field, str value, str why)
{
    struct json v = json_of_str(value);

    return status_set(p->st, REASON_BAD_REQUEST, "%.*s: Invalid value: %.*s: %.*s", STR_ARG(field),
                      STR_ARG(json_text(p->arena, &v)), STR_ARG(why));
}

static int check_values(struct parser *p, struct selector_term *t)
{
    str faults[NAME_FAULTS];

    if (t->op == SELECTOR_GT || t->op == SELECTOR_LT) {
        if (!str_to_i64(t->values[0], &t->number))
            return invalid(p, STR("values[0]"), t->values[0],
                           STR("for 'Gt', 'Lt' operators, the value must be an integer"));
    }
    for (size_t i = 0; i < t->nvalues; i++) {
        size_t n = label_value_faults(t->values[i], faults);

        if (n)
            return invalid(p, str_printf(p->arena, "values[%zu][%.*s]", i, STR_ARG(t->key)),
                           t->values[i], joined(p->arena, faults, n));
    }
    return 0;
}

struct word_list {
    str *p;
    size_t n, cap;
};

static void add_word(struct arena *a, struct word_list *w, str word)
{
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 4;
        str *p = arena_array(a, str, cap);

        if (w->n)
            memcpy(p, w->p, w->n * sizeof(str));
        w->p = p;
        w->cap = cap;
    }
    w->p[w->n++] = word;
}

static int cmp_words(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Sorted, each one once, as Kubernetes' sets are. */
static void set_values(struct selector_term *t, struct word_list *w)
{
    size_t n = 0;

    if (w->n)
        qsort(w->p, w->n, sizeof(*w->p), cmp_words);
    for (size_t i = 0; i < w->n; i++)
        if (n == 0 || !str_eq(w->p[i], w->p[n - 1]))
            w->p[n++] = w->p[i];
    t->values = w->p;
    t->nvalues = n;
}

/* What stands between the parentheses; a value may be empty: (,a) and (a,) have two. */
static int parse_list(struct parser *p, struct word_list *w)
{
    bool after_comma = true;

    for (;; next(p)) {
        if (at_word(p) && after_comma) {
            add_word(p->arena, w, p->word);
            after_comma = false;
        } else if (p->token == COMMA) {
            if (after_comma)
                add_word(p->arena, w, STR(""));
            after_comma = true;
        } else if (p->token == CLOSE) {
            if (after_comma)
                add_word(p->arena, w, STR(""));
            next(p);
            return 0;
        } else
            return found(p,
                         after_comma ? ", expected: ',', or identifier" : ", expected: ',' or ')'");
    }
}

static int parse_set(struct parser *p, struct selector_term *t)
{
    struct word_list w = { 0 };

    next(p);
    if (p->token != OPEN)
        return found(p, " expected: '('");
    next(p);
    if (!at_word(p) && p->token != COMMA && p->token != CLOSE)
        return found(p, ", expected: ',', ')' or identifier");
    if (parse_list(p, &w) < 0)
        return -1;
    set_values(t, &w);
    return check_values(p, t);
}

static int parse_exact(struct parser *p, struct selector_term *t)
{
    struct word_list w = { 0 };

    next(p);
    if (p->token == END || p->token == COMMA)
        add_word(p->arena, &w, STR(""));
    else if (at_word(p)) {
        add_word(p->arena, &w, p->word);
        next(p);
    } else
        return found(p, ", expected: identifier");
    set_values(t, &w);
    return check_values(p, t);
}

static int parse_term(struct parser *p, struct selector_term *t)
{
    static const struct {
        enum selector_token token;
        enum selector_op op;
        int (*parse)(struct parser *p, struct selector_term *t);
    } ops[] = {
        { EQ, SELECTOR_IN, parse_exact },      { EQ2, SELECTOR_IN, parse_exact },
        { NEQ, SELECTOR_NOT_IN, parse_exact }, { IN, SELECTOR_IN, parse_set },
        { NOTIN, SELECTOR_NOT_IN, parse_set }, { GT, SELECTOR_GT, parse_exact },
        { LT, SELECTOR_LT, parse_exact },
    };
    bool absent = p->token == NOT;
    str faults[NAME_FAULTS];
    size_t n;

    if (absent)
        next(p);
    if (!at_word(p))
        return found(p, ", expected: identifier");
    t->key = p->word;
    n = qualified_name_faults(t->key, faults);
    if (n)
        return invalid(p, STR("<nil>"), t->key, joined(p->arena, faults, n));
    next(p);
    if (absent || p->token == END || p->token == COMMA) {
        t->op = absent ? SELECTOR_NOT_EXISTS : SELECTOR_EXISTS;
        return 0;
    }
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (ops[i].token == p->token) {
            t->op = ops[i].op;
            return ops[i].parse(p, t);
        }
    return found(p, ", expected: in, notin, =, ==, !=, gt, lt");
}

struct terms {
    struct selector_term *p;
    size_t n, cap;
};

static struct selector_term *new_term(struct arena *a, struct terms *t)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 4;
        struct selector_term *p = arena_array(a, struct selector_term, cap);

        if (t->n)
            memcpy(p, t->p, t->n * sizeof(*p));
        t->p = p;
        t->cap = cap;
    }
    t->p[t->n] = (struct selector_term){ 0 };
    return &t->p[t->n++];
}

int selector_parse_labels(struct arena *a, str text, struct selector *out, struct status *st)
{
    struct parser p = { .arena = a, .st = st, .text = text };
    struct terms terms = { 0 };

    next(&p);
    while (p.token != END) {
        if (!at_word(&p) && p.token != NOT)
            return found(&p, ", expected: !, identifier, or 'end of string'");
        if (parse_term(&p, new_term(a, &terms)) < 0)
            return status_wrap(st, "unable to parse requirement");
        if (p.token == END)
            break;
        if (p.token != COMMA)
            return found(&p, ", expected: ',' or 'end of string'");
        next(&p);
        if (!at_word(&p) && p.token != NOT)
            return found(&p, ", expected: identifier after ','");
    }
    *out = (struct selector){ terms.p, terms.n };
    return 0;
}

/* k8s: fields/selector.go, UnescapeValue */
static int unescape(struct arena *a, str value, str *out, struct status *st)
{
    char *p;
    size_t n = 0;

    if (str_find(value, '\\', 0) < 0 && str_find(value, '=', 0) < 0) {
        *out = value;
        return 0;
    }
    p = arena_alloc_raw(a, value.n);
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];

        if (c == '=')
            return status_set(st, REASON_BAD_REQUEST,
                              "invalid field selector: unescaped character in value: %d", c);
        if (c == '\\') {
            c = ++i < value.n ? value.p[i] : '\0';
            if (c != '\\' && c != ',' && c != '=')
                return status_set(st, REASON_BAD_REQUEST,
                                  "invalid field selector: invalid escape sequence: %.*s",
                                  STR_ARG(str_sub(value, i - 1, 2)));
        }
        p[n++] = c;
    }
    *out = (str){ p, n };
    return 0;
}

/* The part before the next comma that has no backslash before it. */
static str take_part(str *rest)
{
    size_t i = 0;
    str part;

    while (i < rest->n && rest->p[i] != ',')
        i += rest->p[i] == '\\' ? 2 : 1;
    if (i > rest->n)
        i = rest->n;
    part = str_sub(*rest, 0, i);
    *rest = str_from(*rest, i + 1);
    return part;
}

static int parse_field(struct arena *a, str text, str part, struct selector_term *t,
                       struct status *st)
{
    str *value = arena_new_of(a, str), rest;
    size_t i = 0;

    while (i < part.n && part.p[i] != '=' &&
           !(part.p[i] == '!' && i + 1 < part.n && part.p[i + 1] == '='))
        i++;
    if (i == part.n)
        return status_set(st, REASON_BAD_REQUEST,
                          "invalid selector: '%.*s'; can't understand '%.*s'", STR_ARG(text),
                          STR_ARG(part));
    t->key = str_sub(part, 0, i);
    t->op = part.p[i] == '!' ? SELECTOR_NOT_IN : SELECTOR_IN;
    rest = str_from(part, i);
    rest = str_from(rest, rest.n > 1 && rest.p[1] == '=' ? 2 : 1);
    if (unescape(a, rest, value, st) < 0)
        return -1;
    t->values = value;
    t->nvalues = 1;
    return 0;
}

int selector_parse_fields(struct arena *a, str text, struct selector *out, struct status *st)
{
    struct terms terms = { 0 };
    str rest = text;

    while (rest.n) {
        str part = take_part(&rest);

        if (part.n && parse_field(a, text, part, new_term(a, &terms), st) < 0)
            return -1;
    }
    *out = (struct selector){ terms.p, terms.n };
    return 0;
}

/* ---- as an object ---- */

static int cmp_values(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* k8s: apimachinery/pkg/apis/meta/v1/helpers.go, LabelSelectorAsSelector */
static int term_of_tree(struct arena *a, const struct json *r, struct selector_term *t,
                        struct status *st)
{
    static const struct {
        const char *name;
        enum selector_op op;
        bool values;
    } ops[] = {
        { "In", SELECTOR_IN, true },
        { "NotIn", SELECTOR_NOT_IN, true },
        { "Exists", SELECTOR_EXISTS, false },
        { "DoesNotExist", SELECTOR_NOT_EXISTS, false },
    };
    str op = json_get_str(r, "operator");
    const struct json *values = json_get(r, STR("values"));
    size_t i = 0, n = 0;
    str *list = arena_array(a, str, json_len(values) + 1);

    while (i < sizeof(ops) / sizeof(*ops) && !str_is(op, ops[i].name))
        i++;
    if (i == sizeof(ops) / sizeof(*ops))
        return status_set(st, REASON_BAD_REQUEST, "\"%.*s\" is not a valid label selector operator",
                          STR_ARG(op));
    if (ops[i].values != (json_len(values) > 0))
        return status_set(st, REASON_BAD_REQUEST,
                          ops[i].values ? "for 'in', 'notin' operators, values set can't be empty"
                                        : "values set must be empty for exists and does not exist");
    json_for_each (v, values)
        list[n++] = json_str(v);
    qsort(list, n, sizeof(*list), cmp_values);
    *t = (struct selector_term){
        .key = json_get_str(r, "key"), .op = ops[i].op, .values = list, .nvalues = n
    };
    return 0;
}

int selector_of_tree(struct arena *a, const struct json *tree, struct selector *out,
                     struct status *st)
{
    struct terms terms = { 0 };

    json_for_each_member (m, json_get(tree, STR("matchLabels"))) {
        str *value = arena_new_of(a, str);

        *value = json_str(&m->value);
        *new_term(a, &terms) = (struct selector_term){
            .key = m->name, .op = SELECTOR_IN, .values = value, .nvalues = 1
        };
    }
    json_for_each (r, json_get(tree, STR("matchExpressions")))
        if (term_of_tree(a, r, new_term(a, &terms), st) < 0)
            return -1;
    *out = (struct selector){ terms.p, terms.n };
    return 0;
}

/* The values are sorted. */
static bool has_value(const struct selector_term *t, str value)
{
    size_t low = 0, high = t->nvalues;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = str_cmp(value, t->values[mid]);

        if (c == 0)
            return true;
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}

bool selector_term_matches(const struct selector_term *t, bool present, str value)
{
    int64_t number = 0;

    switch (t->op) {
    case SELECTOR_IN:
        return present && has_value(t, value);
    case SELECTOR_NOT_IN:
        return !present || !has_value(t, value);
    case SELECTOR_EXISTS:
        return present;
    case SELECTOR_NOT_EXISTS:
        return !present;
    case SELECTOR_GT:
        return present && str_to_i64(value, &number) && number > t->number;
    case SELECTOR_LT:
        return present && str_to_i64(value, &number) && number < t->number;
    }
    return false;
}

bool selector_matches(const struct selector *s, const struct json *labels)
{
    for (size_t i = 0; i < s->nterms; i++) {
        const struct json *v = json_get(labels, s->terms[i].key);

        if (!selector_term_matches(&s->terms[i], v != NULL, json_str(v)))
            return false;
    }
    return true;
}

/* ---- as text ---- */

struct printed {
    str key, text;
};

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct printed *)a)->key, ((const struct printed *)b)->key);
}

static str print_term(struct arena *a, const struct json *term)
{
    str key = json_get_str(term, "key"), op = json_get_str(term, "operator");
    scoped_buf b = { .max = 1 << 20 };
    bool first = true;

    if (str_is(op, "Exists") || str_is(op, "DoesNotExist"))
        return str_printf(a, "%s%.*s", str_is(op, "Exists") ? "" : "!", STR_ARG(key));
    buf_printf(&b, "%.*s %s (", STR_ARG(key), str_is(op, "In") ? "in" : "notin");
    json_for_each (v, json_get(term, STR("values"))) {
        buf_printf(&b, "%s%.*s", first ? "" : ",", STR_ARG(json_str(v)));
        first = false;
    }
    buf_byte(&b, ')');
    return str_dup(a, buf_str(&b));
}

str selector_print(struct arena *a, const struct json *tree)
{
    const struct json *labels = json_get(tree, STR("matchLabels"));
    const struct json *terms = json_get(tree, STR("matchExpressions"));
    struct printed *all = arena_array(a, struct printed, json_len(labels) + json_len(terms) + 1);
    scoped_buf b = { .max = 1 << 20 };
    size_t n = 0;

    json_for_each_member (m, labels)
        all[n++] = (struct printed){ m->name, str_printf(a, "%.*s=%.*s", STR_ARG(m->name),
                                                         STR_ARG(json_str(&m->value))) };
    json_for_each (term, terms)
        all[n++] = (struct printed){ json_get_str(term, "key"), print_term(a, term) };
    qsort(all, n, sizeof(*all), by_key);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%.*s", i ? "," : "", STR_ARG(all[i].text));
    return str_dup(a, buf_str(&b));
}
