/* SPDX-License-Identifier: Apache-2.0 */

/* Words of an expression for cel_faults.c: k8s: cel-go parser/gen/CEL.g4, the lexer's rules. */

#include <ctype.h>

#include "object/cel/cel_faults.h"

#include "base/banned.h"
#include "json/number.h"

static unsigned char byte(str text, size_t at)
{
    return at < text.n ? (unsigned char)text.p[at] : 0;
}

static bool is_letter(unsigned char c)
{
    return c == '_' || (c < 0x80 && isalnum(c));
}

static size_t digits(str text, size_t at)
{
    while (isdigit(byte(text, at)))
        at++;
    return at;
}

static struct cel_word made(enum cel_word_type type, size_t at, size_t end)
{
    return (struct cel_word){ .type = type, .at = at, .end = end };
}

/* All up to the character that fits nothing, and that one too. */
static struct cel_word bad(str text, size_t at, size_t stop)
{
    return made(WORD_BAD, at, stop < text.n ? cel_next_point(text, stop) : text.n);
}

/* ---- strings ---- */

/* Behind a backslash; false with the place that is wrong. */
static bool escape(str text, size_t *at)
{
    unsigned char c = byte(text, *at);
    size_t hex = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;

    if (c && strchr("abfnrtv\"'\\?`", c)) {
        ++*at;
        return true;
    }
    if (c >= '0' && c <= '3') {
        for (size_t i = 0; i < 2; i++)
            if (byte(text, ++*at) < '0' || byte(text, *at) > '7')
                return false;
        ++*at;
        return true;
    }
    if (!hex)
        return false;
    ++*at;
    for (; hex; hex--, ++*at)
        if (!isxdigit(byte(text, *at)))
            return false;
    return true;
}

/* From behind the opening quotes to behind the closing ones; false with the place of the fault. */
static bool string_rest(str text, size_t *at, unsigned char quote, bool triple, bool raw)
{
    while (*at < text.n) {
        unsigned char c = byte(text, *at);

        if (c == quote &&
            (!triple || (byte(text, *at + 1) == quote && byte(text, *at + 2) == quote))) {
            *at += triple ? 3 : 1;
            return true;
        }
        if (!triple && (c == '\n' || c == '\r'))
            return false;
        ++*at;
        if (c == '\\' && !raw && !escape(text, at))
            return false;
    }
    *at = text.n;
    return false;
}

/* A literal at its quote; false with the place of the fault. */
static bool quotes(str text, size_t *at, bool raw)
{
    unsigned char quote = byte(text, *at);
    size_t long_end = *at + 3;

    if (byte(text, *at + 1) != quote || byte(text, *at + 2) != quote) {
        ++*at;
        return string_rest(text, at, quote, false, raw);
    }
    /* Three that are not closed are an empty string and the beginning of another. */
    *at = string_rest(text, &long_end, quote, true, raw) ? long_end : *at + 2;
    return true;
}

static bool string(str text, size_t at, struct cel_word *out)
{
    size_t end = at;
    bool bytes = (byte(text, end) | 0x20) == 'b', raw;

    end += bytes;
    raw = (byte(text, end) | 0x20) == 'r';
    end += raw;
    if (byte(text, end) != '"' && byte(text, end) != '\'')
        return false;
    if (quotes(text, &end, raw))
        *out = made(bytes ? WORD_BYTES : WORD_STRING, at, end);
    else if (!bytes && !raw)
        *out = bad(text, at, end);
    else
        return false;
    return true;
}

/* ---- the others ---- */

static struct cel_word number(str text, size_t at)
{
    enum cel_word_type type = WORD_INT;
    size_t end = digits(text, at), sign;

    if (byte(text, at) == '0' && byte(text, at + 1) == 'x' && isxdigit(byte(text, at + 2))) {
        for (end = at + 2; isxdigit(byte(text, end));)
            end++;
    } else {
        if (byte(text, end) == '.' && isdigit(byte(text, end + 1))) {
            type = WORD_FLOAT;
            end = digits(text, end + 1);
        }
        sign = byte(text, end + 1) == '+' || byte(text, end + 1) == '-';
        if ((byte(text, end) | 0x20) == 'e' && isdigit(byte(text, end + 1 + sign))) {
            type = WORD_FLOAT;
            end = digits(text, end + 1 + sign);
        }
    }
    if (type == WORD_INT && (byte(text, end) | 0x20) == 'u')
        return made(WORD_UINT, at, end + 1);
    return made(type, at, end);
}

static struct cel_word name(str text, size_t at)
{
    static const struct {
        const char *word;
        enum cel_word_type type;
    } keywords[] = {
        { "in", WORD_IN }, { "true", WORD_TRUE }, { "false", WORD_FALSE }, { "null", WORD_NULL }
    };
    size_t end = at;

    while (is_letter(byte(text, end)))
        end++;
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (str_is(str_sub(text, at, end - at), keywords[i].word))
            return made(keywords[i].type, at, end);
    return made(WORD_IDENT, at, end);
}

static struct cel_word quoted(str text, size_t at)
{
    size_t end = at + 1;

    while (is_letter(byte(text, end)) || (byte(text, end) && strchr(".-/ ", byte(text, end))))
        end++;
    if (byte(text, end) == '`' && end > at + 1)
        return made(WORD_QUOTED, at, end + 1);
    return bad(text, at, end);
}

static struct cel_word operator(str text, size_t at)
{
    /* Two before one: the longest counts. */
    static const struct {
        const char *word;
        enum cel_word_type type;
    } all[] = {
        { "==", WORD_EQ },      { "!=", WORD_NE },    { "<=", WORD_LE },
        { ">=", WORD_GE },      { "&&", WORD_AND },   { "||", WORD_OR },
        { "<", WORD_LT },       { ">", WORD_GT },     { "[", WORD_LBRACKET },
        { "]", WORD_RBRACKET }, { "{", WORD_LBRACE }, { "}", WORD_RBRACE },
        { "(", WORD_LPAREN },   { ")", WORD_RPAREN }, { ".", WORD_DOT },
        { ",", WORD_COMMA },    { "-", WORD_MINUS },  { "!", WORD_NOT },
        { "?", WORD_QUESTION }, { ":", WORD_COLON },  { "+", WORD_PLUS },
        { "*", WORD_STAR },     { "/", WORD_SLASH },  { "%", WORD_PERCENT },
    };
    str rest = str_from(text, at);
    unsigned char c = byte(text, at);

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (str_starts(rest, str_of(all[i].word)))
            return made(all[i].type, at, at + strlen(all[i].word));
    return bad(text, at, c == '=' || c == '&' || c == '|' ? at + 1 : at);
}

struct cel_word cel_word_at(str text, size_t at)
{
    unsigned char c = byte(text, at);
    size_t end = at;
    struct cel_word w;

    if (at >= text.n)
        return made(WORD_END, at, at);
    while (byte(text, end) && strchr(" \t\n\r\f", byte(text, end)))
        end++;
    if (end > at)
        return made(WORD_BLANK, at, end);
    if (c == '/' && byte(text, at + 1) == '/') {
        while (end < text.n && text.p[end] != '\n')
            end++;
        return made(WORD_COMMENT, at, end);
    }
    if (string(text, at, &w))
        return w;
    if (isdigit(c) || (c == '.' && isdigit(byte(text, at + 1))))
        return number(text, at);
    if (is_letter(c))
        return name(text, at);
    return c == '`' ? quoted(text, at) : operator(text, at);
}

/* ---- values ---- */

static const char *integer_fault(str t, bool negative)
{
    bool is_uint = (t.p[t.n - 1] | 0x20) == 'u', hex = str_starts(t, STR("0x"));
    uint64_t most = is_uint ? UINT64_MAX : (uint64_t)INT64_MAX + negative, base = hex ? 16 : 10;
    uint64_t v = 0;

    for (size_t i = hex ? 2 : 0; i < t.n - is_uint; i++) {
        unsigned char c = (unsigned char)t.p[i];
        uint64_t d = isdigit(c) ? c - (uint64_t)'0' : (uint64_t)(c | 0x20) - 'a' + 10;

        if (v > (most - d) / base)
            return is_uint ? "invalid uint literal" : "invalid int literal";
        v = v * base + d;
    }
    return NULL;
}

/* k8s: cel-go parser/unescape.go: what the words' rules let through. */
static const char *string_fault(str t, bool bytes)
{
    for (size_t i = 0; i + 1 < t.n; i++) {
        uint64_t v = 0;
        size_t n;

        if (t.p[i] != '\\')
            continue;
        n = t.p[++i] == 'u' ? 4 : t.p[i] == 'U' ? 8 : 0;
        if (n && bytes)
            return "unable to unescape string";
        for (size_t k = 1; k <= n; k++) {
            unsigned char c = (unsigned char)t.p[i + k];

            v = v * 16 + (isdigit(c) ? c - (uint64_t)'0' : (uint64_t)(c | 0x20) - 'a' + 10);
        }
        if (v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
            return "invalid unicode code point";
    }
    return NULL;
}

const char *cel_word_value_fault(struct arena *a, str text, struct cel_word w, bool negative)
{
    str t = str_sub(text, w.at, w.end - w.at);
    bool bytes = w.type == WORD_BYTES;
    double f;

    if (w.type == WORD_INT || w.type == WORD_UINT)
        return integer_fault(t, negative);
    if (w.type == WORD_FLOAT)
        return number_parse(arena_printf(a, "0%.*s", STR_ARG(t)), &f) ? NULL
                                                                      : "invalid double literal";
    if ((w.type == WORD_STRING || bytes) && (t.p[bytes] | 0x20) != 'r')
        return string_fault(t, bytes);
    return NULL;
}
