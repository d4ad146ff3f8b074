/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ENCRYPTION_KEYS_H
#define CMD_ENCRYPTION_KEYS_H

/*
 * Keeps a running server's keys of encryption at rest (apiserver/server/encryption.h): those of the
 * user's file, or of encryption.yaml in the data folder, which is made with a new key when there is
 * none. A file that changes is taken up within seconds; one that is wrong leaves all as it was. One
 * thread, the one that waits for signals.
 */

#include <sys/stat.h>

#include "apiserver/server/encryption.h"

struct encryption_keys {
    const char *dir;
    const char *file; /* the user's; NULL: the data folder's */
    struct encryption *encryption;
    struct stat seen; /* of the file when it was read */
};

/* The folder must be there, and ours alone. */
int encryption_keys_open(struct encryption_keys *e, int64_t now_s, struct status *st)
    __attribute__((warn_unused_result));
void encryption_keys_close(struct encryption_keys *e);

/* Now and then, and at once when `forced`; what fails is logged. */
void encryption_keys_refresh(struct encryption_keys *e, bool forced);

#endif
