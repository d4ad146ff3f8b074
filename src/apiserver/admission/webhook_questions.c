/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/webhook_questions.h"

#include "apiserver/auth/access_webhook.h"
#include "apiserver/auth/verdict_review.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"

/* One question about rights, known by its words: what is remembered of it may be gone by then. */
struct right_asked {
    struct access_webhook webhook; /* first */
    struct right_asked *next;
    struct webhook_questions *all;
    bool answered;
};

struct webhook_questions *webhook_questions_of(struct rest_request *req)
{
    struct webhook_questions *all = req->asked;

    if (all)
        return all;
    all = req->asked = arena_new_of(req->arena, struct webhook_questions);
    all->req = req;
    return all;
}

void webhook_questions_answered(struct webhook_questions *all)
{
    if (--all->pending > 0)
        return;
    if (all->again)
        all->again(all->req);
    else
        rest_write_again(all->req);
}

bool webhook_questions_waits(const struct rest_request *req)
{
    const struct webhook_questions *all = req->asked;

    return all && all->pending;
}

void webhook_questions_settle(struct rest_request *req)
{
    struct webhook_questions *all = webhook_questions_of(req);

    all->again = NULL;
    all->settled = true;
}

bool webhook_questions_is_settled(const struct rest_request *req)
{
    const struct webhook_questions *all = req->asked;

    return all && all->settled;
}

/* ---- from a thread of its own ---- */

static bool is_ours(const struct server *s, const struct loop *l)
{
    for (size_t i = 0; i < s->nloops; i++)
        if (s->loops[i].loop == l)
            return true;
    return false;
}

static void arrive(struct loop_msg *msg)
{
    struct call *c = (struct call *)(void *)((char *)msg - offsetof(struct call, moved));

    timeout_watch(c);
    webhook_questions_answered(c->rest.asked);
}

/* The try that ended with it is off the stack. */
static void depart(struct loop_msg *msg)
{
    struct call *c = (struct call *)(void *)((char *)msg - offsetof(struct call, moved));

    c->loop = c->rest.loop = c->home;
    c->home = NULL;
    msg->fn = arrive;
    loop_post(c->loop, msg);
}

int webhook_questions_home(struct rest_request *req)
{
    struct call *c = req->user;

    if (is_ours(req->admitter, req->loop))
        return 0;
    webhook_questions_of(req)->pending++;
    c->moved.fn = depart;
    loop_post(c->loop, &c->moved);
    return REST_WAIT;
}

int webhook_questions_check_time(const struct rest_request *req, struct status *st)
{
    const struct webhook_questions *all = req->asked;

    if (!all || !all->n || !req->deadline_ms || loop_now_ms(req->loop) < req->deadline_ms)
        return 0;
    return status_set(st, REASON_TIMEOUT,
                      "Timeout: request did not complete within the allotted timeout");
}

/* ---- rights ---- */

static void answered(struct access_webhook *w)
{
    struct right_asked *q = (struct right_asked *)(void *)w;

    q->answered = true;
    webhook_questions_answered(q->all);
}

static struct right_asked *find(const struct webhook_questions *all, str question)
{
    for (struct right_asked *q = all->rights; q; q = q->next)
        if (str_eq(q->webhook.verdict.body, question))
            return q;
    return NULL;
}

static struct right_asked *ask(struct rest_request *req, const struct access *x, str version,
                               str reason)
{
    struct right_asked *q = arena_new_of(req->arena, struct right_asked);
    struct webhook_questions *all = webhook_questions_of(req);

    *q = (struct right_asked){
        .webhook = { .call = req->user, .access = *x, .reason = reason, .done = answered },
        .next = all->rights,
        .all = all
    };
    all->rights = q;
    all->n++;
    all->pending++;
    if (access_webhook_ask(&q->webhook, version)) {
        q->answered = true;
        all->pending--;
    }
    q->webhook.access = (struct access){ 0 }; /* the question is put; it may be on a stack */
    return q;
}

int webhook_questions_access(struct server *s, struct rest_request *req, const struct access *x,
                             str version, str *reason, struct status *st)
{
    struct webhook_questions *all;
    struct right_asked *q;
    str why = STR_NONE;

    if (access_allowed(s, req->arena, x, &why)) {
        *reason = why;
        return 1;
    }
    *reason = why;
    if (!access_webhook_knows(s, x))
        return 0;
    if (webhook_questions_home(req))
        return REST_WAIT;
    all = webhook_questions_of(req);
    q = find(all, access_review_question(req->arena, x, version));
    if (!q && all->n >= ASKED_MAX)
        return status_set(st, REASON_INTERNAL,
                          "Internal error occurred: too much is to be asked about this write");
    if (!q)
        q = ask(req, x, version, why);
    if (!q->answered)
        return REST_WAIT;
    if (q->webhook.failed) {
        status_copy(st, access_webhook_failure(&q->webhook));
        return -1;
    }
    *reason = q->webhook.reason;
    return q->webhook.allowed;
}
