/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LOG_H
#define STORE_LOG_H

/*
 * The log: segment files of one data dir, oldest to newest, the only copy of all bytes.  Batches of
 * frames are appended to the newest; the oldest is given up when nothing in it is needed.
 *
 * The newest file is kept zeroed ahead of the write position, in steps, so that a commit changes
 * neither the file's size nor its extents and its sync stays cheap.
 *
 * A batch is either durable or refused.  After a failure the bytes in doubt must never come back:
 * the segment gets no more frames, and the next one's header says how far it is valid.
 *
 * All of it is the writer's, except segment_at and the references.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

enum { LOG_SLOTS = 1 << 16 }; /* segments at a time */

struct segment {
    atomic_uint refs;
    struct file_layer *files;
    struct log *log;
    uint32_t number;
    uint32_t slot;
    uint32_t seed; /* of its frames' checksums */
    const char *map;
    size_t map_bytes;
    /* the writer's: */
    struct segment *newer;
    size_t end;       /* valid bytes */
    size_t allocated; /* bytes of the file */
    uint64_t max_rev; /* the last transaction in it */
    uint64_t live;    /* bytes of records that are the last of their rows */
    uint64_t stale;   /* versions in memory that are not the last, or say "deleted" */
};

struct log {
    struct file_layer *files;
    char *dir;
    size_t segment_bytes, step_bytes;
    uint8_t id[16];
    struct segment *oldest, *newest;
    struct file *file; /* of the newest */
    bool in_doubt;     /* the newest may hold bytes that were refused */
    atomic_uint_fast64_t bytes, syncs;
    _Atomic(struct segment *) slots[LOG_SLOTS];
};

/* ---- reading ---- */

static inline struct segment *segment_at(struct log *l, uint32_t slot)
{
    return atomic_load_explicit(&l->slots[slot], memory_order_acquire);
}

static inline void segment_ref(struct segment *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}
void segment_unref(void *segment);

/* ---- writing ---- */

struct log *log_new(struct file_layer *files, const char *dir, size_t segment_bytes,
                    size_t step_bytes);
void log_free(struct log *l); /* closes; no reader may be left */

char *log_path(const struct log *l, uint32_t number); /* to be freed */

/* Takes over a file (the log's id must be known) of that many bytes as the newest segment, which
 * may grow to `room` at least. */
struct segment *log_adopt(struct log *l, struct file *f, uint32_t number, size_t bytes,
                          size_t room); /* NULL with errno */

/*
 * Begins a segment; head and floor go into its header.  Also the way out of doubt.  All return 0
 * or an errno.
 */
int log_roll(struct log *l, size_t room, uint64_t head, uint64_t floor);

/* Makes sure that n bytes can be appended at newest->end. */
int log_reserve(struct log *l, size_t n, uint64_t head, uint64_t floor);

/* Appends n bytes (of whole, sealed frames) where log_reserve made room, and syncs. */
int log_append(struct log *l, const char *p, size_t n);

/* Removes the oldest segment; readers who hold it keep it. */
int log_drop_oldest(struct log *l);

#endif
