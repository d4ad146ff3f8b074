/* SPDX-License-Identifier: Apache-2.0 */
#include "store/format.h"

#include <string.h>

#include "base/banned.h"
#include "base/crc32c.h"

/* Over all but itself.  Magic, version and sum stay where they are in every version. */
static uint32_t header_crc(const struct segment_header *h)
{
    struct segment_header copy = *h;

    copy.crc = 0;
    return crc32c(0, &copy, sizeof(copy));
}

void segment_header_seal(struct segment_header *h, const char magic[8])
{
    memcpy(h->magic, magic, sizeof(h->magic));
    h->version = FORMAT_VERSION;
    h->crc = header_crc(h);
}

enum header_state segment_header_check(const struct segment_header *h, const char magic[8])
{
    if (memcmp(h->magic, magic, sizeof(h->magic)) != 0 || h->crc != header_crc(h))
        return HEADER_BAD;
    return h->version == FORMAT_VERSION ? HEADER_OK : HEADER_OTHER_VERSION;
}

size_t frame_begin(struct buf *b, enum frame_kind kind, uint64_t rev)
{
    struct frame_header h = { .magic = FRAME_MAGIC, .kind = (uint8_t)kind, .rev = rev };
    size_t at = b->n;

    buf_append(b, &h, sizeof(h));
    return at;
}

/* A header in a buffer, which may begin at any address. */
static struct frame_header frame_peek(const char *frame)
{
    struct frame_header h;

    memcpy(&h, frame, sizeof(h));
    return h;
}

void frame_end(struct buf *b, size_t at)
{
    uint32_t bytes = (uint32_t)(b->n - at);

    memcpy(b->p + at + offsetof(struct frame_header, bytes), &bytes, sizeof(bytes));
}

uint32_t frame_seed(const uint8_t id[16], uint64_t segment)
{
    return crc32c(crc32c(0, id, 16), &segment, sizeof(segment));
}

char *frame_seal(char *frame, uint32_t seed, uint32_t batch, uint64_t floor, uint32_t oldest)
{
    struct frame_header h = frame_peek(frame);

    h.batch = batch;
    h.floor = floor;
    h.oldest = oldest;
    memcpy(frame, &h, sizeof(h));
    h.crc = crc32c(seed, frame + sizeof(h.crc), h.bytes - sizeof(h.crc));
    memcpy(frame, &h.crc, sizeof(h.crc));
    return frame + format_align(h.bytes);
}

enum frame_state frame_check(const char *p, size_t n, uint32_t seed)
{
    static const struct frame_header zeros;
    struct frame_header h;

    if (n < sizeof(h))
        return FRAME_NONE;
    h = frame_peek(p);
    if (memcmp(&h, &zeros, sizeof(h)) == 0)
        return FRAME_NONE;
    if (h.magic != FRAME_MAGIC || h.bytes < sizeof(h) || h.bytes > n)
        return FRAME_BAD;
    if (h.crc != crc32c(seed, p + sizeof(h.crc), h.bytes - sizeof(h.crc)))
        return FRAME_BAD;
    return FRAME_OK;
}

size_t record_append(struct buf *b, size_t frame, const struct record *r)
{
    struct record_header h = {
        .type = r->key.type,
        .instance = r->key.instance,
        .rev = r->rev,
        .created = r->created,
        .value_bytes = (uint32_t)r->value.n,
        .name_bytes = (uint16_t)r->key.name.n,
        .nhashes = (uint16_t)r->nhashes,
        .kind = r->kind,
    };
    static const char padding[FORMAT_ALIGN];
    size_t at = b->n, end;
    uint32_t n;

    buf_append(b, &h, sizeof(h));
    if (r->nhashes)
        buf_append(b, r->hashes, r->nhashes * sizeof(*r->hashes));
    buf_str_append(b, r->key.name);
    buf_str_append(b, r->value);
    end = at + record_bytes(r->key.name.n, r->nhashes, r->value.n);
    buf_append(b, padding, end - b->n);
    n = frame_peek(b->p + frame).nrecords + 1;
    memcpy(b->p + frame + offsetof(struct frame_header, nrecords), &n, sizeof(n));
    return at;
}

void record_read(const char *p, struct record *out)
{
    struct record_header h;

    memcpy(&h, p, sizeof(h));
    p += sizeof(h);
    *out = (struct record){
        .kind = (enum record_kind)h.kind,
        .key = { h.type, h.instance, { p + (size_t)h.nhashes * 8, h.name_bytes } },
        .rev = h.rev,
        .created = h.created,
        .hashes = (const uint64_t *)(const void *)p,
        .nhashes = h.nhashes,
    };
    out->value = (str){ out->key.name.p + h.name_bytes, h.value_bytes };
}

void record_cursor_init(struct record_cursor *c, const char *frame)
{
    *c = (struct record_cursor){
        .frame = frame,
        .next = sizeof(struct frame_header),
        .left = frame_peek(frame).nrecords,
    };
}

static bool record_fits(const struct record *r, size_t left)
{
    size_t bytes = record_bytes(r->key.name.n, r->nhashes, r->value.n);
    bool named = r->key.name.n > 0 && r->key.name.n <= STORE_KEY_MAX;

    if (bytes > left || r->value.n > STORE_VALUE_MAX || r->nhashes > STORE_HASHES_MAX)
        return false;
    return r->kind == RECORD_DROP || ((r->kind == RECORD_PUT || r->kind == RECORD_DELETE) && named);
}

bool record_next(struct record_cursor *c, struct record *out, size_t *at)
{
    size_t bytes = frame_peek(c->frame).bytes;

    if (c->left == 0 || c->bad) {
        c->bad = c->bad || c->next != bytes;
        return false;
    }
    c->bad = bytes - c->next < sizeof(struct record_header);
    if (c->bad)
        return false;
    record_read(c->frame + c->next, out);
    c->bad = !record_fits(out, bytes - c->next);
    if (c->bad)
        return false;
    *at = c->next;
    c->next += record_bytes(out->key.name.n, out->nhashes, out->value.n);
    c->left--;
    return true;
}
