/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_webhook.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "client/http_transport.h"

#define HEAD \
    "{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"metadata\":{},\"items\":["
#define EVENT_HEAD "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\","

struct audit_webhook {
    struct audit_queue queue;
    struct loop *loop;
    pthread_t thread;
    bool started;
    struct loop_msg wake, end; /* posted by others */
    atomic_bool woken;
    _Atomic uint64_t given_up;

    /* The rest is the loop's. */
    struct audit_batch batch;
    struct loop_timer timer, last;
    struct client_transport *transport;
    struct http_call call;
    struct bytes **events; /* on their way */
    size_t n;
    struct buf body;
    int code;
    unsigned refusals; /* of this batch */
    unsigned failures; /* since it is to stop */
    bool asking, failing, stopping;
};

static void turn(struct audit_webhook *w);

/* ---- one batch ---- */

/* Items of a list do not say what they are. */
static void fill_body(struct audit_webhook *w)
{
    buf_clear(&w->body);
    buf_lit(&w->body, HEAD);
    for (size_t i = 0; i < w->n; i++) {
        str e = bytes_str(w->events[i]);

        if (i)
            buf_byte(&w->body, ',');
        if (str_starts(e, STR(EVENT_HEAD))) {
            buf_byte(&w->body, '{');
            e = str_from(e, sizeof(EVENT_HEAD) - 1);
        }
        buf_str_append(&w->body, e);
    }
    buf_lit(&w->body, "]}");
}

static void send_batch(struct audit_webhook *w)
{
    int64_t now = loop_now_ms(w->loop);

    audit_batch_goes(&w->batch, now);
    if (!w->n) {
        w->n = audit_queue_take(&w->queue, w->events, w->batch.o.max_size, AUDIT_WEBHOOK_BATCH);
        audit_batch_taken(&w->batch);
        fill_body(w);
    }
    if (audit_queue_waiting(&w->queue))
        audit_batch_waits(&w->batch, now);
    w->call.body = buf_str(&w->body);
    w->code = 0;
    w->asking = true;
    w->transport->call(w->transport, &w->call);
}

/* Tells once that it fails, and once that it does no more. */
static void note(struct audit_webhook *w, bool fails, const struct status *why)
{
    if (fails && !w->failing && why)
        log_error("the audit webhook cannot be reached, events are kept until there is no room",
                  log_status(why));
    else if (fails && !w->failing)
        log_error("the audit webhook does not take events, they are kept until there is no room",
                  log_int("code", w->code));
    if (!fails && w->failing)
        log_info("the audit webhook takes events again");
    w->failing = fails;
}

static void end_batch(struct audit_webhook *w)
{
    audit_queue_done(&w->queue, w->events, w->n);
    w->n = 0;
    w->refusals = 0;
    buf_release(&w->body); /* large ones are rare */
    buf_init(&w->body, SIZE_MAX / 4);
}

static void on_head(struct http_call *call, int status, const struct http_header *h, size_t nh)
{
    struct audit_webhook *w = call->user;

    (void)h;
    (void)nh;
    w->code = status;
}

static void on_end(struct http_call *call, const struct status *why)
{
    struct audit_webhook *w = call->user;
    bool arrived = w->code >= 200 && w->code < 300;

    w->asking = false;
    if (arrived) {
        audit_batch_arrived(&w->batch);
        end_batch(w);
    } else {
        audit_batch_failed(&w->batch, loop_now_ms(w->loop));
    }
    note(w, !arrived, why);
    if (w->code >= 300 && w->code < 500 && w->code != 429 && ++w->refusals >= AUDIT_WEBHOOK_TRIES) {
        log_error("audit events were lost: the webhook refuses them", log_int("code", w->code),
                  log_uint("events", w->n));
        atomic_fetch_add(&w->given_up, w->n);
        end_batch(w);
    }
    /* The first may be that of a connection that nobody has used for long. */
    if (w->stopping && !arrived && ++w->failures > 1)
        loop_stop(w->loop);
    else
        turn(w);
}

/* ---- the loop ---- */

/* What is to be done now is done, or a timer is set for it. */
static void turn(struct audit_webhook *w)
{
    size_t waiting = w->n ? w->batch.o.max_size : audit_queue_waiting(&w->queue);
    int64_t due;

    if (w->asking)
        return;
    if (w->stopping)
        due = waiting ? 0 : -1;
    else
        due = audit_batch_due(&w->batch, loop_now_ms(w->loop), waiting);
    if (due == 0)
        send_batch(w);
    else if (due > 0)
        loop_timer_set(w->loop, &w->timer, due);
    else if (w->stopping)
        loop_stop(w->loop);
}

static void on_timer(struct loop_timer *t)
{
    turn((struct audit_webhook *)((char *)t - offsetof(struct audit_webhook, timer)));
}

static void on_last(struct loop_timer *t)
{
    loop_stop(((struct audit_webhook *)((char *)t - offsetof(struct audit_webhook, last)))->loop);
}

static void on_wake(struct loop_msg *msg)
{
    struct audit_webhook *w =
        (struct audit_webhook *)((char *)msg - offsetof(struct audit_webhook, wake));

    atomic_store(&w->woken, false);
    if (audit_queue_waiting(&w->queue))
        audit_batch_waits(&w->batch, loop_now_ms(w->loop));
    turn(w);
}

static void on_stop(struct loop_msg *msg)
{
    struct audit_webhook *w =
        (struct audit_webhook *)((char *)msg - offsetof(struct audit_webhook, end));

    w->stopping = true;
    loop_timer_set(w->loop, &w->last, AUDIT_WEBHOOK_STOP_MS);
    turn(w);
}

static void *run(void *arg)
{
    struct audit_webhook *w = arg;

    loop_run(w->loop);
    return NULL;
}

/* ---- its life ---- */

static void set_call(struct audit_webhook *w, const struct kubeconfig *k)
{
    static const struct http_header json[] = {
        { STR_INIT("content-type"), STR_INIT("application/json") },
        { STR_INIT("accept"), STR_INIT("application/json, */*") },
        { STR_INIT("user-agent"), STR_INIT("kairship") },
    };

    w->call = (struct http_call){ .method = STR("POST"),
                                  /* k8s: client-go says how long it waits */
                                  .path = k->prefix.n ? STR("?timeout=30s") : STR("/?timeout=30s"),
                                  .headers = json,
                                  .nheaders = sizeof(json) / sizeof(*json),
                                  .timeout_ms = AUDIT_WEBHOOK_TIMEOUT_MS,
                                  .head = on_head,
                                  .end = on_end,
                                  .user = w };
}

struct audit_webhook *audit_webhook_new(const struct audit_webhook_options *o, struct status *st)
{
    struct audit_webhook *w = mem_zalloc(sizeof(*w));
    int err;

    audit_queue_init(&w->queue, o->buffer, AUDIT_WEBHOOK_BYTES);
    buf_init(&w->body, SIZE_MAX / 4);
    w->events = mem_alloc(o->batch.max_size * sizeof(struct bytes *));
    w->loop = loop_new();
    w->wake.fn = on_wake;
    w->end.fn = on_stop;
    w->timer.fn = on_timer;
    w->last.fn = on_last;
    audit_batch_init(&w->batch, &o->batch, loop_now_ms(w->loop));
    set_call(w, o->config);
    w->transport = http_transport_new(w->loop, o->config, st);
    err = w->transport ? pthread_create(&w->thread, NULL, run, w) : 0;
    if (err)
        (void)status_errno(st, err, "cannot start a thread");
    w->started = w->transport && !err;
    if (w->started)
        return w;
    (void)audit_webhook_free(w);
    return NULL;
}

size_t audit_webhook_free(struct audit_webhook *w)
{
    size_t lost;

    if (!w)
        return 0;
    if (w->started) {
        loop_post(w->loop, &w->end);
        (void)pthread_join(w->thread, NULL);
    }
    if (w->transport && w->asking)
        w->transport->cancel(w->transport, &w->call);
    loop_timer_cancel(w->loop, &w->timer);
    loop_timer_cancel(w->loop, &w->last);
    lost = w->n + audit_queue_waiting(&w->queue);
    audit_queue_done(&w->queue, w->events, w->n);
    if (w->transport)
        w->transport->free(w->transport);
    loop_free(w->loop);
    audit_queue_release(&w->queue);
    buf_release(&w->body);
    free(w->events);
    free(w);
    return lost;
}

bool audit_webhook_put(struct audit_webhook *w, struct bytes *event)
{
    size_t n;

    if (!audit_queue_put(&w->queue, event, &n))
        return false;
    /* In between the loop has nothing to decide. */
    if ((n == 1 || n == w->batch.o.max_size) && !atomic_exchange(&w->woken, true))
        loop_post(w->loop, &w->wake);
    return true;
}

bool audit_webhook_has_room(struct audit_webhook *w)
{
    return audit_queue_has_room(&w->queue);
}

uint64_t audit_webhook_given_up(const struct audit_webhook *w)
{
    return atomic_load(&w->given_up);
}
