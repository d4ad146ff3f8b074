/* SPDX-License-Identifier: Apache-2.0 */
#include "crash/world.h"

#include <stddef.h>
#include <stdio.h>

#include "base/banned.h"

enum { TICK_MS = 2, ANSWER_MS = 20000 };

static void on_tick(struct loop_timer *t)
{
    struct world *w = (struct world *)(void *)((char *)t - offsetof(struct world, tick));

    if (w->until && w->until(w))
        loop_stop(w->loop);
    else
        loop_timer_set(w->loop, &w->tick, TICK_MS);
}

static void on_limit(struct loop_timer *t)
{
    struct world *w = (struct world *)(void *)((char *)t - offsetof(struct world, limit));

    w->late = true;
    loop_stop(w->loop);
}

bool world_wait(struct world *w, bool (*until)(struct world *w), int64_t ms)
{
    w->until = until;
    w->late = false;
    w->tick.fn = on_tick;
    w->limit.fn = on_limit;
    loop_timer_set(w->loop, &w->limit, ms);
    loop_timer_set(w->loop, &w->tick, 0);
    loop_run(w->loop);
    loop_timer_cancel(w->loop, &w->tick);
    loop_timer_cancel(w->loop, &w->limit);
    return !w->late || until(w);
}

static bool never(struct world *w)
{
    (void)w;
    return false;
}

bool world_pause(struct world *w, int64_t ms)
{
    (void)world_wait(w, never, ms);
    return true;
}

bool world_connect(struct world *w)
{
    scoped_arena a = arena_new();
    char *path = arena_printf(a, "%s/data/admin.kubeconfig", w->server.dir);
    struct kubeconfig k;
    struct status st;

    status_init(&st, a);
    if (kubeconfig_load(a, path, STR_NONE, &k, &st) < 0) {
        ledger_fail(&w->ledger, "%.*s", STR_ARG(st.message));
        return false;
    }
    for (unsigned i = 0; i <= CONNECTIONS; i++) {
        w->clients[i] = client_open(w->loop, &k, &st);
        if (!w->clients[i]) {
            ledger_fail(&w->ledger, "%.*s", STR_ARG(st.message));
            return false;
        }
    }
    w->ending = false;
    return true;
}

void world_disconnect(struct world *w)
{
    for (unsigned i = 0; i <= CONNECTIONS; i++) {
        client_free(w->clients[i]);
        w->clients[i] = NULL;
    }
}

struct asking {
    struct client_call call; /* first: callbacks get this */
    struct world *world;
    bool done;
    const struct json *answer;
    struct status *st;
    int rc;
};

static struct asking *asking; /* one at a time */

static void on_answer(struct client_call *call, const struct json *object, const struct status *why)
{
    struct asking *q = (struct asking *)(void *)call;

    q->done = true;
    q->answer = object;
    if (why)
        q->rc = status_set(q->st, why->reason, "%.*s", STR_ARG(why->message));
}

static bool is_answered(struct world *w)
{
    (void)w;
    return asking->done;
}

int world_ask(struct world *w, struct arena *a, const struct client_request *req,
              const struct json **out, struct status *st)
{
    struct asking q = { .call = { .req = *req, .arena = a, .done = on_answer },
                        .world = w,
                        .st = st };

    asking = &q;
    client_call(w->clients[0], &q.call);
    if (!world_wait(w, is_answered, ANSWER_MS)) {
        client_call_cancel(&q.call);
        q.rc = status_set(st, REASON_TIMEOUT, "no answer within %d ms", ANSWER_MS);
    }
    if (out)
        *out = q.answer;
    return q.rc;
}

bool world_write(struct world *w, uint64_t op, const struct client_request *req)
{
    scoped_arena a = arena_new();
    const struct json *answer;
    struct status st;

    status_init(&st, a);
    if (world_ask(w, a, req, &answer, &st) == 0)
        ledger_answer(&w->ledger, op, answer);
    else
        ledger_refuse(&w->ledger, op, &st);
    return ledger_find(&w->ledger, op)->state == OP_ACKNOWLEDGED;
}
