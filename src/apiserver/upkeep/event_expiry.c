/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/upkeep/upkeep_internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    STEPS = 12, /* notes in the time that an event stays */
    MARKS = STEPS + 4,
    LOOKED = 2000, /* rows looked at in one go */
};

/* At this time the head was at this revision; what is not newer was written before. */
struct mark {
    int64_t s;
    uint64_t rev;
};

struct expiry {
    struct server *server;
    struct expiry_options what;
    uint32_t type;
    int64_t step_s;
    struct surplus *surplus;  /* NULL: they may take any number of bytes */
    struct mark marks[MARKS]; /* oldest first; as the store has them */
    size_t n;
    bool loaded;
    uint64_t written; /* revision of our own last note */
    /* The sweep under way: all up to this revision, from this row on. */
    uint64_t upto, swept;
    uint32_t at_instance;
    struct buf at;
};

struct expiry *expiry_new(struct server *s, const struct expiry_options *o)
{
    struct expiry *x = mem_zalloc(sizeof(*x));

    x->server = s;
    x->what = *o;
    x->step_s = o->ttl_s > STEPS ? o->ttl_s / STEPS : 1;
    if (o->max_bytes)
        x->surplus = surplus_new(s, o);
    buf_init(&x->at, STORE_KEY_MAX);
    return x;
}

void expiry_free(struct expiry *x)
{
    if (!x)
        return;
    buf_release(&x->at);
    surplus_free(x->surplus);
    free(x);
}

/* ---- notes of time ---- */

static struct store_key marks_key(const struct expiry *x)
{
    return (struct store_key){ .type = TYPE_COUNTERS,
                               .instance = INSTANCE_TEMPLATE,
                               .name = str_of(x->what.marks) };
}

static void load_marks(struct expiry *x, struct arena *a)
{
    struct store_row row;
    struct status st;
    int found;

    status_init(&st, a);
    epoch_enter();
    found = store_get(x->server->store, a, marks_key(x), 0, &row, &st);
    epoch_exit();
    if (found == 1 && row.value.n <= sizeof(x->marks) && row.value.n % sizeof(*x->marks) == 0) {
        memcpy(x->marks, row.value.p, row.value.n);
        x->n = row.value.n / sizeof(*x->marks);
    }
    x->loaded = found >= 0;
}

static bool has_events(struct expiry *x, struct arena *a)
{
    struct store_range all = { .type = x->type, .instance = STORE_ALL };
    struct status st;
    uint64_t n = 0;
    int rc;

    status_init(&st, a);
    epoch_enter();
    rc = store_count(x->server->store, &all, &n, &st);
    epoch_exit();
    return rc < 0 || n > 0;
}

/* Notes the head, if something was written since and there are events at all. */
static void add_mark(struct expiry *x, struct arena *a, int64_t now_s)
{
    uint64_t head = store_head(x->server->store);
    struct store_op op = { .kind = STORE_PUT, .key = marks_key(x), .expect = STORE_ANY };
    struct store_txn txn = { .ops = &op, .nops = 1 };

    while (x->n && x->marks[x->n - 1].s > now_s)
        x->n--; /* the clock was set back */
    if (x->n && now_s < x->marks[x->n - 1].s + x->step_s)
        return;
    if (head == x->written || !has_events(x, a))
        return;
    if (x->n == MARKS) {
        memmove(x->marks, x->marks + 1, (MARKS - 1) * sizeof(*x->marks));
        x->n--;
    }
    x->marks[x->n++] = (struct mark){ now_s, head };
    op.value = (str){ (const char *)x->marks, x->n * sizeof(*x->marks) };
    if (store_commit_wait(x->server->store, &txn) == 0)
        x->written = txn.rev;
    else
        log_warn("the age of events cannot be noted", log_int("errno", txn.error));
}

/* The newest revision that is old enough; 0: none is known. */
static uint64_t old_revision(const struct expiry *x, int64_t now_s)
{
    uint64_t rev = 0;

    for (size_t i = 0; i < x->n && x->marks[i].s <= now_s - x->what.ttl_s; i++)
        rev = x->marks[i].rev;
    return rev;
}

/* ---- sweeping ---- */

struct sweep {
    struct expiry *expiry;
    struct arena *arena;
    struct doomed doomed;
    size_t looked;
};

void doomed_add(struct doomed *d, struct arena *a, const struct store_row *row)
{
    struct store_op *op = &d->ops[d->n];

    *op = (struct store_op){ .kind = STORE_DELETE, .key = row->key, .expect = row->rev };
    op->key.name = str_dup(a, row->key.name);
    d->txns[d->n++] = (struct store_txn){ .ops = op, .nops = 1 };
}

/* Each in a transaction of its own: a watch that resumes between two misses none.  One that was
 * written to meanwhile stays; one that cannot be deleted now is tried again later. */
void doomed_delete(struct doomed *d, struct store *s)
{
    store_commit_all(s, d->txns, d->n);
}

static bool look(void *arg, const struct store_row *row)
{
    struct sweep *w = arg;
    struct expiry *x = w->expiry;

    x->at_instance = row->key.instance;
    buf_clear(&x->at);
    buf_str_append(&x->at, row->key.name);
    w->looked++;
    if (row->rev <= x->upto)
        doomed_add(&w->doomed, w->arena, row);
    return w->doomed.n < DOOMED_MAX && w->looked < LOOKED;
}

/* Quotas may count events, too. */
static void recount(const struct sweep *w)
{
    for (size_t i = 0; i < w->doomed.n; i++) {
        const struct store_key *key = &w->doomed.ops[i].key;
        str rest = key->name, namespace_;

        if (str_split(&rest, '/', &namespace_))
            upkeep_recount(w->expiry->server->upkeep, key->instance, namespace_);
    }
}

/* A portion; true when there is more. */
static bool sweep(struct expiry *x, struct arena *a)
{
    struct sweep w = { .expiry = x, .arena = a };
    struct store_range range = { .type = x->type,
                                 .instance = STORE_ALL,
                                 .start_instance = x->at_instance,
                                 .start = str_dup(a, buf_str(&x->at)) };
    struct status st;
    int stopped;

    status_init(&st, a);
    epoch_enter();
    stopped = store_scan(x->server->store, &range, look, &w, &st);
    epoch_exit();
    if (stopped < 0)
        log_warn("old events cannot be looked for", log_status(&st));
    doomed_delete(&w.doomed, x->server->store);
    recount(&w);
    return stopped > 0;
}

/* By age; after how many milliseconds to come again. */
static int64_t run(struct expiry *x, struct arena *a)
{
    int64_t now_s = clock_wall_s(x->server->clock);

    if (x->what.ttl_s == 0)
        return x->step_s * 1000;
    if (!x->loaded)
        load_marks(x, a);
    add_mark(x, a, now_s);
    if (x->upto == x->swept) { /* no sweep is under way */
        x->upto = old_revision(x, now_s);
        x->upto = x->upto > x->swept ? x->upto : x->swept;
    }
    if (x->upto == x->swept)
        return x->step_s * 1000;
    if (sweep(x, a))
        return 1;
    x->swept = x->upto;
    x->at_instance = 0;
    buf_clear(&x->at);
    return x->step_s * 1000;
}

int64_t expiry_run(struct expiry *x)
{
    scoped_arena a = arena_new();
    const struct kind *k = catalog_find(kinds_catalog_root(), str_of(x->what.group),
                                        str_of(x->what.version), str_of(x->what.resource));
    int64_t ms, more;

    x->type = k->type_id;
    ms = run(x, a);
    if (!x->surplus)
        return ms;
    more = surplus_run(x->surplus, a, x->type);
    return more < ms ? more : ms;
}
