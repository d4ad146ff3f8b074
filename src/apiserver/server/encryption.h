/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_ENCRYPTION_H
#define APISERVER_SERVER_ENCRYPTION_H

/*
 * Encryption at rest: which resources are sealed, and by which keys, as an EncryptionConfiguration
 * of apiserver.config.k8s.io/v1 says.  The first entry that names a resource counts for it; its
 * first provider writes.  Every key of the configuration reads whatever it has sealed, and what is
 * not sealed is read always.  The bytes of a record say the name of its key.
 *
 * Providers are aesgcm, aescbc (http/aead.h) and identity.  secretbox and kms are refused: the one
 * needs another library, the other another process.
 *
 * Loading is for one thread at a time; sealing for any that is in an epoch.
 */

#include "base/secret.h"
#include "rest/seal.h"

enum { ENCRYPTION_KEYS_MAX = 64, ENCRYPTION_NAME_MAX = 128, ENCRYPTION_TEXT_MAX = 1 << 20 };

struct encryption;

struct encryption *encryption_new(void); /* seals nothing yet */
void encryption_free(struct encryption *e);

/* This configuration, YAML or JSON, in place of the one before.  INVALID, saying which field, and
 * nothing changed, when it is none. */
int encryption_load(struct encryption *e, secret text, struct status *st)
    __attribute__((warn_unused_result));

struct seal *encryption_seal(struct encryption *e); /* for rest_new; NULL for NULL */

#endif
