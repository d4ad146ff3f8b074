/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PBWIRE_H
#define BASE_PBWIRE_H

/*
 * The wire format of protobuf, without messages: tags, varints, fixed numbers, bytes.
 *
 * Reading takes one field after the other from a message that lies in memory and copies nothing:
 *
 *     struct pb_reader r = pb_reader(message);
 *     struct pb_field f;
 *     while (pb_next(&r, &f))
 *         if (f.number == 1 && f.wire == PB_BYTES) name = f.bytes;
 *     if (r.bad) …                        truncated, or no protobuf at all
 *
 * What the numbers mean, and how deep messages may nest, is the caller's affair; groups are checked
 * and skipped.  Writing appends to a buf, whose maximum is the limit.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
    uint32_t number;
    enum pb_wire wire;
    uint64_t value; /* of PB_VARINT, PB_FIXED64, PB_FIXED32 */
    str bytes;      /* of PB_BYTES */
};

struct pb_reader {
    const uint8_t *p, *end;
    bool bad;
};

static inline struct pb_reader pb_reader(str message)
{
    const uint8_t *p = (const uint8_t *)message.p;

    return (struct pb_reader){ .p = p, .end = p ? p + message.n : p };
}

/* False at the end and when the rest makes no sense; r->bad tells which. */
bool pb_next(struct pb_reader *r, struct pb_field *out);

/* One varint without a tag, as in packed lists; false (and bad) when there is none. */
bool pb_next_varint(struct pb_reader *r, uint64_t *out);

/* The double whose bits a PB_FIXED64 holds. */
double pb_double(uint64_t bits);

/* One varint. */
void pb_put_varint(struct buf *b, uint64_t v);

/* Whole fields. */
void pb_put_uint(struct buf *b, uint32_t number, uint64_t v); /* also bool, enum, int64 */
void pb_put_double(struct buf *b, uint32_t number, double v);
void pb_put_bytes(struct buf *b, uint32_t number, str bytes);

/*
 * A message inside of the message:
 *
 *     size_t mark = pb_begin(b, 4);
 *     pb_put_bytes(b, 1, name);
 *     pb_end(b, mark);
 */
size_t pb_begin(struct buf *b, uint32_t number);
void pb_end(struct buf *b, size_t mark);

#endif
