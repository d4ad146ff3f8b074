/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_FILE_H
#define APISERVER_AUDIT_AUDIT_FILE_H

/*
 * A file of lines that is rotated when it is large: audit.log, audit-2026-01-02T15-04-05.000.log,
 * as Kubernetes names them.  A line is written whole, to one file, or not at all: a partial line is
 * cut off when the disk is full, and one that a killed process left is cut off when the file is
 * opened.
 *
 * One thread.  The file is not synced: a power cut may lose the last seconds.
 */

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"

struct audit_file_options {
    const char *path;     /* its folder must exist; "-": standard output, which is not rotated */
    uint64_t max_bytes;   /* 0: never rotate */
    unsigned max_backups; /* 0: keep all */
    int64_t max_age_s;    /* of backups; 0: unlimited */
    struct file_layer *layer; /* NULL: the real file system */
    struct clock *clock;
};

struct audit_file;

struct audit_file *audit_file_new(const struct audit_file_options *o, struct status *st);
void audit_file_free(struct audit_file *f);

/*
 * Writes lines, which are given without a newline.  *done is the number of lines written, also on
 * failure: continue there.
 */
int audit_file_write(struct audit_file *f, const str *lines, size_t n, size_t *done,
                     struct status *st) __attribute__((warn_unused_result));

#endif
