/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_LOG_H
#define SERVER_AUDIT_LOG_H

/*
 * The audit as a file of lines, written by a thread of its own: loops only put events into a
 * bounded buffer.  The thread gathers what comes within AUDIT_LOG_NAP_MS and writes it at once;
 * when the disk does not take it, it keeps it and tries again.
 */

#include "server/audit_file.h"
#include "server/audit_queue.h"

enum {
    AUDIT_LOG_NAP_MS = 20,
    AUDIT_LOG_RETRY_MS = 1000,
    AUDIT_LOG_EVENTS = 10000, /* that wait at most, */
    AUDIT_LOG_BYTES = 64 << 20,
};

struct audit_log;

struct audit_log *audit_log_new(const struct audit_file_options *o, struct status *st);
/* Writes what is there, if the disk takes it, and ends the thread; how many were lost. */
size_t audit_log_free(struct audit_log *l);

/* With a reference of its own.  False: the buffer is full.  Any thread. */
bool audit_log_put(struct audit_log *l, struct bytes *event);
bool audit_log_has_room(struct audit_log *l);

#endif
