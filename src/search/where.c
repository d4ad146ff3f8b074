/* SPDX-License-Identifier: Apache-2.0 */
#include "search/where.h"

#include <sqlite3.h>

#include "base/banned.h"
#include "search/names.h"

enum {
    VALUES_MAX = 30000, /* SQLite allows 32766 */
    FEW = 4000,         /* rows of a tag from which on a walk in order is better */
};

static struct search_index_value *value(struct where *m)
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

void where_bind_int(struct where *m, int64_t v)
{
    *value(m) = (struct search_index_value){ .number = v };
}

void where_bind_str(struct where *m, str v)
{
    *value(m) = (struct search_index_value){ .is_text = true, .text = v };
}

void where_cond(struct where *m)
{
    buf_str_append(&m->sql, m->and ? STR(" AND ") : STR(" WHERE "));
    m->and = true;
}

/* "(?, ?, ?)" */
static void marks(struct where *m, const struct query_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        buf_str_append(&m->sql, i ? STR(",?") : STR("(?"));
        where_bind_str(m, l->p[i]);
    }
    buf_byte(&m->sql, ')');
}

static void one_of(struct where *m, const char *column, const struct query_list *l)
{
    if (l->n == 0)
        return;
    where_cond(m);
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

/* ---- types and clusters: those that are asked for, as far as the caller may list them ---- */

static void of_types(struct where *m, const char *column)
{
    where_cond(m);
    buf_str_append(&m->sql, str_of(column));
    if (m->cut.ntypes == 1) {
        buf_str_append(&m->sql, STR(" = ?"));
        where_bind_int(m, m->cut.types[0].id);
        return;
    }
    buf_str_append(&m->sql, STR(" IN "));
    type_ids(&m->sql, m->cut.types, m->cut.ntypes);
}

static str json_list(struct arena *a, const str *p, size_t n)
{
    struct json_array list = json_array_new(a);

    for (size_t i = 0; i < n; i++)
        json_push(&list, json_of_str(p[i]));
    return json_text(a, json_array_done(&list));
}

static str json_places(struct arena *a, const struct rights_place *p, size_t n)
{
    struct json_array list = json_array_new(a);

    for (size_t i = 0; i < n; i++) {
        struct json_array pair = json_array_new(a);

        json_push(&pair, json_of_str(p[i].cluster));
        json_push(&pair, json_of_str(p[i].namespace));
        json_push(&list, json_array_value(&pair));
    }
    return json_text(a, json_array_done(&list));
}

static void of_clusters(struct where *m, const char *column)
{
    if (m->q->clusters.n) {
        one_of(m, column, &m->cut.clusters);
        return;
    }
    if (m->cut.all)
        return;
    where_cond(m);
    buf_str_append(&m->sql, str_of(column));
    buf_str_append(&m->sql, STR(" IN (SELECT value FROM json_each(?))"));
    where_bind_str(m, json_list(m->arena, m->cut.clusters.p, m->cut.clusters.n));
}

/* "(type IN (1,2) AND (cluster IN (…) OR (cluster, ns) IN (…)))"; prefix: of the columns. */
static void of_class(struct where *m, const struct rights_class *c, bool typed, const char *prefix)
{
    if (typed) {
        buf_printf(&m->sql, "(+%stype IN ", prefix);
        type_ids(&m->sql, c->types, c->ntypes);
        buf_str_append(&m->sql, STR(" AND "));
    }
    buf_printf(&m->sql, "(+%scluster IN (SELECT value FROM json_each(?))", prefix);
    where_bind_str(m, json_list(m->arena, c->whole.p, c->whole.n));
    if (c->nparts) {
        buf_printf(&m->sql,
                   " OR (%scluster, %sns) IN (SELECT json_extract(value, '$[0]'),"
                   " json_extract(value, '$[1]') FROM json_each(?))",
                   prefix, prefix);
        where_bind_str(m, json_places(m->arena, c->parts, c->nparts));
    }
    buf_str_append(&m->sql, typed ? STR("))") : STR(")"));
}

/* What types and clusters by themselves do not say yet, behind another condition. */
static void of_classes(struct where *m, const struct rights_cut *cut, const char *prefix)
{
    bool typed = cut->nclasses > 1;

    if (cut->nclasses == 0 || (!typed && cut->classes[0].nparts == 0))
        return;
    for (size_t i = 0; i < cut->nclasses; i++) {
        buf_str_append(&m->sql, i ? STR(" OR ") : STR(" AND ("));
        of_class(m, &cut->classes[i], typed, prefix);
    }
    buf_byte(&m->sql, ')');
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
    return b->n < SELECT_SQL_MAX / 2;
}

/* Runs a statement that helps to make m, and releases it. */
int where_run_part(struct where *m, struct where *part,
                   bool (*row)(void *arg, struct sqlite3_stmt *s), void *arg)
{
    int rc = part->none ? 0
                        : search_index_query(m->reader, buf_str(&part->sql), part->values, part->n,
                                             row, arg, m->st);

    buf_release(&part->sql);
    return rc;
}

/* Which pairs are meant; all values of a key where only its existence matters. */
static int find_pairs(struct where *m, struct tag_term *t)
{
    struct query_list values = { t->values, t->nvalues };
    struct where find = { .arena = m->arena };
    scoped_buf ids;

    buf_init(&ids, SELECT_SQL_MAX);
    buf_init(&find.sql, SELECT_SQL_MAX);
    buf_str_append(&find.sql, STR("SELECT id FROM pairs WHERE key = ?"));
    find.and = true;
    where_bind_str(&find, t->key);
    if (t->op == SELECTOR_IN || t->op == SELECTOR_NOT_IN)
        one_of(&find, "value", &values);
    if (where_run_part(m, &find, take_id, &ids) < 0)
        return -1;
    if (ids.n)
        buf_byte(&ids, ')');
    t->pairs = str_dup(m->arena, buf_str(&ids));
    return 0;
}

bool where_number(void *arg, sqlite3_stmt *s)
{
    *(uint64_t *)arg = (uint64_t)sqlite3_column_int64(s, 0);
    return true;
}

static void tag_rows(struct where *m, const struct tag_term *t)
{
    buf_str_append(&m->sql, STR("FROM tags WHERE type IN "));
    type_ids(&m->sql, m->cut.types, m->cut.ntypes);
    buf_printf(&m->sql, " AND pair IN %.*s", STR_ARG(t->pairs));
}

static int estimate(struct where *m, struct tag_term *t)
{
    struct where count = { .arena = m->arena, .cut = m->cut };

    buf_init(&count.sql, SELECT_SQL_MAX);
    buf_str_append(&count.sql, STR("SELECT count(*) FROM (SELECT 1 "));
    tag_rows(&count, t);
    buf_printf(&count.sql, " LIMIT %d)", FEW + 1);
    return where_run_part(m, &count, where_number, &t->rows);
}

static void must_have(struct where *m, const struct tag_term *t, bool drive)
{
    where_cond(m);
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

static void must_not_have(struct where *m, const struct tag_term *t)
{
    if (t->pairs.n == 0)
        return;
    where_cond(m);
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
static int of_tags(struct where *m, struct tag_term *terms, size_t n, bool limited)
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

static int name_rows(struct where *m, str match, uint64_t *rows)
{
    struct search_index_value v = { .is_text = true, .text = match };

    return search_index_query(m->reader,
                              STR("SELECT count(*) FROM (SELECT 1 FROM names WHERE names MATCH ?"
                                  " LIMIT 4001)"),
                              &v, 1, where_number, rows, m->st);
}

static int of_fuzzy(struct where *m, bool limited)
{
    for (size_t i = 0; i < m->q->fuzzy.n; i++) {
        str part = m->q->fuzzy.p[i], match = names_trigrams(m->arena, part);
        uint64_t rows = 0;

        where_cond(m);
        buf_str_append(&m->sql, STR("instr(o.name, ?) > 0"));
        where_bind_str(m, part);
        if (part.n < 3 || m->driven)
            continue;
        if (limited && name_rows(m, match, &rows) < 0)
            return -1;
        if (rows > FEW)
            continue;
        where_cond(m);
        buf_str_append(&m->sql, STR("o.id IN (SELECT rowid FROM names WHERE names MATCH ?)"));
        where_bind_str(m, match);
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

    buf_init(&b, SELECT_SQL_MAX);
    for (size_t i = 0; i < t->npath; i++) {
        if (i || leading)
            buf_byte(&b, separator);
        buf_str_append(&b, t->path[i]);
    }
    return str_dup(a, buf_str(&b));
}

static void of_field(struct where *m, const struct field_term *t)
{
    const char *column = column_of(t);
    struct query_list values = { t->values, t->nvalues };

    where_cond(m);
    if (t->op == SELECTOR_NOT_IN)
        buf_str_append(&m->sql, STR("coalesce("));
    if (column)
        buf_str_append(&m->sql, str_of(column));
    else {
        buf_str_append(&m->sql, STR("kfield(o.object, o.meta, ?)"));
        where_bind_str(m, path_joined(m->arena, t, DEPOT_PATH_SEPARATOR, false));
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

static bool is_tag(const struct where *m, const struct field_term *t)
{
    str dotted = path_joined(m->arena, t, '.', true);

    for (size_t i = 0; i < m->cut.ntypes; i++) {
        struct entry_kind k = { m->cut.types[i].group, m->cut.types[i].resource };

        if (!entry_field_is_tag(&k, dotted))
            return false;
    }
    return true;
}

/* ---- owners ---- */

static void of_owner_name(struct where *m, const struct rights_cut *seen, str cluster)
{
    const struct query *q = m->q;
    struct search_index_type *types = arena_array(m->arena, struct search_index_type, seen->ntypes);
    size_t n = 0;

    for (size_t i = 0; i < seen->ntypes; i++)
        if (!q->owner_typed || (str_eq(seen->types[i].group, q->owner_group) &&
                                str_eq(seen->types[i].resource, q->owner_resource)))
            types[n++] = seen->types[i];
    buf_str_append(&m->sql, STR("IN (SELECT uid FROM objects WHERE type IN "));
    type_ids(&m->sql, types, n);
    buf_str_append(&m->sql, STR(" AND name = ? AND cluster = ?"));
    where_bind_str(m, q->owner_name);
    where_bind_str(m, cluster);
    of_classes(m, seen, "");
    if (q->namespaces.n) {
        buf_str_append(&m->sql, STR(" AND (ns = '' OR ns IN "));
        marks(m, &q->namespaces);
        buf_byte(&m->sql, ')');
    }
    buf_byte(&m->sql, ')');
}

/* Between the owner that is named and the rows. */
static void of_link(struct where *m, const struct rights_cut *seen, str cluster)
{
    buf_str_append(&m->sql, STR("IN (SELECT uid FROM objects WHERE cluster = ? AND owner <> 0"));
    where_bind_str(m, cluster);
    if (!seen->all) {
        buf_str_append(&m->sql, STR(" AND +type IN "));
        type_ids(&m->sql, seen->types, seen->ntypes);
        of_classes(m, seen, "");
    }
    buf_str_append(&m->sql, STR(" AND owner "));
}

/* An owner that the caller may not see leads to nothing. */
static int of_owner(struct where *m)
{
    const struct query *q = m->q;
    struct rights_cut seen;

    if (str_empty(q->owner_uid) && str_empty(q->owner_name))
        return 0;
    if (q->clusters.n != 1)
        return status_set(m->st, REASON_BAD_REQUEST,
                          "If searching by owner uid or name, then the cluster must be specified");
    seen = rights_cut_of(m->arena, m->scope->rights, m->scope->owner_types, m->scope->nowner_types,
                         &q->clusters);
    where_cond(m);
    buf_str_append(&m->sql, STR("o.owner <> 0 AND o.owner "));
    for (int64_t i = 0; i < q->owner_seniority; i++)
        of_link(m, &seen, q->clusters.p[0]);
    if (str_empty(q->owner_uid))
        of_owner_name(m, &seen, q->clusters.p[0]);
    else {
        buf_str_append(&m->sql, STR("= ?"));
        where_bind_int(m, entry_hash_of(m->scope->hash, q->owner_uid));
    }
    for (int64_t i = 0; i < q->owner_seniority; i++)
        buf_byte(&m->sql, ')');
    m->driven = true;
    return 0;
}

/* ---- the whole condition ---- */

static void of_times(struct where *m)
{
    if (m->q->has_since) {
        where_cond(m);
        buf_str_append(&m->sql, STR("o.created >= ?"));
        where_bind_int(m, m->q->since);
    }
    if (m->q->has_before) {
        where_cond(m);
        buf_str_append(&m->sql, STR("o.created < ?"));
        where_bind_int(m, m->q->before);
    }
}

int where_objects(struct where *m, bool limited)
{
    const struct query *q = m->q;
    struct tag_term *terms = arena_array(m->arena, struct tag_term, q->labels.nterms + q->fields.n);
    size_t n = 0;

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
    of_classes(m, &m->cut, "o.");
    one_of(m, "o.ns", &q->namespaces);
    one_of(m, "o.name", &q->names);
    of_times(m);
    if (m->n > VALUES_MAX)
        return status_set(m->st, REASON_BAD_REQUEST, "the query names too many values");
    return 0;
}

void where_counts(struct where *m)
{
    of_types(m, "type");
    of_clusters(m, "cluster");
    of_classes(m, &m->cut, "");
    one_of(m, "ns", &m->q->namespaces);
}

void where_begin(struct where *m)
{
    const struct select_scope *s = m->scope;

    buf_init(&m->sql, SELECT_SQL_MAX);
    m->cut = rights_cut_of(m->arena, s->rights, s->types, s->ntypes, &m->q->clusters);
    m->none |= m->cut.ntypes == 0;
}
