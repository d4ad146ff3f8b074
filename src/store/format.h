/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FORMAT_H
#define STORE_FORMAT_H

/*
 * The bytes of a segment file, version 1.  Little-endian, everything begins at a multiple of 8.
 *
 *     segment   header (64 bytes), frames, zeros
 *     frame     header (40 bytes), records; one checksum over all of it
 *     record    header (40 bytes), index hashes, name, value
 *
 * A frame is what is there or not as a whole.  A transaction is one frame.  Frames that are synced
 * together are a batch and each says where its batch begins: a whole frame of a later batch proves
 * that everything before was synced once, so what is broken there is damage, not a torn tail.
 *
 * A backup is a header and frames, too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/store.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is read in place");

enum {
    FORMAT_VERSION = 1,
    FORMAT_ALIGN = 8,
};

static inline size_t format_align(size_t n)
{
    return (n + FORMAT_ALIGN - 1) & ~(size_t)(FORMAT_ALIGN - 1);
}

/* ---- segments ---- */

#define SEGMENT_MAGIC "KAIRSEG\n"
#define BACKUP_MAGIC  "KAIRBAK\n"

struct segment_header {
    char magic[8];
    uint32_t version;
    uint32_t crc;      /* of the whole header */
    uint64_t number;   /* from 1 on, one more than the segment before; of a backup 0 */
    uint64_t prev_end; /* how far the segment before is valid: what lies behind was refused */
    uint64_t rev;      /* the head when it was made: its first transaction is one more */
    uint64_t floor;
    uint8_t id[16]; /* of the store: segments of two stores do not mix */
};
_Static_assert(sizeof(struct segment_header) == 64, "on disk");

void segment_header_seal(struct segment_header *h, const char magic[8]); /* magic, version, crc */

enum header_state { HEADER_OK, HEADER_BAD, HEADER_OTHER_VERSION };
enum header_state segment_header_check(const struct segment_header *h, const char magic[8]);

/* ---- frames ---- */

enum frame_kind {
    FRAME_TXN = 1,  /* a transaction; its records have its revision */
    FRAME_COPY = 2, /* rows written again as they are, with the revisions they have */
    FRAME_MARK = 3, /* no records: head, floor and oldest segment */
    FRAME_END = 4,  /* closes a backup; rev is the number of records before */
};

struct frame_header {
    uint32_t crc;   /* of the rest of the frame */
    uint32_t bytes; /* without the padding behind it */
    uint16_t magic;
    uint8_t kind;
    uint8_t zero;
    uint32_t batch; /* offset of the batch's first frame */
    uint64_t rev;   /* of the transaction; of others: the head */
    uint64_t floor;
    uint32_t nrecords;
    uint32_t oldest; /* number of the oldest segment still needed */
};
_Static_assert(sizeof(struct frame_header) == 40, "on disk");

enum { FRAME_MAGIC = 0x4b46 };

/* Appends a frame's header; then come its records, then frame_end with what frame_begin gave. */
size_t frame_begin(struct buf *b, enum frame_kind kind, uint64_t rev);
void frame_end(struct buf *b, size_t at);

/*
 * Where checksums of a segment's frames begin.  It has the store's id in it, which nobody outside
 * knows, so a value that looks like a frame is not taken for one, nor a frame of another segment.
 */
uint32_t frame_seed(const uint8_t id[16], uint64_t segment);

/* Fills in what is known when the batch's place is, and the checksum.  Returns the next frame. */
char *frame_seal(char *frame, uint32_t seed, uint32_t batch, uint64_t floor, uint32_t oldest);

enum frame_state {
    FRAME_OK,
    FRAME_NONE, /* only zeros from here on, as far as the header reaches */
    FRAME_BAD,
};
/* Looks at the frame at p, of which at most n bytes exist. */
enum frame_state frame_check(const char *p, size_t n, uint32_t seed);

/* ---- records ---- */

enum record_kind { RECORD_PUT = 1, RECORD_DELETE = 2, RECORD_DROP = 3 };

struct record_header {
    uint32_t type, instance;
    uint64_t rev, created;
    uint32_t value_bytes;
    uint16_t name_bytes, nhashes;
    uint32_t kind;
    uint32_t zero;
};
_Static_assert(sizeof(struct record_header) == 40, "on disk");

struct record {
    enum record_kind kind;
    struct store_key key;
    uint64_t rev, created;
    const uint64_t *hashes;
    size_t nhashes;
    str value;
};

static inline size_t record_bytes(size_t name_bytes, size_t nhashes, size_t value_bytes)
{
    return format_align(sizeof(struct record_header) + nhashes * 8 + name_bytes + value_bytes);
}

/* Returns its offset in the buffer; counts in the frame that was begun last, at `frame`. */
size_t record_append(struct buf *b, size_t frame, const struct record *r);

static inline const uint64_t *record_hashes(const char *p)
{
    return (const uint64_t *)(const void *)(p + sizeof(struct record_header));
}

/* Reads the record at p in place. */
void record_read(const char *p, struct record *out);

/*
 * The records of a frame that frame_check found whole, and their offsets in it.  False at the end;
 * then `bad` says whether the frame was nonsense in spite of its checksum.
 */
struct record_cursor {
    const char *frame;
    size_t next; /* offset of the next record */
    uint32_t left;
    bool bad;
};
void record_cursor_init(struct record_cursor *c, const char *frame);
bool record_next(struct record_cursor *c, struct record *out, size_t *at);

#endif
