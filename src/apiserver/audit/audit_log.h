/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_LOG_H
#define APISERVER_AUDIT_AUDIT_LOG_H

/*
 * The audit log: a thread of its own writes it, and the loops only put events into a bounded
 * buffer. The thread collects events for AUDIT_LOG_NAP_MS and writes them together; when a write
 * fails it keeps them and tries again.
 */

#include "apiserver/audit/audit_file.h"
#include "apiserver/audit/audit_queue.h"

enum {
    AUDIT_LOG_NAP_MS = 20,
    AUDIT_LOG_RETRY_MS = 1000,
    AUDIT_LOG_EVENTS = 10000,   /* limit of waiting events, */
    AUDIT_LOG_BYTES = 64 << 20, /* and of their bytes */
};

struct audit_log;

struct audit_log *audit_log_new(const struct audit_file_options *o, struct status *st);

/* One that goes elsewhere than to a file, in the same way. */
struct audit_sink {
    const char *name; /* for the log */
    /* On the thread, which may block: 0, or -1 after the first *done, and it is tried again. */
    int (*write)(void *arg, const str *lines, size_t n, size_t *done, struct status *st);
    void *arg;
};
struct audit_log *audit_log_new_to(const struct audit_sink *sink, struct status *st);

/* Writes the waiting events, if the disk accepts them, and ends the thread.  Returns how many
 * events were lost. */
size_t audit_log_free(struct audit_log *l);

/* Takes its own reference to the event.  Returns false when the buffer is full.  Any thread. */
bool audit_log_put(struct audit_log *l, struct bytes *event);
bool audit_log_has_room(struct audit_log *l);

#endif
