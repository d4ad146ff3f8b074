/* SPDX-License-Identifier: Apache-2.0 */
#include "search/fields.h"

#include "base/banned.h"
#include "object/meta/names.h"
#include "search/entry.h"

enum query_token { END, WORD, CLOSE, COMMA, NOT, EQ, EQ2, NEQ, GT, LT, OPEN };

struct parser {
    struct arena *arena;
    struct status *st;
    str text;
    size_t at;
    enum query_token token; /* what comes next, */
    str word;               /* and its text */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
    return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

/* The end of a word: quotes in brackets may hold anything. */
static size_t word_end(str t, size_t at)
{
    while (at < t.n && !is_symbol(t.p[at]) && !is_blank(t.p[at])) {
        if (t.p[at] == '[' && at + 1 < t.n && (t.p[at + 1] == '\'' || t.p[at + 1] == '"')) {
            ptrdiff_t quote = str_find(t, t.p[at + 1], at + 2);

            if (quote > 0)
                at = (size_t)quote;
        }
        at++;
    }
    return at;
}

static void next(struct parser *p)
{
    static const struct {
        str text;
        enum query_token token;
    } symbols[] = {
        { STR_INIT("=="), EQ2 }, { STR_INIT("!="), NEQ },  { STR_INIT("="), EQ },
        { STR_INIT("!"), NOT },  { STR_INIT(">"), GT },    { STR_INIT("<"), LT },
        { STR_INIT("("), OPEN }, { STR_INIT(")"), CLOSE }, { STR_INIT(","), COMMA },
    };
    str rest;

    while (p->at < p->text.n && is_blank(p->text.p[p->at]))
        p->at++;
    rest = str_from(p->text, p->at);
    p->token = END;
    p->word = STR("");
    if (rest.n == 0)
        return;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (str_starts(rest, symbols[i].text)) {
            p->token = symbols[i].token;
            p->word = symbols[i].text;
            p->at += symbols[i].text.n;
            return;
        }
    p->token = WORD;
    p->word = str_sub(rest, 0, word_end(rest, 0));
    p->at += p->word.n;
}

static int found(struct parser *p, const char *expected)
{
    return status_set(p->st, REASON_BAD_REQUEST, "found \"%.*s\", expected: %s", STR_ARG(p->word),
                      expected);
}

/* ---- paths ---- */

struct path {
    str parts[ENTRY_FIELD_PARTS];
    size_t n;
    bool list;
};

static str joined(struct arena *a, const struct path *p)
{
    str all = STR_NONE;

    for (size_t i = 0; i < p->n; i++)
        all = str_printf(a, "%.*s%s%.*s", STR_ARG(all), i ? "." : "", STR_ARG(p->parts[i]));
    return all;
}

static int path_add(struct parser *p, struct path *path, str part, bool quoted)
{
    str faults[NAME_FAULTS], all = STR_NONE, where = joined(p->arena, path);
    size_t n = quoted ? 0 : qualified_name_faults(part, faults);
    struct json value = json_of_str(part);

    for (size_t i = 0; i < n; i++)
        all = str_printf(p->arena, "%.*s%s%.*s", STR_ARG(all), i ? "; " : "", STR_ARG(faults[i]));
    if (n)
        return status_set(p->st, REASON_BAD_REQUEST, "%.*s[%.*s]: Invalid value: %.*s: %.*s",
                          STR_ARG(where), STR_ARG(part), STR_ARG(json_text(p->arena, &value)),
                          STR_ARG(all));
    if (path->n == ENTRY_FIELD_PARTS)
        return status_set(p->st, REASON_BAD_REQUEST, "a field path has at most %d parts",
                          ENTRY_FIELD_PARTS);
    path->parts[path->n++] = part;
    return 0;
}

/* At a '['; *at moves behind the bracket. */
static int bracket(struct parser *p, struct path *path, str word, size_t *at)
{
    ptrdiff_t end = str_find(word, ']', *at);
    char quote = *at + 1 < word.n ? word.p[*at + 1] : '\0';
    str inside;
    uint64_t number;

    if (quote == '\'' || quote == '"') {
        end = str_find(word, quote, *at + 2);
        if (end < 0 || (size_t)end + 1 >= word.n || word.p[end + 1] != ']')
            return status_set(p->st, REASON_BAD_REQUEST, "%.*s: a quoted key does not end",
                              STR_ARG(word));
        inside = str_sub(word, *at + 2, (size_t)end - *at - 2);
        *at = (size_t)end + 2;
        return path_add(p, path, inside, true);
    }
    if (end < 0)
        return status_set(p->st, REASON_BAD_REQUEST, "%.*s: a bracket does not end", STR_ARG(word));
    inside = str_sub(word, *at + 1, (size_t)end - *at - 1);
    *at = (size_t)end + 1;
    path->list = true;
    if (inside.n == 0 || str_to_u64(inside, &number))
        return 0;
    return status_set(p->st, REASON_BAD_REQUEST,
                      "%.*s[<index>] list index invalid. if %.*s is a field, please use ['%.*s'] "
                      "or .'%.*s'",
                      STR_ARG(joined(p->arena, path)), STR_ARG(inside), STR_ARG(inside),
                      STR_ARG(inside));
}

static int parse_path(struct parser *p, str word, struct field_term *t)
{
    struct path path = { .n = 0 };
    size_t at = word.n && word.p[0] == '.' ? 1 : 0;
    bool need = true; /* a name must come */

    while (at < word.n || need) {
        size_t from = at;

        if (!need && word.p[at] == '[') {
            if (bracket(p, &path, word, &at) < 0)
                return -1;
            continue;
        }
        if (!need && word.p[at] != '.')
            return status_set(p->st, REASON_BAD_REQUEST, "%.*s: a '.' is expected behind ']'",
                              STR_ARG(word));
        if (!need)
            from = ++at;
        while (at < word.n && word.p[at] != '.' && word.p[at] != '[')
            at++;
        if (path_add(p, &path, str_sub(word, from, at - from), false) < 0)
            return -1;
        need = false;
    }
    if (path.list) {
        struct json v = json_of_str(word);

        status_cause(p->st, CAUSE_INVALID, STR("fieldSelector"), json_text(p->arena, &v),
                     "elements of lists cannot be searched");
        return status_invalid(p->st, STR("clusterpedia.io"), STR("ListOptions"),
                              STR("fieldSelector"));
    }
    t->path = memcpy(arena_array(p->arena, str, path.n), path.parts, path.n * sizeof(str));
    t->npath = path.n;
    return 0;
}

/* ---- terms ---- */

static int parse_values(struct parser *p, struct field_term *t)
{
    str values[FIELDS_VALUES_MAX];
    size_t n = 0;

    if (p->token != OPEN)
        return found(p, "'('");
    do {
        next(p);
        if (n == FIELDS_VALUES_MAX)
            return status_set(p->st, REASON_BAD_REQUEST, "a set has at most %d values",
                              FIELDS_VALUES_MAX);
        values[n++] = p->token == WORD ? p->word : STR("");
        if (p->token == WORD)
            next(p);
    } while (p->token == COMMA);
    if (p->token != CLOSE)
        return found(p, "',' or ')'");
    next(p);
    t->values = memcpy(arena_array(p->arena, str, n), values, n * sizeof(str));
    t->nvalues = n;
    return 0;
}

static int parse_one(struct parser *p, struct field_term *t)
{
    str *value = arena_new_of(p->arena, str);

    next(p);
    if (p->token == WORD) {
        *value = p->word;
        next(p);
    } else if (p->token != END && p->token != COMMA)
        return found(p, "identifier");
    t->values = value;
    t->nvalues = 1;
    return 0;
}

static int parse_term(struct parser *p, struct field_term *t)
{
    bool absent = p->token == NOT;

    if (absent)
        next(p);
    if (p->token != WORD)
        return found(p, "identifier");
    if (parse_path(p, p->word, t) < 0)
        return status_is(p->st, REASON_INVALID) ? -1
                                                : status_wrap(p->st, "unable to parse requirement");
    next(p);
    t->op = absent ? SELECTOR_NOT_EXISTS : SELECTOR_EXISTS;
    if (absent || p->token == END || p->token == COMMA)
        return 0;
    if (p->token == EQ || p->token == EQ2 || p->token == NEQ) {
        t->op = p->token == NEQ ? SELECTOR_NOT_IN : SELECTOR_IN;
        return parse_one(p, t);
    }
    if (p->token == GT || p->token == LT)
        return status_set(p->st, REASON_BAD_REQUEST,
                          "fields are compared as text: '%.*s' cannot be asked for",
                          STR_ARG(p->word));
    if (p->token == WORD && (str_is(p->word, "in") || str_is(p->word, "notin"))) {
        t->op = str_is(p->word, "in") ? SELECTOR_IN : SELECTOR_NOT_IN;
        next(p);
        return parse_values(p, t);
    }
    return found(p, "in, notin, =, ==, !=");
}

int fields_parse(struct arena *a, str text, struct fields *out, struct status *st)
{
    struct parser p = { .arena = a, .st = st, .text = text };
    struct field_term terms[FIELDS_TERMS_MAX];
    size_t n = 0;

    next(&p);
    while (p.token != END) {
        if (p.token != WORD && p.token != NOT)
            return found(&p, "!, identifier, or ''end of string");
        if (n == FIELDS_TERMS_MAX)
            return status_set(st, REASON_BAD_REQUEST, "a selector has at most %d terms",
                              FIELDS_TERMS_MAX);
        terms[n] = (struct field_term){ 0 };
        if (parse_term(&p, &terms[n++]) < 0)
            return -1;
        if (p.token == END)
            break;
        if (p.token != COMMA)
            return found(&p, "',' or 'end of string'");
        next(&p);
        if (p.token != WORD && p.token != NOT)
            return found(&p, "identifier after ','");
    }
    out->terms = arena_array(a, struct field_term, n);
    if (n)
        memcpy(out->terms, terms, n * sizeof(*terms));
    out->n = n;
    return 0;
}
