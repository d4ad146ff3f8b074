/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

/*
 * The storage interface: versioned rows, transactions, a history to watch.  Everything above sees
 * only this; behind it are the embedded engine (store/engine.h), a small model that the tests
 * compare with (tests/store_model.h), later etcd.
 *
 * A row is bytes under a key (type, instance, name), and keys are ordered in just that way, so one
 * type of one instance, and one type of all instances, are each one run of rows.  The store gives
 * no meaning to ids, names or bytes.
 *
 * Promises, each tested by tests/suites/store_suite.c on every implementation:
 *
 *  1. One revision line.  Each committed transaction has a revision one higher than the one before;
 * the first is 1.  No revision is used twice, restarts, crashes and power cuts included.
 *  2. Atomic.  All operations of a transaction are seen, or none; after a crash too.
 *  3. Durable.  When `done` reports success the transaction survives kill -9 and power loss.
 *  4. Checked.  A transaction commits only if every expectation holds at that moment.
 *  5. Repeatable.  A read at revision R gives the same rows as long as R is not compacted, whatever
 *     is written meanwhile.  A read at 0 means the head of this moment; it sees every transaction
 *     that was acknowledged before the call.
 *  6. Watch without gap or repeat.  store_events() after R gives all changes of R+1 … head in
 * order, or fails with EXPIRED when R is below the floor.
 *  7. Refused means unchanged.  A transaction that fails (expectation, full disk, failed sync)
 *     changes nothing and takes no revision.  After a failed sync nothing that was in doubt is
 *     served or acknowledged; reads go on.
 *
 * Threads: any.  Reads never lock and never block on the disk other than by page fault; the reading
 * thread must be in an epoch section (base/epoch.h): loops always are, others call epoch_enter().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "loop/loop.h"

#define STORE_ALL UINT32_MAX /* every instance, in ranges and events */

enum {
    STORE_KEY_MAX = 1024,      /* bytes of a name */
    STORE_VALUE_MAX = 8 << 20, /* bytes of a value */
    STORE_TXN_OPS_MAX = 64,
    STORE_HASHES_MAX = 4096,        /* index rows of one value */
    STORE_TXN_BYTES_MAX = 64 << 20, /* of all values of a transaction */
};

struct store_key {
    uint32_t type, instance;
    str name; /* any bytes, 1 … STORE_KEY_MAX */
};

struct store_row {
    struct store_key key;
    uint64_t rev;     /* of the transaction that wrote this version */
    uint64_t created; /* of the transaction that made the row (after its last deletion) */
    str value;
};

struct store;

/* ---- reading ---- */

uint64_t store_head(struct store *s);  /* last committed revision */
uint64_t store_floor(struct store *s); /* lowest readable revision; events after it are complete */

/*
 * Not below the last revision at which a row of that type and instance changed; often higher, since
 * others share the number, but not for types below 256 of the instances 0 and 1.  A change shows
 * here before it can be read: what was read at a revision that is not below this, or not below the
 * head, is what there is now.  A few loads.
 */
uint64_t store_touched(struct store *s, uint32_t type, uint32_t instance);

/*
 * 1 with the row, 0 when there is none, -1 when rev is compacted (EXPIRED) or in the future
 * (TIMEOUT).  Key and value stay valid as long as the arena lives.
 */
int store_get(struct store *s, struct arena *a, struct store_key key, uint64_t rev,
              struct store_row *out, struct status *st) __attribute__((warn_unused_result));

struct store_range {
    uint32_t type, instance; /* instance may be STORE_ALL */
    str prefix;              /* of names; empty: all */
    /* Where to go on: rows after (start_instance, start), or from it if `inclusive`. */
    uint32_t start_instance;
    str start;
    bool inclusive;
    uint64_t rev;  /* 0: the head, which is then written back here, for the next call */
    uint64_t hash; /* only rows that had this index hash (0: all): a superset, check again */
    bool about;    /* store_count: what the head has is near enough, if that is known at once */
};

/*
 * Calls fn for each row in key order until it returns false.  What fn is given is valid during the
 * call only.  1 when fn stopped it, 0 at the end, -1 as store_get.  Bounded work per call is fn's
 * business: stop after some rows and call again from the last key at the same rev.
 */
typedef bool store_row_fn(void *arg, const struct store_row *row);
int store_scan(struct store *s, struct store_range *r, store_row_fn *fn, void *arg,
               struct status *st) __attribute__((warn_unused_result));

/* How many rows the range has (start and hash included). */
int store_count(struct store *s, struct store_range *r, uint64_t *out, struct status *st)
    __attribute__((warn_unused_result));

/* What an instance holds now: its rows, of whatever type, and the bytes of names and values. */
struct store_usage {
    uint64_t rows, bytes;
};
void store_usage(struct store *s, uint32_t instance, struct store_usage *out);

/*
 * Keeps revision rev readable for up to 60 s, though the floor would move: for a list in progress.
 * False when it is gone already.  Counted; release each.
 */
bool store_pin(struct store *s, uint64_t rev);
void store_unpin(struct store *s, uint64_t rev);

/* ---- writing ---- */

enum store_op_kind {
    STORE_PUT,    /* writes value and hashes */
    STORE_DELETE, /* the row is gone; prior versions stay readable at their revisions */
    STORE_CHECK,  /* writes nothing, only expects */
    STORE_DROP, /* everything of key.instance is gone (type and name are ignored): one record, space
                 * comes back later; later writes to that instance are refused with GONE: ids are
                 * not used again.  At most one in a transaction, which writes nothing else there;
                 * its event comes first */
};

#define STORE_ANY UINT64_MAX /* as expectation: none */

struct store_op {
    enum store_op_kind kind;
    struct store_key key;
    uint64_t expect; /* the row's rev; 0: there is none; STORE_ANY */
    str value;
    const uint64_t *hashes; /* index rows, never 0 */
    size_t nhashes;
};

/*
 * A transaction on its way.  The caller fills ops and done, and keeps all of it (and what it points
 * to) until done is called: on `loop` if there is one, else on the writer's thread.
 */
struct store_txn {
    struct loop_msg msg; /* the store's */
    struct store_txn *next;
    struct store_op *ops;
    size_t nops;
    struct loop *loop;
    void (*done)(struct store_txn *txn);
    /* filled in before done: */
    uint64_t rev;   /* of the commit; 0 when it failed */
    int failed_op;  /* the operation whose expectation failed, or -1 */
    uint64_t found; /* that row's rev then */
    int error;      /* errno of a disk failure (ENOSPC, EIO …), EFBIG for limits, EOWNERDEAD for a
                       dropped instance, else 0 */
};
void store_commit(struct store *s, struct store_txn *txn);

/* The same, waiting: for tests, tools and workers, never on a loop.  0 or -1 with txn's results. */
int store_commit_wait(struct store *s, struct store_txn *txn);

/* The same of many, each a transaction by itself and all on their way at once. */
void store_commit_all(struct store *s, struct store_txn *txns, size_t n);

/*
 * Waits until all that was given to the store before is done and told: after it the store posts
 * nothing more to a loop for them.  What is to be called before loops are freed; not on a loop.
 */
void store_settle(struct store *s);

/* ---- history ---- */

enum store_event_kind { STORE_EVENT_PUT, STORE_EVENT_DELETE, STORE_EVENT_DROP };

struct store_event {
    enum store_event_kind kind;
    struct store_key key; /* of DROP: the instance only */
    uint64_t rev;
    str value;         /* of PUT */
    uint64_t prev_rev; /* 0 when the row was made by this event */
    uint64_t created;
    str prev_value;
};

/*
 * Calls fn for every change after revision `after`, of one type and instance or of all
 * (UINT32_MAX), in order, until the head of this moment or until fn returns false; *upto is the
 * revision up to which all was seen.  EXPIRED when after < floor.  Strings are valid during the
 * call.
 */
typedef bool store_event_fn(void *arg, const struct store_event *ev);
int store_events(struct store *s, uint32_t type, uint32_t instance, uint64_t after,
                 store_event_fn *fn, void *arg, uint64_t *upto, struct status *st)
    __attribute__((warn_unused_result));

/*
 * Calls fn on the loop after the head has moved; several moves may be one call.  `sub` belongs to
 * the caller until store_unsubscribe, which is called on the loop.
 */
struct store_sub {
    struct loop_msg msg; /* the store's, as all but loop and fn */
    struct store_sub *next;
    _Atomic int pending;
    struct loop *loop;
    void (*fn)(struct store_sub *sub);
};
void store_subscribe(struct store *s, struct store_sub *sub);
void store_unsubscribe(struct store *s, struct store_sub *sub);

/* ---- upkeep ---- */

/* Moves the floor up to rev (pins hold it back); history below may go. */
void store_compact(struct store *s, uint64_t rev);

/* A consistent copy of all rows at the head, as a stream; write returns 0 or -1 to stop. */
typedef int store_write_fn(void *arg, const void *p, size_t n);
int store_backup(struct store *s, store_write_fn *write, void *arg, uint64_t *rev,
                 struct status *st) __attribute__((warn_unused_result));

struct store_stats {
    uint64_t head, floor, rows, versions, bytes_live, bytes_disk, commits, batches, syncs;
    bool read_only; /* a disk failure stopped writes; they resume by themselves when it is over */
    int last_error; /* errno of it */
};
void store_stats(struct store *s, struct store_stats *out);

void store_close(struct store *s); /* finishes what is queued, syncs, frees */

#endif
