/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The reader of JSON.  The text is copied into the arena once; strings are slices of that copy,
 * unescaped in place, as no escape is shorter than what it stands for.
 */

#include <stdio.h>

#include "base/banned.h"
#include "json/number.h"
#include "json/reader.h"
#include "json/scan.h"

/* Zeros behind the text: a block may be looked at from anywhere, and a zero ends any token. */
enum { PADDING = SCAN_BYTES };

struct parser {
    char *text, *end;
    struct reader r;
};

/* What reads something at a place returns the place behind it, or NULL. */
static char *value(struct parser *p, char *at, struct json *out);

/* k8s: the wording is that of Go's encoding/json. */
static char *fail(struct parser *p, const char *at, const char *where)
{
    unsigned char c = (unsigned char)*at;
    char shown[8];

    if (at == p->end) {
        (void)status_set(p->r.st, REASON_BAD_REQUEST, "unexpected end of JSON input");
        return NULL;
    }
    if (c == '\'' || c == '\\')
        (void)snprintf(shown, sizeof(shown), "\\%c", c);
    else
        (void)snprintf(shown, sizeof(shown), c < 0x20 || c >= 0x7f ? "\\x%02x" : "%c", c);
    (void)status_set(p->r.st, REASON_BAD_REQUEST, "invalid character '%s' %s (offset %zu)", shown,
                     where, (size_t)(at - p->text));
    return NULL;
}

/* The next byte that is not blank; a zero at the end. */
static inline char *skip_blanks(char *at)
{
    while (__builtin_expect((unsigned char)*at <= ' ', 0) &&
           (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* The first byte from p on that is not a plain ASCII character of a string. */
static inline char *skip_plain(char *p)
{
    size_t n;

    while ((n = scan_index(scan_not_plain(scan_load(p)))) == SCAN_BYTES)
        p += SCAN_BYTES;
    return p + n;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 'a' - 'A';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex4(struct parser *p, const char *at, uint32_t *out)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++) {
        int d = hex_digit(at[i]);

        if (d < 0) {
            (void)fail(p, at + i, "in \\u hexadecimal character escape");
            return false;
        }
        v = v << 4 | (uint32_t)d;
    }
    *out = v;
    return true;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

enum { REPLACEMENT = 0xfffd };

/* A \u escape, from behind the u; half a surrogate pair becomes U+FFFD, as in Go. */
static char *unescape_unicode(struct parser *p, char *from, char **to)
{
    uint32_t c, low;

    if (!hex4(p, from, &c))
        return NULL;
    from += 4;
    if (c >= 0xd800 && c <= 0xdbff && from[0] == '\\' && from[1] == 'u') {
        if (!hex4(p, from + 2, &low))
            return NULL;
        if (low >= 0xdc00 && low <= 0xdfff) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            from += 6;
        }
    }
    *to = put_utf8(*to, c >= 0xd800 && c <= 0xdfff ? REPLACEMENT : c);
    return from;
}

static char *unescape(struct parser *p, char *from, char **to)
{
    static const char meaning[128] = { ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                       ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t' };
    unsigned char c = (unsigned char)from[1];

    if (c == 'u')
        return unescape_unicode(p, from + 2, to);
    if (c >= sizeof(meaning) || !meaning[c])
        return fail(p, from + 1, "in string escape code");
    *(*to)++ = meaning[c];
    return from + 2;
}

/* Bytes of plain characters at s, or of one UTF-8 sequence (0: it is none); zeros are behind. */
static size_t run(char *s)
{
    size_t n = (unsigned char)*s >= 0xf0 ? 4 : (unsigned char)*s >= 0xe0 ? 3 : 2;

    if ((unsigned char)*s < 0x80)
        return (size_t)(skip_plain(s) - s);
    return str_utf8_valid((str){ s, n }) ? n : 0;
}

/*
 * Bytes that are not UTF-8 become U+FFFD, as in Go.  That is longer than what it replaces, so the
 * string moves out of the text: `to` is where the rest of it goes.
 */
static char *move_out(struct parser *p, char **start, const char *from, char *to)
{
    const char *end = from;
    size_t n = (size_t)(to - *start);
    char *moved;

    while (end < p->end && *end != '"')
        end += *end == '\\' && end + 1 < p->end ? 2 : 1;
    moved = arena_alloc_raw(p->r.arena, n + 3 * (size_t)(end - from));
    memcpy(moved, *start, n);
    *start = moved;
    return moved + n;
}

/* The rest of a string, from its first byte that is not plain: an escape, or not ASCII. */
static char *string_rest(struct parser *p, char *start, char *from, str *out)
{
    const char *text = start; /* where the string was before it moved */
    char *to = from;

    while (*from != '"') {
        size_t n;

        if (*from == '\\') {
            from = unescape(p, from, &to);
            if (!from)
                return NULL;
            continue;
        }
        if ((unsigned char)*from < ' ')
            return fail(p, from, "in string literal");
        n = run(from);
        if (n) {
            memmove(to, from, n);
            to += n;
            from += n;
            continue;
        }
        if (start == text)
            to = move_out(p, &start, from, to);
        to = put_utf8(to, REPLACEMENT);
        from++;
    }
    *out = (str){ start, (size_t)(to - start) };
    return from + 1;
}

static inline char *string(struct parser *p, char *at, str *out)
{
    char *start = at + 1;

    at = skip_plain(start);
    if (__builtin_expect(*at != '"', 0)) {
        str rest = STR_NONE; /* has an address, which `out` then need not have */

        at = string_rest(p, start, at, &rest);
        *out = rest;
        return at;
    }
    *out = (str){ start, (size_t)(at - start) };
    return at + 1;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static char *digits(struct parser *p, char *at, const char *where)
{
    if (!digit(*at))
        return fail(p, at, where);
    while (digit(*at))
        at++;
    return at;
}

/* From behind the digits before the point. */
static char *fraction(struct parser *p, const char *start, char *at, struct json *out)
{
    double f;

    if (*at == '.')
        at = digits(p, at + 1, "after decimal point in numeric literal");
    if (at && (*at == 'e' || *at == 'E')) {
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        at = digits(p, at, "in exponent of numeric literal");
    }
    if (!at)
        return NULL;
    if (!number_parse(start, &f)) {
        (void)status_set(
            p->r.st, REASON_BAD_REQUEST, "number %.*s is out of range of float64 (offset %zu)",
            (int)(at - start < 64 ? at - start : 64), start, (size_t)(start - p->text));
        return NULL;
    }
    *out = (struct json){ .type = JSON_FLOAT, .f = f };
    return at;
}

static char *number(struct parser *p, char *at, struct json *out)
{
    const char *start = at;
    bool negative = *at == '-', fits = true;
    int64_t v = 0;

    at += negative;
    if (!digit(*at))
        return fail(p, at, "in numeric literal");
    if (*at == '0') {
        at++;
    } else {
        for (; digit(*at); at++)
            fits = fits && !__builtin_mul_overflow(v, 10, &v) &&
                   !__builtin_sub_overflow(v, *at - '0', &v);
    }
    if (*at == '.' || *at == 'e' || *at == 'E' || !fits || (!negative && v == INT64_MIN))
        return fraction(p, start, at, out);
    *out = json_of_int(negative ? v : -v);
    return at;
}

static char *literal(struct parser *p, char *at, const char *word, struct json v, struct json *out)
{
    for (size_t i = 0; word[i]; i++, at++) {
        char where[64];

        if (*at == word[i])
            continue;
        (void)snprintf(where, sizeof(where), "in literal %s (expecting '%c')", word, word[i]);
        return fail(p, at, where);
    }
    *out = v;
    return at;
}

static char *too_deep(struct parser *p, const char *at)
{
    (void)status_set(p->r.st, REASON_BAD_REQUEST, "exceeded max depth (offset %zu)",
                     (size_t)(at - p->text));
    return NULL;
}

/* A value in an array or an object; most are strings. */
static inline char *child(struct parser *p, char *at, struct json *out)
{
    str s = STR_NONE;

    at = skip_blanks(at);
    if (*at != '"')
        return value(p, at, out);
    at = string(p, at, &s);
    *out = json_of_str(s);
    return at;
}

static char *array(struct parser *p, char *at, struct json *out)
{
    struct trail level;
    struct json v;

    if (!reader_enter(&p->r, &level))
        return too_deep(p, at);
    at = skip_blanks(at + 1);
    for (bool more = *at != ']'; more; level.index++) {
        at = child(p, at, &v);
        if (!at)
            return NULL;
        reader_add_item(&p->r, v);
        at = skip_blanks(at);
        more = *at == ',';
        if (!more && *at != ']')
            return fail(p, at, "after array element");
        at += more;
    }
    *out = reader_leave_array(&p->r, &level);
    return at + 1;
}

static inline char *member(struct parser *p, char *at, struct trail *level)
{
    struct json v;

    at = skip_blanks(at);
    if (*at != '"')
        return fail(p, at, "looking for beginning of object key string");
    at = string(p, at, &level->name);
    if (!at)
        return NULL;
    at = skip_blanks(at);
    if (*at != ':')
        return fail(p, at, "after object key");
    at = child(p, at + 1, &v);
    if (!at)
        return NULL;
    reader_add_member(&p->r, level->name, v);
    return at;
}

static char *object(struct parser *p, char *at, struct json *out)
{
    struct trail level;

    if (!reader_enter(&p->r, &level))
        return too_deep(p, at);
    at = skip_blanks(at + 1);
    for (bool more = *at != '}'; more;) {
        at = member(p, at, &level);
        if (!at)
            return NULL;
        at = skip_blanks(at);
        more = *at == ',';
        if (!more && *at != '}')
            return fail(p, at, "after object key:value pair");
        at += more;
    }
    *out = reader_leave_object(&p->r, &level);
    return at + 1;
}

static char *value(struct parser *p, char *at, struct json *out)
{
    str s = STR_NONE;

    at = skip_blanks(at);
    switch (*at) {
    case '"':
        at = string(p, at, &s);
        *out = json_of_str(s);
        return at;
    case '{':
        return object(p, at, out);
    case '[':
        return array(p, at, out);
    case 't':
        return literal(p, at, "true", json_true, out);
    case 'f':
        return literal(p, at, "false", json_false, out);
    case 'n':
        return literal(p, at, "null", json_null, out);
    default:
        if (*at == '-' || digit(*at))
            return number(p, at, out);
        return fail(p, at, "looking for beginning of value");
    }
}

int json_parse(struct arena *a, str text, struct json_duplicates *dups, const struct json **out,
               struct status *st)
{
    struct parser p;
    struct json v = json_null;
    char *at;

    if (text.n > INT32_MAX)
        return status_set(st, REASON_BAD_REQUEST, "JSON text of %zu bytes is too long", text.n);
    p.text = arena_alloc_raw(a, text.n + PADDING);
    p.end = p.text + text.n;
    if (text.n)
        memcpy(p.text, text.p, text.n);
    memset(p.end, 0, PADDING);
    reader_init(&p.r, a, dups, st);
    p.r.text = (str){ p.text, text.n };
    at = value(&p, p.text, &v);
    if (at)
        at = skip_blanks(at);
    if (at && at != p.end)
        at = fail(&p, at, "after top-level value");
    reader_release(&p.r);
    if (!at)
        return -1;
    *out = json_box(a, v);
    return 0;
}
