/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/gate.h"

#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/log.h"

enum {
    LOOK_MS = 5,
    WAIT_MS = 1000,
    EVENT_MAX = 64 << 10,
};

struct held {
    struct held *next;
    struct bytes *bytes;
    uint64_t rev; /* of the store, when it came */
};

struct gate {
    struct rest_sink sink; /* first: the owner of the answer gets this */
    struct rest_sink *to;
    struct call *call;
    struct loop_timer timer;
    void (*data)(struct call *c, str bytes);
    void (*closed)(struct call *c); /* NULL: the owner is done */
    struct held *first, **end;
    size_t bytes;
    struct buf in;
    uint64_t in_rev;  /* the same, of the last of it */
    int64_t since_ms; /* when what waits began to wait */
    bool waits, over, ending, paused;
};

static enum call_still still(struct gate *g, uint64_t rev)
{
    return g->over ? CALL_NO_MORE : g->call->server->chain->still(g->call, rev);
}

static uint64_t now(const struct gate *g)
{
    return store_head(g->call->server->store);
}

/* ---- the end ---- */

static void drop(void *arg)
{
    struct gate *g = arg;

    for (struct held *h = g->first; h; h = h->next)
        bytes_unref(h->bytes);
    g->first = NULL;
    g->end = &g->first;
    g->bytes = 0;
    buf_release(&g->in);
}

/* Lets nothing more pass; the answer ends in the next turn of the loop, when it is not in use. */
static void give_up(struct gate *g)
{
    if (g->over)
        return;
    g->over = true;
    drop(g);
    loop_timer_set(g->call->loop, &g->timer, 0);
}

/* k8s: the stream is fine, the error is an event; false: the caller has gone meanwhile. */
static bool say_why(struct gate *g)
{
    scoped_buf b = { .max = EVENT_MAX };
    scoped_arena a = arena_new();
    struct bytes *frame;
    struct status st;
    bool there;

    status_init(&st, a);
    (void)status_set(&st, REASON_UNAUTHORIZED,
                     "Unauthorized: the credential or the right for this watch has ended");
    buf_lit(&b, "{\"type\":\"ERROR\",\"object\":");
    rest_status_print(&b, &st);
    buf_lit(&b, "}\n");
    frame = bytes_new(b.n);
    memcpy(frame->p, b.p, b.n);
    there = g->to->push(g->to, frame);
    bytes_unref(frame);
    return there;
}

static void leave(struct gate *g)
{
    struct rest_sink *to = g->to;
    struct call *c = g->call;
    void (*closed)(struct call *) = g->closed;

    log_info("a connection has ended: the credential or the right was withdrawn",
             log_str("user", c->who.user), log_str("path", c->raw_path),
             log_str("audit_id", c->audit_id));
    if (c->watch && !say_why(g))
        return;
    g->closed = NULL;
    if (closed)
        closed(c);
    to->end(to); /* last: the call goes with it */
}

static void caller_gone(struct call *c)
{
    struct gate *g = c->gate;
    void (*closed)(struct call *) = g->closed;

    loop_timer_cancel(c->loop, &g->timer);
    drop(g);
    g->over = true;
    g->closed = NULL;
    if (closed)
        closed(c);
    else
        call_watch_ended(c);
}

/* ---- waiting ---- */

static void wait(struct gate *g)
{
    if (!g->waits)
        g->since_ms = loop_now_ms(g->call->loop);
    g->waits = true;
    if (!g->timer.slot)
        loop_timer_set(g->call->loop, &g->timer, LOOK_MS);
}

/* As far as is known; false: the caller has gone, and the gate with them. */
static bool let_out(struct gate *g, enum call_still *found)
{
    while (g->first) {
        struct held *h = g->first;

        *found = still(g, h->rev);
        if (*found != CALL_STILL)
            return true;
        if (!g->to->push(g->to, h->bytes))
            return false;
        g->since_ms = loop_now_ms(g->call->loop);
        g->first = h->next;
        g->bytes -= h->bytes->n;
        bytes_unref(h->bytes);
    }
    g->end = &g->first;
    return true;
}

static void set_pause(struct gate *g)
{
    struct call *c = g->call;

    if (c->ops->pause)
        c->ops->pause(c, g->paused || g->in.n > 0);
}

static void let_in(struct gate *g)
{
    struct buf in = g->in;

    if (!in.n)
        return;
    buf_init(&g->in, GATE_MAX);
    g->data(g->call, buf_str(&in));
    buf_release(&in);
    set_pause(g);
}

static void look(struct loop_timer *t)
{
    struct gate *g = (struct gate *)(void *)((char *)t - offsetof(struct gate, timer));
    enum call_still found = g->over ? CALL_NO_MORE : CALL_STILL;

    if (!let_out(g, &found))
        return;
    if (found == CALL_STILL && g->in.n)
        found = still(g, g->in_rev);
    if (found == CALL_LATER && loop_now_ms(g->call->loop) - g->since_ms < WAIT_MS) {
        loop_timer_set(g->call->loop, &g->timer, LOOK_MS);
        return;
    }
    if (found != CALL_STILL) {
        g->over = true;
        drop(g);
        leave(g);
        return;
    }
    g->waits = false;
    if (g->ending)
        g->to->end(g->to);
    else
        let_in(g);
}

/* ---- what passes ---- */

static bool push(struct rest_sink *s, struct bytes *frame)
{
    struct gate *g = (struct gate *)(void *)s;
    uint64_t rev = now(g);
    enum call_still found = g->waits ? CALL_LATER : still(g, rev);
    struct held *h;

    if (found == CALL_STILL)
        return g->to->push(g->to, frame);
    if (found == CALL_NO_MORE || g->bytes + frame->n > GATE_MAX) {
        give_up(g);
        return true; /* it is dropped */
    }
    h = arena_new_of(g->call->arena, struct held);
    h->bytes = bytes_ref(frame);
    h->rev = rev;
    *g->end = h;
    g->end = &h->next;
    g->bytes += frame->n;
    wait(g);
    return true;
}

static size_t queued(struct rest_sink *s)
{
    struct gate *g = (struct gate *)(void *)s;

    return g->bytes + g->to->queued(g->to);
}

static void end(struct rest_sink *s)
{
    struct gate *g = (struct gate *)(void *)s;

    g->closed = NULL;
    if (g->first && !g->over) {
        g->ending = true;
        return;
    }
    loop_timer_cancel(g->call->loop, &g->timer);
    drop(g);
    g->to->end(g->to);
}

static void on_data(struct call *c, str bytes)
{
    struct gate *g = c->gate;
    uint64_t rev = now(g);
    enum call_still found = g->waits ? CALL_LATER : still(g, rev);

    if (g->ending || g->over)
        return;
    if (found == CALL_STILL) {
        g->data(c, bytes);
        return;
    }
    g->in_rev = rev;
    buf_str_append(&g->in, bytes);
    if (found == CALL_NO_MORE || buf_overflown(&g->in)) {
        give_up(g);
        return;
    }
    set_pause(g);
    wait(g);
}

static struct gate *gate_new(struct call *c, void (*closed)(struct call *c))
{
    struct gate *g = arena_new_of(c->arena, struct gate);

    *g = (struct gate){ .sink = { .push = push, .queued = queued, .end = end },
                        .call = c,
                        .timer.fn = look,
                        .closed = closed,
                        .in.max = GATE_MAX };
    g->end = &g->first;
    c->gate = g;
    arena_defer(c->arena, drop, g);
    return g;
}

struct rest_sink *gate_stream(struct call *c, int code, void (*closed)(struct call *c))
{
    struct gate *g = gate_new(c, closed);

    g->to = c->ops->stream(c, code, c->out, c->nout, caller_gone);
    return &g->sink;
}

struct rest_sink *gate_upgrade(struct call *c, void (*data)(struct call *c, str bytes),
                               void (*closed)(struct call *c))
{
    struct gate *g = gate_new(c, closed);

    g->data = data;
    g->to = c->ops->upgrade(c, c->out, c->nout, on_data, caller_gone);
    return &g->sink;
}

void call_pause(struct call *c, bool paused)
{
    if (c->gate) {
        c->gate->paused = paused;
        set_pause(c->gate);
    } else {
        c->ops->pause(c, paused);
    }
}
