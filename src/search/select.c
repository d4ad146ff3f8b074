/* SPDX-License-Identifier: Apache-2.0 */
#include "search/select.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "search/names.h"
#include "search/where.h"

enum { DEEP = 512 }; /* offset from which on counters are asked */

/* ---- order ---- */

static const char *const order_columns[QUERY_COLUMNS] = {
    [QUERY_CLUSTER] = "o.cluster",
    [QUERY_NAMESPACE] = "o.ns",
    [QUERY_NAME] = "o.name",
    [QUERY_CREATED] = "o.created",
    [QUERY_VERSION] = "o.rv",
    [QUERY_RESOURCE] = "(SELECT resource FROM types WHERE id = o.type)",
    [QUERY_GROUP] = "(SELECT grp FROM types WHERE id = o.type)",
    [QUERY_KIND] = "(SELECT kind FROM types WHERE id = o.type)",
};

static void order(struct where *m)
{
    static const enum query_column tail[] = { QUERY_CLUSTER, QUERY_NAMESPACE, QUERY_NAME };
    const struct query *q = m->q;
    unsigned used = 0;
    const char *comma = " ORDER BY ";

    for (size_t i = 0; i < q->norders; i++) {
        if (used & 1U << q->orders[i].column)
            continue;
        used |= 1U << q->orders[i].column;
        buf_printf(&m->sql, "%s%s%s", comma, order_columns[q->orders[i].column],
                   q->orders[i].desc ? " DESC" : "");
        comma = ", ";
    }
    for (size_t i = 0; i < sizeof(tail) / sizeof(*tail); i++) {
        if (used & 1U << tail[i])
            continue;
        buf_printf(&m->sql, "%s%s", comma, order_columns[tail[i]]);
        comma = ", ";
    }
    if (m->cut.ntypes > 1)
        buf_str_append(&m->sql, STR(", o.type"));
}

/* Only where it is: what counters can answer. */
static bool is_plain(const struct query *q)
{
    return q->names.n == 0 && q->fuzzy.n == 0 && !q->has_since && !q->has_before &&
           str_empty(q->owner_uid) && str_empty(q->owner_name) && q->labels.nterms == 0 &&
           q->fields.n == 0;
}

static bool in_key_order(const struct query *q)
{
    static const enum query_column key[] = { QUERY_CLUSTER, QUERY_NAMESPACE, QUERY_NAME };

    for (size_t i = 0; i < q->norders; i++)
        if (i >= sizeof(key) / sizeof(*key) || q->orders[i].column != key[i] || q->orders[i].desc)
            return false;
    return true;
}

struct deep {
    struct arena *arena;
    uint64_t offset, passed;
    str cluster, namespace;
    bool found;
};

static str column_str(sqlite3_stmt *s, int i)
{
    return (str){ (const char *)sqlite3_column_text(s, i), (size_t)sqlite3_column_bytes(s, i) };
}

static bool pass(void *arg, sqlite3_stmt *s)
{
    struct deep *d = arg;
    uint64_t n = (uint64_t)sqlite3_column_int64(s, 2);

    if (d->passed + n <= d->offset) {
        d->passed += n;
        return true;
    }
    d->cluster = str_dup(d->arena, column_str(s, 0));
    d->namespace = str_dup(d->arena, column_str(s, 1));
    d->found = true;
    return false;
}

/* Whole namespaces are passed over by their counts; what is left of the offset is in *offset. */
static int skip_deep(struct where *m, uint64_t *offset)
{
    struct where walk = { .arena = m->arena, .q = m->q, .scope = m->scope };
    struct deep d = { .arena = m->arena, .offset = *offset };

    where_begin(&walk);
    buf_str_append(&walk.sql, STR("SELECT cluster, ns, n FROM counts"));
    where_counts(&walk);
    buf_str_append(&walk.sql, STR(" ORDER BY cluster, ns"));
    if (where_run_part(m, &walk, pass, &d) < 0)
        return -1;
    m->none |= !d.found;
    *offset -= d.passed;
    where_cond(m);
    buf_str_append(&m->sql, STR("(o.cluster, o.ns) >= (?, ?)"));
    where_bind_str(m, d.cluster);
    where_bind_str(m, d.namespace);
    return 0;
}

/* What steps of names can answer: all of a type, names first in the order. */
static bool in_name_order(const struct where *m)
{
    return m->q->norders && m->q->orders[0].column == QUERY_NAME && m->q->clusters.n == 0 &&
           m->q->namespaces.n == 0 && m->cut.all;
}

static int skip_names(struct where *m, uint64_t *offset)
{
    bool desc = m->q->orders[0].desc;
    struct names_place at;

    if (names_skip(m->reader, m->arena, m->cut.types[0].id, desc, offset, &at, m->st) < 0)
        return -1;
    m->none |= !at.found;
    if (str_empty(at.name))
        return 0;
    where_cond(m);
    buf_str_append(&m->sql, desc ? STR("o.name < ?") : STR("o.name >= ?"));
    where_bind_str(m, at.name);
    return 0;
}

/* Only with one type, and no other condition. */
static int skip(struct where *m, uint64_t *offset)
{
    if (*offset < DEEP || m->cut.ntypes != 1 || !is_plain(m->q))
        return 0;
    if (in_key_order(m->q))
        return skip_deep(m, offset);
    return in_name_order(m) ? skip_names(m, offset) : 0;
}

/* ---- running ---- */

struct ids {
    int64_t *p;
    size_t n, cap;
};

static bool push_id(void *arg, sqlite3_stmt *s)
{
    struct ids *ids = arg;

    if (ids->n == ids->cap) {
        ids->cap = ids->cap ? 2 * ids->cap : 64;
        ids->p = mem_realloc_n(ids->p, ids->cap, sizeof(*ids->p));
    }
    ids->p[ids->n++] = sqlite3_column_int64(s, 0);
    return true;
}

/* A row outlives its statement, since who gets it may ask for more. */
struct taken {
    struct select_row row;
    struct buf bytes;
    bool found;
};

static bool take_row(void *arg, sqlite3_stmt *s)
{
    struct taken *t = arg;
    const str parts[] = { column_str(s, 1), column_str(s, 2), column_str(s, 3), column_str(s, 6) };
    str *const places[] = { &t->row.cluster, &t->row.namespace, &t->row.name, &t->row.text };
    size_t at = 0;

    buf_clear(&t->bytes);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        buf_str_append(&t->bytes, parts[i]);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        *places[i] = str_sub(buf_str(&t->bytes), at, parts[i].n);
        at += parts[i].n;
    }
    t->row.type = sqlite3_column_int64(s, 0);
    t->row.uid = sqlite3_column_int64(s, 4);
    t->row.meta = (uint32_t)sqlite3_column_int64(s, 5);
    t->found = true;
    return true;
}

static int find_ids(struct where *m, struct ids *ids)
{
    const struct query *q = m->q;
    uint64_t offset = (uint64_t)q->offset;

    buf_str_append(&m->sql, STR("SELECT o.id FROM objects o"));
    if (where_objects(m, q->limit > 0) < 0)
        return -1;
    if (skip(m, &offset) < 0)
        return -1;
    if (m->none)
        return 0;
    order(m);
    buf_str_append(&m->sql, STR(" LIMIT ? OFFSET ?"));
    where_bind_int(m, q->limit ? q->limit : -1);
    where_bind_int(m, (int64_t)offset);
    if (buf_overflown(&m->sql))
        return status_set(m->st, REASON_BAD_REQUEST, "the query names too many values");
    return search_index_query(m->reader, buf_str(&m->sql), m->values, m->n, push_id, ids, m->st);
}

int select_rows(struct search_index_reader *r, struct arena *a, const struct query *q,
                const struct select_scope *scope,
                bool (*row)(void *arg, const struct select_row *row), void *arg, struct status *st)
{
    static const str one_row =
        STR_INIT("SELECT type, cluster, ns, name, uid, meta, object FROM objects WHERE id = ?");
    struct where m = { .reader = r, .arena = a, .q = q, .scope = scope, .st = st };
    struct taken t = { .found = false };
    struct ids ids = { 0 };
    bool more = true;
    int rc;

    where_begin(&m);
    buf_init(&t.bytes, 2 * ENTRY_OBJECT_MAX);
    rc = find_ids(&m, &ids);
    for (size_t i = 0; rc == 0 && more && i < ids.n; i++) {
        struct search_index_value id = { .number = ids.p[i] };

        t.row.id = ids.p[i];
        t.found = false;
        rc = search_index_query(r, one_row, &id, 1, take_row, &t, st);
        if (rc == 0 && t.found)
            more = row(arg, &t.row);
    }
    buf_release(&t.bytes);
    free(ids.p);
    buf_release(&m.sql);
    return rc;
}

int select_count(struct search_index_reader *r, struct arena *a, const struct query *q,
                 const struct select_scope *scope, uint64_t *out, struct status *st)
{
    struct where m = { .reader = r, .arena = a, .q = q, .scope = scope, .st = st };
    int rc = 0;

    *out = 0;
    where_begin(&m);
    if (is_plain(q)) {
        buf_str_append(&m.sql, STR("SELECT coalesce(sum(n), 0) FROM counts"));
        where_counts(&m);
    } else {
        buf_str_append(&m.sql, STR("SELECT count(*) FROM objects o"));
        rc = where_objects(&m, false);
    }
    if (rc == 0 && !m.none)
        rc = search_index_query(r, buf_str(&m.sql), m.values, m.n, where_number, out, st);
    buf_release(&m.sql);
    return rc;
}
