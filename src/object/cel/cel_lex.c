/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel_internal.h"

#include <ctype.h>

#include "base/banned.h"
#include "json/number.h"

static unsigned char peek(const struct cel_lexer *l, size_t off)
{
    return l->at + off < l->text.n ? (unsigned char)l->text.p[l->at + off] : 0;
}

/* No token begins here; `at` is where it goes wrong. */
static void bad(struct cel_lexer *l, size_t at, const char *why)
{
    l->token = TOKEN_BAD;
    l->start = at;
    l->why = why;
}

static bool is_word(unsigned char c)
{
    return c == '_' || (c < 0x80 && isalnum(c));
}

static void skip_blanks(struct cel_lexer *l)
{
    while (l->at < l->text.n) {
        char c = l->text.p[l->at];

        if (c == '/' && peek(l, 1) == '/') {
            while (l->at < l->text.n && l->text.p[l->at] != '\n')
                l->at++;
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
            l->at++;
        } else {
            return;
        }
    }
}

/* ---- strings ---- */

static int hex_value(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Digits of an escape, exactly n of them. */
static bool digits(struct cel_lexer *l, unsigned n, unsigned base, uint32_t *out)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < n; i++) {
        int d = hex_value(peek(l, 0));

        if (d < 0 || (unsigned)d >= base)
            return false;
        v = v * base + (unsigned)d;
        l->at++;
    }
    *out = v;
    return true;
}

/* Behind the backslash; writes at most four bytes. */
static bool escape(struct cel_lexer *l, bool bytes, char *out, size_t *n)
{
    static const char from[] = "abfnrtv\\?\"'`", to[] = "\a\b\f\n\r\t\v\\?\"'`";
    unsigned char c = peek(l, 0);
    const char *simple = c ? strchr(from, c) : NULL;
    uint32_t v = 0;
    bool point = false, fine;

    if (simple) {
        out[(*n)++] = to[simple - from];
        l->at++;
        return true;
    }
    if (c >= '0' && c <= '3') {
        fine = digits(l, 3, 8, &v);
    } else if (c == 'x' || c == 'X') {
        l->at++;
        fine = digits(l, 2, 16, &v);
    } else if ((c == 'u' || c == 'U') && !bytes) {
        l->at++;
        point = true;
        fine = digits(l, c == 'u' ? 4 : 8, 16, &v);
    } else {
        return false;
    }
    if (!fine || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return false;
    if (bytes && !point)
        out[(*n)++] = (char)v;
    else
        *n += put_utf8(out + *n, v);
    return true;
}

static bool closes(const struct cel_lexer *l, char quote, bool triple)
{
    if (peek(l, 0) != (unsigned char)quote)
        return false;
    return !triple || (peek(l, 1) == (unsigned char)quote && peek(l, 2) == (unsigned char)quote);
}

/* Bytes up to where it may close at the latest: no literal costs more than its own length. */
static size_t literal_room(struct cel_lexer l, char quote, bool triple, bool raw)
{
    size_t from = l.at;

    while (l.at < l.text.n && !closes(&l, quote, triple))
        l.at += l.text.p[l.at] == '\\' && !raw ? 2 : 1;
    return l.at - from;
}

static void string(struct cel_lexer *l, bool raw, bool bytes)
{
    char quote = l->text.p[l->at];
    bool triple = peek(l, 1) == (unsigned char)quote && peek(l, 2) == (unsigned char)quote;
    size_t n = 0;
    char *out;

    l->at += triple ? 3 : 1;
    out = arena_alloc_raw(l->arena, literal_room(*l, quote, triple, raw) + 4);
    while (!closes(l, quote, triple)) {
        char c = (char)peek(l, 0);
        size_t from = l->at;

        if (l->at >= l->text.n || (!triple && (c == '\n' || c == '\r'))) {
            bad(l, l->start, "Syntax error: the string is not closed");
            return;
        }
        l->at++;
        if (c != '\\' || raw) {
            out[n++] = c;
        } else if (!escape(l, bytes, out, &n)) {
            bad(l, from, "Syntax error: invalid escape sequence");
            return;
        }
    }
    l->at += triple ? 3 : 1;
    l->token = bytes ? TOKEN_BYTES : TOKEN_STRING;
    l->word = (str){ out, n };
}

/* ---- numbers ---- */

static void integer(struct cel_lexer *l, str digits_, unsigned base)
{
    bool is_uint = (peek(l, 0) | 0x20) == 'u';
    uint64_t v = 0;

    for (size_t i = 0; i < digits_.n; i++) {
        unsigned d = (unsigned)hex_value((unsigned char)digits_.p[i]);

        if (v > (UINT64_MAX - d) / base) {
            bad(l, l->start, is_uint ? "invalid uint literal" : "invalid int literal");
            return;
        }
        v = v * base + d;
    }
    l->u = v;
    l->at += is_uint;
    l->token = is_uint ? TOKEN_UINT : TOKEN_INT;
    /* 2^63 is fine behind a minus: the parser looks. */
    if (!is_uint && v > (uint64_t)INT64_MAX + 1)
        bad(l, l->start, "invalid int literal");
}

static void floating(struct cel_lexer *l)
{
    str text = str_sub(l->text, l->start, l->at - l->start);

    if (text.p[0] == '.')
        text = str_printf(l->arena, "0%.*s", STR_ARG(text));
    if (number_parse(str_z(l->arena, text), &l->f))
        l->token = TOKEN_DOUBLE;
    else
        bad(l, l->start, "invalid double literal");
}

static void number(struct cel_lexer *l)
{
    bool is_float = false;

    if (peek(l, 0) == '0' && peek(l, 1) == 'x') {
        l->at += 2;
        while (hex_value(peek(l, 0)) >= 0)
            l->at++;
        if (l->at == l->start + 2)
            bad(l, l->at, "Syntax error: expected digits behind '0x'");
        else
            integer(l, str_sub(l->text, l->start + 2, l->at - l->start - 2), 16);
        return;
    }
    while (isdigit(peek(l, 0)))
        l->at++;
    if (peek(l, 0) == '.' && isdigit(peek(l, 1))) {
        is_float = true;
        l->at++;
        while (isdigit(peek(l, 0)))
            l->at++;
    }
    if ((peek(l, 0) | 0x20) == 'e') {
        size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';

        if (isdigit(peek(l, 1 + sign))) {
            is_float = true;
            l->at += 1 + sign;
            while (isdigit(peek(l, 0)))
                l->at++;
        }
    }
    if (is_float)
        floating(l);
    else
        integer(l, str_sub(l->text, l->start, l->at - l->start), 10);
}

/* ---- all ---- */

static bool string_prefix(struct cel_lexer *l)
{
    bool bytes = (peek(l, 0) | 0x20) == 'b', raw = (peek(l, bytes) | 0x20) == 'r';
    size_t n = (size_t)bytes + raw;

    if (peek(l, n) != '"' && peek(l, n) != '\'')
        return false;
    l->at += n;
    string(l, raw, bytes);
    return true;
}

static void quoted_ident(struct cel_lexer *l)
{
    size_t from = ++l->at;

    while (is_word(peek(l, 0)) || (peek(l, 0) && strchr("-./ ", peek(l, 0))))
        l->at++;
    if (peek(l, 0) != '`' || l->at == from) {
        bad(l, l->start, "Syntax error: the name in backquotes is not valid");
        return;
    }
    l->word = str_sub(l->text, from, l->at - from);
    l->at++;
    l->token = TOKEN_QUOTED_IDENT;
}

/* A character that begins no token. */
static void strange(struct cel_lexer *l)
{
    str c = str_sub(l->text, l->at, cel_next_point(l->text, l->at) - l->at);

    if ((unsigned char)c.p[0] < 0x20)
        bad(l, l->at, "Syntax error: unexpected control character");
    else if (strchr("=&|", c.p[0]))
        bad(l, l->at,
            arena_printf(l->arena, "Syntax error: expected '%c%c' but found '%c'", c.p[0], c.p[0],
                         c.p[0]));
    else
        bad(l, l->at,
            arena_printf(l->arena, "Syntax error: unexpected character '%.*s'", STR_ARG(c)));
}

static void operator(struct cel_lexer *l)
{
    static const char *const two[] = { "==", "!=", "<=", ">=", "&&", "||" };
    size_t n = 1;

    for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++)
        if (str_starts(str_from(l->text, l->at), str_of(two[i])))
            n = 2;
    if (n == 1 && !strchr("()[]{}.,?:!-+*/%<>", peek(l, 0))) {
        strange(l);
        return;
    }
    l->token = TOKEN_OP;
    l->word = str_sub(l->text, l->at, n);
    l->at += n;
}

void cel_lex(struct cel_lexer *l)
{
    unsigned char c;

    skip_blanks(l);
    l->start = l->at;
    l->word = STR_NONE;
    if (l->at >= l->text.n) {
        l->token = TOKEN_END;
        return;
    }
    c = peek(l, 0);
    if (string_prefix(l))
        return;
    if (isdigit(c) || (c == '.' && isdigit(peek(l, 1)))) {
        number(l);
    } else if (is_word(c)) {
        while (is_word(peek(l, 0)))
            l->at++;
        l->token = TOKEN_IDENT;
        l->word = str_sub(l->text, l->start, l->at - l->start);
    } else if (c == '`') {
        quoted_ident(l);
    } else if (c == '\0') {
        strange(l);
    } else {
        operator(l);
    }
}
