/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/access_webhook.h"

#include "apiserver/auth/verdict_review.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

bool access_webhook_knows(const struct server *s, const struct access *x)
{
    uint32_t id = x->instance->id;

    if (!s->access_verdicts || x->who->rights || id == STORE_ALL || id == INSTANCE_TEMPLATE)
        return false;
    return id == INSTANCE_ROOT || verdicts_of_instances(s->access_verdicts);
}

static void take(struct access_webhook *w)
{
    const struct answer_cache_answer *answer = w->verdict.answer;

    w->failed = !answer;
    w->allowed = answer && answer->yes;
    if (w->allowed || (answer && answer->reason.n && !w->reason.n))
        w->reason = answer->reason;
    else if (answer && answer->reason.n)
        w->reason =
            str_printf(w->call->arena, "%.*s, %.*s", STR_ARG(w->reason), STR_ARG(answer->reason));
}

static void verdict_came(struct verdict *q)
{
    struct access_webhook *w = CONTAINER(q, struct access_webhook, verdict);

    take(w);
    w->done(w);
}

bool access_webhook_ask(struct access_webhook *w, str version)
{
    struct arena *a = w->call->arena;

    w->verdict = (struct verdict){ .arena = a,
                                   .body = access_review_question(a, &w->access, version),
                                   .done = verdict_came };
    if (!verdicts_ask(w->call->server->access_verdicts, &w->verdict))
        return false;
    take(w);
    return true;
}

const struct status *access_webhook_failure(struct access_webhook *w)
{
    struct status *st = call_status(w->call);

    (void)status_set(st, REASON_INTERNAL, "the webhook that knows rights gives no answer");
    return st;
}
