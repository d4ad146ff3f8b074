/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/verdicts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"

struct verdicts {
    struct verdicts_options o;
    struct answer_cache *remembered;
    atomic_uint waiting;
};

struct verdicts *verdicts_new(const struct verdicts_options *o)
{
    struct verdicts *v = mem_zalloc(sizeof(*v));

    v->o = *o;
    v->remembered = answer_cache_new();
    return v;
}

void verdicts_free(struct verdicts *v)
{
    if (!v)
        return;
    answer_cache_free(v->remembered);
    free(v);
}

str verdicts_audience(const struct verdicts *v)
{
    return v->o.audience;
}

bool verdicts_of_instances(const struct verdicts *v)
{
    return v->o.source->instances;
}

static void remember(struct verdicts *v, const struct verdict *q)
{
    const struct verdict_source *s = v->o.source;
    int64_t now = clock_now_ms(v->o.clock);

    answer_cache_put(v->remembered, q->hash, 0, now, now + (q->answer->yes ? s->yes_ms : s->no_ms),
                     q->answer);
}

/* What it says goes by before `done` returns, so it is copied. */
static void answered(struct callout *c, str reply, const struct status *why)
{
    struct verdict *q = (struct verdict *)(void *)c;
    struct verdicts *v = q->of;
    struct answer_cache_answer *answer = arena_new_of(q->arena, struct answer_cache_answer);

    (void)atomic_fetch_sub(&v->waiting, 1);
    if (why)
        status_copy(&q->why, why);
    else if (v->o.read(q->arena, str_dup(q->arena, reply), v->o.audience, answer, &q->why) == 0)
        q->answer = answer;
    if (q->answer)
        remember(v, q);
    else
        log_warn("a webhook of the operator gives no verdict", log_str("url", v->o.source->url),
                 log_str("why", q->why.message));
    q->done(q);
}

bool verdicts_ask(struct verdicts *v, struct verdict *q)
{
    const struct verdict_source *s = v->o.source;

    status_init(&q->why, q->arena);
    q->of = v;
    sign_sha256(q->body, q->hash);
    q->answer = answer_cache_get(v->remembered, q->arena, q->hash, 0, clock_now_ms(v->o.clock));
    if (q->answer)
        return true;
    if (atomic_fetch_add(&v->waiting, 1) >= VERDICT_WAITING_MAX) {
        (void)atomic_fetch_sub(&v->waiting, 1);
        (void)status_set(&q->why, REASON_UNAVAILABLE, "too many questions wait for the webhook");
        return true;
    }
    q->callout = (struct callout){ .url = s->url,
                                   .ca_pem = s->ca_pem,
                                   .as = &s->as,
                                   .body = q->body,
                                   .timeout_ms = VERDICT_MS,
                                   .operators = true,
                                   .reply_max = VERDICT_REPLY_MAX,
                                   .done = answered };
    v->o.ask(v->o.arg, &q->callout);
    return false;
}
