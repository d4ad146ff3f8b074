/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ENGINE_INTERNAL_H
#define STORE_ENGINE_INTERNAL_H

/*
 * The engine's struct and what its files share:
 *
 *     engine.c          opening, closing, pins, figures
 *     engine_read.c     get, scan, count, events; any thread
 *     engine_write.c    the writer's thread: queue, batches, failures
 *     engine_apply.c    what a record does to index and history
 *     engine_upkeep.c   floor, forgetting, dropped instances
 *     engine_reclaim.c  rewriting the oldest segment
 *     engine_recover.c  from files to memory
 */

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "store/backend.h"
#include "store/engine.h"
#include "store/format.h"
#include "store/history.h"
#include "store/idmap.h"
#include "store/index.h"
#include "store/log.h"
#include "store/txn_queue.h"

struct pin {
    uint64_t rev;
    unsigned count;
    int64_t until_ms;
};

struct staged { /* an operation that is encoded and not yet synced */
    enum record_kind kind;
    bool copy; /* a row as it is, from the oldest segment */
    struct index_row *row;
    uint32_t instance;
    uint64_t rev, created;
    size_t at; /* of its record in the batch's bytes */
    uint32_t value_bytes;
    uint16_t nhashes;
};

struct batch {
    struct buf bytes;
    struct staged *ops;
    size_t nops, cap;
    struct index_row **fresh; /* rows made for it */
    size_t nfresh, fresh_cap;
    struct index_post *posts; /* what it adds to the index of hashes */
    size_t nposts, posts_cap;
    uint64_t head; /* the revision after it */
};

struct reclaim { /* the rewriting of the oldest segment */
    bool active;
    size_t at;                 /* the next frame to look at; at the segment's end all is copied */
    size_t skip;               /* records of it that are done */
    size_t next_at, next_skip; /* the same once the copies under way are durable */
};

struct age { /* the head at some moment */
    int64_t ms;
    uint64_t rev;
};
enum { ENGINE_AGES = 64 };
struct ages { /* oldest first */
    struct age at[ENGINE_AGES];
    unsigned n;
};

struct engine {
    struct store store;
    struct engine_options opt;
    struct file *lock;
    struct log *log;
    struct index index;
    struct history history;
    struct idpages drops;   /* instance → the revision it was dropped at, for good */
    struct idpages drop_at; /* instance → number of the segment that says so; the writer's */
    struct idmap counts;    /* engine_count_key → rows at the head */
    struct idmap folders;   /* engine_folder → the same */
    struct idpages used_rows, used_bytes; /* by instance, for store_usage */
    uint64_t folder_keys[2];
    atomic_uint unpurged;  /* dropped instances whose rows are still in memory */
    atomic_uint apply_seq; /* odd while a batch is shown */
    atomic_uint_fast64_t head, floor;
    atomic_uint_fast64_t rows, versions, live_bytes, commits, batches;
    atomic_bool read_only;
    atomic_int last_error;

    pthread_mutex_t pins_mu;
    struct pin *pins; /* guarded by pins_mu, as all moves of the floor */
    size_t npins, pins_cap;
    atomic_uint_fast64_t floor_goal; /* where the floor goes as soon as pins let it */

    pthread_t writer;
    _Atomic(struct store_txn *) queue; /* newest first */
    pthread_mutex_t wake_mu;
    pthread_cond_t wake;
    bool kicked, stop; /* guarded by wake_mu */

    /* the writer's own: */
    struct txn_queue waiting;
    struct batch batch;
    struct reclaim reclaim;
    uint64_t durable_floor;  /* as the log says it */
    uint32_t oldest;         /* number of the oldest segment that is needed */
    uint32_t durable_oldest; /* as the log says it */
    uint64_t pruned;         /* up to here history is forgotten */
    struct ages ages, past_ages;
    uint64_t past_old;   /* the last of them that is old enough */
    size_t dropped_rows; /* of dropped instances, not yet purged */
    size_t dead_rows;    /* deleted, and there for history only */
    int64_t forget_ms;   /* when mapped pages are given back again */
    int64_t probe_ms;    /* when to try the disk again */
    uint32_t *types;     /* all that were ever seen */
    size_t ntypes, types_cap;
    uint32_t *purge; /* dropped instances whose rows may go */
    size_t npurge, purge_cap;
    size_t purge_type;   /* how far the last of them is */
    size_t removed_rows; /* since memory was given back to the system */
};

static inline struct engine *engine_of(struct store *s)
{
    return (struct engine *)s;
}

static inline uint64_t engine_count_key(uint32_t type, uint32_t instance)
{
    return (uint64_t)type << 32 | instance;
}

static inline size_t version_bytes(const struct index_row *r, const struct version *v)
{
    return record_bytes(r->name_bytes, v->nhashes, v->value_bytes);
}

/* As store_usage counts it. */
static inline uint64_t version_size(const struct index_row *r, const struct version *v)
{
    return v && !v->deleted ? (uint64_t)r->name_bytes + v->value_bytes : 0;
}

static inline const char *version_record(struct engine *e, const struct version *v)
{
    return segment_at(e->log, v->segment)->map + v->offset;
}

/* ---- engine_read.c ---- */

int engine_get(struct store *s, struct arena *a, struct store_key key, uint64_t rev,
               struct store_row *out, struct status *st);
int engine_scan(struct store *s, struct store_range *r, store_row_fn *fn, void *arg,
                struct status *st);
int engine_count(struct store *s, struct store_range *r, uint64_t *out, struct status *st);
void engine_usage(struct store *s, uint32_t instance, struct store_usage *out);
int engine_events(struct store *s, uint32_t type, uint32_t instance, uint64_t after,
                  store_event_fn *fn, void *arg, uint64_t *upto, struct status *st);

/* ---- engine_write.c ---- */

void engine_commit(struct store *s, struct store_txn *txn);
void *engine_writer(void *engine);             /* the thread */
void engine_kick(struct engine *e);            /* there may be upkeep to do */
struct staged *engine_stage(struct engine *e); /* one more operation of the batch */
int engine_write_mark(struct engine *e);       /* makes floor and oldest durable; 0 or an errno */

/* ---- engine_apply.c ---- */

struct record_place { /* where a record is */
    struct segment *segment;
    uint32_t offset;
    uint32_t value_bytes;
    uint16_t nhashes;
    const uint64_t *hashes; /* a copy in memory, so that the file's page is not touched */
};

void engine_apply_put(struct engine *e, struct index_row *row, uint64_t rev, uint64_t created,
                      const struct record_place *at);
void engine_apply_delete(struct engine *e, struct index_row *row, uint64_t rev, uint64_t created,
                         const struct record_place *at);
/* A copy of a drop that is below the floor has no event any more. */
void engine_apply_drop(struct engine *e, uint32_t instance, uint64_t rev, struct segment *segment,
                       bool copy);
/* The newest version of the row, written again elsewhere. */
void engine_apply_copy(struct engine *e, struct index_row *row, const struct record_place *at);
/* A copy of a row whose first writing is gone with its segment; only while the log is read. */
void engine_apply_found(struct engine *e, struct index_row *row, uint64_t rev, uint64_t created,
                        const struct record_place *at);

uint64_t engine_folder(const struct engine *e, uint32_t type, uint32_t instance, str name);
/*
 * Counts rows that come in order, as recovery leaves it to the end; NULL ends it.  Those of one
 * folder follow each other.
 */
struct count_run {
    const struct index_row *row;
    str folder;
    uint64_t n, bytes;
};
void engine_count_in_order(struct engine *e, struct count_run *run, const struct index_row *row);

/* Forgets what an event, now below the floor, made superfluous. */
void engine_forget(struct engine *e, const struct event *ev);
/* Takes a row of a dropped instance out of memory. */
void engine_purge_row(struct engine *e, struct index_row *row);

/* ---- engine_upkeep.c ---- */

bool engine_pin(struct store *s, uint64_t rev);
void engine_unpin(struct store *s, uint64_t rev);
/* Raises the floor to rev as far as pins let it; any thread. */
void engine_raise_floor(struct engine *e, uint64_t rev);
/* Notes from time to time what the head is, so that its age is known later. */
void engine_note_age(struct engine *e);
/* The rows of a dropped instance may go from memory. */
void engine_purge_later(struct engine *e, uint32_t instance);
/* Forgets at most n events below the floor; true when more are left. */
bool engine_prune(struct engine *e, size_t n);
/* Removes at most about n rows of dropped instances; true when more are left. */
bool engine_purge(struct engine *e, size_t n);
/* A portion of all that there is to do between commits; true when more is left. */
bool engine_upkeep(struct engine *e);
/* How long the writer may sleep when nothing comes in, or -1. */
int64_t engine_upkeep_in_ms(struct engine *e);

/* ---- engine_reclaim.c ---- */

/* Starts, or ends, the rewriting of a segment where it is time; true when there is work left. */
bool engine_reclaim(struct engine *e);
/* Adds copies of rows of the oldest segment to the batch, about `bytes` of them. */
void engine_reclaim_copy(struct engine *e, size_t bytes);
void engine_reclaim_copied(struct engine *e); /* they are durable and applied */

/* ---- engine_recover.c ---- */

int engine_recover(struct engine *e, struct status *st);

#endif
