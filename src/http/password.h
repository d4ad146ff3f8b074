/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_PASSWORD_H
#define HTTP_PASSWORD_H

/*
 * What is kept of a password: "pbkdf2-sha512$<rounds>$<salt>$<hash>", the last two in base64.  Both
 * take a tenth of a second of computing on purpose: on a worker, not on a loop.
 */

#include "base/arena.h"
#include "base/secret.h"

enum { PASSWORD_MIN = 8, PASSWORD_MAX = 256 };

str password_hash(struct arena *a, secret password);
bool password_is(str hash, secret password); /* false, too, when the hash is none */

/* Of no password: for names that do not exist, so that looking takes as long. */
extern const str password_nobody;

#endif
