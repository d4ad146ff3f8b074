/* SPDX-License-Identifier: Apache-2.0 */
#include "client/workqueue.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metric.h"

enum { BASE_MS = 5, CAP_MS = 1000000 };

METRIC_HISTOGRAM_OF(waits, "kairship_workqueue_wait_seconds",
                    "How long keys wait in a queue until a worker takes them.", 1000, 1, 10, 100,
                    1000, 10000, 60000, 300000)

/* A key that is queued, delayed, being handled, or has failed before. */
struct workqueue_item {
    struct workqueue_item *next; /* in the queue */
    bool queued, processing, again;
    unsigned failures;
    int64_t at_ms;     /* when it is to be added */
    int64_t queued_ms; /* when it was added last */
    size_t slot;       /* 1 + place among the delayed; 0: not delayed */
    str key;
    char bytes[];
};

struct workqueue {
    struct clock *clock;
    int64_t base_ms, cap_ms;
    metric_slot *waiting, *failing;
    metric_slot own[2]; /* where the options name no metrics */

    pthread_mutex_t mu;
    pthread_cond_t cond;
    /* guarded by mu: */
    struct map items;
    struct workqueue_item *first, **last;
    size_t len;
    struct workqueue_item **delayed; /* a heap, earliest first */
    size_t ndelayed, cap;
    bool shutdown;
};

static void count(metric_slot *slot, int64_t n)
{
    atomic_fetch_add_explicit(slot, n, memory_order_relaxed);
}

static void item_free(const struct workqueue *q, struct workqueue_item *i)
{
    count(q->waiting, -i->queued);
    count(q->failing, -(i->failures > 0));
    free(i);
}

struct workqueue *workqueue_new(const struct workqueue_options *o)
{
    struct workqueue *q = mem_zalloc(sizeof(*q));
    pthread_condattr_t attr;

    q->clock = o && o->clock ? o->clock : clock_real();
    q->base_ms = o && o->base_ms ? o->base_ms : BASE_MS;
    q->cap_ms = o && o->cap_ms ? o->cap_ms : CAP_MS;
    q->waiting = o && o->waiting ? o->waiting : &q->own[0];
    q->failing = o && o->failing ? o->failing : &q->own[1];
    q->last = &q->first;
    (void)pthread_mutex_init(&q->mu, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&q->cond, &attr);
    (void)pthread_condattr_destroy(&attr);
    return q;
}

void workqueue_free(struct workqueue *q)
{
    size_t at = 0;
    void *item;
    str key;

    if (!q)
        return;
    while (map_each(&q->items, &at, &key, &item))
        item_free(q, item);
    map_release(&q->items);
    free(q->delayed);
    (void)pthread_cond_destroy(&q->cond);
    (void)pthread_mutex_destroy(&q->mu);
    free(q);
}

/* ---- items ---- */

static struct workqueue_item *item_of(struct workqueue *q, str key)
{
    struct workqueue_item *i = map_get(&q->items, key);

    if (i)
        return i;
    i = mem_zalloc(sizeof(*i) + key.n);
    if (key.n)
        memcpy(i->bytes, key.p, key.n);
    i->key = (str){ i->bytes, key.n };
    (void)map_put(&q->items, i->key, i);
    return i;
}

static void drop_if_idle(struct workqueue *q, struct workqueue_item *i)
{
    if (i->queued || i->processing || i->slot || i->failures)
        return;
    (void)map_remove(&q->items, i->key);
    free(i);
}

static bool add_locked(struct workqueue *q, struct workqueue_item *i)
{
    if (i->processing) {
        i->again = true;
        return false;
    }
    if (i->queued)
        return false;
    i->queued = true;
    i->queued_ms = clock_now_ms(q->clock);
    i->next = NULL;
    *q->last = i;
    q->last = &i->next;
    q->len++;
    count(q->waiting, 1);
    (void)pthread_cond_signal(&q->cond);
    return true;
}

/* ---- the heap of delayed items ---- */

static void heap_put(struct workqueue *q, size_t at, struct workqueue_item *i)
{
    q->delayed[at] = i;
    i->slot = at + 1;
}

static void heap_up(struct workqueue *q, size_t at, struct workqueue_item *i)
{
    for (; at > 0 && q->delayed[(at - 1) / 2]->at_ms > i->at_ms; at = (at - 1) / 2)
        heap_put(q, at, q->delayed[(at - 1) / 2]);
    heap_put(q, at, i);
}

static void heap_pop(struct workqueue *q)
{
    struct workqueue_item *last = q->delayed[--q->ndelayed];
    size_t at = 0;

    for (size_t child; (child = at * 2 + 1) < q->ndelayed; at = child) {
        if (child + 1 < q->ndelayed && q->delayed[child + 1]->at_ms < q->delayed[child]->at_ms)
            child++;
        if (q->delayed[child]->at_ms >= last->at_ms)
            break;
        heap_put(q, at, q->delayed[child]);
    }
    if (q->ndelayed)
        heap_put(q, at, last);
}

static bool delay_locked(struct workqueue *q, struct workqueue_item *i, int64_t delay_ms)
{
    int64_t at = clock_now_ms(q->clock) + delay_ms;

    if (i->slot && i->at_ms <= at)
        return false;
    i->at_ms = at;
    if (!i->slot) {
        if (q->ndelayed == q->cap) {
            q->cap = q->cap ? q->cap * 2 : 16;
            q->delayed = mem_realloc_n(q->delayed, q->cap, sizeof(struct workqueue_item *));
        }
        i->slot = ++q->ndelayed;
    }
    heap_up(q, i->slot - 1, i);
    (void)pthread_cond_signal(&q->cond); /* a sleeper may have to wake earlier */
    return q->delayed[0] == i;
}

static void ripen_locked(struct workqueue *q)
{
    int64_t now = q->ndelayed ? clock_now_ms(q->clock) : 0;

    while (q->ndelayed && q->delayed[0]->at_ms <= now) {
        struct workqueue_item *i = q->delayed[0];

        heap_pop(q);
        i->slot = 0;
        (void)add_locked(q, i);
    }
}

/* ---- adding ---- */

bool workqueue_add(struct workqueue *q, str key)
{
    bool news;

    (void)pthread_mutex_lock(&q->mu);
    news = !q->shutdown && add_locked(q, item_of(q, key));
    (void)pthread_mutex_unlock(&q->mu);
    return news;
}

bool workqueue_add_after(struct workqueue *q, str key, int64_t delay_ms)
{
    bool news;

    if (delay_ms <= 0)
        return workqueue_add(q, key);
    (void)pthread_mutex_lock(&q->mu);
    news = !q->shutdown && delay_locked(q, item_of(q, key), delay_ms);
    (void)pthread_mutex_unlock(&q->mu);
    return news;
}

static int64_t backoff_ms(const struct workqueue *q, unsigned failures)
{
    int64_t ms = q->base_ms;

    for (unsigned i = 0; i < failures && ms < q->cap_ms; i++)
        ms *= 2;
    return ms < q->cap_ms ? ms : q->cap_ms;
}

void workqueue_add_failed(struct workqueue *q, str key)
{
    (void)pthread_mutex_lock(&q->mu);
    if (!q->shutdown) {
        struct workqueue_item *i = item_of(q, key);

        (void)delay_locked(q, i, backoff_ms(q, i->failures));
        count(q->failing, i->failures++ == 0);
    }
    (void)pthread_mutex_unlock(&q->mu);
}

void workqueue_forget(struct workqueue *q, str key)
{
    struct workqueue_item *i;

    (void)pthread_mutex_lock(&q->mu);
    i = map_get(&q->items, key);
    if (i) {
        count(q->failing, -(i->failures > 0));
        i->failures = 0;
        drop_if_idle(q, i);
    }
    (void)pthread_mutex_unlock(&q->mu);
}

unsigned workqueue_failures(struct workqueue *q, str key)
{
    struct workqueue_item *i;
    unsigned n;

    (void)pthread_mutex_lock(&q->mu);
    i = map_get(&q->items, key);
    n = i ? i->failures : 0;
    (void)pthread_mutex_unlock(&q->mu);
    return n;
}

/* ---- taking ---- */

static bool take_locked(struct workqueue *q, str *key)
{
    struct workqueue_item *i;

    ripen_locked(q);
    i = q->first;
    if (!i)
        return false;
    q->first = i->next;
    if (!q->first)
        q->last = &q->first;
    q->len--;
    count(q->waiting, -1);
    metric_observe(&waits, clock_now_ms(q->clock) - i->queued_ms);
    i->queued = false;
    i->processing = true;
    *key = i->key;
    return true;
}

static void sleep_locked(struct workqueue *q)
{
    struct timespec until;
    int64_t at;

    if (!q->ndelayed) {
        (void)pthread_cond_wait(&q->cond, &q->mu);
        return;
    }
    assert(q->clock->real); /* a fake clock does not wake sleepers */
    at = q->delayed[0]->at_ms;
    until = (struct timespec){ .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };
    (void)pthread_cond_timedwait(&q->cond, &q->mu, &until);
}

bool workqueue_take(struct workqueue *q, str *key)
{
    bool got;

    (void)pthread_mutex_lock(&q->mu);
    while (!(got = take_locked(q, key)) && !q->shutdown)
        sleep_locked(q);
    (void)pthread_mutex_unlock(&q->mu);
    return got;
}

bool workqueue_poll(struct workqueue *q, str *key, int64_t *wait_ms)
{
    bool got;

    (void)pthread_mutex_lock(&q->mu);
    got = take_locked(q, key);
    if (!got && wait_ms)
        *wait_ms = q->ndelayed ? q->delayed[0]->at_ms - clock_now_ms(q->clock) : -1;
    (void)pthread_mutex_unlock(&q->mu);
    return got;
}

void workqueue_done(struct workqueue *q, str key)
{
    struct workqueue_item *i;

    (void)pthread_mutex_lock(&q->mu);
    i = map_get(&q->items, key);
    assert(i && i->processing);
    i->processing = false;
    if (i->again) {
        i->again = false;
        (void)add_locked(q, i);
    } else {
        drop_if_idle(q, i);
    }
    (void)pthread_mutex_unlock(&q->mu);
}

size_t workqueue_len(struct workqueue *q)
{
    size_t n;

    (void)pthread_mutex_lock(&q->mu);
    n = q->len;
    (void)pthread_mutex_unlock(&q->mu);
    return n;
}

void workqueue_shutdown(struct workqueue *q)
{
    (void)pthread_mutex_lock(&q->mu);
    q->shutdown = true;
    while (q->ndelayed) {
        struct workqueue_item *i = q->delayed[0];

        heap_pop(q);
        i->slot = 0;
        drop_if_idle(q, i);
    }
    (void)pthread_cond_broadcast(&q->cond);
    (void)pthread_mutex_unlock(&q->mu);
}
