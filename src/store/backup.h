/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

/*
 * A backup is one stream: a header, frames of rows with the revisions they have (format.h), and an
 * end that counts them, so that a stream that was cut is not taken for a whole one.
 */

#include "base/buf.h"
#include "store/store.h"

/* ---- making one; for the implementations of store_backup ---- */

struct backup_writer {
    store_write_fn *write;
    void *arg;
    struct buf buf;
    uint64_t rev, nrecords;
    size_t frame; /* SIZE_MAX: none is begun */
    uint32_t seed;
    bool failed;
};

/* Nothing fails before the end; what is begun must be ended.  Only _flush and _end call write. */
void backup_begin(struct backup_writer *w, store_write_fn *write, void *arg, uint64_t rev);
void backup_row(struct backup_writer *w, const struct store_row *row, const uint64_t *hashes,
                size_t nhashes);
void backup_drop(struct backup_writer *w, uint32_t instance, uint64_t rev);
void backup_flush(struct backup_writer *w); /* after some rows, so that the buffer stays small */
int backup_end(struct backup_writer *w, struct status *st) __attribute__((warn_unused_result));

int engine_backup(struct store *s, store_write_fn *write, void *arg, uint64_t *rev,
                  struct status *st);

/* ---- from a backup to a data dir ---- */

/* Reads up to n bytes; 0 at the end, -1 to stop. */
typedef ptrdiff_t store_read_fn(void *arg, void *p, size_t n);

/*
 * Makes a data dir of the embedded engine from a backup.  The folder is made; it must not be there,
 * or be empty.  The rows have the revisions they had, history begins at the backup's revision.
 */
int store_restore(store_read_fn *read, void *arg, str data_dir, struct status *st)
    __attribute__((warn_unused_result));

#endif
