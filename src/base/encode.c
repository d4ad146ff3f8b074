/* SPDX-License-Identifier: Apache-2.0 */
#include "base/encode.h"

#include "base/arena.h"
#include "base/banned.h"

static const char std_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char hex_digits[] = "0123456789abcdef";

str base64_encode(struct arena *a, enum base64 form, str bytes)
{
    const char *digits = form == BASE64_URL ? url_digits : std_digits;
    const unsigned char *in = (const unsigned char *)bytes.p;
    char *out = arena_alloc_raw(a, (bytes.n + 2) / 3 * 4 + 1);
    size_t o = 0, i = 0;

    for (; i + 3 <= bytes.n; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];

        out[o++] = digits[v >> 18];
        out[o++] = digits[v >> 12 & 63];
        out[o++] = digits[v >> 6 & 63];
        out[o++] = digits[v & 63];
    }
    if (i < bytes.n) {
        bool two = bytes.n - i == 2;
        uint32_t v = (uint32_t)in[i] << 16 | (two ? (uint32_t)in[i + 1] << 8 : 0);

        out[o++] = digits[v >> 18];
        out[o++] = digits[v >> 12 & 63];
        if (two)
            out[o++] = digits[v >> 6 & 63];
        if (form != BASE64_URL) {
            if (!two)
                out[o++] = '=';
            out[o++] = '=';
        }
    }
    out[o] = '\0';
    return (str){ out, o };
}

static int base64_value(enum base64 form, char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == (form == BASE64_URL ? '-' : '+'))
        return 62;
    if (c == (form == BASE64_URL ? '_' : '/'))
        return 63;
    return -1;
}

static bool line_end(enum base64 form, char c)
{
    return form == BASE64_GO && (c == '\r' || c == '\n');
}

/* Padding stands once, at the end, and fills the last group of four. */
static bool padding_ok(enum base64 form, str rest, size_t digits)
{
    size_t pads = 0;

    for (size_t i = 0; i < rest.n; i++) {
        if (line_end(form, rest.p[i]))
            continue;
        if (rest.p[i] != '=')
            return false;
        pads++;
    }
    if (form == BASE64_URL)
        return pads == 0 && digits % 4 != 1;
    return digits % 4 == 0 ? pads == 0 : digits % 4 > 1 && pads == 4 - digits % 4;
}

bool base64_decode(struct arena *a, enum base64 form, str text, str *out)
{
    char *bytes = arena_alloc_raw(a, text.n / 4 * 3 + 3);
    uint32_t acc = 0; /* the bits not yet written */
    size_t digits = 0, n = 0, i = 0;

    for (; i < text.n && text.p[i] != '='; i++) {
        int v = base64_value(form, text.p[i]);

        if (v < 0 && line_end(form, text.p[i]))
            continue;
        if (v < 0)
            return false;
        acc = acc << 6 | (uint32_t)v;
        if (digits++ % 4 != 0) {
            bytes[n++] = (char)(acc >> (6 - 2 * ((digits - 1) % 4)));
            acc &= (1u << (6 - 2 * ((digits - 1) % 4))) - 1;
        }
    }
    if (!padding_ok(form, str_from(text, i), digits) || (acc != 0 && form != BASE64_GO))
        return false;
    bytes[n] = '\0';
    *out = (str){ bytes, n };
    return true;
}

void hex_encode(char *out, const void *bytes, size_t n)
{
    const unsigned char *in = bytes;

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = hex_digits[in[i] >> 4];
        out[2 * i + 1] = hex_digits[in[i] & 15];
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool hex_byte(const char *p, unsigned char *out)
{
    int hi = hex_value(p[0]), lo = hex_value(p[1]);

    if (hi < 0 || lo < 0)
        return false;
    *out = (unsigned char)(hi << 4 | lo);
    return true;
}

bool hex_decode(str text, void *out)
{
    unsigned char *bytes = out;
    unsigned char ignored;

    if (text.n % 2 != 0)
        return false;
    for (size_t i = 0; i < text.n; i += 2)
        if (!hex_byte(text.p + i, &ignored))
            return false;
    for (size_t i = 0; i < text.n; i += 2)
        (void)hex_byte(text.p + i, bytes + i / 2);
    return true;
}

static bool percent_plain(enum percent where, str text)
{
    return str_find(text, '%', 0) < 0 && (where == PERCENT_PATH || str_find(text, '+', 0) < 0);
}

bool percent_decode(struct arena *a, enum percent where, str text, str *out)
{
    char *to;
    size_t n = 0;

    if (percent_plain(where, text)) {
        *out = text;
        return true;
    }
    to = arena_alloc_raw(a, text.n + 1);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c == '%') {
            if (text.n - i < 3 || !hex_byte(text.p + i + 1, &c))
                return false;
            i += 2;
        } else if (c == '+' && where == PERCENT_QUERY) {
            c = ' ';
        }
        to[n++] = (char)c;
    }
    to[n] = '\0';
    *out = (str){ to, n };
    return true;
}

static bool unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

str percent_encode(struct arena *a, str text)
{
    char *to = arena_alloc_raw(a, text.n * 3 + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (unreserved(text.p[i])) {
            to[n++] = text.p[i];
            continue;
        }
        to[n++] = '%';
        to[n++] = "0123456789ABCDEF"[c >> 4];
        to[n++] = "0123456789ABCDEF"[c & 15];
    }
    to[n] = '\0';
    return (str){ to, n };
}
