/* SPDX-License-Identifier: Apache-2.0 */
#include "store_model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "store/backend.h"
#include "store/backup.h"

struct model_version {
    struct model_version *older;
    uint64_t rev, created;
    bool deleted;
    str value;
    const uint64_t *hashes;
    size_t nhashes;
};

struct model_row {
    struct store_key key;
    struct model_version *newest;
};

struct model_event {
    uint64_t rev;
    struct model_row *row; /* NULL: the drop of `instance` */
    struct model_version *version;
    uint32_t instance;
};

struct model_drop {
    uint32_t instance;
    uint64_t rev;
};

struct model_pin {
    uint64_t rev;
    bool held;
};

#define VEC(type)      \
    struct {           \
        type *at;      \
        size_t n, cap; \
    }
#define VEC_PUSH(v, item)                                             \
    do {                                                              \
        if ((v).n == (v).cap) {                                       \
            (v).cap = (v).cap ? (v).cap * 2 : 16;                     \
            (v).at = mem_realloc_n((v).at, (v).cap, sizeof(*(v).at)); \
        }                                                             \
        (v).at[(v).n++] = (item);                                     \
    } while (0)

struct store_model {
    struct store store;
    pthread_mutex_t mu; /* guards all below */
    struct arena *arena;
    uint64_t head, floor;
    VEC(struct model_row *) rows; /* sorted */
    VEC(struct model_event) events;
    VEC(struct model_drop) drops;
    VEC(struct model_pin) pins;
};

static struct store_model *model_of(struct store *s)
{
    return (struct store_model *)s;
}

static void lock(struct store_model *m)
{
    (void)pthread_mutex_lock(&m->mu);
}

static void unlock(struct store_model *m)
{
    (void)pthread_mutex_unlock(&m->mu);
}

/* Where key is or would be. */
static size_t row_place(const struct store_model *m, const struct store_key *key)
{
    size_t low = 0, high = m->rows.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (store_key_cmp(&m->rows.at[mid]->key, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct model_row *row_find(const struct store_model *m, const struct store_key *key)
{
    size_t i = row_place(m, key);

    if (i < m->rows.n && store_key_cmp(&m->rows.at[i]->key, key) == 0)
        return m->rows.at[i];
    return NULL;
}

static struct model_row *row_make(struct store_model *m, const struct store_key *key)
{
    struct model_row *row = row_find(m, key);
    size_t i = row_place(m, key);

    if (row)
        return row;
    row = arena_new_of(m->arena, struct model_row);
    row->key = *key;
    row->key.name = str_dup(m->arena, key->name);
    VEC_PUSH(m->rows, row);
    memmove(&m->rows.at[i + 1], &m->rows.at[i], (m->rows.n - 1 - i) * sizeof(*m->rows.at));
    m->rows.at[i] = row;
    return row;
}

static uint64_t dropped_at(const struct store_model *m, uint32_t instance)
{
    for (size_t i = 0; i < m->drops.n; i++)
        if (m->drops.at[i].instance == instance)
            return m->drops.at[i].rev;
    return 0;
}

/* The version that is seen at rev, or NULL. */
static struct model_version *row_at(const struct store_model *m, const struct model_row *row,
                                    uint64_t rev)
{
    uint64_t dropped = dropped_at(m, row->key.instance);
    struct model_version *v = row->newest;

    if (dropped && dropped <= rev)
        return NULL;
    while (v && v->rev > rev)
        v = v->older;
    return v && !v->deleted ? v : NULL;
}

static struct store_row row_of(const struct model_row *row, const struct model_version *v)
{
    return (struct store_row){ row->key, v->rev, v->created, v->value };
}

static uint64_t model_head(struct store *s)
{
    struct store_model *m = model_of(s);
    uint64_t head;

    lock(m);
    head = m->head;
    unlock(m);
    return head;
}

static uint64_t model_floor(struct store *s)
{
    struct store_model *m = model_of(s);
    uint64_t floor;

    lock(m);
    floor = m->floor;
    unlock(m);
    return floor;
}

static int model_get(struct store *s, struct arena *a, struct store_key key, uint64_t rev,
                     struct store_row *out, struct status *st)
{
    struct store_model *m = model_of(s);
    struct model_version *v = NULL;
    struct model_row *row;
    int rc;

    (void)a;
    lock(m);
    rc = rev ? store_readable(rev, m->floor, m->head, st) : 0;
    row = row_find(m, &key);
    if (rc == 0 && row)
        v = row_at(m, row, rev ? rev : m->head);
    if (v)
        *out = row_of(row, v);
    unlock(m);
    return rc < 0 ? -1 : v != NULL;
}

static bool has_hash(const struct model_row *row, uint64_t hash)
{
    for (const struct model_version *v = row->newest; v; v = v->older)
        for (size_t i = 0; i < v->nhashes; i++)
            if (v->hashes[i] == hash)
                return true;
    return false;
}

static bool in_range(const struct store_range *r, const struct model_row *row)
{
    uint32_t first = r->instance == STORE_ALL ? r->start_instance : r->instance;
    struct store_key start = { r->type, first, r->start };
    int cmp = store_key_cmp(&row->key, &start);

    if (row->key.type != r->type || (r->instance != STORE_ALL && row->key.instance != r->instance))
        return false;
    if (cmp < 0 || (cmp == 0 && !r->inclusive))
        return false;
    return str_starts(row->key.name, r->prefix) && (!r->hash || has_hash(row, r->hash));
}

/* Collects the rows first, so that the lock is not held while fn runs. */
static int model_scan(struct store *s, struct store_range *r, store_row_fn *fn, void *arg,
                      struct status *st)
{
    struct store_model *m = model_of(s);
    VEC(struct store_row) found = { NULL, 0, 0 };
    int rc;

    lock(m);
    rc = r->rev ? store_readable(r->rev, m->floor, m->head, st) : 0;
    if (!r->rev)
        r->rev = m->head;
    for (size_t i = 0; rc == 0 && i < m->rows.n; i++) {
        struct model_row *row = m->rows.at[i];
        struct model_version *v = in_range(r, row) ? row_at(m, row, r->rev) : NULL;

        if (v)
            VEC_PUSH(found, row_of(row, v));
    }
    unlock(m);
    for (size_t i = 0; i < found.n; i++)
        if (!fn(arg, &found.at[i])) {
            rc = 1;
            break;
        }
    free(found.at);
    return rc;
}

static bool count_row(void *arg, const struct store_row *row)
{
    (void)row;
    ++*(uint64_t *)arg;
    return true;
}

static int model_count(struct store *s, struct store_range *r, uint64_t *out, struct status *st)
{
    uint64_t n = 0;

    if (model_scan(s, r, count_row, &n, st) < 0)
        return -1;
    *out = n;
    return 0;
}

static void model_usage(struct store *s, uint32_t instance, struct store_usage *out)
{
    struct store_model *m = model_of(s);

    *out = (struct store_usage){ 0 };
    lock(m);
    for (size_t i = 0; i < m->rows.n; i++) {
        const struct model_row *row = m->rows.at[i];
        const struct model_version *v =
            row->key.instance == instance ? row_at(m, row, m->head) : NULL;

        out->rows += v != NULL;
        out->bytes += v ? row->key.name.n + v->value.n : 0;
    }
    unlock(m);
}

static bool model_pin(struct store *s, uint64_t rev)
{
    struct store_model *m = model_of(s);
    struct model_pin pin = { rev, true };
    bool ok;

    lock(m);
    ok = rev >= m->floor && rev <= m->head;
    if (ok)
        VEC_PUSH(m->pins, pin);
    unlock(m);
    return ok;
}

static void model_unpin(struct store *s, uint64_t rev)
{
    struct store_model *m = model_of(s);

    lock(m);
    for (size_t i = 0; i < m->pins.n; i++)
        if (m->pins.at[i].held && m->pins.at[i].rev == rev) {
            m->pins.at[i].held = false;
            break;
        }
    unlock(m);
}

static void model_compact(struct store *s, uint64_t rev)
{
    struct store_model *m = model_of(s);

    lock(m);
    if (rev > m->head)
        rev = m->head;
    for (size_t i = 0; i < m->pins.n; i++)
        if (m->pins.at[i].held && m->pins.at[i].rev < rev)
            rev = m->pins.at[i].rev;
    if (rev > m->floor)
        m->floor = rev;
    unlock(m);
}

/* ---- writing ---- */

static bool expectations_hold(struct store_model *m, struct store_txn *txn)
{
    for (size_t i = 0; i < txn->nops; i++) {
        const struct store_op *op = &txn->ops[i];
        struct model_row *row = row_find(m, &op->key);
        struct model_version *v = row ? row_at(m, row, m->head) : NULL;

        if (op->kind != STORE_CHECK && dropped_at(m, op->key.instance)) {
            txn->error = EOWNERDEAD;
            return false;
        }
        if (op->kind != STORE_DROP && op->expect != STORE_ANY && op->expect != (v ? v->rev : 0)) {
            txn->failed_op = (int)i;
            txn->found = v ? v->rev : 0;
            return false;
        }
    }
    return true;
}

static void apply(struct store_model *m, const struct store_op *op, uint64_t rev)
{
    struct model_event ev = { .rev = rev, .instance = op->key.instance };
    struct model_version *v, *was;

    if (op->kind == STORE_DROP) {
        struct model_drop drop = { op->key.instance, rev };

        store_touch_drop(&m->store, op->key.instance, rev);
        VEC_PUSH(m->drops, drop);
        VEC_PUSH(m->events, ev);
        return;
    }
    if (op->kind == STORE_CHECK || (op->kind == STORE_DELETE && !row_find(m, &op->key)))
        return;
    ev.row = row_make(m, &op->key);
    was = ev.row->newest && !ev.row->newest->deleted ? ev.row->newest : NULL;
    if (op->kind == STORE_DELETE && !was)
        return;
    v = arena_new_of(m->arena, struct model_version);
    *v = (struct model_version){ .older = ev.row->newest, .rev = rev };
    v->created = was ? was->created : rev;
    v->deleted = op->kind == STORE_DELETE;
    if (op->kind == STORE_PUT) {
        uint64_t *hashes = arena_array(m->arena, uint64_t, op->nhashes);

        if (op->nhashes)
            memcpy(hashes, op->hashes, op->nhashes * sizeof(*hashes));
        v->value = str_dup(m->arena, op->value);
        v->hashes = hashes;
        v->nhashes = op->nhashes;
    }
    store_touch(&m->store, op->key.type, op->key.instance, rev);
    ev.row->newest = v;
    ev.version = v;
    VEC_PUSH(m->events, ev);
}

static void model_commit(struct store *s, struct store_txn *txn)
{
    struct store_model *m = model_of(s);
    bool ok;

    lock(m);
    ok = expectations_hold(m, txn);
    if (ok) {
        txn->rev = m->head + 1;
        for (size_t i = 0; i < txn->nops; i++) /* a drop is the first event of its revision */
            if (txn->ops[i].kind == STORE_DROP)
                apply(m, &txn->ops[i], txn->rev);
        for (size_t i = 0; i < txn->nops; i++)
            if (txn->ops[i].kind != STORE_DROP)
                apply(m, &txn->ops[i], txn->rev);
        m->head = txn->rev;
    }
    unlock(m);
    if (ok)
        store_notify(s);
    store_txn_finish(txn);
}

/* ---- history ---- */

static struct store_event event_of(const struct model_event *ev)
{
    struct store_event out = { .kind = STORE_EVENT_DROP, .rev = ev->rev };
    const struct model_version *v = ev->version, *was = v ? v->older : NULL;

    out.key.instance = ev->instance;
    if (!ev->row)
        return out;
    assert(v); /* only a drop has none */
    out.kind = v->deleted ? STORE_EVENT_DELETE : STORE_EVENT_PUT;
    out.key = ev->row->key;
    out.value = v->value;
    out.created = v->created;
    if (was && !was->deleted) {
        out.prev_rev = was->rev;
        out.prev_value = was->value;
    }
    return out;
}

static bool event_matches(const struct model_event *ev, uint32_t type, uint32_t instance)
{
    return (instance == STORE_ALL || instance == ev->instance) &&
           (type == UINT32_MAX || !ev->row || ev->row->key.type == type);
}

static int model_events(struct store *s, uint32_t type, uint32_t instance, uint64_t after,
                        store_event_fn *fn, void *arg, uint64_t *upto, struct status *st)
{
    struct store_model *m = model_of(s);
    VEC(struct store_event) found = { NULL, 0, 0 };
    uint64_t head;
    int rc;

    lock(m);
    head = m->head;
    rc = store_readable(after, m->floor, head, st);
    for (size_t i = 0; rc == 0 && i < m->events.n; i++)
        if (m->events.at[i].rev > after && event_matches(&m->events.at[i], type, instance))
            VEC_PUSH(found, event_of(&m->events.at[i]));
    unlock(m);
    if (rc == 0)
        *upto = head;
    for (size_t i = 0; i < found.n; i++)
        if (!fn(arg, &found.at[i])) {
            bool whole = i + 1 == found.n || found.at[i + 1].rev > found.at[i].rev;

            *upto = found.at[i].rev - !whole;
            break;
        }
    free(found.at);
    return rc;
}

/* ---- the rest ---- */

static int model_backup(struct store *s, store_write_fn *write, void *arg, uint64_t *rev,
                        struct status *st)
{
    struct store_model *m = model_of(s);
    struct backup_writer w;
    uint64_t head;
    int rc;

    lock(m);
    head = m->head;
    backup_begin(&w, write, arg, head);
    for (size_t i = 0; i < m->drops.n; i++)
        backup_drop(&w, m->drops.at[i].instance, m->drops.at[i].rev);
    for (size_t i = 0; i < m->rows.n; i++) {
        struct model_version *v = row_at(m, m->rows.at[i], head);
        struct store_row row;

        if (!v)
            continue;
        row = row_of(m->rows.at[i], v);
        backup_row(&w, &row, v->hashes, v->nhashes);
        backup_flush(&w);
    }
    unlock(m);
    rc = backup_end(&w, st);
    if (rc == 0)
        *rev = head;
    return rc;
}

static void model_stats(struct store *s, struct store_stats *out)
{
    struct store_model *m = model_of(s);

    lock(m);
    *out = (struct store_stats){ .head = m->head, .floor = m->floor, .commits = m->head };
    for (size_t i = 0; i < m->rows.n; i++) {
        out->rows += row_at(m, m->rows.at[i], m->head) != NULL;
        for (struct model_version *v = m->rows.at[i]->newest; v; v = v->older)
            out->versions++;
    }
    unlock(m);
}

static void model_close(struct store *s)
{
    struct store_model *m = model_of(s);

    free(m->rows.at);
    free(m->events.at);
    free(m->drops.at);
    free(m->pins.at);
    arena_free(m->arena);
    (void)pthread_mutex_destroy(&m->mu);
    store_release(s);
    free(m);
}

struct store *model_open(void)
{
    static const struct store_backend backend = {
        .head = model_head,
        .floor = model_floor,
        .get = model_get,
        .scan = model_scan,
        .count = model_count,
        .usage = model_usage,
        .pin = model_pin,
        .unpin = model_unpin,
        .commit = model_commit,
        .events = model_events,
        .compact = model_compact,
        .backup = model_backup,
        .stats = model_stats,
        .close = model_close,
    };
    struct store_model *m = mem_zalloc(sizeof(*m));

    store_init(&m->store, &backend);
    (void)pthread_mutex_init(&m->mu, NULL);
    m->arena = arena_new();
    return &m->store;
}
