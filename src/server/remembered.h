/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_REMEMBERED_H
#define SERVER_REMEMBERED_H

/*
 * Answers that took long, for a while: whose a token is, what a webhook said.  They are known by
 * the SHA-256 of the question, so neither a token nor a question is kept.  Their number and their
 * size are bounded; what is new takes the place of something old.
 *
 * Any thread that is in an epoch.
 */

#include "base/identity.h"
#include "json/json.h"
#include "http/sign.h"

enum {
    REMEMBERED_SETS = 512,  /* of four answers each */
    REMEMBERED_BYTES = 4096 /* of one; larger ones are not kept */
};

struct remembered;

struct remembered_answer {
    bool yes;
    struct identity who; /* without rights */
    str reason;
};

struct remembered *remembered_new(void);
void remembered_free(struct remembered *r);

/* NULL when there is none of this generation that still holds; it lives as long as the arena. */
const struct remembered_answer *remembered_get(struct remembered *r, struct arena *a,
                                               const unsigned char hash[SHA256_SIZE],
                                               uint64_t generation, int64_t now_ms);
/* Copies. */
void remembered_put(struct remembered *r, const unsigned char hash[SHA256_SIZE],
                    uint64_t generation, int64_t now_ms, int64_t until_ms,
                    const struct remembered_answer *answer);

#endif
