/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_VERDICTS_H
#define SERVER_VERDICTS_H

/*
 * What a webhook of the operator says: whose a token is (TokenReview), or whether somebody may
 * (SubjectAccessReview).  The operator has named it, so it may be anywhere; what it answers is
 * bounded in size and time, and read by server/verdict_review.h.
 *
 * An answer is remembered by the SHA-256 of its question (server/remembered.h).  A failure is not,
 * and is never a yes.
 *
 * Any thread that is in an epoch.
 */

#include "base/clock.h"
#include "base/secret.h"
#include "server/callout.h"
#include "server/remembered.h"

enum {
    VERDICT_MS = 10 * 1000,      /* k8s: the request timeout of webhooks for tokens */
    VERDICT_REPLY_MAX = 1 << 20, /* bytes */
    VERDICT_WAITING_MAX = 1000,  /* questions on their way; more are failures */
};

struct verdict_source {
    str url;
    struct callout_as as;
    str ca_pem;
    int64_t yes_ms, no_ms; /* how long answers hold; 0: not at all */
    bool instances;        /* of rights: asked about every instance, not about root alone */
};

/* 0 with a yes or a no, which holds; else why there is neither.  In the arena. */
typedef int verdict_read(struct arena *a, str text, str audience, struct remembered_answer *out,
                         struct status *st);

struct verdicts_options {
    struct clock *clock;
    const struct verdict_source *source; /* outlives it */
    str audience;                        /* of our API; outlives it */
    verdict_read *read;
    void (*ask)(void *arg, struct callout *c); /* starts it on the current loop */
    void *arg;
};

struct verdicts;

struct verdicts *verdicts_new(const struct verdicts_options *o);
void verdicts_free(struct verdicts *v); /* NULL is fine */
str verdicts_audience(const struct verdicts *v);
bool verdicts_of_instances(const struct verdicts *v);

/* One question; kept until it is answered. */
struct verdict {
    struct callout callout; /* first, and ours */
    struct arena *arena;    /* where the answer is to be */
    str body;
    /* On the loop, once, if verdicts_ask said false. */
    void (*done)(struct verdict *q);

    const struct remembered_answer *answer; /* NULL: there is none, and why: */
    struct status why;

    struct verdicts *of; /* from here on ours */
    unsigned char hash[SHA256_SIZE];
};

/* True: the answer is there, or there will be none. */
bool verdicts_ask(struct verdicts *v, struct verdict *q);

#endif
