/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_FILE_H
#define SERVER_AUDIT_FILE_H

/*
 * A file of lines that is put aside when it is large: audit.log, audit-2026-01-02T15-04-05.000.log,
 * as Kubernetes names them.  A line is in one file, whole, or it is not written: what a full disk
 * leaves of one is cut off again, what a killed process left when the file is opened.
 *
 * One thread.  Not synced: after a power cut the last seconds may be missing.
 */

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"

struct audit_file_options {
    const char *path;     /* its folder exists; "-": standard output, which is never put aside */
    uint64_t max_bytes;   /* 0: it grows */
    unsigned max_backups; /* 0: any number */
    int64_t max_age_s;    /* of backups; 0: any */
    struct file_layer *layer; /* NULL: the machine's */
    struct clock *clock;
};

struct audit_file;

struct audit_file *audit_file_new(const struct audit_file_options *o, struct status *st);
void audit_file_free(struct audit_file *f);

/*
 * Lines without their newline; *done is how many were written, also when it fails: go on there the
 * next time.
 */
int audit_file_write(struct audit_file *f, const str *lines, size_t n, size_t *done,
                     struct status *st) __attribute__((warn_unused_result));

#endif
