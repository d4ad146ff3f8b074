/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/mem.h"
#include "search/search_index_internal.h"

void search_index_reader_free(struct search_index_reader *r)
{
    for (size_t i = 0; i < DEPOT_STATEMENTS; i++) {
        (void)sqlite3_finalize(r->statements[i].stmt);
        free(r->statements[i].sql);
    }
    (void)sqlite3_close(r->db);
    free(r);
}

struct search_index_reader *search_index_reader_take(struct search_index *d, struct status *st)
{
    struct search_index_reader *r;
    uint64_t generation;
    sqlite3 *db;

    (void)pthread_mutex_lock(&d->lock);
    generation = d->generation;
    r = d->readers;
    if (r) {
        d->readers = r->next;
        d->nreaders--;
    }
    (void)pthread_mutex_unlock(&d->lock);
    if (!r) {
        db = search_index_connect(d->path, false, st);
        if (!db)
            return NULL;
        r = mem_zalloc(sizeof(*r));
        r->search_index = d;
        r->generation = generation;
        r->db = db;
    }
    /* One moment for all statements until it is given back. */
    (void)sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL);
    return r;
}

void search_index_reader_give(struct search_index *d, struct search_index_reader *r)
{
    (void)sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL);
    (void)pthread_mutex_lock(&d->lock);
    if (d->nreaders < DEPOT_READERS && r->generation == d->generation) {
        r->next = d->readers;
        d->readers = r;
        d->nreaders++;
        r = NULL;
    }
    (void)pthread_mutex_unlock(&d->lock);
    if (r)
        search_index_reader_free(r);
}

static int fault(struct search_index_reader *r, struct status *st)
{
    if (search_index_is_damage(sqlite3_errcode(r->db)))
        search_index_damaged(r->search_index);
    return status_set(st, REASON_INTERNAL, "the search index: %s", sqlite3_errmsg(r->db));
}

static sqlite3_stmt *statement(struct search_index_reader *r, str sql, struct status *st)
{
    sqlite3_stmt *s;
    size_t at;

    for (size_t i = 0; i < DEPOT_STATEMENTS; i++)
        if (r->statements[i].stmt && str_eq(sql, (str){ r->statements[i].sql, r->statements[i].n }))
            return r->statements[i].stmt;
    if (sqlite3_prepare_v2(r->db, sql.p, (int)sql.n, &s, NULL) != SQLITE_OK) {
        (void)fault(r, st);
        return NULL;
    }
    at = r->next_statement++ % DEPOT_STATEMENTS;
    (void)sqlite3_finalize(r->statements[at].stmt);
    free(r->statements[at].sql);
    r->statements[at].stmt = s;
    r->statements[at].sql = mem_dup(sql.p, sql.n);
    r->statements[at].n = sql.n;
    return s;
}

int search_index_query(struct search_index_reader *r, str sql,
                       const struct search_index_value *values, size_t n,
                       bool (*row)(void *arg, sqlite3_stmt *s), void *arg, struct status *st)
{
    sqlite3_stmt *s = statement(r, sql, st);
    int rc;

    if (!s)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (values[i].is_text)
            (void)sqlite3_bind_text(s, (int)i + 1, values[i].text.n ? values[i].text.p : "",
                                    (int)values[i].text.n, SQLITE_STATIC);
        else
            (void)sqlite3_bind_int64(s, (int)i + 1, values[i].number);
    }
    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        if (!row(arg, s))
            break;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        (void)fault(r, st);
    (void)sqlite3_reset(s);
    (void)sqlite3_clear_bindings(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

struct names {
    struct arena *arena;
    str *p;
    size_t n, cap;
};

static bool add_name(void *arg, sqlite3_stmt *s)
{
    struct names *l = arg;
    str name = { (const char *)sqlite3_column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0) };

    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        str *more = arena_array(l->arena, str, cap);

        if (l->n)
            memcpy(more, l->p, l->n * sizeof(*more));
        l->p = more;
        l->cap = cap;
    }
    l->p[l->n++] = str_dup(l->arena, name);
    return true;
}

int search_index_names(struct search_index_reader *r, struct arena *a, int64_t type, str cluster,
                       const str **out, size_t *n, struct status *st)
{
    const struct search_index_value values[] = { { .number = type },
                                                 { .is_text = true, .text = cluster } };
    struct names l = { .arena = a };

    if (search_index_query(r, STR("SELECT name FROM objects WHERE type = ? AND cluster = ?"),
                           values, 2, add_name, &l, st) < 0)
        return -1;
    *out = l.p;
    *n = l.n;
    return 0;
}
