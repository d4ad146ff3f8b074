/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TOKEN_KEYS_H
#define CMD_TOKEN_KEYS_H

/*
 * The keys of service account tokens in a data folder: pki/sa-NAME.key (private) and
 * pki/sa-NAME.pub (public).  All of them verify; of the private ones the last by name signs, so a
 * key is replaced by putting one whose name comes later beside it, and removed when the old tokens
 * have expired.  The first is made when there is none, and named by its time.
 */

#include "base/arena.h"
#include "base/secret.h"
#include "base/status.h"

/* The one that signs first, at most KEYS_MAX; in the arena, wiped when it goes. */
int token_keys_open(struct arena *a, const char *dir, int64_t now_s, const secret **out, size_t *n,
                    struct status *st) __attribute__((warn_unused_result));

#endif
