/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TEXT_FILE_H
#define CMD_TEXT_FILE_H

/* A small file of the user's, 1 MiB at most, whole.  Its bytes live in the arena. */

#include "base/arena.h"
#include "base/status.h"

/* 1, 0 if there is none, or -1. */
int text_file_find(struct arena *a, const char *path, str *out, struct status *st)
    __attribute__((warn_unused_result));

/* NOT_FOUND if there is none. */
int text_file_read(struct arena *a, const char *path, str *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
