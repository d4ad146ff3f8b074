/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_VERDICTS_H
#define APISERVER_AUTH_VERDICTS_H

/*
 * Asks a webhook of the operator: to authenticate a token (TokenReview), or to authorize a request
 * (SubjectAccessReview).  The operator has configured the webhook, so any address is allowed; its
 * answer is limited in size and time, and read by apiserver/auth/verdict_review.h.
 *
 * An answer is cached by the SHA-256 of its question (apiserver/auth/answer_cache.h).  A failure is
 * not cached, and never counts as a yes.
 *
 * Any thread that is inside an epoch.
 */

#include "apiserver/auth/answer_cache.h"
#include "apiserver/outbound/callout.h"
#include "base/clock.h"
#include "base/secret.h"

enum {
    VERDICT_MS = 10 * 1000,      /* k8s: the request timeout of webhooks for tokens */
    VERDICT_REPLY_MAX = 1 << 20, /* bytes */
    VERDICT_WAITING_MAX = 1000,  /* questions in flight; further ones fail */
};

struct verdict_source {
    str url;
    struct callout_as as;
    str ca_pem;
    int64_t yes_ms, no_ms; /* how long an answer is cached; 0: not at all */
    bool instances;        /* authorization: ask about every instance, not only about root */
};

/* Reads an answer into the arena: returns 0 with a yes or no, which may be cached, or -1 when the
 * answer is neither. */
typedef int verdict_read(struct arena *a, str text, str audience, struct answer_cache_answer *out,
                         struct status *st);

struct verdicts_options {
    struct clock *clock;
    const struct verdict_source *source; /* outlives the verdicts */
    str audience;                        /* of this server's API; outlives the verdicts */
    verdict_read *read;
    void (*ask)(void *arg, struct callout *c); /* starts the callout on the current loop */
    void *arg;
};

struct verdicts;

struct verdicts *verdicts_new(const struct verdicts_options *o);
void verdicts_free(struct verdicts *v); /* NULL is fine */
str verdicts_audience(const struct verdicts *v);
bool verdicts_of_instances(const struct verdicts *v);

/* One question; it must live until it is answered. */
struct verdict {
    struct callout callout; /* first; private */
    struct arena *arena;    /* the answer is put here */
    str body;
    /* Called once, on the loop, if verdicts_ask() returned false. */
    void (*done)(struct verdict *q);

    const struct answer_cache_answer *answer; /* NULL: the question failed, as `why` says */
    struct status why;

    struct verdicts *of; /* private from here on */
    unsigned char hash[SHA256_SIZE];
};

/* Returns true if q is already answered or has failed; else done() follows. */
bool verdicts_ask(struct verdicts *v, struct verdict *q);

#endif
