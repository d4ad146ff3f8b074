/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/context.h"

#include <time.h>

#include "base/banned.h"
#include "rpc/recorded.h"

int64_t rpc_time_left_ms(const struct rpc_context *ctx)
{
    struct timespec now;
    int64_t left;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    left = ctx->deadline_ms - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    return left > 0 ? left : 0;
}

static const str *copy_strings(struct arena *a, const str *from, size_t n)
{
    str *to = arena_array(a, str, n);

    for (size_t i = 0; i < n; i++)
        to[i] = str_dup(a, from[i]);
    return to;
}

/* The mount's call, and all it names, may be gone before the handler has ended. */
static struct identity copy_identity(struct arena *a, const struct identity *who)
{
    struct identity_extra *extra = arena_array(a, struct identity_extra, who->nextra);
    struct identity out = *who;

    out.user = str_dup(a, who->user);
    out.uid = str_dup(a, who->uid);
    out.groups = copy_strings(a, who->groups, who->ngroups);
    for (size_t i = 0; i < who->nextra; i++)
        extra[i] =
            (struct identity_extra){ str_dup(a, who->extra[i].key),
                                     copy_strings(a, who->extra[i].values, who->extra[i].nvalues),
                                     who->extra[i].nvalues };
    out.extra = extra;
    return out;
}

struct rpc_call *rpc_call_new(const struct rpc_endpoint *e, const struct mount_call *m,
                              int64_t deadline_ms)
{
    struct arena *a = arena_new();
    struct rpc_call *c = arena_new_of(a, struct rpc_call);

    c->endpoint = e;
    c->loop = m->loop;
    c->who = copy_identity(a, &m->who);
    status_init(&c->st, a);
    c->ctx = (struct rpc_context){
        .arena = a,
        .who = &c->who,
        .deadline_ms = deadline_ms < m->deadline_ms ? deadline_ms : m->deadline_ms,
        .audit_id = str_dup(a, m->audit_id),
        .method = str_from(e->path, 1),
    };
    return c;
}

void rpc_call_drop(struct rpc_call *c)
{
    arena_free(c->ctx.arena);
}

int rpc_call_check(const struct rpc_endpoint *e, const struct identity *who, struct status *st)
{
    bool anonymous = identity_in_group(who, "system:unauthenticated");

    if (!anonymous || (e->handler && e->handler->open))
        return 0;
    return status_set(st, REASON_FORBIDDEN, "%.*s: User \"%.*s\" may not call it",
                      STR_ARG(str_from(e->path, 1)), STR_ARG(who->user));
}

void rpc_call_tell(struct rpc_call *c, struct mount_call *m)
{
    if (!c->endpoint->method->nrecorded)
        return;
    recorded_of_request(c->endpoint->method, c->request, &c->deed);
    m->ops->tell(m, &c->deed);
}

void rpc_call_told(struct rpc_call *c, struct mount_call *m)
{
    if (c->ran && c->inner_name.n) {
        c->deed.name = c->inner_name;
        m->ops->tell(m, &c->deed);
    }
}

static void finish(struct rpc_call *c)
{
    loop_timer_cancel(c->loop, &c->timer);
    if (!c->abandoned)
        c->done(c, c->rc == 0 ? c->response : NULL, c->rc == 0 ? NULL : &c->st);
    arena_free(c->ctx.arena);
}

static void run(struct worker_job *job)
{
    struct rpc_call *c = (struct rpc_call *)(void *)job;

    if (!c->deed.name.n)
        c->inner_name = recorded_inner_name(c->ctx.arena, c->endpoint->method, c->request);
    c->response = &json_empty_object;
    c->rc = c->endpoint->handler->fn(c->endpoint->arg, &c->ctx, c->request, &c->response, &c->st);
}

static void ran(struct worker_job *job)
{
    struct rpc_call *c = (struct rpc_call *)(void *)job;

    c->ran = true;
    finish(c);
}

static void time_is_over(struct loop_timer *t)
{
    static const struct status late = { .reason = REASON_TIMEOUT,
                                        .message = STR_INIT("the deadline of the call is over") };
    struct rpc_call *c = (struct rpc_call *)(void *)((char *)t - offsetof(struct rpc_call, timer));

    c->abandoned = true;
    c->done(c, NULL, &late);
}

void rpc_call_abandon(struct rpc_call *c)
{
    c->abandoned = true;
    loop_timer_cancel(c->loop, &c->timer);
}

static void fail(struct rpc_call *c, enum reason reason, const char *why)
{
    c->rc = status_set(&c->st, reason, "%.*s: %s", STR_ARG(c->ctx.method), why);
    finish(c);
}

static int check_named(struct rpc_call *c)
{
    for (size_t i = 0; i < c->endpoint->nnamed; i++) {
        str field = c->endpoint->named[i];

        if (!json_get_str(c->request, str_z(c->ctx.arena, field)).n)
            return message_refuse(&c->st, field, "must not be empty");
    }
    return 0;
}

void rpc_call_start(struct rpc_call *c, struct workers *w)
{
    int64_t left = c->ctx.deadline_ms - loop_now_ms(c->loop);

    c->job.run = run;
    c->job.done = ran;
    c->timer.fn = time_is_over;
    if (!c->endpoint->handler) {
        fail(c, REASON_METHOD_NOT_ALLOWED, "is not implemented");
    } else if (check_named(c) < 0) {
        c->rc = -1;
        finish(c);
    } else if (left <= 0) {
        fail(c, REASON_TIMEOUT, "the deadline of the call is over");
    } else if (c->endpoint->handler->on_loop) {
        run(&c->job);
        ran(&c->job);
    } else if (!workers_submit(w, &c->job)) {
        fail(c, REASON_TOO_MANY_REQUESTS, "too many calls wait already");
    } else {
        loop_timer_set(c->loop, &c->timer, left);
    }
}
