/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/cel_syntax.h"

#include "base/banned.h"

struct reader {
    str text;
    size_t at;
    unsigned depth;
    const char *why; /* set by the first mistake */
};

static bool expression(struct reader *r);

static bool wrong(struct reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

static char peek(const struct reader *r, size_t ahead)
{
    return r->at + ahead < r->text.n ? r->text.p[r->at + ahead] : 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static bool is_letter(char c)
{
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

/* Blanks and comments. */
static void skip(struct reader *r)
{
    for (;;) {
        char c = peek(r, 0);

        if (c == '/' && peek(r, 1) == '/') {
            while (r->at < r->text.n && r->text.p[r->at] != '\n')
                r->at++;
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
            r->at++;
        } else {
            return;
        }
    }
}

/* Takes the sign if it stands here. */
static bool take(struct reader *r, const char *sign)
{
    str s = str_of(sign);

    skip(r);
    if (!str_starts(str_from(r->text, r->at), s))
        return false;
    r->at += s.n;
    return true;
}

static bool expect(struct reader *r, const char *sign, const char *why)
{
    return take(r, sign) || wrong(r, why);
}

static str identifier(struct reader *r)
{
    size_t n = 0;

    skip(r);
    if (!is_letter(peek(r, 0)))
        return STR_NONE;
    while (is_letter(peek(r, n)) || is_digit(peek(r, n)))
        n++;
    r->at += n;
    return str_sub(r->text, r->at - n, n);
}

/* ---- literals ---- */

static bool number(struct reader *r)
{
    bool hex = peek(r, 0) == '0' && (peek(r, 1) | 32) == 'x';

    if (hex) {
        r->at += 2;
        if (!is_hex(peek(r, 0)))
            return wrong(r, "a number without digits");
    }
    while (hex ? is_hex(peek(r, 0)) : is_digit(peek(r, 0)))
        r->at++;
    if (!hex && peek(r, 0) == '.' && is_digit(peek(r, 1)))
        for (r->at++; is_digit(peek(r, 0));)
            r->at++;
    if (!hex && (peek(r, 0) | 32) == 'e') {
        r->at += peek(r, 1) == '+' || peek(r, 1) == '-' ? 2 : 1;
        if (!is_digit(peek(r, 0)))
            return wrong(r, "an exponent without digits");
        while (is_digit(peek(r, 0)))
            r->at++;
    }
    if ((peek(r, 0) | 32) == 'u')
        r->at++;
    return !is_letter(peek(r, 0)) || wrong(r, "letters right behind a number");
}

/* How many letters stand before the quote of a string, r and b in either order; -1: no string. */
static int string_prefix(const struct reader *r)
{
    for (int n = 0; n <= 2; n++) {
        char c = peek(r, (size_t)n);

        if (c == '"' || c == '\'')
            return n;
        if ((c | 32) != 'r' && (c | 32) != 'b')
            break;
    }
    return -1;
}

static bool string(struct reader *r, int prefix)
{
    bool raw = false, triple;
    char quote;

    for (; prefix > 0; prefix--)
        raw = (r->text.p[r->at++] | 32) == 'r' || raw;
    quote = peek(r, 0);
    triple = peek(r, 1) == quote && peek(r, 2) == quote;
    for (r->at += triple ? 3 : 1; r->at < r->text.n; r->at++) {
        char c = r->text.p[r->at];

        if (c == '\\' && !raw) {
            r->at++;
        } else if (c == '\n' && !triple) {
            break;
        } else if (c == quote && (!triple || (peek(r, 1) == quote && peek(r, 2) == quote))) {
            r->at += triple ? 3 : 1;
            return true;
        }
    }
    return wrong(r, "a string without an end");
}

/* ---- structure ---- */

/* Items up to the closing sign; pairs have a colon inside. */
static bool items(struct reader *r, const char *close, bool pairs)
{
    if (take(r, close))
        return true;
    do {
        skip(r);
        if (peek(r, 0) == close[0]) /* a comma may stand behind the last item */
            break;
        (void)take(r, "?");
        if (!expression(r) || (pairs && (!expect(r, ":", "a colon is missing") || !expression(r))))
            return false;
    } while (take(r, ","));
    return expect(r, close, "a bracket is not closed");
}

static bool is_reserved(str word)
{
    static const char *const words[] = { "as",   "break",    "const",     "continue", "else",
                                         "for",  "function", "if",        "import",   "let",
                                         "loop", "package",  "namespace", "return",   "var",
                                         "void", "while",    "in" };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

static bool primary(struct reader *r)
{
    int prefix;
    str word;

    skip(r);
    prefix = string_prefix(r);
    if (prefix >= 0)
        return string(r, prefix);
    if (is_digit(peek(r, 0)) || (peek(r, 0) == '.' && is_digit(peek(r, 1))))
        return number(r);
    if (take(r, "("))
        return expression(r) && expect(r, ")", "a bracket is not closed");
    if (take(r, "["))
        return items(r, "]", false);
    if (take(r, "{"))
        return items(r, "}", true);
    (void)take(r, ".");
    word = identifier(r);
    if (word.n == 0)
        return wrong(r, r->at < r->text.n ? "unexpected sign" : "unexpected end");
    if (is_reserved(word))
        return wrong(r, "a reserved word");
    return !take(r, "(") || items(r, ")", false);
}

static bool member(struct reader *r)
{
    if (!primary(r))
        return false;
    for (;;) {
        if (take(r, ".")) {
            (void)take(r, "?");
            if (take(r, "`")) {
                while (r->at < r->text.n && r->text.p[r->at] != '`')
                    r->at++;
                if (!expect(r, "`", "a name without an end"))
                    return false;
            } else if (identifier(r).n == 0) {
                return wrong(r, "a name is missing");
            }
            if (take(r, "(") && !items(r, ")", false))
                return false;
        } else if (take(r, "[")) {
            (void)take(r, "?");
            if (!expression(r) || !expect(r, "]", "a bracket is not closed"))
                return false;
        } else if (take(r, "{")) {
            if (!items(r, "}", true))
                return false;
        } else {
            return true;
        }
    }
}

static bool operator_(struct reader *r)
{
    static const char *const signs[] = { "||", "&&", "<=", ">=", "==", "!=", "<",
                                         ">",  "+",  "-",  "*",  "/",  "%" };

    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
        if (take(r, signs[i]))
            return true;
    skip(r);
    if (peek(r, 0) != 'i' || peek(r, 1) != 'n' || is_letter(peek(r, 2)) || is_digit(peek(r, 2)))
        return false;
    r->at += 2;
    return true;
}

/* Precedence does not matter to whether it is well-formed. */
static bool expression(struct reader *r)
{
    bool good;

    if (++r->depth > CEL_SYNTAX_DEPTH)
        return wrong(r, "nested too deeply");
    do {
        while (take(r, "!") || take(r, "-"))
            ;
        good = member(r);
    } while (good && operator_(r));
    if (good && take(r, "?"))
        good = expression(r) && expect(r, ":", "a colon is missing") && expression(r);
    r->depth--;
    return good;
}

bool cel_syntax_check(str text, size_t *at, const char **why)
{
    struct reader r = { .text = text };
    bool good = text.n <= CEL_SYNTAX_MAX ? expression(&r) : wrong(&r, "too long");

    if (good) {
        skip(&r);
        good = r.at == text.n || wrong(&r, "unexpected sign");
    }
    *at = r.at;
    *why = r.why;
    return good;
}
