/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"
#include "search/names.h"
#include "search/search_index_internal.h"

/* What the writer does with a batch (its thread is in search_index_writer.c). */

/* A list that is under way: which rows it has told of. */
struct search_index_listing {
    struct search_index_listing *next;
    int64_t type;
    char *cluster; /* empty: all */
    int64_t *seen;
    size_t n, cap;
    bool ended; /* by the transaction that runs */
};

enum statement {
    FIND,
    INSERT,
    UPDATE,
    REMOVE,
    BY_ID,
    NAME_ADD,
    NAME_REMOVE,
    PAIR_FIND,
    PAIR_ADD,
    TAG_ADD,
    TAG_REMOVE,
    COUNT,
    COUNT_END,
    IDS,
    IDS_OF,
    SYNCED,
    SYNCED_END,
    TYPE,
    CLUSTER,
    CLUSTER_END,
    STATEMENTS,
};

static const char *const sql[STATEMENTS] = {
    [FIND] = "SELECT id, rv, uid, meta, object FROM objects"
             " WHERE type = ? AND cluster = ? AND ns = ? AND name = ?",
    [INSERT] = "INSERT INTO objects(uid, owner, rv, created, meta, object, type, cluster, ns, name)"
               " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [UPDATE] = "UPDATE objects SET uid = ?, owner = ?, rv = ?, created = ?, meta = ?, object = ?"
               " WHERE id = ?",
    [REMOVE] = "DELETE FROM objects WHERE id = ?",
    [BY_ID] = "SELECT o.type, o.cluster, o.ns, o.name, o.meta, o.object, t.grp, t.resource"
              " FROM objects o JOIN types t ON t.id = o.type WHERE o.id = ?",
    [NAME_ADD] = "INSERT INTO names(rowid, name) VALUES(?, ?)",
    [NAME_REMOVE] = "INSERT INTO names(names, rowid, name) VALUES('delete', ?, ?)",
    [PAIR_FIND] = "SELECT id FROM pairs WHERE key = ? AND value = ?",
    [PAIR_ADD] = "INSERT INTO pairs(key, value) VALUES(?, ?)",
    [TAG_ADD] = "INSERT OR IGNORE INTO tags VALUES(?, ?, ?)",
    [TAG_REMOVE] = "DELETE FROM tags WHERE type = ? AND pair = ? AND id = ?",
    [COUNT] = "INSERT INTO counts VALUES(?1, ?2, ?3, ?4)"
              " ON CONFLICT DO UPDATE SET n = n + ?4",
    [COUNT_END] = "DELETE FROM counts WHERE type = ? AND cluster = ? AND ns = ? AND n <= 0",
    [IDS] = "SELECT id, cluster FROM objects WHERE type = ?",
    [IDS_OF] = "SELECT id, cluster FROM objects WHERE type = ? AND cluster = ?",
    [SYNCED] = "INSERT OR REPLACE INTO synced VALUES(?, ?, ?)",
    [SYNCED_END] = "DELETE FROM synced WHERE cluster = ?1 AND (type = ?2 OR ?2 = 0)",
    [TYPE] = "INSERT OR REPLACE INTO types VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [CLUSTER] = "INSERT OR REPLACE INTO clusters VALUES(?, ?, ?, ?, ?)",
    [CLUSTER_END] = "DELETE FROM clusters WHERE name = ?",
};

int search_index_writer_open(struct search_index *d, struct status *st)
{
    struct search_index_writer *w = &d->writer;

    w->statements = mem_zalloc(STATEMENTS * sizeof(sqlite3_stmt *));
    for (size_t i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(w->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &w->statements[i],
                               NULL) != SQLITE_OK)
            return status_set(st, REASON_INTERNAL, "the index %s: %s", d->path,
                              sqlite3_errmsg(w->db));
    return 0;
}

static void listing_free(struct search_index_listing *l)
{
    free(l->cluster);
    free(l->seen);
    free(l);
}

void search_index_writer_close_file(struct search_index *d)
{
    struct search_index_writer *w = &d->writer;

    for (size_t i = 0; w->statements && i < STATEMENTS; i++)
        (void)sqlite3_finalize(w->statements[i]);
    free(w->statements);
    w->statements = NULL;
    names_forget(w);
    while (w->listings) {
        struct search_index_listing *l = w->listings;

        w->listings = l->next;
        listing_free(l);
    }
    (void)sqlite3_close(w->db);
    w->db = NULL;
    memset(w->pairs, 0, sizeof(w->pairs));
    w->count.delta = 0;
}

void search_index_writer_close(struct search_index *d)
{
    struct search_index_writer *w = &d->writer;

    search_index_writer_close_file(d);
    while (d->queue) {
        struct search_index_batch *b = d->queue;

        d->queue = b->next;
        search_index_batch_free(b);
    }
    free(w->count.cluster);
    free(w->count.namespace);
}

/* ---- statements ---- */

struct bind {
    sqlite3_stmt *s;
    int at;
};

static struct bind begin(struct search_index_writer *w, enum statement which)
{
    return (struct bind){ w->statements[which], 0 };
}

static void put_int(struct bind *b, int64_t v)
{
    (void)sqlite3_bind_int64(b->s, ++b->at, v);
}

static void put_str(struct bind *b, str v)
{
    (void)sqlite3_bind_text(b->s, ++b->at, v.n ? v.p : "", (int)v.n, SQLITE_STATIC);
}

static bool run(struct bind *b)
{
    int rc = sqlite3_step(b->s);

    (void)sqlite3_reset(b->s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

static str column(sqlite3_stmt *s, int i)
{
    return (str){ (const char *)sqlite3_column_text(s, i), (size_t)sqlite3_column_bytes(s, i) };
}

/* ---- counters: neighbours in a batch are mostly of one namespace ---- */

static bool count_flush(struct search_index_writer *w)
{
    struct bind b = begin(w, COUNT);
    bool ok = true;

    if (w->count.delta == 0)
        return true;
    put_int(&b, w->count.type);
    put_str(&b, str_of(w->count.cluster));
    put_str(&b, str_of(w->count.namespace));
    put_int(&b, w->count.delta);
    ok = run(&b);
    if (ok && w->count.delta < 0) {
        b = begin(w, COUNT_END);
        put_int(&b, w->count.type);
        put_str(&b, str_of(w->count.cluster));
        put_str(&b, str_of(w->count.namespace));
        ok = run(&b);
    }
    w->count.delta = 0;
    return ok;
}

static char *z_of(str s)
{
    char *p = mem_alloc(s.n + 1);

    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

static bool count_add(struct search_index_writer *w, int64_t type, str cluster, str namespace,
                      int delta)
{
    bool ok = true;

    if (w->count.type != type || !w->count.cluster || !str_is(cluster, w->count.cluster) ||
        !str_is(namespace, w->count.namespace)) {
        ok = count_flush(w);
        free(w->count.cluster);
        free(w->count.namespace);
        w->count.type = type;
        w->count.cluster = z_of(cluster);
        w->count.namespace = z_of(namespace);
    }
    w->count.delta += delta;
    return ok;
}

/* ---- tags ---- */

static int64_t pair_id(struct search_index *d, const struct entry_tag *t)
{
    struct search_index_writer *w = &d->writer;
    uint64_t hash =
        str_hash(t->key, d->hash.k0, d->hash.k1) * 31 + str_hash(t->value, d->hash.k1, d->hash.k0);
    size_t slot = hash % DEPOT_PAIRS_CACHE;
    struct bind b = begin(w, PAIR_FIND);
    int64_t id = 0;

    if (w->pairs[slot].hash == hash && w->pairs[slot].id)
        return w->pairs[slot].id;
    put_str(&b, t->key);
    put_str(&b, t->value);
    if (sqlite3_step(b.s) == SQLITE_ROW)
        id = sqlite3_column_int64(b.s, 0);
    (void)sqlite3_reset(b.s);
    if (id == 0) {
        b = begin(w, PAIR_ADD);
        put_str(&b, t->key);
        put_str(&b, t->value);
        id = run(&b) ? sqlite3_last_insert_rowid(w->db) : 0;
    }
    w->pairs[slot].hash = hash;
    w->pairs[slot].id = id;
    return id;
}

static bool tag(struct search_index *d, enum statement which, int64_t type, int64_t id,
                const struct entry_tag *t)
{
    int64_t pair = pair_id(d, t);
    struct bind b = begin(&d->writer, which);

    put_int(&b, type);
    put_int(&b, pair);
    put_int(&b, id);
    return pair && run(&b);
}

static bool among(const struct entry_tag *t, const struct entry_tag *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(t->key, all[i].key) && str_eq(t->value, all[i].value))
            return true;
    return false;
}

/* From what was to what is; either may be none. */
static bool tags_change(struct search_index *d, int64_t type, int64_t id,
                        const struct entry_tag *was, size_t nwas, const struct entry_tag *is,
                        size_t nis)
{
    bool ok = true;

    for (size_t i = 0; i < nwas && ok; i++)
        if (!among(&was[i], is, nis))
            ok = tag(d, TAG_REMOVE, type, id, &was[i]);
    for (size_t i = 0; i < nis && ok; i++)
        if (!among(&is[i], was, nwas))
            ok = tag(d, TAG_ADD, type, id, &is[i]);
    return ok;
}

/* ---- operations ---- */

static void see(struct search_index_writer *w, int64_t type, str cluster, int64_t id)
{
    for (struct search_index_listing *l = w->listings; l; l = l->next) {
        if (l->type != type || (l->cluster[0] && !str_is(cluster, l->cluster)))
            continue;
        if (l->n == l->cap) {
            l->cap = l->cap ? 2 * l->cap : 256;
            l->seen = mem_realloc_n(l->seen, l->cap, sizeof(*l->seen));
        }
        l->seen[l->n++] = id;
    }
}

static void put_entry(struct bind *b, const struct entry *e)
{
    put_int(b, e->uid);
    put_int(b, e->owner);
    put_int(b, e->version);
    put_int(b, e->created);
    put_int(b, e->meta);
    put_str(b, e->text);
}

static bool insert(struct search_index *d, const struct search_index_op *op,
                   const struct entry_tag *is, size_t nis)
{
    struct search_index_writer *w = &d->writer;
    struct bind b = begin(w, INSERT);
    int64_t id;

    put_entry(&b, &op->entry);
    put_int(&b, op->type);
    put_str(&b, op->cluster);
    put_str(&b, op->entry.namespace);
    put_str(&b, op->entry.name);
    if (!run(&b))
        return false;
    id = sqlite3_last_insert_rowid(w->db);
    see(w, op->type, op->cluster, id);
    b = begin(w, NAME_ADD);
    put_int(&b, id);
    put_str(&b, op->entry.name);
    return run(&b) && count_add(w, op->type, op->cluster, op->entry.namespace, 1) &&
           names_count(w, op->type, op->entry.name, 1) &&
           tags_change(d, op->type, id, NULL, 0, is, nis);
}

static bool put(struct search_index *d, const struct search_index_op *op)
{
    struct search_index_writer *w = &d->writer;
    struct bind b = begin(w, FIND);
    struct entry_tag was[ENTRY_TAGS_MAX], is[ENTRY_TAGS_MAX];
    scoped_arena a = arena_new();
    size_t nwas = 0, nis;
    int64_t id = 0;
    bool same = false;

    put_int(&b, op->type);
    put_str(&b, op->cluster);
    put_str(&b, op->entry.namespace);
    put_str(&b, op->entry.name);
    if (sqlite3_step(b.s) == SQLITE_ROW) {
        id = sqlite3_column_int64(b.s, 0);
        same = op->entry.version && sqlite3_column_int64(b.s, 1) == op->entry.version &&
               sqlite3_column_int64(b.s, 2) == op->entry.uid;
        if (!same)
            nwas = entry_tags(a, &op->kind, str_dup(a, column(b.s, 4)),
                              (uint32_t)sqlite3_column_int(b.s, 3), was, ENTRY_TAGS_MAX);
    }
    (void)sqlite3_reset(b.s);
    if (id)
        see(w, op->type, op->cluster, id);
    if (same)
        return true;
    nis = entry_tags(a, &op->kind, op->entry.text, op->entry.meta, is, ENTRY_TAGS_MAX);
    if (!id)
        return insert(d, op, is, nis);
    b = begin(w, UPDATE);
    put_entry(&b, &op->entry);
    put_int(&b, id);
    return run(&b) && tags_change(d, op->type, id, was, nwas, is, nis);
}

static bool remove_row(struct search_index *d, int64_t id)
{
    struct search_index_writer *w = &d->writer;
    struct bind b = begin(w, BY_ID);
    struct entry_tag was[ENTRY_TAGS_MAX];
    scoped_arena a = arena_new();
    struct entry_kind kind;
    size_t nwas;
    int64_t type;
    str cluster, namespace, name;

    put_int(&b, id);
    if (sqlite3_step(b.s) != SQLITE_ROW) {
        (void)sqlite3_reset(b.s);
        return true;
    }
    type = sqlite3_column_int64(b.s, 0);
    cluster = str_dup(a, column(b.s, 1));
    namespace = str_dup(a, column(b.s, 2));
    name = str_dup(a, column(b.s, 3));
    kind = (struct entry_kind){ str_dup(a, column(b.s, 6)), str_dup(a, column(b.s, 7)) };
    nwas = entry_tags(a, &kind, str_dup(a, column(b.s, 5)), (uint32_t)sqlite3_column_int(b.s, 4),
                      was, ENTRY_TAGS_MAX);
    (void)sqlite3_reset(b.s);
    b = begin(w, REMOVE);
    put_int(&b, id);
    if (!run(&b))
        return false;
    b = begin(w, NAME_REMOVE);
    put_int(&b, id);
    put_str(&b, name);
    return run(&b) && count_add(w, type, cluster, namespace, -1) &&
           names_count(w, type, name, -1) && tags_change(d, type, id, was, nwas, NULL, 0);
}

static bool delete_one(struct search_index *d, const struct search_index_op *op)
{
    struct bind b = begin(&d->writer, FIND);
    int64_t id = 0;

    put_int(&b, op->type);
    put_str(&b, op->cluster);
    put_str(&b, op->entry.namespace);
    put_str(&b, op->entry.name);
    if (sqlite3_step(b.s) == SQLITE_ROW)
        id = sqlite3_column_int64(b.s, 0);
    (void)sqlite3_reset(b.s);
    return !id || remove_row(d, id);
}

static int cmp_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool is_apart(struct search_index *d, str cluster)
{
    struct search_index_known *k;
    bool apart;

    (void)pthread_mutex_lock(&d->lock);
    k = search_index_known(d, cluster, false);
    apart = k && k->cluster.apart;
    (void)pthread_mutex_unlock(&d->lock);
    return apart;
}

/* All rows of a type (of a cluster, unless it is empty) but those in keep, which is sorted. */
static bool remove_others(struct search_index *d, int64_t type, str cluster, const int64_t *keep,
                          size_t nkeep)
{
    struct bind b = begin(&d->writer, str_empty(cluster) ? IDS : IDS_OF);
    int64_t *gone = NULL;
    size_t n = 0, cap = 0;
    bool ok = true;

    put_int(&b, type);
    if (!str_empty(cluster))
        put_str(&b, cluster);
    while (sqlite3_step(b.s) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(b.s, 0);

        if ((nkeep && bsearch(&id, keep, nkeep, sizeof(id), cmp_ids)) ||
            (str_empty(cluster) && is_apart(d, column(b.s, 1))))
            continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 256;
            gone = mem_realloc_n(gone, cap, sizeof(*gone));
        }
        gone[n++] = id;
    }
    (void)sqlite3_reset(b.s);
    for (size_t i = 0; i < n && ok; i++)
        ok = remove_row(d, gone[i]);
    free(gone);
    return ok;
}

static struct search_index_listing *listing_of(struct search_index_writer *w, int64_t type,
                                               str cluster)
{
    for (struct search_index_listing *l = w->listings; l; l = l->next)
        if (l->type == type && str_is(cluster, l->cluster))
            return l;
    return NULL;
}

/* Those that ended are over once that is in the file; else they go on. */
static void listings_settle(struct search_index_writer *w, bool written)
{
    struct search_index_listing **p = &w->listings;

    while (*p) {
        struct search_index_listing *l = *p;

        if (written && l->ended) {
            *p = l->next;
            listing_free(l);
        } else {
            l->ended = false;
            p = &l->next;
        }
    }
}

static bool list_begin(struct search_index *d, const struct search_index_op *op)
{
    struct search_index_listing *l = listing_of(&d->writer, op->type, op->cluster);

    if (l) {
        l->n = 0;
        l->ended = false;
        return true;
    }
    l = mem_zalloc(sizeof(*l));
    l->type = op->type;
    l->cluster = z_of(op->cluster);
    l->next = d->writer.listings;
    d->writer.listings = l;
    return true;
}

static bool list_end(struct search_index *d, const struct search_index_op *op)
{
    struct search_index_listing *l = listing_of(&d->writer, op->type, op->cluster);

    if (!l)
        return true;
    if (l->n)
        qsort(l->seen, l->n, sizeof(*l->seen), cmp_ids);
    l->ended = true;
    return remove_others(d, op->type, op->cluster, l->seen, l->n);
}

static bool at_version(struct search_index *d, const struct search_index_op *op)
{
    struct bind b = begin(&d->writer, SYNCED);

    put_str(&b, op->cluster);
    put_int(&b, op->type);
    put_str(&b, op->version);
    (void)pthread_mutex_lock(&d->lock);
    search_index_known_synced(search_index_known(d, op->cluster, true), op->type, op->version);
    (void)pthread_mutex_unlock(&d->lock);
    return run(&b);
}

static bool drop(struct search_index *d, const struct search_index_op *op)
{
    struct bind b = begin(&d->writer, SYNCED_END);
    size_t types;
    bool ok;

    put_str(&b, op->cluster);
    put_int(&b, op->type);
    ok = run(&b);
    (void)pthread_mutex_lock(&d->lock);
    types = d->ntypes;
    search_index_known_forget(d, op->cluster, op->type);
    (void)pthread_mutex_unlock(&d->lock);
    if (op->type)
        return ok && remove_others(d, op->type, op->cluster, NULL, 0);
    for (size_t i = 1; i <= types && ok; i++)
        ok = remove_others(d, (int64_t)i, op->cluster, NULL, 0);
    b = begin(&d->writer, CLUSTER_END);
    put_str(&b, op->cluster);
    return ok && run(&b);
}

static bool (*const does[])(struct search_index *d, const struct search_index_op *op) = {
    [DEPOT_PUT] = put,           [DEPOT_DELETE] = delete_one, [DEPOT_LIST_BEGIN] = list_begin,
    [DEPOT_LIST_END] = list_end, [DEPOT_AT] = at_version,     [DEPOT_DROP] = drop,
};

/* ---- types and clusters as the memory has them ---- */

static bool save_type(struct search_index *d, const struct search_index_type *t)
{
    struct bind b = begin(&d->writer, TYPE);

    put_int(&b, t->id);
    put_str(&b, t->group);
    put_str(&b, t->version);
    put_str(&b, t->resource);
    put_str(&b, t->kind);
    put_str(&b, t->singular);
    put_str(&b, t->more);
    put_int(&b, t->namespaced);
    put_int(&b, t->hidden);
    put_int(&b, t->everywhere ? DEPOT_EVERYWHERE : t->custom);
    return run(&b);
}

static bool save_cluster(struct search_index *d, const struct search_index_cluster *c)
{
    struct bind b = begin(&d->writer, CLUSTER);

    put_str(&b, c->name);
    put_str(&b, c->uid);
    put_int(&b, c->apart ? DEPOT_APART : c->hidden);
    put_int(&b, 0);
    put_str(&b, STR_NONE);
    return run(&b);
}

static bool save_known(struct search_index *d)
{
    bool ok = true;

    (void)pthread_mutex_lock(&d->lock);
    for (size_t i = 0; d->changed && i < d->ntypes && ok; i++)
        ok = save_type(d, d->types[i]);
    d->changed = false;
    while (d->unsaved && ok) {
        struct search_index_known *k = d->unsaved;

        d->unsaved = k->next;
        k->unsaved = false;
        ok = save_cluster(d, &k->cluster);
    }
    (void)pthread_mutex_unlock(&d->lock);
    return ok;
}

void search_index_writer_unsaved(struct search_index *d)
{
    str key;
    void *k;

    (void)pthread_mutex_lock(&d->lock);
    d->changed = true;
    d->unsaved = NULL;
    for (size_t at = 0; map_each(&d->clusters, &at, &key, &k);) {
        struct search_index_known *known = k;

        known->unsaved = true;
        known->next = d->unsaved;
        d->unsaved = known;
    }
    (void)pthread_mutex_unlock(&d->lock);
}

/* ---- transactions ---- */

static bool apply(struct search_index *d, struct search_index_batch *first)
{
    bool ok = save_known(d);

    for (struct search_index_batch *b = first; b && ok; b = b->next)
        for (struct search_index_op *op = b->first; op && ok; op = op->next)
            ok = does[op->what](d, op);
    return ok && count_flush(&d->writer) && names_flush(&d->writer);
}

bool search_index_writer_transact(struct search_index *d, struct search_index_batch *first)
{
    struct search_index_writer *w = &d->writer;

    if (sqlite3_exec(w->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK && apply(d, first) &&
        sqlite3_exec(w->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK) {
        listings_settle(w, true);
        return true;
    }
    log_error("the search index cannot be written", log_z("why", sqlite3_errmsg(w->db)));
    if (search_index_is_damage(sqlite3_errcode(w->db)))
        search_index_damaged(d);
    (void)sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
    names_forget(w);
    w->count.delta = 0;
    memset(w->pairs, 0, sizeof(w->pairs));
    listings_settle(w, false);
    search_index_writer_unsaved(d);
    return false;
}
