/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

/*
 * The embedded store: a log of segment files holds the only copy of all bytes, a small index in
 * memory says what is where, and is made again from the log at the start.
 *
 * One thread of its own writes: it takes all transactions that wait, checks them, appends them to
 * the log, syncs once, then shows them to readers.  Between commits it moves the floor of history
 * and rewrites the oldest segment when half of the disk is garbage, in small portions.
 *
 * When the disk fails the batch under way is refused and the store refuses writes (stats:
 * read_only) until a trial write works again; reads go on.  Readers look at the files through
 * mappings: a page that the disk cannot read ends the process (SIGBUS), rather than giving a
 * wrong answer.
 *
 * One promise has a footnote: bytes that were refused after a failed sync are ruled out for good
 * when a new segment says so.  While the disk takes no writes at all that cannot be written down:
 * if the power fails in just that state, they may be found on it.
 */

#include "base/clock.h"
#include "base/file.h"
#include "store/store.h"

struct engine_options {
    str dir;                  /* made if it is not there (its parent must be) */
    size_t segment_bytes;     /* 64 MiB */
    size_t step_bytes;        /* 1 MiB: how far ahead a segment is zeroed */
    int64_t history_ms;       /* 5 minutes: how long old revisions stay readable */
    size_t history_events;    /* 200,000: how many changes at most; what is older than 2 s also
                               * not more than 20,000, or than there are rows, and not more than
                               * 2,000 rows that are deleted, or than there are others */
    struct file_layer *files; /* the machine's */
    struct clock *clock;      /* the machine's */
};

/* What is 0 in the options has the value above.  NULL with *st when it cannot be opened. */
struct store *engine_open(const struct engine_options *opt, struct status *st);

#endif
