/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_ENCRYPTION_CONFIG_H
#define APISERVER_SERVER_ENCRYPTION_CONFIG_H

/* An EncryptionConfiguration, read and checked.  Frozen; its keys are wiped when it is freed. */

#include "apiserver/server/encryption.h"
#include "http/aead.h"

struct encryption_key {
    enum aead_form form;
    str name;
    struct aead_key *key;
};

struct encryption_rule {
    const str *resources; /* "secrets", "deployments.apps", "*.apps", "*.", "*.*" */
    size_t n;
    const struct encryption_key *writer; /* NULL: identity */
};

struct encryption_config {
    struct arena *arena;
    struct encryption_rule *rules;
    size_t nrules;
    struct encryption_key *keys; /* of all rules */
    size_t nkeys;
};

struct encryption_config *encryption_config_new(void); /* no rules, no keys */
struct encryption_config *encryption_config_read(secret text, struct status *st);
void encryption_config_free(struct encryption_config *c);

/* What seals objects of this resource, or NULL. */
const struct encryption_key *encryption_config_writer(const struct encryption_config *c, str group,
                                                      str plural);

const char *encryption_form_name(enum aead_form form); /* "aesgcm" */

#endif
