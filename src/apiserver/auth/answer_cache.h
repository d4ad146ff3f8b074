/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_ANSWER_CACHE_H
#define APISERVER_AUTH_ANSWER_CACHE_H

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
    ANSWER_CACHE_SETS = 512,  /* each has four answers */
    ANSWER_CACHE_BYTES = 4096 /* of an answer; larger ones are not cached */
};

struct answer_cache;

struct answer_cache_answer {
    bool yes;
    struct identity who; /* `rights` is not kept */
    str reason;
};

struct answer_cache *answer_cache_new(void);
void answer_cache_free(struct answer_cache *r);

/* Returns the cached answer of this generation, which lives as long as the arena; NULL when there
 * is none, or it has expired. */
const struct answer_cache_answer *answer_cache_get(struct answer_cache *r, struct arena *a,
                                                   const unsigned char hash[SHA256_SIZE],
                                                   uint64_t generation, int64_t now_ms);
/* Copies the answer. */
void answer_cache_put(struct answer_cache *r, const unsigned char hash[SHA256_SIZE],
                      uint64_t generation, int64_t now_ms, int64_t until_ms,
                      const struct answer_cache_answer *answer);

#endif
