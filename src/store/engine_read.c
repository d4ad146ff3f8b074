/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "store/engine_internal.h"

/*
 * Readers take the head, then look at rows as they were at that revision.  The writer may meanwhile
 * raise the floor above it and take old versions away; it raises the floor first.  So whoever has
 * looked at a row looks at the floor afterwards, and what he saw counts only if the floor is still
 * at or below his revision.
 */

static uint64_t head_of(struct engine *e)
{
    return atomic_load_explicit(&e->head, memory_order_acquire);
}

static uint64_t floor_of(struct engine *e)
{
    return atomic_load_explicit(&e->floor, memory_order_acquire);
}

/* The version of the row that is seen at rev, or NULL. */
static const struct version *visible(struct engine *e, const struct index_row *row, uint64_t rev)
{
    const struct version *v = row_version(row, rev);

    if (!v || v->deleted)
        return NULL;
    if (atomic_load_explicit(&e->unpurged, memory_order_acquire)) {
        uint64_t dropped = idpages_get(&e->drops, row->instance);

        if (dropped && dropped <= rev)
            return NULL;
    }
    return v;
}

static str value_of(struct engine *e, const struct index_row *row, const struct version *v)
{
    const char *record = version_record(e, v);

    return (str){ record + sizeof(struct record_header) + (size_t)v->nhashes * 8 + row->name_bytes,
                  v->value_bytes };
}

static int get_at(struct engine *e, struct arena *a, const struct store_key *key, uint64_t rev,
                  struct store_row *out)
{
    struct index_row *row = index_find(&e->index, key);
    const struct version *v = row ? visible(e, row, rev) : NULL;
    struct segment *segment;
    struct record record;

    if (!v)
        return 0;
    segment = segment_at(e->log, v->segment);
    segment_ref(segment);
    arena_defer(a, segment_unref, segment);
    record_read(segment->map + v->offset, &record);
    *out = (struct store_row){ record.key, v->rev, v->created, record.value };
    return 1;
}

int engine_get(struct store *s, struct arena *a, struct store_key key, uint64_t rev,
               struct store_row *out, struct status *st)
{
    struct engine *e = engine_of(s);

    for (;;) {
        uint64_t head = head_of(e);
        int rc;

        if (rev && store_readable(rev, floor_of(e), head, st) < 0)
            return -1;
        rc = get_at(e, a, &key, rev ? rev : head, out);
        if (rc || floor_of(e) <= (rev ? rev : head))
            return rc;
        /* The floor has passed us: with a revision that is the answer, without we look again. */
    }
}

/* ---- ranges ---- */

struct walk {
    struct engine *e;
    const struct store_range *range;
    struct index_cursor cursor;
};

static void walk_seek(struct walk *w, uint32_t instance, str name)
{
    struct store_key key = { w->range->type, instance, name };

    index_seek(&w->cursor, &key);
}

/* Moves on to a row that lies in the range; false at the end. */
static bool walk_settle(struct walk *w)
{
    const struct store_range *r = w->range;
    struct index_row *row;

    while ((row = w->cursor.row)) {
        if (row->type != r->type || (r->instance != STORE_ALL && row->instance != r->instance))
            return false;
        if (str_starts(row_name(row), r->prefix))
            return true;
        if (str_cmp(row_name(row), r->prefix) < 0)
            walk_seek(w, row->instance, r->prefix);
        else if (row->instance == UINT32_MAX - 1 || r->instance != STORE_ALL)
            return false;
        else
            walk_seek(w, row->instance + 1, r->prefix);
    }
    return false;
}

static bool walk_begin(struct walk *w, struct engine *e, const struct store_range *r)
{
    uint32_t instance = r->instance == STORE_ALL ? r->start_instance : r->instance;
    struct index_row *row;

    w->e = e;
    w->range = r;
    w->cursor = (struct index_cursor){ .index = &e->index, .hash = r->hash };
    walk_seek(w, instance, str_cmp(r->start, r->prefix) < 0 ? r->prefix : r->start);
    row = w->cursor.row;
    if (row && !r->inclusive && row->type == r->type && row->instance == instance &&
        str_eq(row_name(row), r->start))
        index_next(&w->cursor);
    return walk_settle(w);
}

static bool walk_next(struct walk *w)
{
    index_next(&w->cursor);
    return walk_settle(w);
}

/* Settles r->rev. */
static int range_begin(struct engine *e, struct store_range *r, struct status *st)
{
    if (r->rev)
        return store_readable(r->rev, floor_of(e), head_of(e), st);
    r->rev = head_of(e);
    return 0;
}

int engine_scan(struct store *s, struct store_range *r, store_row_fn *fn, void *arg,
                struct status *st)
{
    struct engine *e = engine_of(s);
    struct walk w;

    if (range_begin(e, r, st) < 0)
        return -1;
    for (bool more = walk_begin(&w, e, r); more; more = walk_next(&w)) {
        const struct version *v = visible(e, w.cursor.row, r->rev);
        struct store_row row;

        if (!v)
            continue;
        if (floor_of(e) > r->rev)
            break;
        row = (struct store_row){ row_key(w.cursor.row), v->rev, v->created,
                                  value_of(e, w.cursor.row, v) };
        if (!fn(arg, &row))
            return 1;
    }
    return store_readable(r->rev, floor_of(e), r->rev, st);
}

/* Whether the rows of the range are counted, under which key in which table. */
static const struct idmap *counter_of(struct engine *e, const struct store_range *r, uint64_t *key)
{
    if (r->start.n || r->hash || (r->instance == STORE_ALL && r->start_instance))
        return NULL;
    *key = engine_count_key(r->type, r->instance);
    if (!r->prefix.n)
        return &e->counts;
    if (r->instance == STORE_ALL || str_find(r->prefix, '/', 0) != (ptrdiff_t)r->prefix.n - 1)
        return NULL;
    *key = engine_folder(e, r->type, r->instance, r->prefix);
    return &e->folders;
}

/* The counters are of the head; false when a batch was shown meanwhile and that matters. */
static bool count_of_head(struct engine *e, struct store_range *r, uint64_t *out)
{
    unsigned seq = atomic_load_explicit(&e->apply_seq, memory_order_acquire);
    uint64_t head = head_of(e), n, key;
    const struct idmap *counter = counter_of(e, r, &key);

    if (!counter || (!r->about && (seq % 2 || (r->rev && r->rev != head))))
        return false;
    n = idmap_get(counter, key);
    if (r->instance != STORE_ALL && idpages_get(&e->drops, r->instance))
        n = 0;
    if (!r->about && atomic_load_explicit(&e->apply_seq, memory_order_acquire) != seq)
        return false;
    if (!r->rev)
        r->rev = head;
    *out = n;
    return true;
}

void engine_usage(struct store *s, uint32_t instance, struct store_usage *out)
{
    struct engine *e = engine_of(s);

    out->rows = idpages_get(&e->used_rows, instance);
    out->bytes = idpages_get(&e->used_bytes, instance);
}

int engine_count(struct store *s, struct store_range *r, uint64_t *out, struct status *st)
{
    struct engine *e = engine_of(s);
    uint64_t n = 0;
    struct walk w;

    if (count_of_head(e, r, out))
        return 0;
    if (range_begin(e, r, st) < 0)
        return -1;
    for (bool more = walk_begin(&w, e, r); more; more = walk_next(&w))
        n += visible(e, w.cursor.row, r->rev) != NULL;
    if (store_readable(r->rev, floor_of(e), r->rev, st) < 0)
        return -1;
    *out = n;
    return 0;
}

/* ---- history ---- */

static bool event_matches(const struct event *ev, uint32_t type, uint32_t instance)
{
    if (!ev->row)
        return instance == STORE_ALL || instance == ev->instance;
    return (instance == STORE_ALL || instance == ev->row->instance) &&
           (type == UINT32_MAX || type == ev->row->type);
}

static struct store_event event_of(struct engine *e, const struct event *ev)
{
    struct store_event out = { .kind = STORE_EVENT_DROP, .rev = ev->rev };
    const struct version *v = ev->version, *was;

    if (!ev->row) {
        out.key.instance = ev->instance;
        return out;
    }
    was = atomic_load_explicit(&v->older, memory_order_acquire);
    out.kind = v->deleted ? STORE_EVENT_DELETE : STORE_EVENT_PUT;
    out.key = row_key(ev->row);
    out.created = v->created;
    if (!v->deleted)
        out.value = value_of(e, ev->row, v);
    if (was && !was->deleted) {
        out.prev_rev = was->rev;
        out.prev_value = value_of(e, ev->row, was);
    }
    return out;
}

int engine_events(struct store *s, uint32_t type, uint32_t instance, uint64_t after,
                  store_event_fn *fn, void *arg, uint64_t *upto, struct status *st)
{
    struct engine *e = engine_of(s);
    uint64_t head = head_of(e), stopped = 0;
    struct history_cursor c;
    const struct event *ev;

    if (store_readable(after, floor_of(e), head, st) < 0)
        return -1;
    history_seek(&e->history, &c, after);
    if (store_readable(after, floor_of(e), head, st) < 0)
        return -1;
    while ((ev = history_next(&c)) && ev->rev <= head) {
        struct store_event out;

        if (stopped && ev->rev > stopped)
            break;
        if (!event_matches(ev, type, instance))
            continue;
        if (stopped) {
            *upto = stopped - 1; /* there is more of that revision */
            return 0;
        }
        out = event_of(e, ev);
        if (floor_of(e) >= ev->rev)
            return status_expired(st, "the history after revision %llu is compacted",
                                  (unsigned long long)after);
        if (!fn(arg, &out))
            stopped = ev->rev;
    }
    *upto = stopped ? stopped : head;
    return 0;
}
