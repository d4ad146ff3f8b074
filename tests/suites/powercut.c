/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Power cuts: transactions on the engine over a simulated disk that loses power at a random
 * operation, several times over.  After each restart
 *
 *     every acknowledged transaction is there, at its revision,
 *     every other one is wholly there or wholly absent, and if it was refused for good, absent,
 *     revisions follow each other, events are complete, rows are what the events make them.
 *
 *     powercut [seeds [first seed]]
 *
 * Built with SIMDISK_NO_SYNC the disk's syncs do nothing, and this must fail.
 */

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "simdisk.h"
#include "store/engine.h"
#include "store_help.h"
#include "store_model.h"

enum { CUTS = 3, FLIGHT = 6, OPS = 3, NAMES = 40, VALUE = 900 };

enum fate { UNKNOWN, ACKNOWLEDGED, REFUSED };

struct attempt { /* a transaction, kept for good */
    struct store_txn txn;
    struct store_op ops[OPS];
    char names[OPS][16];
    char *values[OPS];
    uint64_t rev; /* where it was found, or acknowledged */
    enum fate fate;
    sem_t *done;
};

struct world {
    struct rand_seq rand;
    struct simdisk *disk;
    struct clock clock; /* moves with the work, so that a failed disk is tried again at once */
    struct store *engine, *model; /* the model has what must be there */
    struct arena *arena;          /* of this life */
    struct attempt **attempts;
    size_t n, cap;
    size_t settled; /* attempts before are decided */
    bool failed;
};

static uint32_t below(struct world *w, uint32_t n)
{
    return rand_seq_below(&w->rand, n);
}

static void wrong(struct world *w, const char *what)
{
    w->failed = true;
    printf("# %s\n", what);
}

/* ---- writing ---- */

static void attempt_done(struct store_txn *txn)
{
    (void)sem_post(((struct attempt *)txn)->done);
}

/* Each value names its transaction, and how many operations that has. */
static struct attempt *attempt_new(struct world *w, sem_t *done)
{
    struct attempt *t = mem_zalloc(sizeof(*t));
    size_t n = 1 + below(w, OPS);

    for (size_t i = 0; i < n; i++) {
        t->values[i] = mem_zalloc(VALUE);
        memset(t->values[i], '.', below(w, 4) ? below(w, 100) + 40 : below(w, VALUE - 41) + 40);
        t->values[i][snprintf(t->values[i], 40, "#%zu %zu", w->n, n)] = ' ';
        /* One type each, so that a transaction does not meet itself. */
        (void)snprintf(t->names[i], sizeof(t->names[i]), "%u", below(w, NAMES));
        t->ops[i] = op_put((uint32_t)i, 1 + below(w, 3), str_of(t->names[i]), str_of(t->values[i]));
    }
    if (n == 1 && below(w, 6) == 0)
        t->ops[0].kind = STORE_DELETE;
    t->done = done;
    t->txn = (struct store_txn){ .ops = t->ops, .nops = n, .done = attempt_done };
    if (w->n == w->cap) {
        w->cap = w->cap ? w->cap * 2 : 256;
        w->attempts = mem_realloc_n(w->attempts, w->cap, sizeof(struct attempt *));
    }
    w->attempts[w->n++] = t;
    return t;
}

static void model_take(struct world *w, struct attempt *t)
{
    struct store_txn txn = { .ops = t->ops, .nops = t->txn.nops };

    if (store_commit_wait(w->model, &txn) < 0 || txn.rev != t->rev)
        wrong(w, "revisions do not follow each other");
}

/* In the order that the store has given them: instances have turns at its writer. */
static void model_take_all(struct world *w, size_t first)
{
    struct attempt *next;

    for (uint64_t last = 0;; last = next->rev) {
        next = NULL;
        for (size_t i = first; i < w->n; i++)
            if (w->attempts[i]->rev > last && (!next || w->attempts[i]->rev < next->rev))
                next = w->attempts[i];
        if (!next)
            return;
        model_take(w, next);
    }
}

/* Some transactions at once. */
static void flight(struct world *w)
{
    size_t first = w->n, n = 1 + below(w, FLIGHT);
    struct store_stats stats;
    sem_t done;

    (void)sem_init(&done, 0, 0);
    for (size_t i = 0; i < n; i++)
        store_commit(w->engine, &attempt_new(w, &done)->txn);
    for (size_t i = 0; i < n; i++)
        (void)sem_wait(&done);
    (void)sem_destroy(&done);
    store_stats(w->engine, &stats);
    for (size_t i = first; i < w->n; i++) {
        struct attempt *t = w->attempts[i];

        t->rev = t->txn.rev;
        if (t->rev) {
            t->fate = ACKNOWLEDGED;
        } else if (!stats.read_only && !simdisk_is_cut(w->disk)) {
            t->fate = REFUSED; /* and the log could say so */
        }
    }
    model_take_all(w, first);
}

static void live(struct world *w)
{
    static const enum simdisk_op kinds[] = { SIMDISK_WRITE, SIMDISK_SYNC, SIMDISK_SYNC_DIR };

    simdisk_cut_after(w->disk, 1 + below(w, below(w, 4) ? 120 : 800));
    while (!simdisk_is_cut(w->disk) && !w->failed) {
        if (below(w, 12) == 0)
            simdisk_fail(w->disk, kinds[below(w, 3)], 1 + below(w, 4), 1 + below(w, 3), EIO);
        if (below(w, 8) == 0) {
            uint64_t rev = store_head(w->engine) - below(w, 4) % (store_head(w->engine) + 1);

            store_compact(w->engine, rev);
        }
        flight(w);
        clock_advance(&w->clock, 1000);
    }
}

/* ---- looking ---- */

struct look {
    struct world *w;
    uint64_t rev;
    struct attempt *txn; /* whose events these are */
    size_t seen;
};

/* The transaction that a value names, or that deletes this row at this revision. */
static struct attempt *attempt_of(struct world *w, const struct store_event *ev)
{
    if (ev->kind == STORE_EVENT_PUT) {
        size_t id = strtoull(ev->value.p + 1, NULL, 10);

        return ev->value.n > 1 && ev->value.p[0] == '#' && id < w->n ? w->attempts[id] : NULL;
    }
    for (size_t i = w->settled; i < w->n; i++) {
        struct attempt *t = w->attempts[i];

        if (t->ops[0].kind == STORE_DELETE && t->fate == UNKNOWN && !t->rev &&
            str_eq(t->ops[0].key.name, ev->key.name) && t->ops[0].key.instance == ev->key.instance)
            return t;
    }
    return NULL;
}

/* Events after the last acknowledged transaction: of those whose fate was open. */
static bool look_event(void *arg, const struct store_event *ev)
{
    struct look *l = arg;

    if (ev->rev != l->rev) {
        if (l->txn && l->seen != l->txn->txn.nops)
            wrong(l->w, "a transaction is there in part");
        l->rev = ev->rev;
        l->seen = 0;
        l->txn = attempt_of(l->w, ev);
        if (!l->txn || l->txn->fate != UNKNOWN || l->txn->rev)
            wrong(l->w, "a transaction is there that must not be");
        else
            l->txn->rev = ev->rev;
    }
    if (ev->kind == STORE_EVENT_PUT && attempt_of(l->w, ev) != l->txn)
        wrong(l->w, "transactions are mixed");
    l->seen++;
    return !l->w->failed;
}

static int by_rev(const void *a, const void *b)
{
    const struct attempt *x = *(struct attempt *const *)a, *y = *(struct attempt *const *)b;

    return (x->rev > y->rev) - (x->rev < y->rev);
}

/* Tells the model of those that were not acknowledged and are there. */
static void settle(struct world *w, uint64_t head)
{
    struct attempt **found = mem_alloc((w->n + 1) * sizeof(struct attempt *));
    size_t n = 0;

    for (size_t i = w->settled; i < w->n; i++)
        if (w->attempts[i]->fate == UNKNOWN && w->attempts[i]->rev)
            found[n++] = w->attempts[i];
        else if (w->attempts[i]->fate == UNKNOWN)
            w->attempts[i]->fate = REFUSED; /* absent, so it has to stay so */
    qsort(found, n, sizeof(*found), by_rev);
    for (size_t i = 0; i < n && !w->failed; i++) {
        /* A deletion of nothing has a revision and no event. */
        while (store_head(w->model) + 1 < found[i]->rev) {
            struct store_op op = op_of(STORE_CHECK, 1, 1, STR("-"));

            (void)commit(w->model, &op, 1);
        }
        model_take(w, found[i]);
        found[i]->fate = ACKNOWLEDGED;
    }
    while (store_head(w->model) < head) {
        struct store_op op = op_of(STORE_CHECK, 1, 1, STR("-"));

        (void)commit(w->model, &op, 1);
    }
    w->settled = w->n;
    free(found);
}

static void same(struct world *w, const char *what, const char *model, const char *engine)
{
    if (strcmp(model, engine) == 0)
        return;
    wrong(w, what);
    printf("# the model says\n%s\n# the engine says\n%s\n", model, engine);
}

static void look(struct world *w)
{
    uint64_t acknowledged = store_head(w->model), head = store_head(w->engine), upto;
    uint64_t floor = store_floor(w->engine);
    struct look l = { .w = w };
    struct status st;

    status_init(&st, w->arena);
    if (head < acknowledged) {
        wrong(w, "an acknowledged transaction is lost");
        return;
    }
    epoch_enter();
    if (store_events(w->engine, UINT32_MAX, STORE_ALL, floor > acknowledged ? floor : acknowledged,
                     look_event, &l, &upto, &st) < 0 ||
        upto != head)
        wrong(w, "history does not reach to the head");
    epoch_exit();
    if (l.txn && l.seen != l.txn->txn.nops)
        wrong(w, "the last transaction is there in part");
    if (w->failed)
        return;
    settle(w, head);
    for (uint32_t type = 0; type < OPS; type++) {
        struct store_range r = { .type = type, .instance = STORE_ALL };

        same(w, "rows differ", text_range(w->model, w->arena, r),
             text_range(w->engine, w->arena, r));
        r.rev = floor + below(w, (uint32_t)(head - floor) + 1);
        if (r.rev)
            same(w, "rows of the past differ", text_range(w->model, w->arena, r),
                 text_range(w->engine, w->arena, r));
    }
    same(w, "events differ", text_events(w->model, w->arena, UINT32_MAX, STORE_ALL, floor),
         text_events(w->engine, w->arena, UINT32_MAX, STORE_ALL, floor));
}

/* Opens the store; the power may go meanwhile, too. */
static bool start(struct world *w)
{
    struct engine_options opt = { .dir = STR("data"),
                                  .files = simdisk_layer(w->disk),
                                  .clock = &w->clock,
                                  .segment_bytes = 8 << 10,
                                  .step_bytes = 2 << 10 };

    for (;;) {
        struct status st;

        status_init(&st, w->arena);
        if (below(w, 4) == 0)
            simdisk_cut_after(w->disk, 1 + below(w, 6));
        w->engine = engine_open(&opt, &st);
        if (w->engine && !simdisk_is_cut(w->disk)) {
            simdisk_cut_after(w->disk, 0);
            return true;
        }
        store_close(w->engine);
        if (!simdisk_is_cut(w->disk)) {
            wrong(w, arena_printf(w->arena, "cannot open: %.*s", STR_ARG(st.message)));
            return false;
        }
        simdisk_restart(w->disk);
    }
}

static bool run(uint64_t seed)
{
    struct world w = { .rand = { seed }, .disk = simdisk_new(seed), .model = model_open() };

    for (int i = 0; i <= CUTS && !w.failed; i++) {
        w.arena = arena_new();
        if (start(&w)) {
            look(&w);
            if (!w.failed && i < CUTS)
                live(&w);
            store_close(w.engine);
            simdisk_restart(w.disk);
        }
        arena_free(w.arena);
    }
    for (size_t i = 0; i < w.n; i++) {
        for (size_t k = 0; k < OPS; k++)
            free(w.attempts[i]->values[k]);
        free(w.attempts[i]);
    }
    free(w.attempts);
    store_close(w.model);
    simdisk_free(w.disk);
    return !w.failed;
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, bad = 0;

    for (uint64_t seed = first; seed < first + seeds; seed++)
        if (!run(seed)) {
            bad++;
            printf("# seed %llu failed\n", (unsigned long long)seed);
        }
    printf("%sok 1 - %llu seeds of power cuts lose nothing\n1..1\n", bad ? "not " : "",
           (unsigned long long)seeds);
    return bad != 0;
}
