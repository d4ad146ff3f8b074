/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_REMEMBERED_H
#define APISERVER_AUTH_REMEMBERED_H

/*
 * A cache of expensive answers: the user of a token, the verdict of a webhook.  The key is the
 * SHA-256 of the question, so neither tokens nor questions are kept.  The number and the size of
 * answers are bounded; a new answer replaces an old one.
 *
 * Any thread that is inside an epoch.
 */

#include "base/identity.h"
#include "http/sign.h"
#include "json/json.h"

enum {
    REMEMBERED_SETS = 512,  /* each has four answers */
    REMEMBERED_BYTES = 4096 /* of an answer; larger ones are not cached */
};

struct remembered;

struct remembered_answer {
    bool yes;
    struct identity who; /* `rights` is not kept */
    str reason;
};

struct remembered *remembered_new(void);
void remembered_free(struct remembered *r);

/* Returns the cached answer of this generation, which lives as long as the arena; NULL when there
 * is none, or it has expired. */
const struct remembered_answer *remembered_get(struct remembered *r, struct arena *a,
                                               const unsigned char hash[SHA256_SIZE],
                                               uint64_t generation, int64_t now_ms);
/* Copies the answer. */
void remembered_put(struct remembered *r, const unsigned char hash[SHA256_SIZE],
                    uint64_t generation, int64_t now_ms, int64_t until_ms,
                    const struct remembered_answer *answer);

#endif
