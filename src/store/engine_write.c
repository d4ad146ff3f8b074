/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/banned.h"
#include "base/mem.h"
#include "store/engine_internal.h"

enum {
    BATCH_BYTES = 4 << 20, /* more waits for the next one: its first must not wait too long */
    BATCH_NS = 1000000,    /* the same: who comes meanwhile waits for all of it */
    PORTION = 64,          /* of a batch, whose rows are looked for at once */
    BUFFER_KEEP = 8 << 20, /* a larger buffer is given back */
    COPY_BUSY = 64 << 10,  /* bytes copied along with a commit: some 50 µs of its sync */
    COPY_IDLE = 1 << 20,   /* and when nobody waits */
    PROBE_MS = 200,        /* between two attempts to write again after a failure */
};

/* row.pending of a row that the batch has made, before an operation on it is staged */
#define PENDING_FRESH UINT32_MAX

/* ---- the queue ---- */

void engine_kick(struct engine *e)
{
    (void)pthread_mutex_lock(&e->wake_mu);
    e->kicked = true;
    (void)pthread_cond_signal(&e->wake);
    (void)pthread_mutex_unlock(&e->wake_mu);
}

void engine_commit(struct store *s, struct store_txn *txn)
{
    struct engine *e = engine_of(s);
    struct store_txn *last = atomic_load_explicit(&e->queue, memory_order_relaxed);

    do
        txn->next = last;
    while (!atomic_compare_exchange_weak_explicit(&e->queue, &last, txn, memory_order_release,
                                                  memory_order_relaxed));
    if (!last)
        engine_kick(e);
}

/* All that came since. */
static void queue_take(struct engine *e)
{
    struct store_txn *t = atomic_exchange_explicit(&e->queue, NULL, memory_order_acquire);
    struct store_txn *list = NULL;

    while (t) {
        struct store_txn *next = t->next;

        t->next = list;
        list = t;
        t = next;
    }
    txn_queue_put(&e->waiting, list);
}

/* ---- staging ---- */

static void batch_clear(struct engine *e)
{
    struct batch *b = &e->batch;

    for (size_t i = 0; i < b->nops; i++)
        if (b->ops[i].row)
            b->ops[i].row->pending = 0;
    for (size_t i = 0; i < b->nfresh; i++) {
        b->fresh[i]->pending = 0;
        if (!atomic_load_explicit(&b->fresh[i]->newest, memory_order_relaxed))
            index_remove(&e->index, b->fresh[i]);
    }
    b->nops = b->nfresh = b->nposts = 0;
    b->head = atomic_load(&e->head);
    buf_clear(&b->bytes);
    if (b->bytes.cap > BUFFER_KEEP)
        buf_release(&b->bytes);
}

struct staged *engine_stage(struct engine *e)
{
    struct batch *b = &e->batch;

    if (b->nops == b->cap) {
        b->cap = b->cap ? b->cap * 2 : 64;
        b->ops = mem_realloc_n(b->ops, b->cap, sizeof(*b->ops));
    }
    b->ops[b->nops] = (struct staged){ 0 };
    return &b->ops[b->nops++];
}

static bool is_dropped(struct engine *e, uint32_t instance)
{
    if (idpages_get(&e->drops, instance))
        return true;
    for (size_t i = 0; i < e->batch.nops; i++)
        if (e->batch.ops[i].kind == RECORD_DROP && e->batch.ops[i].instance == instance)
            return true;
    return false;
}

/* The row's revision after what is staged so far; 0: there is none. */
static uint64_t row_now(struct engine *e, const struct index_row *row, uint64_t *created)
{
    const struct version *v;

    if (!row)
        return 0;
    if (row->pending && row->pending != PENDING_FRESH) {
        const struct staged *op = &e->batch.ops[row->pending - 1];

        *created = op->created;
        return op->kind == RECORD_PUT ? op->rev : 0;
    }
    v = atomic_load_explicit(&row->newest, memory_order_relaxed);
    if (!v || v->deleted)
        return 0;
    *created = v->created;
    return v->rev;
}

static struct index_row *fresh_row(struct engine *e, const struct store_key *key)
{
    struct batch *b = &e->batch;
    struct index_row *row = index_add(&e->index, key);

    if (atomic_load_explicit(&row->newest, memory_order_relaxed) || row->pending)
        return row;
    if (b->nfresh == b->fresh_cap) {
        b->fresh_cap = b->fresh_cap ? b->fresh_cap * 2 : 64;
        b->fresh = mem_realloc_n(b->fresh, b->fresh_cap, sizeof(struct index_row *));
    }
    b->fresh[b->nfresh++] = row;
    row->pending = PENDING_FRESH;
    return row;
}

struct checked { /* an operation whose expectation holds */
    struct index_row *row;
    uint64_t now, created;
};

static bool op_holds(struct engine *e, struct store_txn *txn, size_t i, struct checked *out)
{
    const struct store_op *op = &txn->ops[i];
    bool dropped = is_dropped(e, op->key.instance);

    *out = (struct checked){ 0 };
    if (dropped && op->kind != STORE_CHECK) {
        txn->error = EOWNERDEAD;
        return false;
    }
    if (op->kind == STORE_DROP)
        return true;
    out->row = op->kind == STORE_PUT ? fresh_row(e, &op->key) : index_find(&e->index, &op->key);
    out->now = dropped ? 0 : row_now(e, out->row, &out->created);
    if (op->expect == STORE_ANY || op->expect == out->now)
        return true;
    txn->failed_op = (int)i;
    txn->found = out->now;
    return false;
}

static void op_stage(struct engine *e, const struct store_op *op, const struct checked *c,
                     size_t frame)
{
    static const enum record_kind kinds[] = {
        [STORE_PUT] = RECORD_PUT,
        [STORE_DELETE] = RECORD_DELETE,
        [STORE_DROP] = RECORD_DROP,
    };
    struct record r = { .key = op->key, .rev = e->batch.head };
    struct staged *s;

    if (op->kind == STORE_CHECK || (op->kind == STORE_DELETE && !c->now))
        return;
    s = engine_stage(e);
    r.kind = kinds[op->kind];
    r.created = c->now ? c->created : r.rev;
    if (op->kind == STORE_PUT) {
        r.value = op->value;
        r.hashes = op->hashes;
        r.nhashes = op->nhashes;
    } else if (op->kind == STORE_DROP) {
        r.key = (struct store_key){ 0, op->key.instance, STR_NONE };
    }
    s->kind = r.kind;
    s->row = c->row;
    s->instance = op->key.instance;
    s->rev = r.rev;
    s->created = r.created;
    s->value_bytes = (uint32_t)r.value.n;
    s->nhashes = (uint16_t)r.nhashes;
    s->at = record_append(&e->batch.bytes, frame, &r);
    if (s->row)
        s->row->pending = (uint32_t)e->batch.nops;
}

/* Checks a transaction and adds it to the batch, or says in it why not. */
static void txn_stage(struct engine *e, struct store_txn *txn)
{
    struct checked checked[STORE_TXN_OPS_MAX];
    size_t frame;

    for (size_t i = 0; i < txn->nops; i++)
        if (!op_holds(e, txn, i, &checked[i]))
            return;
    txn->rev = ++e->batch.head;
    frame = frame_begin(&e->batch.bytes, FRAME_TXN, txn->rev);
    for (size_t i = 0; i < txn->nops; i++) /* a drop is the first event of its revision */
        if (txn->ops[i].kind == STORE_DROP)
            op_stage(e, &txn->ops[i], &checked[i], frame);
    for (size_t i = 0; i < txn->nops; i++)
        if (txn->ops[i].kind != STORE_DROP)
            op_stage(e, &txn->ops[i], &checked[i], frame);
    frame_end(&e->batch.bytes, frame);
}

/* ---- writing ---- */

/* Makes the batch's bytes durable: 0 or an errno. */
static int batch_write(struct engine *e)
{
    struct batch *b = &e->batch;
    uint64_t floor = atomic_load(&e->floor), head = atomic_load(&e->head);
    int err = log_reserve(e->log, b->bytes.n, head, floor);
    struct segment *s = e->log->newest;

    if (err)
        return err;
    for (char *p = b->bytes.p; p < b->bytes.p + b->bytes.n;)
        p = frame_seal(p, s->seed, (uint32_t)s->end, floor, e->oldest);
    err = log_append(e->log, b->bytes.p, b->bytes.n);
    if (err)
        return err;
    s->max_rev = b->head;
    e->durable_floor = floor;
    e->durable_oldest = e->oldest;
    atomic_fetch_add(&e->batches, 1);
    return 0;
}

int engine_write_mark(struct engine *e)
{
    batch_clear(e);
    frame_end(&e->batch.bytes, frame_begin(&e->batch.bytes, FRAME_MARK, e->batch.head));
    return batch_write(e);
}

static void op_apply(struct engine *e, const struct staged *op, size_t base)
{
    struct segment *s = e->log->newest;
    struct record_place at = { s, (uint32_t)(base + op->at), op->value_bytes, op->nhashes,
                               record_hashes(e->batch.bytes.p + op->at) };

    if (!op->copy && op->kind == RECORD_DROP)
        store_touch_drop(&e->store, op->instance, op->rev);
    else if (!op->copy)
        store_touch(&e->store, op->row->type, op->row->instance, op->rev);
    if (op->kind == RECORD_DROP)
        engine_apply_drop(e, op->instance, op->rev, s, op->copy);
    else if (op->copy)
        engine_apply_copy(e, op->row, &at);
    else if (op->kind == RECORD_PUT)
        engine_apply_put(e, op->row, op->rev, op->created, &at);
    else
        engine_apply_delete(e, op->row, op->rev, op->created, &at);
}

/* Shows the batch, which is durable, to readers. */
static void batch_apply(struct engine *e)
{
    struct batch *b = &e->batch;
    size_t base = e->log->newest->end - b->bytes.n;
    bool moved = b->head > atomic_load(&e->head);

    atomic_fetch_add(&e->apply_seq, 1);
    for (size_t i = 0; i < b->nops; i++)
        op_apply(e, &b->ops[i], base);
    index_link(&e->index, b->fresh, b->nfresh);
    index_post(&e->index, b->posts, b->nposts);
    atomic_fetch_add(&e->commits, b->head - atomic_load(&e->head));
    atomic_store_explicit(&e->head, b->head, memory_order_release);
    atomic_fetch_add(&e->apply_seq, 1);
    engine_note_age(e);
    if (moved)
        store_notify(&e->store);
}

/* The disk failed: is it over already?  If not, writes are refused until it is. */
static void disk_failed(struct engine *e, int err)
{
    atomic_store(&e->last_error, err);
    if (engine_write_mark(e) == 0)
        return;
    atomic_store(&e->read_only, true);
    e->probe_ms = clock_now_ms(e->opt.clock) + PROBE_MS;
}

/* Tries the disk again when it is time. */
static void probe(struct engine *e)
{
    int err;

    if (!atomic_load(&e->read_only) || clock_now_ms(e->opt.clock) < e->probe_ms)
        return;
    err = engine_write_mark(e);
    if (err) {
        atomic_store(&e->last_error, err);
        e->probe_ms = clock_now_ms(e->opt.clock) + PROBE_MS;
        return;
    }
    atomic_store(&e->read_only, false);
}

/* Takes up to `most` that hold about so many bytes, and adds them at *end. */
static struct store_txn **take_some(struct engine *e, size_t most, size_t bytes,
                                    struct store_txn **end)
{
    struct store_txn *txn;

    for (size_t n = 0, held = 0; n < most && held < bytes; n++) {
        txn = txn_queue_take(&e->waiting);
        if (!txn)
            break;
        for (size_t i = 0; i < txn->nops; i++)
            held += txn->ops[i].value.n;
        *end = txn;
        end = &txn->next;
    }
    return end;
}

/* Takes as many transactions as make a batch.  Returns them. */
static struct store_txn *batch_fill(struct engine *e)
{
    struct store_txn *taken = NULL, **end = &taken, *txn;
    int64_t began = clock_ns();

    do {
        struct store_txn **portion = end;

        end = take_some(e, PORTION, BATCH_BYTES - e->batch.bytes.n, end);
        for (txn = *portion; txn; txn = txn->next)
            for (size_t i = 0; i < txn->nops; i++)
                index_prefetch(&e->index, &txn->ops[i].key);
        for (txn = *portion; txn; txn = txn->next)
            txn_stage(e, txn);
    } while (!txn_queue_is_empty(&e->waiting) && e->batch.bytes.n < BATCH_BYTES &&
             clock_ns() - began < BATCH_NS);
    return taken;
}

static void finish_all(struct store_txn *list, int err)
{
    for (struct store_txn *txn = list, *next; txn; txn = next) {
        next = txn->next;
        if (err) { /* what was refused was so by comparison with what is now not there, too */
            txn->rev = 0;
            txn->failed_op = -1;
            txn->found = 0;
            txn->error = err;
        }
        store_txn_finish(txn);
    }
}

/* Small segments are copied in portions, too. */
static size_t copy_portion(const struct engine *e, size_t most)
{
    size_t part = e->opt.segment_bytes / 16;

    return part < most ? part : most;
}

static void batch_run(struct engine *e)
{
    struct store_txn *taken = NULL;
    bool idle;
    int err = 0;

    probe(e);
    if (atomic_load(&e->read_only)) {
        (void)take_some(e, SIZE_MAX, SIZE_MAX, &taken);
        finish_all(taken, atomic_load(&e->last_error));
        return;
    }
    idle = txn_queue_is_empty(&e->waiting);
    batch_clear(e);
    if (e->reclaim.active)
        engine_reclaim_copy(e, copy_portion(e, idle ? COPY_IDLE : COPY_BUSY));
    taken = batch_fill(e);
    if (e->batch.bytes.n > 0)
        err = batch_write(e);
    if (!err && e->batch.bytes.n > 0)
        batch_apply(e);
    if (!err)
        engine_reclaim_copied(e);
    batch_clear(e);
    if (err)
        disk_failed(e, err);
    finish_all(taken, err);
}

/* ---- the thread ---- */

static struct timespec deadline(int64_t ms)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    ts.tv_sec += ms / 1000;
    ts.tv_nsec += ms % 1000 * 1000000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    return ts;
}

/* Sleeps until there is something to do; false when it is to end. */
static bool wait_for_work(struct engine *e)
{
    int64_t ms = atomic_load(&e->read_only) ? PROBE_MS : engine_upkeep_in_ms(e);
    struct timespec ts = deadline(ms > 0 ? ms : 0);
    bool go_on = true;
    int rc = 0;

    (void)pthread_mutex_lock(&e->wake_mu);
    while (!e->kicked && !e->stop && rc == 0)
        rc = ms < 0 ? pthread_cond_wait(&e->wake, &e->wake_mu)
                    : pthread_cond_timedwait(&e->wake, &e->wake_mu, &ts);
    if (e->stop && !atomic_load(&e->queue))
        go_on = false;
    e->kicked = false;
    (void)pthread_mutex_unlock(&e->wake_mu);
    return go_on;
}

static bool stopping(struct engine *e)
{
    bool stop;

    (void)pthread_mutex_lock(&e->wake_mu);
    stop = e->stop && !atomic_load(&e->queue);
    (void)pthread_mutex_unlock(&e->wake_mu);
    return stop;
}

void *engine_writer(void *engine)
{
    struct engine *e = engine;

    for (;;) {
        bool more;

        queue_take(e);
        batch_run(e);
        more = engine_upkeep(e);
        if (!txn_queue_is_empty(&e->waiting) || (more && !stopping(e)))
            continue;
        if (!wait_for_work(e))
            break;
    }
    /* So that history begins after a restart where it began before. */
    if (!atomic_load(&e->read_only) && atomic_load(&e->floor) > e->durable_floor)
        (void)engine_write_mark(e);
    batch_clear(e);
    return NULL;
}
