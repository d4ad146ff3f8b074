/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "store/backend.h"

uint64_t store_head(struct store *s)
{
    return s->backend->head(s);
}

uint64_t store_floor(struct store *s)
{
    return s->backend->floor(s);
}

int store_get(struct store *s, struct arena *a, struct store_key key, uint64_t rev,
              struct store_row *out, struct status *st)
{
    return s->backend->get(s, a, key, rev, out, st);
}

int store_scan(struct store *s, struct store_range *r, store_row_fn *fn, void *arg,
               struct status *st)
{
    return s->backend->scan(s, r, fn, arg, st);
}

int store_count(struct store *s, struct store_range *r, uint64_t *out, struct status *st)
{
    return s->backend->count(s, r, out, st);
}

void store_usage(struct store *s, uint32_t instance, struct store_usage *out)
{
    s->backend->usage(s, instance, out);
}

bool store_pin(struct store *s, uint64_t rev)
{
    return s->backend->pin(s, rev);
}

void store_unpin(struct store *s, uint64_t rev)
{
    s->backend->unpin(s, rev);
}

int store_events(struct store *s, uint32_t type, uint32_t instance, uint64_t after,
                 store_event_fn *fn, void *arg, uint64_t *upto, struct status *st)
{
    return s->backend->events(s, type, instance, after, fn, arg, upto, st);
}

void store_compact(struct store *s, uint64_t rev)
{
    s->backend->compact(s, rev);
}

int store_backup(struct store *s, store_write_fn *write, void *arg, uint64_t *rev,
                 struct status *st)
{
    return s->backend->backup(s, write, arg, rev, st);
}

void store_stats(struct store *s, struct store_stats *out)
{
    s->backend->stats(s, out);
}

void store_close(struct store *s)
{
    if (s)
        s->backend->close(s);
}

/* ---- transactions ---- */

static void finish_on_loop(struct loop_msg *msg)
{
    struct store_txn *txn = (struct store_txn *)((char *)msg - offsetof(struct store_txn, msg));

    txn->done(txn);
}

void store_txn_finish(struct store_txn *txn)
{
    if (!txn->loop) {
        txn->done(txn);
        return;
    }
    txn->msg.fn = finish_on_loop;
    loop_post(txn->loop, &txn->msg);
}

void store_commit(struct store *s, struct store_txn *txn)
{
    txn->rev = 0;
    txn->failed_op = -1;
    txn->found = 0;
    txn->error = store_txn_check(txn);
    if (txn->error)
        store_txn_finish(txn);
    else
        s->backend->commit(s, txn);
}

struct waiter {
    struct store_txn txn; /* first: done gets this */
    struct crowd *crowd;
};

struct crowd { /* that one thread waits for */
    atomic_size_t running;
    sem_t done;
};

static void waiter_done(struct store_txn *txn)
{
    struct crowd *c = ((struct waiter *)txn)->crowd;

    if (atomic_fetch_sub(&c->running, 1) == 1)
        (void)sem_post(&c->done);
}

void store_commit_all(struct store *s, struct store_txn *txns, size_t n)
{
    scoped_arena a = arena_new();
    struct waiter *w = arena_array(a, struct waiter, n);
    struct crowd c = { .running = n };

    assert(!loop_current());
    (void)sem_init(&c.done, 0, 0);
    for (size_t i = 0; i < n; i++) {
        w[i] = (struct waiter){ .txn = txns[i], .crowd = &c };
        w[i].txn.loop = NULL;
        w[i].txn.done = waiter_done;
        store_commit(s, &w[i].txn);
    }
    while (n && sem_wait(&c.done) < 0 && errno == EINTR)
        ;
    (void)sem_destroy(&c.done);
    for (size_t i = 0; i < n; i++) {
        txns[i].rev = w[i].txn.rev;
        txns[i].failed_op = w[i].txn.failed_op;
        txns[i].found = w[i].txn.found;
        txns[i].error = w[i].txn.error;
    }
}

int store_commit_wait(struct store *s, struct store_txn *txn)
{
    store_commit_all(s, txn, 1);
    return txn->rev ? 0 : -1;
}

void store_settle(struct store *s)
{
    /* One that must fail: it has its turn behind the others, and writes nothing. */
    struct store_op op = { .kind = STORE_CHECK, .key.name = STR("-"), .expect = UINT64_MAX - 1 };
    struct store_txn txn = { .ops = &op, .nops = 1 };

    (void)store_commit_wait(s, &txn);
}

static int op_check(const struct store_op *op)
{
    if (op->kind == STORE_DROP)
        return op->key.instance == STORE_ALL ? EINVAL : 0;
    if (op->key.name.n == 0 || op->key.instance == STORE_ALL || op->key.type == UINT32_MAX)
        return EINVAL;
    if (op->key.name.n > STORE_KEY_MAX)
        return EFBIG;
    if (op->kind == STORE_PUT && (op->value.n > STORE_VALUE_MAX || op->nhashes > STORE_HASHES_MAX))
        return EFBIG;
    return 0;
}

/* Two writes of one row, or of a row and the end of its instance, have no order to be seen in. */
static bool ops_clash(const struct store_op *a, const struct store_op *b)
{
    if (a->kind == STORE_CHECK || b->kind == STORE_CHECK)
        return false;
    if (a->kind == STORE_DROP || b->kind == STORE_DROP)
        return a->kind == b->kind || a->key.instance == b->key.instance;
    return store_key_cmp(&a->key, &b->key) == 0;
}

int store_txn_check(const struct store_txn *txn)
{
    size_t bytes = 0;

    if (txn->nops == 0)
        return EINVAL;
    if (txn->nops > STORE_TXN_OPS_MAX)
        return EFBIG;
    for (size_t i = 0; i < txn->nops; i++) {
        int err = op_check(&txn->ops[i]);

        if (err)
            return err;
        bytes += txn->ops[i].value.n;
        for (size_t j = 0; j < i; j++)
            if (ops_clash(&txn->ops[i], &txn->ops[j]))
                return EINVAL;
    }
    return bytes > STORE_TXN_BYTES_MAX ? EFBIG : 0;
}

int store_readable(uint64_t rev, uint64_t floor, uint64_t head, struct status *st)
{
    if (rev > head)
        return status_set(st, REASON_TIMEOUT, "revision %llu is not there yet, the last is %llu",
                          (unsigned long long)rev, (unsigned long long)head);
    if (rev < floor)
        return status_expired(st, "revision %llu is compacted, the first readable is %llu",
                              (unsigned long long)rev, (unsigned long long)floor);
    return 0;
}

int store_key_cmp(const struct store_key *a, const struct store_key *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->instance != b->instance)
        return a->instance < b->instance ? -1 : 1;
    return str_cmp(a->name, b->name);
}

/* ---- subscribers ---- */

/*
 * What is posted to a subscriber's loop must not be the subscriber's own memory: he may leave while
 * the message is under way.  It is freed by whoever comes last.
 */
struct store_listener {
    struct store_sub self; /* its msg, next and pending are used */
    struct store_sub *sub; /* the loop's; NULL after he left */
};

static void listener_run(struct loop_msg *msg)
{
    struct store_listener *l =
        (struct store_listener *)((char *)msg - offsetof(struct store_listener, self.msg));

    atomic_store(&l->self.pending, 0);
    if (l->sub)
        l->sub->fn(l->sub);
    else
        free(l);
}

void store_init(struct store *s, const struct store_backend *backend)
{
    s->backend = backend;
    s->listeners = NULL;
    (void)pthread_mutex_init(&s->mu, NULL);
}

/* ---- what was touched ---- */

static _Atomic uint64_t *touched_slot(struct store *s, uint32_t type, uint32_t instance)
{
    uint64_t h = ((uint64_t)type << 32 | instance) * 0x9e3779b97f4a7c15; /* Fibonacci hashing */

    if (type < STORE_LOW_TYPES && instance < STORE_LOW_INSTANCES)
        return &s->touched_low[instance][type];
    return &s->touched[h >> 40 & (STORE_TOUCHED - 1)];
}

static uint64_t load(_Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_acquire);
}

uint64_t store_touched(struct store *s, uint32_t type, uint32_t instance)
{
    uint64_t rev = load(touched_slot(s, type, instance));
    uint64_t drop = load(&s->touched_drops[instance % STORE_TOUCHED_DROPS]);
    uint64_t first = load(&s->touched_first);

    if (rev < drop)
        rev = drop;
    return rev < first ? first : rev;
}

void store_touch(struct store *s, uint32_t type, uint32_t instance, uint64_t rev)
{
    atomic_store_explicit(touched_slot(s, type, instance), rev, memory_order_release);
}

void store_touch_drop(struct store *s, uint32_t instance, uint64_t rev)
{
    atomic_store_explicit(&s->touched_drops[instance % STORE_TOUCHED_DROPS], rev,
                          memory_order_release);
}

void store_touch_all(struct store *s, uint64_t rev)
{
    atomic_store_explicit(&s->touched_first, rev, memory_order_release);
}

/* ---- the end ---- */

void store_release(struct store *s)
{
    assert(!s->listeners);
    (void)pthread_mutex_destroy(&s->mu);
}

void store_subscribe(struct store *s, struct store_sub *sub)
{
    struct store_listener *l = mem_zalloc(sizeof(*l));

    l->sub = sub;
    l->self.loop = sub->loop;
    l->self.msg.fn = listener_run;
    sub->next = &l->self;
    (void)pthread_mutex_lock(&s->mu);
    l->self.next = s->listeners;
    s->listeners = &l->self;
    (void)pthread_mutex_unlock(&s->mu);
}

void store_unsubscribe(struct store *s, struct store_sub *sub)
{
    struct store_listener *l = (struct store_listener *)sub->next;
    struct store_sub **at = &s->listeners;
    bool under_way;

    (void)pthread_mutex_lock(&s->mu);
    while (*at != &l->self)
        at = &(*at)->next;
    *at = l->self.next;
    under_way = atomic_load(&l->self.pending);
    (void)pthread_mutex_unlock(&s->mu);
    sub->next = NULL;
    l->sub = NULL;
    if (!under_way)
        free(l);
}

void store_notify(struct store *s)
{
    (void)pthread_mutex_lock(&s->mu);
    for (struct store_sub *at = s->listeners; at; at = at->next)
        if (!atomic_exchange(&at->pending, 1))
            loop_post(at->loop, &at->msg);
    (void)pthread_mutex_unlock(&s->mu);
}
