/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/flow/flow_gate.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum {
    SHARDS = 64,
    WAITING_MORE = 64,    /* of one instance may wait so many more than there are seats */
    WAITING_ALL = 8,      /* times as many of all */
    BYTES_MAX = 64 << 20, /* held by all that wait */
    BYTES_INSTANCE = 16 << 20,
};

/* One that somebody waits in; made and freed as needed, however many a level has. */
struct flow_queue {
    uint32_t index;
    uint32_t n;
    uint64_t turn; /* the queue with the least is next */
    struct flow_ticket *first, *last;
    struct flow_queue *next, **prev;
};

struct level {
    uint64_t id;
    struct flow_limits limits; /* as the last that came said */
    unsigned seats, waiting;
    uint64_t turn; /* of the queue that was taken from last */
    struct flow_queue *queues;
    struct level *next;
};

/* An instance with requests inside. */
struct active {
    uint32_t instance;
    unsigned seats, waiting;
    size_t bytes;
    struct level *levels;
    struct active *next;
    struct active *hungry_next, **hungry_prev; /* guarded by hungry_mu */
};

struct gate_shard {
    pthread_mutex_t mu;
    struct active *list; /* guarded by mu, as all that hangs on it */
};

struct flow_gate {
    unsigned seats;
    atomic_uint running, waiting;
    atomic_size_t bytes;
    struct gate_shard shards[SHARDS];
    pthread_mutex_t hungry_mu; /* taken after a shard's */
    struct active *hungry, **hungry_tail;
    unsigned nhungry;
};

struct flow_gate *flow_gate_new(unsigned seats)
{
    struct flow_gate *g = mem_zalloc(sizeof(*g));

    g->seats = seats;
    g->hungry_tail = &g->hungry;
    for (size_t i = 0; i < SHARDS; i++)
        (void)pthread_mutex_init(&g->shards[i].mu, NULL);
    (void)pthread_mutex_init(&g->hungry_mu, NULL);
    return g;
}

void flow_gate_free(struct flow_gate *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        assert(!g->shards[i].list);
        (void)pthread_mutex_destroy(&g->shards[i].mu);
    }
    (void)pthread_mutex_destroy(&g->hungry_mu);
    free(g);
}

/* ---- arithmetic ---- */

void flow_deal(uint64_t hash, uint32_t deck, uint32_t hand, uint32_t out[FLOW_HAND_MAX])
{
    assert(hand <= FLOW_HAND_MAX && hand <= deck);
    for (uint32_t i = 0; i < hand; i++) {
        out[i] = (uint32_t)(hash % (deck - i));
        hash /= deck - i;
    }
    /* The i-th is one of those left: count past what was dealt before it. */
    for (uint32_t i = hand; i-- > 0;)
        for (uint32_t j = i; j-- > 0;)
            out[i] += out[i] >= out[j];
}

unsigned flow_share(unsigned seats, uint64_t shares, uint64_t sum)
{
    uint64_t n = sum ? (seats * shares + sum - 1) / sum : 0;

    return n < seats ? (unsigned)n : seats;
}

/* ---- who is inside ---- */

static struct gate_shard *shard_of(struct flow_gate *g, uint32_t instance)
{
    return &g->shards[(instance * (uint32_t)2654435761 >> 8) % SHARDS];
}

static struct active *find_active(const struct gate_shard *s, uint32_t instance)
{
    struct active *a = s->list;

    while (a && a->instance != instance)
        a = a->next;
    return a;
}

static struct active *get_active(struct gate_shard *s, uint32_t instance)
{
    struct active *a = find_active(s, instance);

    if (a)
        return a;
    a = mem_zalloc(sizeof(*a));
    a->instance = instance;
    a->next = s->list;
    s->list = a;
    return a;
}

static struct level *get_level(struct active *a, uint64_t id)
{
    struct level *l = a->levels;

    while (l && l->id != id)
        l = l->next;
    if (l)
        return l;
    l = mem_zalloc(sizeof(*l));
    l->id = id;
    l->next = a->levels;
    a->levels = l;
    return l;
}

/* Frees the level and the instance when no request is in them. */
static void sweep(struct gate_shard *s, struct active *a, struct level *l)
{
    if (!l->seats && !l->waiting) {
        struct level **p = &a->levels;

        while (*p != l)
            p = &(*p)->next;
        *p = l->next;
        free(l);
    }
    if (!a->levels) {
        struct active **p = &s->list;

        while (*p != a)
            p = &(*p)->next;
        *p = a->next;
        free(a);
    }
}

/* ---- seats ---- */

/* Seats of the pool that are taken: what levels have beyond the part that is theirs alone. */
static unsigned taken_of_pool(const struct active *a)
{
    unsigned sum = 0;

    for (const struct level *l = a->levels; l; l = l->next) {
        unsigned own = l->limits.nominal - l->limits.lendable;

        sum += l->seats > own ? l->seats - own : 0;
    }
    return sum;
}

static bool level_has_room(const struct active *a, const struct level *l)
{
    if (l->seats >= l->limits.max)
        return false;
    return l->seats < l->limits.nominal - l->limits.lendable || taken_of_pool(a) < l->limits.pool;
}

/* Takes one of all seats, if the instance may have one more. */
static bool take_seat(struct flow_gate *g, const struct active *a)
{
    unsigned running = atomic_load(&g->running);

    do
        if (running >= g->seats || a->seats >= g->seats - running)
            return false;
    while (!atomic_compare_exchange_weak(&g->running, &running, running + 1));
    return true;
}

static void sit_down(struct active *a, struct level *l, struct flow_ticket *t)
{
    a->seats++;
    l->seats++;
    t->state = FLOW_RUNS;
}

/* ---- queues ---- */

static struct flow_queue *find_queue(const struct level *l, uint32_t index)
{
    struct flow_queue *q = l->queues;

    while (q && q->index != index)
        q = q->next;
    return q;
}

/* The shortest of the flow's hand; its length in *n. */
static uint32_t choose_queue(const struct level *l, uint64_t flow, uint32_t *n)
{
    uint32_t hand[FLOW_HAND_MAX];
    uint32_t size = l->limits.hand < FLOW_HAND_MAX ? l->limits.hand : FLOW_HAND_MAX;
    uint32_t best = 0;

    if (size > l->limits.queues)
        size = l->limits.queues;
    flow_deal(flow, l->limits.queues, size, hand);
    *n = UINT32_MAX;
    for (uint32_t i = 0; i < size; i++) {
        const struct flow_queue *q = find_queue(l, hand[i]);

        if ((q ? q->n : 0) < *n) {
            *n = q ? q->n : 0;
            best = hand[i];
        }
    }
    return best;
}

static struct flow_queue *get_queue(struct level *l, uint32_t index)
{
    struct flow_queue *q = find_queue(l, index);

    if (q)
        return q;
    q = mem_zalloc(sizeof(*q));
    q->index = index;
    q->turn = l->turn + 1; /* neither before nor behind those that wait longer */
    q->next = l->queues;
    q->prev = &l->queues;
    if (q->next)
        q->next->prev = &q->next;
    l->queues = q;
    return q;
}

static void queue_push(struct flow_queue *q, struct flow_ticket *t)
{
    t->queue = q;
    t->next = NULL;
    t->prev = q->last;
    if (q->last)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
    q->n++;
}

static void queue_remove(struct flow_ticket *t)
{
    struct flow_queue *q = t->queue;

    if (t->prev)
        t->prev->next = t->next;
    else
        q->first = t->next;
    if (t->next)
        t->next->prev = t->prev;
    else
        q->last = t->prev;
    t->queue = NULL;
    if (--q->n)
        return;
    *q->prev = q->next;
    if (q->next)
        q->next->prev = q->prev;
    free(q);
}

/* ---- instances that wait ---- */

static void set_hungry(struct flow_gate *g, struct active *a)
{
    (void)pthread_mutex_lock(&g->hungry_mu);
    a->hungry_next = NULL;
    a->hungry_prev = g->hungry_tail;
    *g->hungry_tail = a;
    g->hungry_tail = &a->hungry_next;
    g->nhungry++;
    (void)pthread_mutex_unlock(&g->hungry_mu);
}

static void set_sated(struct flow_gate *g, struct active *a)
{
    (void)pthread_mutex_lock(&g->hungry_mu);
    *a->hungry_prev = a->hungry_next;
    if (a->hungry_next)
        a->hungry_next->hungry_prev = a->hungry_prev;
    else
        g->hungry_tail = a->hungry_prev;
    g->nhungry--;
    (void)pthread_mutex_unlock(&g->hungry_mu);
}

/* Picks the next instance with waiting requests, in turns.  Returns false when none waits. */
static bool next_hungry(struct flow_gate *g, uint32_t *instance, unsigned *n)
{
    struct active *a;

    (void)pthread_mutex_lock(&g->hungry_mu);
    a = g->hungry;
    *n = g->nhungry;
    if (a) {
        *instance = a->instance;
        g->hungry = a->hungry_next;
        if (g->hungry)
            g->hungry->hungry_prev = &g->hungry;
        else
            g->hungry_tail = &g->hungry;
        a->hungry_next = NULL;
        a->hungry_prev = g->hungry_tail;
        *g->hungry_tail = a;
        g->hungry_tail = &a->hungry_next;
    }
    (void)pthread_mutex_unlock(&g->hungry_mu);
    return a;
}

static bool may_wait(struct flow_gate *g, const struct active *a, const struct level *l,
                     const struct flow_ticket *t)
{
    return l->limits.queues && a->waiting < g->seats + WAITING_MORE &&
           a->bytes + t->bytes <= BYTES_INSTANCE &&
           atomic_load(&g->waiting) < WAITING_ALL * (g->seats + WAITING_MORE) &&
           atomic_load(&g->bytes) + t->bytes <= BYTES_MAX;
}

static void wait_locked(struct flow_gate *g, struct active *a, struct level *l,
                        struct flow_ticket *t, uint32_t queue)
{
    queue_push(get_queue(l, queue), t);
    t->state = FLOW_WAITS;
    l->waiting++;
    a->bytes += t->bytes;
    atomic_fetch_add(&g->bytes, t->bytes);
    if (a->waiting++ == 0)
        set_hungry(g, a);
    atomic_fetch_add(&g->waiting, 1);
}

static void unwait_locked(struct flow_gate *g, struct active *a, struct level *l,
                          struct flow_ticket *t)
{
    queue_remove(t);
    l->waiting--;
    a->bytes -= t->bytes;
    atomic_fetch_sub(&g->bytes, t->bytes);
    if (--a->waiting == 0)
        set_sated(g, a);
    atomic_fetch_sub(&g->waiting, 1);
}

/* Of the levels with room and with somebody waiting, the one that has the least of its share. */
static struct level *next_level(const struct active *a)
{
    struct level *best = NULL;

    for (struct level *l = a->levels; l; l = l->next)
        if (l->waiting && level_has_room(a, l) &&
            (!best || (uint64_t)l->seats * (best->limits.nominal + 1) <
                          (uint64_t)best->seats * (l->limits.nominal + 1)))
            best = l;
    return best;
}

static struct flow_ticket *next_ticket(struct level *l)
{
    struct flow_queue *best = l->queues;

    for (struct flow_queue *q = best->next; q; q = q->next)
        if (q->turn < best->turn)
            best = q;
    l->turn = best->turn++;
    return best->first;
}

/* Gives one of those that wait in the instance a seat; NULL when none may have one. */
static struct flow_ticket *grant_locked(struct flow_gate *g, struct active *a)
{
    struct level *l = next_level(a);
    struct flow_ticket *t;

    if (!l || !take_seat(g, a))
        return NULL;
    t = next_ticket(l);
    unwait_locked(g, a, l, t);
    sit_down(a, l, t);
    return t;
}

/*
 * Gives free seats to those that wait, an instance after the other, until none can take one.  Who
 * leaves says so before it looks who waits, who comes waits before it looks whether seats are free:
 * one of the two sees the other.
 */
static void feed(struct flow_gate *g)
{
    unsigned tried = 0, n;
    uint32_t instance;

    while (atomic_load(&g->waiting) && atomic_load(&g->running) < g->seats &&
           next_hungry(g, &instance, &n) && tried < n) {
        struct gate_shard *s = shard_of(g, instance);
        struct flow_ticket *t = NULL;
        struct active *a;

        (void)pthread_mutex_lock(&s->mu);
        a = find_active(s, instance);
        if (a && a->waiting)
            t = grant_locked(g, a);
        (void)pthread_mutex_unlock(&s->mu);
        tried = t ? 0 : tried + 1;
        if (t)
            t->granted(t);
    }
}

/* ---- in and out ---- */

enum flow_state flow_gate_enter(struct flow_gate *g, const struct flow_limits *limits,
                                struct flow_ticket *t)
{
    struct gate_shard *s = shard_of(g, t->instance);
    struct active *a;
    struct level *l;
    uint32_t queue, n;
    bool waits = false;

    t->state = FLOW_OUT;
    (void)pthread_mutex_lock(&s->mu);
    a = get_active(s, t->instance);
    l = get_level(a, t->level);
    l->limits = *limits;
    /* Whoever waits already is before this one. */
    if (!l->waiting && level_has_room(a, l) && take_seat(g, a)) {
        sit_down(a, l, t);
    } else if (may_wait(g, a, l, t)) {
        queue = choose_queue(l, t->flow, &n);
        waits = n < limits->length;
        if (waits)
            wait_locked(g, a, l, t, queue);
    }
    if (t->state == FLOW_OUT)
        sweep(s, a, l);
    (void)pthread_mutex_unlock(&s->mu);
    if (!waits)
        return t->state;
    feed(g);
    return FLOW_WAITS;
}

void flow_gate_leave(struct flow_gate *g, struct flow_ticket *t)
{
    struct gate_shard *s = shard_of(g, t->instance);
    struct active *a;
    struct level *l;

    (void)pthread_mutex_lock(&s->mu);
    assert(t->state == FLOW_RUNS);
    t->state = FLOW_OUT;
    a = find_active(s, t->instance);
    l = get_level(a, t->level);
    a->seats--;
    l->seats--;
    sweep(s, a, l);
    atomic_fetch_sub(&g->running, 1);
    (void)pthread_mutex_unlock(&s->mu);
    if (atomic_load(&g->waiting))
        feed(g);
}

bool flow_gate_cancel(struct flow_gate *g, struct flow_ticket *t)
{
    struct gate_shard *s = shard_of(g, t->instance);
    bool waited;

    (void)pthread_mutex_lock(&s->mu);
    waited = t->state == FLOW_WAITS;
    if (waited) {
        struct active *a = find_active(s, t->instance);
        struct level *l = get_level(a, t->level);

        unwait_locked(g, a, l, t);
        t->state = FLOW_OUT;
        sweep(s, a, l);
    }
    (void)pthread_mutex_unlock(&s->mu);
    return waited;
}

void flow_gate_stats(struct flow_gate *g, struct flow_gate_stats *out)
{
    *out = (struct flow_gate_stats){ .seats = g->seats,
                                     .running = atomic_load(&g->running),
                                     .waiting = atomic_load(&g->waiting),
                                     .bytes = atomic_load(&g->bytes) };
}
