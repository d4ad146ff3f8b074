/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

/*
 * What an implementation of the store is made of; store.c calls it by this table.  Only the files
 * in store/ include this.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "store/store.h"

struct store_backend {
    uint64_t (*head)(struct store *s);
    uint64_t (*floor)(struct store *s);
    int (*get)(struct store *s, struct arena *a, struct store_key key, uint64_t rev,
               struct store_row *out, struct status *st);
    int (*scan)(struct store *s, struct store_range *r, store_row_fn *fn, void *arg,
                struct status *st);
    int (*count)(struct store *s, struct store_range *r, uint64_t *out, struct status *st);
    void (*usage)(struct store *s, uint32_t instance, struct store_usage *out);
    bool (*pin)(struct store *s, uint64_t rev);
    void (*unpin)(struct store *s, uint64_t rev);
    void (*commit)(struct store *s, struct store_txn *txn);
    int (*events)(struct store *s, uint32_t type, uint32_t instance, uint64_t after,
                  store_event_fn *fn, void *arg, uint64_t *upto, struct status *st);
    void (*compact)(struct store *s, uint64_t rev);
    int (*backup)(struct store *s, store_write_fn *write, void *arg, uint64_t *rev,
                  struct status *st);
    void (*stats)(struct store *s, struct store_stats *out);
    void (*close)(struct store *s); /* calls store_release() */
};

/* By a hash of (type, instance): with 4096, some hundred busy pairs seldom meet a quiet one. */
enum { STORE_TOUCHED = 4096, STORE_TOUCHED_DROPS = 64 };
/* Of the lowest, on which every request may depend, each has a number of its own. */
enum { STORE_LOW_TYPES = 256, STORE_LOW_INSTANCES = 2 };

struct store { /* the first member of each implementation */
    const struct store_backend *backend;
    pthread_mutex_t mu;
    struct store_sub *listeners; /* guarded by mu */
    /* Revisions, for store_touched(): */
    _Atomic uint64_t touched_first; /* where this process began */
    _Atomic uint64_t touched[STORE_TOUCHED];
    _Atomic uint64_t touched_low[STORE_LOW_INSTANCES][STORE_LOW_TYPES];
    _Atomic uint64_t touched_drops[STORE_TOUCHED_DROPS]; /* of whole instances */
};

void store_init(struct store *s, const struct store_backend *backend);
void store_release(struct store *s);

/* A row is about to change, an instance to go; everything may have changed up to rev.  The
 * writer's; before the head moves. */
void store_touch(struct store *s, uint32_t type, uint32_t instance, uint64_t rev);
void store_touch_drop(struct store *s, uint32_t instance, uint64_t rev);
void store_touch_all(struct store *s, uint64_t rev);

/* Tells every subscriber that the head has moved.  Any thread. */
void store_notify(struct store *s);

/* The error of a transaction that breaks a limit or contradicts itself (EFBIG, EINVAL), or 0. */
int store_txn_check(const struct store_txn *txn);

/* Hands the filled-in transaction back to its owner. */
void store_txn_finish(struct store_txn *txn);

/* -1 when revision rev cannot be read: compacted, or not yet there. */
int store_readable(uint64_t rev, uint64_t floor, uint64_t head, struct status *st)
    __attribute__((warn_unused_result));

/* Order of keys: type, instance, name. */
int store_key_cmp(const struct store_key *a, const struct store_key *b);

#endif
