/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_WRAP_H
#define STORE_WRAP_H

/*
 * A store in front of another (the model), for tests of those who use it: something can be done
 * just before a transaction commits, as if another had been quicker, and commits can be held back.
 */

#include "base/mem.h"
#include "store/backend.h"

struct wrap {
    struct store store;
    struct store *inner;
    /* Called before each commit; may write to inner, and may clear itself. */
    void (*before)(struct wrap *w, struct store_txn *txn);
    void *arg;
    _Atomic int commits;
    int fail; /* errno with which the next commit is refused, once */
    pthread_mutex_t mu;
    bool hold;              /* guarded by mu: commits wait for wrap_release */
    struct store_txn *held; /* guarded by mu */
};

static inline struct wrap *wrap_of(struct store *s)
{
    return (struct wrap *)s;
}

static inline uint64_t wrap_head(struct store *s)
{
    return store_head(wrap_of(s)->inner);
}

static inline uint64_t wrap_floor(struct store *s)
{
    return store_floor(wrap_of(s)->inner);
}

static inline int wrap_get(struct store *s, struct arena *a, struct store_key key, uint64_t rev,
                           struct store_row *out, struct status *st)
{
    return store_get(wrap_of(s)->inner, a, key, rev, out, st);
}

static inline int wrap_scan(struct store *s, struct store_range *r, store_row_fn *fn, void *arg,
                            struct status *st)
{
    return store_scan(wrap_of(s)->inner, r, fn, arg, st);
}

static inline int wrap_count(struct store *s, struct store_range *r, uint64_t *out,
                             struct status *st)
{
    return store_count(wrap_of(s)->inner, r, out, st);
}

static inline void wrap_usage(struct store *s, uint32_t instance, struct store_usage *out)
{
    store_usage(wrap_of(s)->inner, instance, out);
}

static inline bool wrap_pin(struct store *s, uint64_t rev)
{
    return store_pin(wrap_of(s)->inner, rev);
}

static inline void wrap_unpin(struct store *s, uint64_t rev)
{
    store_unpin(wrap_of(s)->inner, rev);
}

/* What the inner store notes of a commit is noted here, too: those who ask ask the outer one. */
static inline void wrap_pass(struct wrap *w, struct store_txn *txn)
{
    uint64_t rev = store_head(w->inner) + 1;

    for (size_t i = 0; i < txn->nops; i++) {
        const struct store_key *key = &txn->ops[i].key;

        if (txn->ops[i].kind == STORE_DROP)
            store_touch_drop(&w->store, key->instance, rev);
        else
            store_touch(&w->store, key->type, key->instance, rev);
    }
    w->inner->backend->commit(w->inner, txn);
}

static inline void wrap_commit(struct store *s, struct store_txn *txn)
{
    struct wrap *w = wrap_of(s);
    bool hold;

    w->commits++;
    if (w->before)
        w->before(w, txn);
    if (w->fail) {
        txn->error = w->fail;
        w->fail = 0;
        store_txn_finish(txn);
        return;
    }
    (void)pthread_mutex_lock(&w->mu);
    hold = w->hold;
    if (hold) {
        txn->next = w->held;
        w->held = txn;
    }
    (void)pthread_mutex_unlock(&w->mu);
    if (hold)
        return;
    wrap_pass(w, txn);
    store_notify(s);
}

static inline int wrap_events(struct store *s, uint32_t type, uint32_t instance, uint64_t after,
                              store_event_fn *fn, void *arg, uint64_t *upto, struct status *st)
{
    return store_events(wrap_of(s)->inner, type, instance, after, fn, arg, upto, st);
}

static inline void wrap_compact(struct store *s, uint64_t rev)
{
    store_compact(wrap_of(s)->inner, rev);
}

static inline int wrap_backup(struct store *s, store_write_fn *write, void *arg, uint64_t *rev,
                              struct status *st)
{
    return store_backup(wrap_of(s)->inner, write, arg, rev, st);
}

static inline void wrap_stats(struct store *s, struct store_stats *out)
{
    store_stats(wrap_of(s)->inner, out);
}

static inline void wrap_close(struct store *s)
{
    struct wrap *w = wrap_of(s);

    store_close(w->inner);
    store_release(s);
    (void)pthread_mutex_destroy(&w->mu);
    free(w);
}

static inline void wrap_done(struct store_txn *txn)
{
    (void)txn;
}

/* As another would write it, on any thread; the inner store must commit at once. */
static inline void wrap_write(struct wrap *w, struct store_op op)
{
    struct store_txn txn = { .ops = &op, .nops = 1, .done = wrap_done };

    op.expect = STORE_ANY;
    wrap_pass(w, &txn);
}

/* The row as it is, written again: a new version of the same. */
static inline void wrap_touch(struct wrap *w, struct store_key key)
{
    struct store_op op = { .kind = STORE_PUT, .key = key };
    struct store_row row;
    struct status st;
    scoped_arena a = arena_new();

    status_init(&st, a);
    if (store_get(w->inner, a, key, 0, &row, &st) != 1)
        return;
    op.value = row.value;
    wrap_write(w, op);
}

static inline int wrap_held(struct wrap *w)
{
    int n = 0;

    (void)pthread_mutex_lock(&w->mu);
    for (struct store_txn *t = w->held; t; t = t->next)
        n++;
    (void)pthread_mutex_unlock(&w->mu);
    return n;
}

/* From now on commits wait; or no longer, and those that waited are done. */
static inline void wrap_hold(struct wrap *w)
{
    (void)pthread_mutex_lock(&w->mu);
    w->hold = true;
    (void)pthread_mutex_unlock(&w->mu);
}

static inline void wrap_unhold(struct wrap *w)
{
    struct store_txn *txn, *next;

    (void)pthread_mutex_lock(&w->mu);
    w->hold = false;
    txn = w->held;
    w->held = NULL;
    (void)pthread_mutex_unlock(&w->mu);
    for (; txn; txn = next) {
        next = txn->next;
        wrap_pass(w, txn);
    }
    store_notify(&w->store);
}

static inline struct wrap *wrap_new(struct store *inner)
{
    static const struct store_backend backend = {
        .head = wrap_head,
        .floor = wrap_floor,
        .get = wrap_get,
        .scan = wrap_scan,
        .count = wrap_count,
        .usage = wrap_usage,
        .pin = wrap_pin,
        .unpin = wrap_unpin,
        .commit = wrap_commit,
        .events = wrap_events,
        .compact = wrap_compact,
        .backup = wrap_backup,
        .stats = wrap_stats,
        .close = wrap_close,
    };
    struct wrap *w = mem_zalloc(sizeof(*w));

    store_init(&w->store, &backend);
    (void)pthread_mutex_init(&w->mu, NULL);
    w->inner = inner;
    return w;
}

#endif
