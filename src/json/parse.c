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

/* Zeros behind the text: eight bytes may be looked at from anywhere, and a zero ends any token. */
enum { PADDING = 8 };

struct parser {
    char *at; /* the next byte */
    char *text, *end;
    struct reader r;
};

static int value(struct parser *p, struct json *out);

/* k8s: the wording is that of Go's encoding/json. */
static int fail_at(struct parser *p, const char *at, const char *where)
{
    unsigned char c = (unsigned char)*at;
    char shown[8];

    if (at == p->end) {
        (void)status_set(p->r.st, REASON_BAD_REQUEST, "unexpected end of JSON input");
        return -1;
    }
    if (c == '\'' || c == '\\')
        (void)snprintf(shown, sizeof(shown), "\\%c", c);
    else
        (void)snprintf(shown, sizeof(shown), c < 0x20 || c >= 0x7f ? "\\x%02x" : "%c", c);
    (void)status_set(p->r.st, REASON_BAD_REQUEST, "invalid character '%s' %s (offset %zu)", shown,
                     where, (size_t)(at - p->text));
    return -1; /* said plainly, for those who cannot look into status_set */
}

static int fail(struct parser *p, const char *where)
{
    return fail_at(p, p->at, where);
}

/* The next byte that is not blank; 0 at the end. */
static inline char peek(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t')
        p->at++;
    return *p->at;
}

/* The first byte from p on that is not a plain ASCII character of a string. */
static inline char *skip_plain(char *p)
{
    uint64_t mask;

    while ((mask = scan_not_plain(scan_load(p))) == 0)
        p += 8;
    return p + scan_index(mask);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 'a' - 'A';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int hex4(struct parser *p, const char *at, uint32_t *out)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++) {
        int d = hex_digit(at[i]);

        if (d < 0)
            return fail_at(p, at + i, "in \\u hexadecimal character escape");
        v = v << 4 | (uint32_t)d;
    }
    *out = v;
    return 0;
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
static int unescape_unicode(struct parser *p, char **from, char **to)
{
    uint32_t c, low;

    if (hex4(p, *from, &c) < 0)
        return -1;
    *from += 4;
    if (c >= 0xd800 && c <= 0xdbff && (*from)[0] == '\\' && (*from)[1] == 'u') {
        if (hex4(p, *from + 2, &low) < 0)
            return -1;
        if (low >= 0xdc00 && low <= 0xdfff) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            *from += 6;
        }
    }
    *to = put_utf8(*to, c >= 0xd800 && c <= 0xdfff ? REPLACEMENT : c);
    return 0;
}

static int unescape(struct parser *p, char **from, char **to)
{
    static const char meaning[128] = { ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                       ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t' };
    unsigned char c = (unsigned char)(*from)[1];

    *from += 2;
    if (c == 'u')
        return unescape_unicode(p, from, to);
    if (c >= sizeof(meaning) || !meaning[c])
        return fail_at(p, *from - 1, "in string escape code");
    *(*to)++ = meaning[c];
    return 0;
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
static int string_rest(struct parser *p, char *start, char *from, str *out)
{
    const char *text = start; /* where the string was before it moved */
    char *to = from;

    while (*from != '"') {
        size_t n;

        if (*from == '\\') {
            if (unescape(p, &from, &to) < 0)
                return -1;
            continue;
        }
        if ((unsigned char)*from < ' ')
            return fail_at(p, from, "in string literal");
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
    p->at = from + 1;
    return 0;
}

static inline int string(struct parser *p, str *out)
{
    char *start = p->at + 1;
    char *s = skip_plain(start);

    if (__builtin_expect(*s != '"', 0))
        return string_rest(p, start, s, out);
    *out = (str){ start, (size_t)(s - start) };
    p->at = s + 1;
    return 0;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static int digits(struct parser *p, const char *where)
{
    if (!digit(*p->at))
        return fail(p, where);
    while (digit(*p->at))
        p->at++;
    return 0;
}

/* From behind the digits before the point. */
static int fraction(struct parser *p, const char *start, struct json *out)
{
    double f;

    if (*p->at == '.') {
        p->at++;
        if (digits(p, "after decimal point in numeric literal") < 0)
            return -1;
    }
    if (*p->at == 'e' || *p->at == 'E') {
        p->at++;
        p->at += *p->at == '+' || *p->at == '-';
        if (digits(p, "in exponent of numeric literal") < 0)
            return -1;
    }
    if (!number_parse(start, &f))
        return status_set(
            p->r.st, REASON_BAD_REQUEST, "number %.*s is out of range of float64 (offset %zu)",
            (int)(p->at - start < 64 ? p->at - start : 64), start, (size_t)(start - p->text));
    *out = (struct json){ .type = JSON_FLOAT, .f = f };
    return 0;
}

static int number(struct parser *p, struct json *out)
{
    const char *start = p->at;
    bool negative = *p->at == '-', fits = true;
    int64_t v = 0;

    p->at += negative;
    if (!digit(*p->at))
        return fail(p, "in numeric literal");
    if (*p->at == '0') {
        p->at++;
    } else {
        for (; digit(*p->at); p->at++)
            fits = fits && !__builtin_mul_overflow(v, 10, &v) &&
                   !__builtin_sub_overflow(v, *p->at - '0', &v);
    }
    if (*p->at == '.' || *p->at == 'e' || *p->at == 'E' || !fits || (!negative && v == INT64_MIN))
        return fraction(p, start, out);
    *out = json_of_int(negative ? v : -v);
    return 0;
}

static int literal(struct parser *p, const char *word, struct json v, struct json *out)
{
    for (size_t i = 0; word[i]; i++) {
        char where[64];

        if (p->at[i] == word[i])
            continue;
        (void)snprintf(where, sizeof(where), "in literal %s (expecting '%c')", word, word[i]);
        return fail_at(p, p->at + i, where);
    }
    p->at += strlen(word);
    *out = v;
    return 0;
}

static int too_deep(struct parser *p)
{
    return status_set(p->r.st, REASON_BAD_REQUEST, "exceeded max depth (offset %zu)",
                      (size_t)(p->at - p->text));
}

static int array(struct parser *p, struct json *out)
{
    struct trail level;
    struct json v;

    if (!reader_enter(&p->r, &level))
        return too_deep(p);
    p->at++;
    for (bool more = peek(p) != ']'; more; level.index++) {
        if (value(p, &v) < 0)
            return -1;
        reader_add_item(&p->r, v);
        more = peek(p) == ',';
        if (!more && *p->at != ']')
            return fail(p, "after array element");
        p->at += more;
    }
    p->at++;
    *out = reader_leave_array(&p->r, &level);
    return 0;
}

static inline int member(struct parser *p, struct trail *level)
{
    struct json v;

    if (peek(p) != '"')
        return fail(p, "looking for beginning of object key string");
    if (string(p, &level->name) < 0)
        return -1;
    if (peek(p) != ':')
        return fail(p, "after object key");
    p->at++;
    if (value(p, &v) < 0)
        return -1;
    reader_add_member(&p->r, level->name, v);
    return 0;
}

static int object(struct parser *p, struct json *out)
{
    struct trail level;

    if (!reader_enter(&p->r, &level))
        return too_deep(p);
    p->at++;
    for (bool more = peek(p) != '}'; more;) {
        if (member(p, &level) < 0)
            return -1;
        more = peek(p) == ',';
        if (!more && *p->at != '}')
            return fail(p, "after object key:value pair");
        p->at += more;
    }
    p->at++;
    *out = reader_leave_object(&p->r, &level);
    return 0;
}

static int value(struct parser *p, struct json *out)
{
    char c = peek(p);
    str s;

    switch (c) {
    case '"':
        if (string(p, &s) < 0)
            return -1;
        *out = json_of_str(s);
        return 0;
    case '{':
        return object(p, out);
    case '[':
        return array(p, out);
    case 't':
        return literal(p, "true", json_true, out);
    case 'f':
        return literal(p, "false", json_false, out);
    case 'n':
        return literal(p, "null", json_null, out);
    default:
        if (c == '-' || digit(c))
            return number(p, out);
        return fail(p, "looking for beginning of value");
    }
}

int json_parse(struct arena *a, str text, struct json_duplicates *dups, const struct json **out,
               struct status *st)
{
    struct parser p;
    struct json v = json_null;
    int rc;

    if (text.n > INT32_MAX)
        return status_set(st, REASON_BAD_REQUEST, "JSON text of %zu bytes is too long", text.n);
    p.text = p.at = arena_alloc_raw(a, text.n + PADDING);
    p.end = p.text + text.n;
    if (text.n)
        memcpy(p.text, text.p, text.n);
    memset(p.end, 0, PADDING);
    reader_init(&p.r, a, dups, st);
    p.r.text = (str){ p.text, text.n };
    rc = value(&p, &v);
    (void)peek(&p);
    if (rc == 0 && p.at != p.end)
        rc = fail(&p, "after top-level value");
    reader_release(&p.r);
    if (rc == 0)
        *out = json_box(a, v);
    return rc;
}
