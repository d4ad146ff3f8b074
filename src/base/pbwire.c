/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pbwire.h"

#include <assert.h>
#include <string.h>

#include "base/banned.h"

enum {
    WIRE_GROUP = 3, /* long out of use: read over, never given out */
    WIRE_GROUP_END = 4,
    GROUPS_MAX = 32,
    VARINT_MAX = 10,
    NUMBER_MAX = (1 << 29) - 1,
};

static bool fail(struct pb_reader *r)
{
    r->bad = true;
    r->p = r->end;
    return false;
}

static bool read_varint(struct pb_reader *r, uint64_t *out)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < VARINT_MAX && r->p < r->end; i++) {
        uint8_t c = *r->p++;

        if (i == VARINT_MAX - 1 && c > 1)
            return fail(r); /* more than 64 bits */
        v |= (uint64_t)(c & 0x7f) << (7 * i);
        if (c < 0x80) {
            *out = v;
            return true;
        }
    }
    return fail(r);
}

static bool read_fixed(struct pb_reader *r, unsigned size, uint64_t *out)
{
    uint64_t v = 0;

    if ((size_t)(r->end - r->p) < size)
        return fail(r);
    for (unsigned i = 0; i < size; i++)
        v |= (uint64_t)r->p[i] << (8 * i);
    r->p += size;
    *out = v;
    return true;
}

static bool read_bytes(struct pb_reader *r, str *out)
{
    uint64_t n = 0;

    if (!read_varint(r, &n))
        return false;
    if (n > (size_t)(r->end - r->p))
        return fail(r);
    *out = (str){ (const char *)r->p, (size_t)n };
    r->p += n;
    return true;
}

static bool read_tag(struct pb_reader *r, uint32_t *number, unsigned *wire)
{
    uint64_t tag = 0;

    if (!read_varint(r, &tag))
        return false;
    if (tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
        return fail(r);
    *number = (uint32_t)(tag >> 3);
    *wire = tag & 7;
    return true;
}

static bool read_value(struct pb_reader *r, unsigned wire, struct pb_field *out)
{
    switch (wire) {
    case PB_VARINT:
        return read_varint(r, &out->value);
    case PB_FIXED64:
        return read_fixed(r, 8, &out->value);
    case PB_BYTES:
        return read_bytes(r, &out->bytes);
    case PB_FIXED32:
        return read_fixed(r, 4, &out->value);
    default:
        return fail(r);
    }
}

/* Behind a start tag: up to the end tag of the same number. */
static bool skip_group(struct pb_reader *r, uint32_t number)
{
    uint32_t open[GROUPS_MAX] = { number };
    unsigned depth = 1, wire = 0;
    struct pb_field f;

    while (depth > 0) {
        if (!read_tag(r, &f.number, &wire))
            return false;
        if (wire == WIRE_GROUP && depth == GROUPS_MAX)
            return fail(r);
        if (wire == WIRE_GROUP)
            open[depth++] = f.number;
        else if (wire == WIRE_GROUP_END && open[--depth] != f.number)
            return fail(r);
        else if (wire != WIRE_GROUP_END && !read_value(r, wire, &f))
            return false;
    }
    return true;
}

bool pb_next(struct pb_reader *r, struct pb_field *out)
{
    uint32_t number = 0;
    unsigned wire = 0;

    while (r->p < r->end) {
        if (!read_tag(r, &number, &wire))
            return false;
        if (wire == WIRE_GROUP) {
            if (!skip_group(r, number))
                return false;
            continue;
        }
        *out = (struct pb_field){ .number = number };
        if (!read_value(r, wire, out))
            return false;
        out->wire = (enum pb_wire)wire;
        return true;
    }
    return false;
}

bool pb_next_varint(struct pb_reader *r, uint64_t *out)
{
    return read_varint(r, out);
}

double pb_double(uint64_t bits)
{
    double d;

    static_assert(sizeof(d) == sizeof(bits), "double has 64 bits");
    memcpy(&d, &bits, sizeof(d));
    return d;
}

static size_t encode_varint(char out[VARINT_MAX], uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (char)(v | 0x80);
    out[n++] = (char)v;
    return n;
}

void pb_put_varint(struct buf *b, uint64_t v)
{
    char bytes[VARINT_MAX];

    if (v < 0x80) /* as most tags and lengths are */
        buf_byte(b, (char)v);
    else
        buf_append(b, bytes, encode_varint(bytes, v));
}

static void put_tag(struct buf *b, uint32_t number, enum pb_wire wire)
{
    assert(number > 0 && number <= NUMBER_MAX);
    pb_put_varint(b, (uint64_t)number << 3 | wire);
}

void pb_put_uint(struct buf *b, uint32_t number, uint64_t v)
{
    put_tag(b, number, PB_VARINT);
    pb_put_varint(b, v);
}

void pb_put_double(struct buf *b, uint32_t number, double v)
{
    uint64_t bits;
    char bytes[8];

    memcpy(&bits, &v, sizeof(bits));
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (char)(bits >> (8 * i));
    put_tag(b, number, PB_FIXED64);
    buf_append(b, bytes, sizeof(bytes));
}

void pb_put_bytes(struct buf *b, uint32_t number, str bytes)
{
    put_tag(b, number, PB_BYTES);
    pb_put_varint(b, bytes.n);
    buf_str_append(b, bytes);
}

/* The length is not known yet: one byte is kept free, and more are made room for when they are
 * needed, which small messages do not. */
size_t pb_begin(struct buf *b, uint32_t number)
{
    put_tag(b, number, PB_BYTES);
    buf_byte(b, 0);
    return b->n;
}

void pb_end(struct buf *b, size_t mark)
{
    char length[VARINT_MAX];
    size_t n, extra;

    if (buf_overflown(b))
        return;
    assert(mark > 0 && mark <= b->n);
    n = b->n - mark;
    extra = encode_varint(length, n) - 1;
    if (extra > 0) {
        if (!buf_reserve(b, extra))
            return;
        memmove(b->p + mark + extra, b->p + mark, n);
        b->n += extra;
    }
    memcpy(b->p + mark - 1, length, extra + 1);
}
