/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/slice.h"
#include "search/search_index_internal.h"

enum { STEPS_AT_ONCE = 400 }; /* of SQLite: some 100 µs */

#define NOT_YET "it was not reached since the start"

/* Raised with every change of what follows or of entries' text. */
#define LAYOUT "3"

static const char schema[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
    "CREATE TABLE clusters(name TEXT PRIMARY KEY, uid TEXT, hidden INT, healthy INT, reason TEXT)"
    " WITHOUT ROWID;"
    "CREATE TABLE types(id INTEGER PRIMARY KEY, grp TEXT, version TEXT, resource TEXT, kind TEXT,"
    " singular TEXT, more TEXT, namespaced INT, hidden INT, custom INT);"
    "CREATE TABLE synced(cluster TEXT, type INT, version TEXT, PRIMARY KEY(cluster, type))"
    " WITHOUT ROWID;"
    "CREATE TABLE objects(id INTEGER PRIMARY KEY, type INT, cluster TEXT, ns TEXT, name TEXT,"
    " uid INT, owner INT, rv INT, created INT, meta INT, object TEXT);"
    "CREATE UNIQUE INDEX objects_key ON objects(type, cluster, ns, name);"
    "CREATE INDEX objects_name ON objects(type, name, cluster, ns);"
    "CREATE INDEX objects_owner ON objects(owner, type) WHERE owner <> 0;"
    "CREATE TABLE pairs(id INTEGER PRIMARY KEY, key TEXT, value TEXT);"
    "CREATE UNIQUE INDEX pairs_key ON pairs(key, value);"
    "CREATE TABLE tags(type INT, pair INT, id INT, PRIMARY KEY(type, pair, id)) WITHOUT ROWID;"
    "CREATE TABLE counts(type INT, cluster TEXT, ns TEXT, n INT, PRIMARY KEY(type, cluster, ns))"
    " WITHOUT ROWID;"
    "CREATE TABLE steps(type INT, name TEXT, n INT, PRIMARY KEY(type, name)) WITHOUT ROWID;"
    "CREATE VIRTUAL TABLE names USING fts5(name, content='', detail=none,"
    " tokenize='trigram case_sensitive 1');"
    "INSERT INTO meta VALUES('layout', '" LAYOUT "');";

static void kfield(sqlite3_context *c, int n, sqlite3_value **v)
{
    str path[ENTRY_FIELD_PARTS],
        rest = { (const char *)sqlite3_value_text(v[2]), (size_t)sqlite3_value_bytes(v[2]) };
    str text = { (const char *)sqlite3_value_text(v[0]), (size_t)sqlite3_value_bytes(v[0]) };
    uint32_t meta = (uint32_t)sqlite3_value_int64(v[1]);
    scoped_arena a = arena_new();
    size_t parts = 0;
    str value;

    (void)n;
    while (parts < ENTRY_FIELD_PARTS && str_split(&rest, DEPOT_PATH_SEPARATOR, &path[parts]))
        parts++;
    if (entry_field_text(a, text, meta, path, parts, &value))
        sqlite3_result_text(c, value.p, (int)value.n, SQLITE_TRANSIENT);
    else
        sqlite3_result_null(c);
}

/* Nobody else may read it; SQLite gives its other files the same rights. */
static void make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0)
        (void)close(fd);
}

/* SQLite counts each allocation of the process under one mutex, for figures that nobody asks for.
 */
static void configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* Readers have somebody who waits, the writer has not. */
static int share(void *arg)
{
    (void)arg;
    slice_share();
    return 0;
}

sqlite3 *search_index_connect(const char *path, bool write, struct status *st)
{
    /* In KiB.  What a large first list needs of it is given back: search_index_write.c. */
    const char *common = write ? "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-48000;"
                               : "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4000;";
    static const char writing[] = "PRAGMA page_size=8192; PRAGMA journal_mode=WAL;"
                                  "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000;";
    int flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sqlite3 *db = NULL;

    (void)pthread_once(&once, configure);
    if (write)
        make_file(path);
    if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
        (!write || sqlite3_exec(db, writing, NULL, NULL, NULL) == SQLITE_OK) &&
        sqlite3_exec(db, common, NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_create_function(db, "kfield", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, kfield,
                                NULL, NULL) == SQLITE_OK) {
        (void)sqlite3_busy_timeout(db, 5000);
        if (write)
            sqlite3_progress_handler(db, STEPS_AT_ONCE, share, NULL);
        return db;
    }
    (void)status_set(st, REASON_INTERNAL, "the index %s: %s", path,
                     db ? sqlite3_errmsg(db) : "no memory");
    (void)sqlite3_close(db);
    return NULL;
}

/* ---- what is in memory ---- */

static str dup_of(const unsigned char *text, int n)
{
    char *p = mem_alloc((size_t)n + 1);

    if (n)
        memcpy(p, text, (size_t)n);
    p[n] = '\0';
    return (str){ p, (size_t)n };
}

static char *z_of(str s)
{
    return (char *)(uintptr_t)dup_of((const unsigned char *)s.p, (int)s.n).p;
}

static str column(sqlite3_stmt *s, int i)
{
    return (str){ (const char *)sqlite3_column_text(s, i), (size_t)sqlite3_column_bytes(s, i) };
}

static void type_free(struct search_index_type *t)
{
    const str all[] = { t->group, t->version, t->resource, t->kind, t->singular, t->more };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free((char *)(uintptr_t)all[i].p);
    free(t);
}

static struct search_index_type *type_dup(const struct search_index_type *t)
{
    struct search_index_type *new = mem_dup(t, sizeof(*t));
    str *all[] = { &new->group, &new->version,  &new->resource,
                   &new->kind,  &new->singular, &new->more };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        *all[i] = (str){ z_of(*all[i]), all[i]->n };
    return new;
}

static void types_push(struct search_index *d, const struct search_index_type *t)
{
    d->types = mem_realloc_n(d->types, d->ntypes + 1, sizeof(*d->types));
    d->types[d->ntypes++] = type_dup(t);
}

static void known_free(struct search_index_known *k)
{
    for (size_t i = 0; i < k->nsynced; i++)
        free(k->synced[i].version);
    free(k->synced);
    free(k->name);
    free(k->uid);
    free(k->reason);
}

/* True when it is another. */
static bool known_uid(struct search_index_known *k, str uid)
{
    if (str_empty(uid) || str_eq(k->cluster.uid, uid))
        return false;
    free(k->uid);
    k->uid = z_of(uid);
    k->cluster.uid = (str){ k->uid, uid.n };
    return true;
}

struct search_index_known *search_index_known(struct search_index *d, str cluster, bool make)
{
    struct search_index_known *k = str_empty(cluster) ? &d->all : map_get(&d->clusters, cluster);

    d->all.cluster.hidden = true;
    if (k || !make)
        return k;
    k = mem_zalloc(sizeof(*k));
    k->name = z_of(cluster);
    k->cluster.name = (str){ k->name, cluster.n };
    (void)map_put(&d->clusters, k->cluster.name, k);
    return k;
}

static bool is_together(const struct search_index_cluster *c)
{
    return c->hidden && !c->apart;
}

static void set_health(struct search_index *d, struct search_index_known *k, bool healthy,
                       str reason)
{
    char *copy = z_of(reason); /* it may be its own */

    free(k->reason);
    k->reason = copy;
    k->cluster.reason = (str){ copy, reason.n };
    k->cluster.healthy = healthy;
    if (k == &d->all)
        return;
    if (healthy || is_together(&k->cluster))
        (void)map_remove(&d->unhealthy, k->cluster.name);
    else
        (void)map_put(&d->unhealthy, k->cluster.name, k);
}

void search_index_known_synced(struct search_index_known *k, int64_t type, str version)
{
    struct search_index_synced *at = NULL;

    for (size_t i = 0; i < k->nsynced && !at; i++)
        if (k->synced[i].type == type)
            at = &k->synced[i];
    if (!at) {
        k->synced = mem_realloc_n(k->synced, k->nsynced + 1, sizeof(*k->synced));
        at = &k->synced[k->nsynced++];
        *at = (struct search_index_synced){ .type = type };
    }
    free(at->version);
    at->version = z_of(version);
}

void search_index_known_forget(struct search_index *d, str cluster, int64_t type)
{
    struct search_index_known *k = search_index_known(d, cluster, false);

    if (!k)
        return;
    for (size_t i = 0; i < k->nsynced; i++) {
        if (k->synced[i].type != type)
            continue;
        free(k->synced[i].version);
        k->synced[i] = k->synced[--k->nsynced];
        return;
    }
    if (type != 0 || k == &d->all)
        return;
    for (struct search_index_known **p = &d->unsaved; k->unsaved && *p; p = &(*p)->next)
        if (*p == k) {
            *p = k->next;
            break;
        }
    (void)map_remove(&d->clusters, k->cluster.name);
    (void)map_remove(&d->unhealthy, k->cluster.name);
    known_free(k);
    free(k);
}

/* ---- opening ---- */

static bool each_row(sqlite3 *db, const char *sql,
                     void (*row)(struct search_index *d, sqlite3_stmt *s), struct search_index *d)
{
    sqlite3_stmt *s;
    int rc;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        return false;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        row(d, s);
    (void)sqlite3_finalize(s);
    return rc == SQLITE_DONE;
}

static void load_meta(struct search_index *d, sqlite3_stmt *s)
{
    str key = column(s, 0);

    if (str_is(key, "k0"))
        d->hash.k0 = (uint64_t)sqlite3_column_int64(s, 1);
    else if (str_is(key, "k1"))
        d->hash.k1 = (uint64_t)sqlite3_column_int64(s, 1);
}

static void load_type(struct search_index *d, sqlite3_stmt *s)
{
    struct search_index_type t = { .id = sqlite3_column_int64(s, 0),
                                   .group = column(s, 1),
                                   .version = column(s, 2),
                                   .resource = column(s, 3),
                                   .kind = column(s, 4),
                                   .singular = column(s, 5),
                                   .more = column(s, 6),
                                   .namespaced = sqlite3_column_int(s, 7),
                                   .hidden = sqlite3_column_int(s, 8),
                                   .custom = sqlite3_column_int(s, 9),
                                   .everywhere = sqlite3_column_int(s, 9) == DEPOT_EVERYWHERE };

    types_push(d, &t);
}

static void load_cluster(struct search_index *d, sqlite3_stmt *s)
{
    struct search_index_known *k = search_index_known(d, column(s, 0), true);

    known_uid(k, column(s, 2));
    k->cluster.hidden = sqlite3_column_int(s, 1);
    k->cluster.apart = sqlite3_column_int(s, 1) == DEPOT_APART;
    set_health(d, k, false, STR(NOT_YET));
}

static void load_synced(struct search_index *d, sqlite3_stmt *s)
{
    search_index_known_synced(search_index_known(d, column(s, 0), true), sqlite3_column_int64(s, 1),
                              column(s, 2));
}

static bool load(struct search_index *d, sqlite3 *db)
{
    set_health(d, &d->all, false, STR(NOT_YET));
    return each_row(db, "SELECT key, value FROM meta", load_meta, d) &&
           each_row(db,
                    "SELECT id, grp, version, resource, kind, singular, more, namespaced, hidden,"
                    " custom FROM types ORDER BY id",
                    load_type, d) &&
           each_row(db, "SELECT name, hidden, uid FROM clusters", load_cluster, d) &&
           each_row(db, "SELECT cluster, type, version FROM synced", load_synced, d);
}

static bool is_ours(sqlite3 *db)
{
    sqlite3_stmt *s;
    bool ours = false;

    if (sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'layout'", -1, &s, NULL) !=
        SQLITE_OK)
        return false;
    if (sqlite3_step(s) == SQLITE_ROW)
        ours = str_is(column(s, 0), LAYOUT);
    (void)sqlite3_finalize(s);
    return ours;
}

static void delete_files(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        (void)unlink(arena_printf(a, "%s%s", path, ends[i]));
}

/* A hash that is in use already stays. */
static bool make_schema(sqlite3 *db, const struct entry_hash *hash)
{
    scoped_arena a = arena_new();
    uint64_t k[2];
    char *sql;

    rand_bytes(k, sizeof(k));
    if (hash->k0 || hash->k1)
        memcpy(k, (uint64_t[]){ hash->k0 << 1, hash->k1 << 1 }, sizeof(k));
    sql = arena_printf(a, "BEGIN; %s INSERT INTO meta VALUES('k0', '%lld'), ('k1', '%lld'); COMMIT",
                       schema, (long long)(k[0] >> 1), (long long)(k[1] >> 1));
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static void forget_all(struct search_index *d)
{
    str key;
    void *k;

    for (size_t i = 0; i < d->ntypes; i++)
        type_free(d->types[i]);
    free(d->types);
    d->types = NULL;
    d->ntypes = 0;
    for (size_t at = 0; map_each(&d->clusters, &at, &key, &k);) {
        known_free(k);
        free(k);
    }
    map_release(&d->clusters);
    map_release(&d->unhealthy);
    known_free(&d->all);
    d->all = (struct search_index_known){ 0 };
}

static int open_file(struct search_index *d, struct status *st)
{
    bool old = access(d->path, F_OK) == 0;
    sqlite3 *db = search_index_connect(d->path, true, st);

    if (db && is_ours(db) && load(d, db)) {
        d->writer.db = db;
        return 0;
    }
    (void)sqlite3_close(db);
    forget_all(d);
    if (old)
        log_info("the search index is made anew", log_z("file", d->path));
    delete_files(d->path);
    status_reset(st);
    db = search_index_connect(d->path, true, st);
    if (!db)
        return -1;
    d->writer.db = db;
    if (make_schema(db, &d->hash) && load(d, db))
        return 0;
    return status_set(st, REASON_INTERNAL, "the index %s: %s", d->path, sqlite3_errmsg(db));
}

/* ---- damage ---- */

bool search_index_is_damage(int code)
{
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

void search_index_damaged(struct search_index *d)
{
    (void)pthread_mutex_lock(&d->lock);
    d->damaged = true;
    (void)pthread_mutex_unlock(&d->lock);
    search_index_submit(search_index_batch_new(d), NULL, NULL); /* wakes it */
}

static void forget_synced(struct search_index_known *k)
{
    for (size_t i = 0; i < k->nsynced; i++)
        free(k->synced[i].version);
    free(k->synced);
    k->synced = NULL;
    k->nsynced = 0;
}

/* Types and clusters are known as before; how far they were collected is not. */
static void begin_generation(struct search_index *d)
{
    str key;
    void *k;

    (void)pthread_mutex_lock(&d->lock);
    d->lost = true;
    d->damaged = false;
    d->generation++;
    for (size_t at = 0; map_each(&d->clusters, &at, &key, &k);)
        forget_synced(k);
    forget_synced(&d->all);
    while (d->readers) {
        struct search_index_reader *r = d->readers;

        d->readers = r->next;
        search_index_reader_free(r);
    }
    d->nreaders = 0;
    (void)pthread_mutex_unlock(&d->lock);
}

int search_index_make_anew(struct search_index *d, struct status *st)
{
    sqlite3 *db;

    begin_generation(d);
    delete_files(d->path);
    db = search_index_connect(d->path, true, st);
    if (!db)
        return -1;
    d->writer.db = db;
    if (make_schema(db, &d->hash))
        return 0;
    return status_set(st, REASON_INTERNAL, "the index %s: %s", d->path, sqlite3_errmsg(db));
}

void search_index_on_loss(struct search_index *d, void (*lost)(void *arg), void *arg)
{
    (void)pthread_mutex_lock(&d->lock);
    d->on_loss = lost;
    d->loss_arg = arg;
    (void)pthread_mutex_unlock(&d->lock);
}

void search_index_resume(struct search_index *d)
{
    (void)pthread_mutex_lock(&d->lock);
    if (d->lost)
        d->generation++; /* what was submitted meanwhile is of nobody */
    d->lost = false;
    (void)pthread_mutex_unlock(&d->lock);
}

/* ---- life ---- */

struct search_index *search_index_open(const char *dir, struct status *st)
{
    struct search_index *d = mem_zalloc(sizeof(*d));
    scoped_arena a = arena_new();
    int err;

    d->path = mem_strdup(arena_printf(a, "%s/search.db", dir));
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_cond_init(&d->wake, NULL);
    d->queue_last = &d->queue;
    if (open_file(d, st) < 0 || search_index_writer_open(d, st) < 0) {
        search_index_close(d);
        return NULL;
    }
    slice_set(SLICE_SHORT_NS);
    err = pthread_create(&d->thread, NULL, search_index_writer_run, d);
    slice_set(0);
    if (err) {
        (void)status_errno(st, err, "cannot start a thread");
        search_index_close(d);
        return NULL;
    }
    d->started = true;
    (void)pthread_mutex_lock(&d->lock);
    while (!d->running) /* what it says to the kernel a sandbox would not let pass */
        (void)pthread_cond_wait(&d->wake, &d->lock);
    (void)pthread_mutex_unlock(&d->lock);
    return d;
}

void search_index_close(struct search_index *d)
{
    if (!d)
        return;
    (void)pthread_mutex_lock(&d->lock);
    d->stopping = true;
    (void)pthread_cond_broadcast(&d->wake);
    (void)pthread_mutex_unlock(&d->lock);
    if (d->started)
        (void)pthread_join(d->thread, NULL);
    while (d->readers) {
        struct search_index_reader *r = d->readers;

        d->readers = r->next;
        search_index_reader_free(r);
    }
    search_index_writer_close(d);
    forget_all(d);
    (void)pthread_mutex_destroy(&d->lock);
    (void)pthread_cond_destroy(&d->wake);
    free(d->path);
    free(d);
}

const struct entry_hash *search_index_hash(const struct search_index *d)
{
    return &d->hash;
}

/* ---- types and clusters ---- */

static bool same_type(const struct search_index_type *a, const struct search_index_type *b)
{
    return a->hidden == b->hidden && str_eq(a->resource, b->resource) &&
           str_eq(a->group, b->group) && str_eq(a->version, b->version);
}

static bool equal_type(const struct search_index_type *a, const struct search_index_type *b)
{
    return str_eq(a->kind, b->kind) && str_eq(a->singular, b->singular) &&
           str_eq(a->more, b->more) && a->namespaced == b->namespaced && a->custom == b->custom &&
           a->everywhere == b->everywhere;
}

int64_t search_index_type_put(struct search_index *d, const struct search_index_type *t)
{
    struct search_index_type new = *t;
    size_t i;

    (void)pthread_mutex_lock(&d->lock);
    for (i = 0; i < d->ntypes; i++)
        if (same_type(d->types[i], t))
            break;
    new.id = (int64_t)i + 1;
    new.everywhere |=
        i < d->ntypes && d->types[i]->everywhere; /* one that is attached has it, too */
    if (i == d->ntypes) {
        types_push(d, &new);
        d->changed = true;
    } else if (!equal_type(d->types[i], &new)) {
        d->changed = true;
        type_free(d->types[i]);
        d->types[i] = type_dup(&new);
    }
    (void)pthread_mutex_unlock(&d->lock);
    return new.id;
}

static struct search_index_type type_copy(struct arena *a, const struct search_index_type *t)
{
    struct search_index_type new = *t;
    str *all[] = { &new.group, &new.version, &new.resource, &new.kind, &new.singular, &new.more };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        *all[i] = str_dup(a, *all[i]);
    return new;
}

static bool has_type(const struct search_index_known *k, int64_t type)
{
    for (size_t i = 0; i < k->nsynced; i++)
        if (k->synced[i].type == type)
            return true;
    return false;
}

static bool anyone_has(struct search_index *d, int64_t type, bool hidden)
{
    str key;
    void *k;

    if (hidden && has_type(&d->all, type))
        return true;
    for (size_t at = 0; map_each(&d->clusters, &at, &key, &k);)
        if (((struct search_index_known *)k)->cluster.hidden == hidden && has_type(k, type))
            return true;
    return false;
}

struct search_index_type *search_index_types(struct search_index *d, struct arena *a, bool hidden,
                                             size_t *n)
{
    struct search_index_type *out;

    (void)pthread_mutex_lock(&d->lock);
    out = arena_array(a, struct search_index_type, d->ntypes);
    *n = 0;
    for (size_t i = 0; i < d->ntypes; i++)
        if (d->types[i]->hidden == hidden && anyone_has(d, d->types[i]->id, hidden))
            out[(*n)++] = type_copy(a, d->types[i]);
    (void)pthread_mutex_unlock(&d->lock);
    return out;
}

struct search_index_type *search_index_types_hidden(struct search_index *d, struct arena *a,
                                                    size_t *n)
{
    struct search_index_type *out;

    (void)pthread_mutex_lock(&d->lock);
    out = arena_array(a, struct search_index_type, d->ntypes);
    *n = 0;
    for (size_t i = 0; i < d->ntypes; i++)
        if (d->types[i]->hidden)
            out[(*n)++] = type_copy(a, d->types[i]);
    (void)pthread_mutex_unlock(&d->lock);
    return out;
}

struct search_index_type *search_index_types_of(struct search_index *d, struct arena *a,
                                                str cluster, size_t *n)
{
    struct search_index_type *out;
    struct search_index_known *k;
    bool hidden;

    (void)pthread_mutex_lock(&d->lock);
    out = arena_array(a, struct search_index_type, d->ntypes);
    *n = 0;
    k = search_index_known(d, cluster, false);
    hidden = k && k->cluster.hidden;
    if (hidden && !k->cluster.apart)
        k = &d->all;
    for (size_t i = 0; k && i < d->ntypes; i++)
        if (d->types[i]->hidden == hidden && has_type(k, d->types[i]->id))
            out[(*n)++] = type_copy(a, d->types[i]);
    (void)pthread_mutex_unlock(&d->lock);
    return out;
}

static struct search_index_cluster cluster_copy(struct search_index *d, struct arena *a,
                                                const struct search_index_cluster *c)
{
    const struct search_index_cluster *health = is_together(c) ? &d->all.cluster : c;

    return (struct search_index_cluster){ .name = str_dup(a, c->name),
                                          .hidden = c->hidden,
                                          .apart = c->apart,
                                          .healthy = health->healthy,
                                          .uid = str_dup(a, c->uid),
                                          .reason = str_dup(a, health->reason) };
}

bool search_index_cluster(struct search_index *d, struct arena *a, str name,
                          struct search_index_cluster *out)
{
    struct search_index_known *k;

    (void)pthread_mutex_lock(&d->lock);
    k = str_empty(name) ? NULL : search_index_known(d, name, false);
    if (k)
        *out = cluster_copy(d, a, &k->cluster);
    (void)pthread_mutex_unlock(&d->lock);
    return k;
}

static struct search_index_cluster *copies(struct search_index *d, struct arena *a,
                                           const struct map *which, size_t *n)
{
    struct search_index_cluster *out;
    str key;
    void *k;

    (void)pthread_mutex_lock(&d->lock);
    out = arena_array(a, struct search_index_cluster, map_size(which));
    *n = 0;
    for (size_t at = 0; map_each(which, &at, &key, &k);)
        out[(*n)++] = cluster_copy(d, a, &((struct search_index_known *)k)->cluster);
    (void)pthread_mutex_unlock(&d->lock);
    return out;
}

struct search_index_cluster *search_index_clusters(struct search_index *d, struct arena *a,
                                                   size_t *n)
{
    return copies(d, a, &d->clusters, n);
}

struct search_index_cluster *search_index_unhealthy(struct search_index *d, struct arena *a,
                                                    size_t *n)
{
    return copies(d, a, &d->unhealthy, n);
}

void search_index_cluster_put(struct search_index *d, const struct search_index_cluster *c)
{
    struct search_index_known *k;
    bool fresh = false;

    (void)pthread_mutex_lock(&d->lock);
    k = search_index_known(d, c->name, false);
    if (!k) {
        k = search_index_known(d, c->name, true);
        fresh = true;
    }
    fresh = known_uid(k, c->uid) || fresh;
    if (!k->unsaved && (fresh || k->cluster.apart != c->apart)) {
        k->unsaved = true;
        k->next = d->unsaved;
        d->unsaved = k;
    }
    k->cluster.hidden = c->hidden;
    k->cluster.apart = c->apart;
    set_health(d, k, c->healthy, c->reason);
    (void)pthread_mutex_unlock(&d->lock);
}

str search_index_synced(struct search_index *d, struct arena *a, str cluster, int64_t type)
{
    struct search_index_known *k;
    str version = STR_NONE;

    (void)pthread_mutex_lock(&d->lock);
    k = search_index_known(d, cluster, false);
    for (size_t i = 0; k && i < k->nsynced; i++)
        if (k->synced[i].type == type)
            version = str_dup(a, str_of(k->synced[i].version));
    (void)pthread_mutex_unlock(&d->lock);
    return version;
}
