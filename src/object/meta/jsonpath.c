/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/jsonpath.h"

#include <stdlib.h>

#include "base/banned.h"

enum step_kind { STEP_NAME, STEP_INDEX, STEP_ALL, STEP_SLICE, STEP_FILTER };
enum compare { THERE, EQ, NE, LT, LE, GT, GE };

struct step {
    enum step_kind kind;
    str name;
    int64_t from, to; /* index, or slice */
    bool open_end;
    const struct jsonpath *left; /* filter */
    enum compare compare;
    struct json right;
};

struct jsonpath {
    struct step *steps;
    size_t n, cap;
    str dotted;
};

struct parser {
    struct arena *arena;
    str text;
    size_t at;
    unsigned depth; /* of filters in filters */
    struct status *st;
};

static int fail(struct parser *p, const char *what)
{
    return status_set(p->st, REASON_BAD_REQUEST, "%s at character %zu of \"%.*s\"", what, p->at + 1,
                      STR_ARG(p->text));
}

static bool more(const struct parser *p)
{
    return p->at < p->text.n;
}

static char peek(const struct parser *p)
{
    return more(p) ? p->text.p[p->at] : '\0';
}

static bool take(struct parser *p, char c)
{
    if (peek(p) != c || !more(p))
        return false;
    p->at++;
    return true;
}

static void skip_blanks(struct parser *p)
{
    while (peek(p) == ' ')
        p->at++;
}

static bool ends_name(char c)
{
    return c == '.' || c == '[' || c == ' ' || c == ')' || c == '=' || c == '!' || c == '<' ||
           c == '>' || c == '}' || c == ']';
}

/* `\.` in a name is a dot of the name. */
static int read_name(struct parser *p, str *out)
{
    char *name = arena_alloc(p->arena, p->text.n + 1);
    size_t n = 0;

    while (more(p) && !ends_name(peek(p))) {
        if (peek(p) == '\\' && p->at + 1 < p->text.n)
            p->at++;
        name[n++] = p->text.p[p->at++];
    }
    *out = (str){ name, n };
    return n ? 0 : fail(p, "a name is missing");
}

static int read_quoted(struct parser *p, str *out)
{
    char quote = p->text.p[p->at++];
    char *s = arena_alloc(p->arena, p->text.n + 1);
    size_t n = 0;

    while (more(p) && peek(p) != quote) {
        if (peek(p) == '\\' && p->at + 1 < p->text.n)
            p->at++;
        s[n++] = p->text.p[p->at++];
    }
    *out = (str){ s, n };
    return take(p, quote) ? 0 : fail(p, "a quote is not closed");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int read_int(struct parser *p, int64_t *out)
{
    bool negative = take(p, '-');
    int64_t v = 0;
    unsigned digits = 0;

    for (; is_digit(peek(p)) && digits < 9; digits++)
        v = v * 10 + (p->text.p[p->at++] - '0');
    if (!digits || is_digit(peek(p)))
        return fail(p, "a number is missing or too large");
    *out = negative ? -v : v;
    return 0;
}

static int read_steps(struct parser *p, struct jsonpath *out);

static int read_compare(struct parser *p, enum compare *out)
{
    static const struct {
        const char *text;
        enum compare compare;
    } all[] = { { "==", EQ }, { "!=", NE }, { "<=", LE }, { ">=", GE }, { "<", LT }, { ">", GT } };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (str_starts(str_from(p->text, p->at), str_of(all[i].text))) {
            p->at += str_of(all[i].text).n;
            *out = all[i].compare;
            return 0;
        }
    return fail(p, "a comparison is missing");
}

static int read_literal(struct parser *p, struct json *out)
{
    char *end;
    str word, s;

    if (peek(p) == '"' || peek(p) == '\'') {
        if (read_quoted(p, &s) < 0)
            return -1;
        *out = json_of_str(s);
        return 0;
    }
    if (str_starts(str_from(p->text, p->at), STR("true")) ||
        str_starts(str_from(p->text, p->at), STR("false"))) {
        *out = json_of_bool(peek(p) == 't');
        p->at += peek(p) == 't' ? 4 : 5;
        return 0;
    }
    word = str_from(p->text, p->at);
    for (size_t i = 0; i <= word.n; i++)
        if (i == word.n || word.p[i] == ')' || word.p[i] == ' ') {
            word.n = i;
            break;
        }
    *out = json_of_float(strtod(str_z(p->arena, word), &end));
    if (!word.n || *end)
        return fail(p, "a string, number or boolean is missing");
    p->at += word.n;
    return 0;
}

/* Behind `[?(`. */
static int read_filter(struct parser *p, struct step *s)
{
    struct jsonpath *left = arena_new_of(p->arena, struct jsonpath);

    s->kind = STEP_FILTER;
    s->left = left;
    skip_blanks(p);
    if (!take(p, '@'))
        return fail(p, "a filter must begin with @");
    if (++p->depth > 4)
        return fail(p, "filters are too deep");
    if (read_steps(p, left) < 0)
        return -1;
    p->depth--;
    skip_blanks(p);
    if (peek(p) != ')') {
        if (read_compare(p, &s->compare) < 0)
            return -1;
        skip_blanks(p);
        if (read_literal(p, &s->right) < 0)
            return -1;
        skip_blanks(p);
    }
    return take(p, ')') && take(p, ']') ? 0 : fail(p, "a filter is not closed");
}

static int read_range(struct parser *p, struct step *s)
{
    s->kind = STEP_INDEX;
    if (peek(p) != ':' && read_int(p, &s->from) < 0)
        return -1;
    if (take(p, ':')) {
        s->kind = STEP_SLICE;
        s->open_end = peek(p) == ']';
        if (!s->open_end && read_int(p, &s->to) < 0)
            return -1;
    }
    return take(p, ']') ? 0 : fail(p, "a bracket is not closed");
}

/* Behind `[`. */
static int read_bracket(struct parser *p, struct step *s)
{
    if (take(p, '?'))
        return take(p, '(') ? read_filter(p, s) : fail(p, "a filter needs parentheses");
    if (take(p, '*')) {
        s->kind = STEP_ALL;
        return take(p, ']') ? 0 : fail(p, "a bracket is not closed");
    }
    if (peek(p) == '\'' || peek(p) == '"') {
        s->kind = STEP_NAME;
        if (read_quoted(p, &s->name) < 0)
            return -1;
        return take(p, ']') ? 0 : fail(p, "a bracket is not closed");
    }
    return read_range(p, s);
}

static int read_step(struct parser *p, struct step *s)
{
    *s = (struct step){ 0 };
    if (take(p, '['))
        return read_bracket(p, s);
    (void)take(p, '.');
    if (peek(p) == '[') {
        p->at++;
        return read_bracket(p, s);
    }
    if (take(p, '*')) {
        s->kind = STEP_ALL;
        return 0;
    }
    s->kind = STEP_NAME;
    return read_name(p, &s->name);
}

/* Every step begins with a dot or a bracket. */
static size_t steps_max(str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '.' || text.p[i] == '[';
    return n < JSONPATH_STEPS_MAX ? n : JSONPATH_STEPS_MAX;
}

static int read_steps(struct parser *p, struct jsonpath *out)
{
    out->cap = steps_max(str_from(p->text, p->at));
    out->steps = arena_array(p->arena, struct step, out->cap);
    while (peek(p) == '.' || peek(p) == '[') {
        if (out->n == out->cap)
            return fail(p, "too many steps");
        if (read_step(p, &out->steps[out->n]) < 0)
            return -1;
        out->n++;
    }
    return 0;
}

static void set_dotted(struct arena *a, struct jsonpath *p)
{
    scoped_buf b = { .max = JSONPATH_MAX };

    for (size_t i = 0; i < p->n; i++) {
        if (p->steps[i].kind != STEP_NAME || str_find(p->steps[i].name, '.', 0) >= 0)
            return;
        if (i)
            buf_byte(&b, '.');
        buf_str_append(&b, p->steps[i].name);
    }
    p->dotted = str_dup(a, buf_str(&b));
}

int jsonpath_parse(struct arena *a, str text, const struct jsonpath **out, struct status *st)
{
    struct jsonpath *path = arena_new_of(a, struct jsonpath);
    struct parser p = { .arena = a, .text = text, .st = st };
    bool braces;

    if (text.n > JSONPATH_MAX)
        return status_set(st, REASON_BAD_REQUEST, "a JSON path of %zu bytes is too long", text.n);
    braces = take(&p, '{');
    (void)take(&p, '$');
    if (more(&p) && peek(&p) != '.' && peek(&p) != '[')
        return fail(&p, "a path must begin with a dot");
    if (str_eq(str_from(p.text, p.at), braces ? STR(".}") : STR(".")))
        p.at++; /* the whole */
    if (read_steps(&p, path) < 0)
        return -1;
    if ((braces && !take(&p, '}')) || more(&p))
        return fail(&p, "the path cannot be read on");
    set_dotted(a, path);
    *out = path;
    return 0;
}

str jsonpath_dotted(const struct jsonpath *p)
{
    return p->dotted;
}

/* ---- evaluation ---- */

static double number(const struct json *v)
{
    return v->type == JSON_INT ? (double)v->i : v->f;
}

/* Sets *order to -1, 0 or 1; false when the two cannot be compared. */
static bool order(const struct json *a, const struct json *b, int *out)
{
    bool numbers = (a->type == JSON_INT || a->type == JSON_FLOAT) &&
                   (b->type == JSON_INT || b->type == JSON_FLOAT);

    if (numbers) {
        *out = (number(a) > number(b)) - (number(a) < number(b));
        return true;
    }
    if (a->type != b->type)
        return false;
    if (a->type == JSON_STRING)
        *out = str_cmp(json_str(a), json_str(b));
    else if (a->type == JSON_BOOL)
        *out = (int)a->b - (int)b->b;
    else
        return false;
    return true;
}

static bool keeps(const struct step *s, const struct json *item)
{
    const struct json *left = jsonpath_first(s->left, item);
    int o;

    if (!left || s->compare == THERE)
        return left != NULL;
    if (!order(left, &s->right, &o))
        return s->compare == NE;
    switch (s->compare) {
    case EQ:
        return o == 0;
    case NE:
        return o != 0;
    case LT:
        return o < 0;
    case LE:
        return o <= 0;
    case GT:
        return o > 0;
    case GE:
        return o >= 0;
    case THERE:
        break;
    }
    return true;
}

static const struct json *first(const struct step *s, size_t n, const struct json *v);

/* The items of a list from `from` up to `to` that the step keeps. */
static const struct json *first_item(const struct step *s, size_t n, const struct json *v,
                                     int64_t from, int64_t to)
{
    for (int64_t i = from < 0 ? 0 : from; i < to && i < (int64_t)json_len(v); i++) {
        const struct json *item = json_at(v, (size_t)i), *found;

        if (s->kind == STEP_FILTER && !keeps(s, item))
            continue;
        found = first(s + 1, n - 1, item);
        if (found)
            return found;
    }
    return NULL;
}

static const struct json *first_member(const struct step *s, size_t n, const struct json *v)
{
    json_for_each_member (m, v) {
        const struct json *found = first(s + 1, n - 1, &m->value);

        if (found)
            return found;
    }
    return NULL;
}

static const struct json *first(const struct step *s, size_t n, const struct json *v)
{
    int64_t len = (int64_t)json_len(v), from, to;

    if (!v || n == 0)
        return v;
    if (s->kind == STEP_NAME)
        return first(s + 1, n - 1, json_get(v, s->name));
    if (s->kind == STEP_ALL && v->type == JSON_OBJECT)
        return first_member(s, n, v);
    if (v->type != JSON_ARRAY)
        return NULL;
    if (s->kind == STEP_ALL || s->kind == STEP_FILTER)
        return first_item(s, n, v, 0, len);
    from = s->from < 0 ? s->from + len : s->from;
    to = s->open_end ? len : s->to < 0 ? s->to + len : s->to;
    if (s->kind == STEP_INDEX)
        return from < 0 ? NULL : first_item(s, n, v, from, from + 1);
    return first_item(s, n, v, from, to);
}

const struct json *jsonpath_first(const struct jsonpath *p, const struct json *v)
{
    return first(p->steps, p->n, v);
}
