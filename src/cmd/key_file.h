/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_KEY_FILE_H
#define CMD_KEY_FILE_H

/* Files that hold keys: read into memory that is wiped, written whole or not at all. */

#include "base/arena.h"
#include "base/secret.h"
#include "base/status.h"

enum { KEY_FILE_MAX = 1 << 20 };

/* In the arena, wiped when it goes. */
int key_file_read(struct arena *a, const char *path, secret *out, struct status *st)
    __attribute__((warn_unused_result));

/* A new file that only we may read; durable when it returns. */
int key_file_write(struct arena *a, const char *path, secret text, struct status *st)
    __attribute__((warn_unused_result));

/* "20260102T150405Z": in the names of keys, so that later ones come later. */
str key_file_time(struct arena *a, int64_t now_s);

#endif
