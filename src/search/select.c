/* SPDX-License-Identifier: Apache-2.0 */
#include "search/select.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/mem.h"
#include "search/names.h"

enum {
    SQL_MAX = 1 << 20,
    VALUES_MAX = 30000, /* SQLite allows 32766 */
    FEW = 4000,         /* rows of a tag from which on a walk in order is better */
    DEEP = 512,         /* offset from which on counters are asked */
};

/* A statement in the making. */
struct making {
    struct search_index_reader *reader;
    struct arena *arena;
    const struct query *q;
    const struct select_scope *scope;
    struct status *st;
    struct buf sql;
    struct search_index_value *values;
    size_t n, cap;
    bool and;    /* a condition stands already */
    bool none;   /* nothing can match */
    bool driven; /* rows are found by a tag or a part of the name */
};

static struct search_index_value *value(struct making *m)
{
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 32;
        struct search_index_value *p = arena_array(m->arena, struct search_index_value, cap);

        if (m->n)
            memcpy(p, m->values, m->n * sizeof(*p));
        m->values = p;
        m->cap = cap;
    }
    return &m->values[m->n++];
}

static void bind_int(struct making *m, int64_t v)
{
    *value(m) = (struct search_index_value){ .number = v };
}

static void bind_str(struct making *m, str v)
{
    *value(m) = (struct search_index_value){ .is_text = true, .text = v };
}

static void cond(struct making *m)
{
    buf_str_append(&m->sql, m->and ? STR(" AND ") : STR(" WHERE "));
    m->and = true;
}

/* "(?, ?, ?)" */
static void marks(struct making *m, const struct query_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        buf_str_append(&m->sql, i ? STR(",?") : STR("(?"));
        bind_str(m, l->p[i]);
    }
    buf_byte(&m->sql, ')');
}

static void one_of(struct making *m, const char *column, const struct query_list *l)
{
    if (l->n == 0)
        return;
    cond(m);
    buf_str_append(&m->sql, str_of(column));
    buf_str_append(&m->sql, STR(" IN "));
    marks(m, l);
}

static void type_ids(struct buf *b, const struct search_index_type *types, size_t n)
{
    buf_byte(b, '(');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_byte(b, ',');
        buf_i64(b, types[i].id);
    }
    buf_byte(b, ')');
}

static void of_types(struct making *m, const char *column)
{
    const struct select_scope *s = m->scope;

    cond(m);
    buf_str_append(&m->sql, str_of(column));
    if (s->ntypes == 1) {
        buf_str_append(&m->sql, STR(" = ?"));
        bind_int(m, s->types[0].id);
        return;
    }
    buf_str_append(&m->sql, STR(" IN "));
    type_ids(&m->sql, s->types, s->ntypes);
}

/* ---- clusters: those that are asked for and may be seen ---- */

static bool allowed(const struct search_rights *r, str cluster)
{
    if (!r || r->all)
        return true;
    for (size_t i = 0; i < r->nclusters; i++)
        if (str_eq(r->clusters[i], cluster))
            return true;
    return false;
}

static str json_list(struct arena *a, const str *p, size_t n)
{
    struct json_array list = json_array_new(a);

    for (size_t i = 0; i < n; i++)
        json_push(&list, json_of_str(p[i]));
    return json_text(a, json_array_done(&list));
}

static void of_clusters(struct making *m, const char *column)
{
    const struct search_rights *r = m->scope->rights;
    const struct query_list *asked = &m->q->clusters;
    struct query_list seen;
    str *p;

    if (asked->n == 0) {
        if (!r || r->all)
            return;
        cond(m);
        buf_str_append(&m->sql, str_of(column));
        buf_str_append(&m->sql, STR(" IN (SELECT value FROM json_each(?))"));
        bind_str(m, json_list(m->arena, r->clusters, r->nclusters));
        return;
    }
    p = arena_array(m->arena, str, asked->n);
    seen = (struct query_list){ p, 0 };
    for (size_t i = 0; i < asked->n; i++)
        if (allowed(r, asked->p[i]))
            p[seen.n++] = asked->p[i];
    m->none |= seen.n == 0;
    one_of(m, column, &seen);
}

/* Secrets are for fewer than their clusters are. */
static void of_secrets(struct making *m, const char *type, const char *cluster)
{
    const struct search_rights *r = m->scope->rights;

    for (size_t i = 0; r && !r->all && i < m->scope->ntypes; i++) {
        const struct search_index_type *t = &m->scope->types[i];

        if (!str_empty(t->group) || !str_is(t->resource, "secrets"))
            continue;
        cond(m);
        buf_printf(&m->sql, "(%s <> ? OR %s IN (SELECT value FROM json_each(?)))", type, cluster);
        bind_int(m, t->id);
        bind_str(m, json_list(m->arena, r->secrets, r->nsecrets));
    }
}

/* ---- tags ---- */

/* A label or an indexed field that rows must or must not have. */
struct tag_term {
    str key;
    enum selector_op op;
    const str *values;
    size_t nvalues;
    str pairs;     /* their ids, "(1,2)" or a query for them; empty: none exist */
    uint64_t rows; /* about; only of those that must be there */
};

static bool take_id(void *arg, sqlite3_stmt *s)
{
    struct buf *b = arg;

    buf_byte(b, b->n ? ',' : '(');
    buf_i64(b, sqlite3_column_int64(s, 0));
    return b->n < SQL_MAX / 2;
}

/* Runs a statement that helps to make m, and releases it. */
static int run_part(struct making *m, struct making *part,
                    bool (*row)(void *arg, struct sqlite3_stmt *s), void *arg)
{
    int rc = part->none ? 0
                        : search_index_query(m->reader, buf_str(&part->sql), part->values, part->n,
                                             row, arg, m->st);

    buf_release(&part->sql);
    return rc;
}

/* Which pairs are meant; all values of a key where only its existence matters. */
static int find_pairs(struct making *m, struct tag_term *t)
{
    struct query_list values = { t->values, t->nvalues };
    struct making find = { .arena = m->arena };
    scoped_buf ids;

    buf_init(&ids, SQL_MAX);
    buf_init(&find.sql, SQL_MAX);
    buf_str_append(&find.sql, STR("SELECT id FROM pairs WHERE key = ?"));
    find.and = true;
    bind_str(&find, t->key);
    if (t->op == SELECTOR_IN || t->op == SELECTOR_NOT_IN)
        one_of(&find, "value", &values);
    if (run_part(m, &find, take_id, &ids) < 0)
        return -1;
    if (ids.n)
        buf_byte(&ids, ')');
    t->pairs = str_dup(m->arena, buf_str(&ids));
    return 0;
}

static bool take_number(void *arg, sqlite3_stmt *s)
{
    *(uint64_t *)arg = (uint64_t)sqlite3_column_int64(s, 0);
    return true;
}

static void tag_rows(struct making *m, const struct tag_term *t)
{
    buf_str_append(&m->sql, STR("FROM tags WHERE type IN "));
    type_ids(&m->sql, m->scope->types, m->scope->ntypes);
    buf_printf(&m->sql, " AND pair IN %.*s", STR_ARG(t->pairs));
}

static int estimate(struct making *m, struct tag_term *t)
{
    struct making count = { .arena = m->arena, .scope = m->scope };

    buf_init(&count.sql, SQL_MAX);
    buf_str_append(&count.sql, STR("SELECT count(*) FROM (SELECT 1 "));
    tag_rows(&count, t);
    buf_printf(&count.sql, " LIMIT %d)", FEW + 1);
    return run_part(m, &count, take_number, &t->rows);
}

static void must_have(struct making *m, const struct tag_term *t, bool drive)
{
    cond(m);
    if (drive) {
        buf_str_append(&m->sql, STR("o.id IN (SELECT id "));
        tag_rows(m, t);
    } else
        buf_printf(&m->sql,
                   "EXISTS (SELECT 1 FROM tags t WHERE t.type = o.type AND t.pair IN %.*s"
                   " AND t.id = o.id",
                   STR_ARG(t->pairs));
    buf_byte(&m->sql, ')');
    m->driven |= drive;
}

static void must_not_have(struct making *m, const struct tag_term *t)
{
    if (t->pairs.n == 0)
        return;
    cond(m);
    if (t->op == SELECTOR_NOT_EXISTS) {
        buf_str_append(&m->sql, STR("o.id NOT IN (SELECT id "));
        tag_rows(m, t);
    } else
        buf_printf(&m->sql,
                   "NOT EXISTS (SELECT 1 FROM tags t WHERE t.type = o.type AND t.pair IN %.*s"
                   " AND t.id = o.id",
                   STR_ARG(t->pairs));
    buf_byte(&m->sql, ')');
}

static bool is_positive(const struct tag_term *t)
{
    return t->op == SELECTOR_IN || t->op == SELECTOR_EXISTS;
}

/* Of those that must be there the rarest finds the rows, unless all are so common that a walk in
 * order comes across enough of them soon. */
static int of_tags(struct making *m, struct tag_term *terms, size_t n, bool limited)
{
    struct tag_term *best = NULL;

    for (size_t i = 0; i < n; i++) {
        if (find_pairs(m, &terms[i]) < 0)
            return -1;
        if (!is_positive(&terms[i]))
            continue;
        m->none |= terms[i].pairs.n == 0;
        if (terms[i].pairs.n && estimate(m, &terms[i]) < 0)
            return -1;
        if (!best || terms[i].rows < best->rows)
            best = &terms[i];
    }
    if (best && limited && best->rows > FEW)
        best = NULL;
    for (size_t i = 0; i < n && !m->none; i++) {
        if (is_positive(&terms[i]))
            must_have(m, &terms[i], &terms[i] == best);
        else
            must_not_have(m, &terms[i]);
    }
    return 0;
}

/* ---- names ---- */

static int name_rows(struct making *m, str match, uint64_t *rows)
{
    struct search_index_value v = { .is_text = true, .text = match };

    return search_index_query(m->reader,
                              STR("SELECT count(*) FROM (SELECT 1 FROM names WHERE names MATCH ?"
                                  " LIMIT 4001)"),
                              &v, 1, take_number, rows, m->st);
}

static int of_fuzzy(struct making *m, bool limited)
{
    for (size_t i = 0; i < m->q->fuzzy.n; i++) {
        str part = m->q->fuzzy.p[i], match = names_trigrams(m->arena, part);
        uint64_t rows = 0;

        cond(m);
        buf_str_append(&m->sql, STR("instr(o.name, ?) > 0"));
        bind_str(m, part);
        if (part.n < 3 || m->driven)
            continue;
        if (limited && name_rows(m, match, &rows) < 0)
            return -1;
        if (rows > FEW)
            continue;
        cond(m);
        buf_str_append(&m->sql, STR("o.id IN (SELECT rowid FROM names WHERE names MATCH ?)"));
        bind_str(m, match);
        m->driven = true;
    }
    return 0;
}

/* ---- fields ---- */

static bool path_is(const struct field_term *t, const char *a, const char *b, const char *c)
{
    const char *parts[] = { a, b, c };
    size_t n = c ? 3 : 2;

    if (t->npath != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!str_is(t->path[i], parts[i]))
            return false;
    return true;
}

static const char *column_of(const struct field_term *t)
{
    if (path_is(t, "metadata", "name", NULL))
        return "o.name";
    if (path_is(t, "metadata", "namespace", NULL))
        return "nullif(o.ns, '')";
    if (path_is(t, "metadata", "annotations", "shadow.clusterpedia.io/cluster-name"))
        return "o.cluster";
    return NULL;
}

static str path_joined(struct arena *a, const struct field_term *t, char separator, bool leading)
{
    scoped_buf b;

    buf_init(&b, SQL_MAX);
    for (size_t i = 0; i < t->npath; i++) {
        if (i || leading)
            buf_byte(&b, separator);
        buf_str_append(&b, t->path[i]);
    }
    return str_dup(a, buf_str(&b));
}

static void of_field(struct making *m, const struct field_term *t)
{
    const char *column = column_of(t);
    struct query_list values = { t->values, t->nvalues };

    cond(m);
    if (t->op == SELECTOR_NOT_IN)
        buf_str_append(&m->sql, STR("coalesce("));
    if (column)
        buf_str_append(&m->sql, str_of(column));
    else {
        buf_str_append(&m->sql, STR("kfield(o.object, o.meta, ?)"));
        bind_str(m, path_joined(m->arena, t, DEPOT_PATH_SEPARATOR, false));
    }
    if (t->op == SELECTOR_EXISTS || t->op == SELECTOR_NOT_EXISTS) {
        buf_str_append(&m->sql, t->op == SELECTOR_EXISTS ? STR(" IS NOT NULL") : STR(" IS NULL"));
        return;
    }
    buf_str_append(&m->sql, t->op == SELECTOR_IN ? STR(" IN ") : STR(" NOT IN "));
    marks(m, &values);
    if (t->op == SELECTOR_NOT_IN)
        buf_str_append(&m->sql, STR(", 1)"));
}

static bool is_tag(const struct making *m, const struct field_term *t)
{
    str dotted = path_joined(m->arena, t, '.', true);

    for (size_t i = 0; i < m->scope->ntypes; i++) {
        struct entry_kind k = { m->scope->types[i].group, m->scope->types[i].resource };

        if (!entry_field_is_tag(&k, dotted))
            return false;
    }
    return true;
}

/* ---- owners ---- */

static void of_owner_name(struct making *m, str cluster)
{
    const struct query *q = m->q;
    const struct select_scope *s = m->scope;
    size_t n = 0, all = s->nowner_types;
    struct search_index_type *types = arena_array(m->arena, struct search_index_type, all);

    for (size_t i = 0; i < all; i++)
        if (!q->owner_typed || (str_eq(s->owner_types[i].group, q->owner_group) &&
                                str_eq(s->owner_types[i].resource, q->owner_resource)))
            types[n++] = s->owner_types[i];
    buf_str_append(&m->sql, STR("IN (SELECT uid FROM objects WHERE type IN "));
    type_ids(&m->sql, types, n);
    buf_str_append(&m->sql, STR(" AND name = ? AND cluster = ?"));
    bind_str(m, q->owner_name);
    bind_str(m, cluster);
    if (q->namespaces.n) {
        buf_str_append(&m->sql, STR(" AND (ns = '' OR ns IN "));
        marks(m, &q->namespaces);
        buf_byte(&m->sql, ')');
    }
    buf_byte(&m->sql, ')');
}

static int of_owner(struct making *m)
{
    const struct query *q = m->q;

    if (str_empty(q->owner_uid) && str_empty(q->owner_name))
        return 0;
    if (q->clusters.n != 1)
        return status_set(m->st, REASON_BAD_REQUEST,
                          "If searching by owner uid or name, then the cluster must be specified");
    cond(m);
    buf_str_append(&m->sql, STR("o.owner <> 0 AND o.owner "));
    for (int64_t i = 0; i < q->owner_seniority; i++) {
        buf_str_append(&m->sql, STR("IN (SELECT uid FROM objects WHERE cluster = ? AND owner <> 0"
                                    " AND owner "));
        bind_str(m, q->clusters.p[0]);
    }
    if (str_empty(q->owner_uid))
        of_owner_name(m, q->clusters.p[0]);
    else {
        buf_str_append(&m->sql, STR("= ?"));
        bind_int(m, entry_hash_of(m->scope->hash, q->owner_uid));
    }
    for (int64_t i = 0; i < q->owner_seniority; i++)
        buf_byte(&m->sql, ')');
    m->driven = true;
    return 0;
}

/* ---- the whole condition ---- */

static void of_times(struct making *m)
{
    if (m->q->has_since) {
        cond(m);
        buf_str_append(&m->sql, STR("o.created >= ?"));
        bind_int(m, m->q->since);
    }
    if (m->q->has_before) {
        cond(m);
        buf_str_append(&m->sql, STR("o.created < ?"));
        bind_int(m, m->q->before);
    }
}

static int conditions(struct making *m, bool limited)
{
    const struct query *q = m->q;
    struct tag_term *terms = arena_array(m->arena, struct tag_term, q->labels.nterms + q->fields.n);
    size_t n = 0;

    m->none |= m->scope->ntypes == 0;
    for (size_t i = 0; i < q->labels.nterms; i++) {
        const struct selector_term *t = &q->labels.terms[i];

        terms[n++] = (struct tag_term){
            .key = t->key, .op = t->op, .values = t->values, .nvalues = t->nvalues
        };
    }
    for (size_t i = 0; i < q->fields.n; i++) {
        const struct field_term *t = &q->fields.terms[i];

        if (is_tag(m, t))
            terms[n++] = (struct tag_term){ .key = path_joined(m->arena, t, '.', true),
                                            .op = t->op,
                                            .values = t->values,
                                            .nvalues = t->nvalues };
        else
            of_field(m, t);
    }
    if (of_owner(m) < 0 || of_tags(m, terms, n, limited) < 0 || of_fuzzy(m, limited) < 0)
        return -1;
    of_types(m, m->driven ? "+o.type" : "o.type");
    of_clusters(m, m->driven ? "+o.cluster" : "o.cluster");
    of_secrets(m, "o.type", "o.cluster");
    one_of(m, "o.ns", &q->namespaces);
    one_of(m, "o.name", &q->names);
    of_times(m);
    if (m->n > VALUES_MAX)
        return status_set(m->st, REASON_BAD_REQUEST, "the query names too many values");
    return 0;
}

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

static void order(struct making *m)
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
    if (m->scope->ntypes > 1)
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

static void plain_conditions(struct making *m)
{
    of_types(m, "type");
    of_clusters(m, "cluster");
    of_secrets(m, "type", "cluster");
    one_of(m, "ns", &m->q->namespaces);
}

/* Whole namespaces are passed over by their counts; what is left of the offset is in *offset. */
static int skip_deep(struct making *m, uint64_t *offset)
{
    struct making walk = { .arena = m->arena, .q = m->q, .scope = m->scope };
    struct deep d = { .arena = m->arena, .offset = *offset };

    buf_init(&walk.sql, SQL_MAX);
    buf_str_append(&walk.sql, STR("SELECT cluster, ns, n FROM counts"));
    plain_conditions(&walk);
    buf_str_append(&walk.sql, STR(" ORDER BY cluster, ns"));
    if (run_part(m, &walk, pass, &d) < 0)
        return -1;
    m->none |= !d.found;
    *offset -= d.passed;
    cond(m);
    buf_str_append(&m->sql, STR("(o.cluster, o.ns) >= (?, ?)"));
    bind_str(m, d.cluster);
    bind_str(m, d.namespace);
    return 0;
}

/* What steps of names can answer: all of a type, names first in the order. */
static bool in_name_order(const struct making *m)
{
    const struct search_rights *r = m->scope->rights;

    return m->q->norders && m->q->orders[0].column == QUERY_NAME && m->q->clusters.n == 0 &&
           m->q->namespaces.n == 0 && (!r || r->all);
}

static int skip_names(struct making *m, uint64_t *offset)
{
    bool desc = m->q->orders[0].desc;
    struct names_place at;

    if (names_skip(m->reader, m->arena, m->scope->types[0].id, desc, offset, &at, m->st) < 0)
        return -1;
    m->none |= !at.found;
    if (str_empty(at.name))
        return 0;
    cond(m);
    buf_str_append(&m->sql, desc ? STR("o.name < ?") : STR("o.name >= ?"));
    bind_str(m, at.name);
    return 0;
}

/* Only with one type, and no other condition. */
static int skip(struct making *m, uint64_t *offset)
{
    if (*offset < DEEP || m->scope->ntypes != 1 || !is_plain(m->q))
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

static int find_ids(struct making *m, struct ids *ids)
{
    const struct query *q = m->q;
    uint64_t offset = (uint64_t)q->offset;

    buf_str_append(&m->sql, STR("SELECT o.id FROM objects o"));
    if (conditions(m, q->limit > 0) < 0)
        return -1;
    if (skip(m, &offset) < 0)
        return -1;
    if (m->none)
        return 0;
    order(m);
    buf_str_append(&m->sql, STR(" LIMIT ? OFFSET ?"));
    bind_int(m, q->limit ? q->limit : -1);
    bind_int(m, (int64_t)offset);
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
    struct making m = { .reader = r, .arena = a, .q = q, .scope = scope, .st = st };
    struct taken t = { .found = false };
    struct ids ids = { 0 };
    bool more = true;
    int rc;

    buf_init(&m.sql, SQL_MAX);
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
    struct making m = { .reader = r, .arena = a, .q = q, .scope = scope, .st = st };
    int rc = 0;

    *out = 0;
    buf_init(&m.sql, SQL_MAX);
    if (is_plain(q)) {
        buf_str_append(&m.sql, STR("SELECT coalesce(sum(n), 0) FROM counts"));
        m.none = scope->ntypes == 0;
        plain_conditions(&m);
    } else {
        buf_str_append(&m.sql, STR("SELECT count(*) FROM objects o"));
        rc = conditions(&m, false);
    }
    if (rc == 0 && !m.none)
        rc = search_index_query(r, buf_str(&m.sql), m.values, m.n, take_number, out, st);
    buf_release(&m.sql);
    return rc;
}
