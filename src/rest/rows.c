/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/rows.h"

#include <assert.h>
#include <string.h>

#include "base/banned.h"
#include "base/uuid.h"
#include "object/crdschema/structural.h"

str row_name(struct arena *a, const struct kind *k, str namespace_, str name)
{
    if (!k->namespaced)
        return name;
    return str_concat(a, namespace_, STR("/"), name);
}

void row_split(const struct kind *k, str row, str *namespace_, str *name)
{
    ptrdiff_t slash = k->namespaced ? str_find(row, '/', 0) : -1;

    *namespace_ = slash < 0 ? STR_NONE : str_sub(row, 0, (size_t)slash);
    *name = str_from(row, (size_t)(slash + 1));
}

bool rows_have_templates(struct rest *r, uint32_t type)
{
    struct store_range all = { .type = type, .instance = INSTANCE_TEMPLATE };
    uint64_t n = 0;
    struct status st;
    scoped_arena a = arena_new();

    status_init(&st, a);
    return store_count(r->store, &all, &n, &st) == 0 && n > 0;
}

/* Makes a template's row the instance's.  The uid is the same each time it is asked for. */
static void adopt(struct arena *a, const struct instance *i, const struct kind *k, struct row *row)
{
    char *uid = arena_alloc(a, UUID_SIZE);
    str key = str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(k->storage_group), STR_ARG(k->storage_plural),
                         STR_ARG(row->name));

    (void)uuid_v5(uid, i->uid, key);
    row->uid = (str){ uid, UUID_LEN };
    row->created = i->created;
    row->instance = i->id;
    row->stored_rev = 0;
    if (row->rev < i->created_rev)
        row->rev = i->created_rev;
}

static int fill(struct rest *r, struct arena *a, const struct store_row *from, struct row *out,
                struct status *st)
{
    *out = (struct row){ .instance = from->key.instance,
                         .name = from->key.name,
                         .rev = from->rev,
                         .stored_rev = from->rev,
                         .sealed = seal_part(from->value) };
    return seal_view(r->seal, a, &from->key, from->value, &out->obj, st);
}

int rows_template(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
                  str name, uint64_t rev, struct row *out, struct status *st)
{
    struct store_key key = { .type = k->type_id, .instance = INSTANCE_TEMPLATE, .name = name };
    struct store_row row;
    int found;

    if (rev && rev < i->created_rev)
        return 0;
    found = store_get(r->store, a, key, rev, &row, st);
    if (found <= 0)
        return found;
    if (fill(r, a, &row, out, st) < 0)
        return -1;
    adopt(a, i, k, out);
    return 1;
}

int rows_get(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
             str name, uint64_t rev, struct row *out, struct status *st)
{
    struct store_key key = { .type = k->type_id, .instance = i->id, .name = name };
    struct store_row row;
    int found = store_get(r->store, a, key, rev, &row, st);

    out->stored_rev = 0;
    if (found < 0)
        return -1;
    if (found == 0)
        return rows_template(r, a, i, k, name, rev, out, st);
    if (fill(r, a, &row, out, st) < 0)
        return -1;
    return !(out->obj.flags & OBJ_HIDDEN);
}

/*
 * The merge of two ordered runs.  Template rows are few, so the part of them that lies ahead is
 * taken first; then the instance's rows are walked, and templates with smaller names go before.
 */
struct merge {
    struct rest *rest;
    struct rows_range *range;
    rows_fn *fn;
    void *arg;
    struct arena *arena; /* of templates and of what was sealed; NULL: there is none yet */
    struct row *templates;
    size_t n, cap, next;
    bool stopped;
    struct status *st;
    int failed;
};

static bool give(struct merge *m, const struct row *row)
{
    if (!m->fn(m->arg, row))
        m->stopped = true;
    return !m->stopped;
}

/*
 * By an index hash the instance's own row of that name may not turn up (it lost the label, or hides
 * the template), so it is asked for.
 */
static int is_covered(struct merge *m, str name)
{
    struct store_key own = { .type = m->range->kind->type_id,
                             .instance = m->range->instance->id,
                             .name = name };
    struct store_row row;

    return m->range->hash ? store_get(m->rest->store, m->arena, own, m->range->rev, &row, m->st)
                          : 0;
}

static bool collect(void *arg, const struct store_row *from)
{
    struct merge *m = arg;
    struct store_row row = *from;
    int covered = is_covered(m, row.key.name);

    if (covered < 0)
        m->failed = -1;
    if (covered)
        return covered > 0;
    if (m->n == m->cap) {
        struct row *more = arena_array(m->arena, struct row, m->cap ? m->cap * 2 : 16);

        if (m->n)
            memcpy(more, m->templates, m->n * sizeof(*more));
        m->templates = more;
        m->cap = m->cap ? m->cap * 2 : 16;
    }
    row.key.name = str_dup(m->arena, row.key.name);
    row.value = str_dup(m->arena, row.value);
    if (fill(m->rest, m->arena, &row, &m->templates[m->n], m->st) < 0) {
        m->failed = -1;
        return false;
    }
    adopt(m->arena, m->range->instance, m->range->kind, &m->templates[m->n]);
    m->n++;
    return true;
}

/* Gives the templates whose names come before `name` (all, if it is NULL); skips one equal to it.
 */
static bool give_templates(struct merge *m, const str *name)
{
    while (m->next < m->n) {
        int c = name ? str_cmp(m->templates[m->next].name, *name) : -1;

        if (c > 0)
            break;
        m->next++;
        if (c == 0)
            break;
        if (!give(m, &m->templates[m->next - 1]))
            return false;
    }
    return true;
}

static bool merge_row(void *arg, const struct store_row *from)
{
    struct merge *m = arg;
    struct row row;

    if (!m->arena && obj_is_sealed(from->value))
        m->arena = arena_new();
    if (fill(m->rest, m->arena, from, &row, m->st) < 0) {
        m->failed = -1;
        return false;
    }
    if (!give_templates(m, &row.name))
        return false;
    if (row.obj.flags & OBJ_HIDDEN)
        return true;
    /* Over all instances the template itself is none of them. */
    if (row.instance == INSTANCE_TEMPLATE)
        return true;
    return give(m, &row);
}

/* The version of a CRD by whose schema it was stored; NULL: that one has changed since. */
static const struct kind *written_by(const struct kind *k, const struct row *row)
{
    for (size_t i = 0; i < k->nversions; i++)
        if (k->versions[i].schema_id == row->obj.schema)
            return &k->versions[i];
    return NULL;
}

/* Of what another schema wrote.  k8s: defaults are those of the version in which it was stored,
 * which here is taken for the one that is stored now. */
static int converted(struct arena *a, const struct kind *k, const struct row *row,
                     const struct json **out, struct status *st)
{
    if (!written_by(k, row)) {
        if (k->storage->schema_id == k->schema_id)
            return schema_decode(a, k->schema, *out, NULL, out, st);
        *out = structural_fill(a, k->storage->schema, *out);
    }
    return structural_convert(a, k->schema, *out, out, st);
}

int row_tree(struct arena *a, const struct kind *k, const struct row *row, str instance,
             const struct json **out, struct status *st)
{
    /* Versions of a CRD differ in their schemas only. */
    const struct kind *as = k->schema_id ? k : k->storage;
    struct obj_frame frame = { .type = str_from(as->type_prefix, 1),
                               .rev = row->rev,
                               .instance = instance,
                               .uid = row->uid,
                               .created = row->created };

    if (obj_tree(a, &row->obj, &frame, out, st) < 0)
        return -1;
    if (k->ops && k->ops->from_stored)
        *out = k->ops->from_stored(a, *out);
    return row_is_current(k, row) ? 0 : converted(a, k, row, out, st);
}

static struct store_range to_store(const struct rows_range *range, uint32_t instance)
{
    return (struct store_range){
        .type = range->kind->type_id,
        .instance = instance,
        .prefix = range->prefix,
        .start_instance = instance == STORE_ALL ? range->after_instance : instance,
        .start = range->after,
        .rev = range->rev,
        .hash = range->hash,
        .about = range->about,
    };
}

static int scan(struct rest *r, struct merge *m, struct status *st)
{
    struct rows_range *range = m->range;
    const struct instance *i = range->instance;
    struct store_range own = to_store(range, i->id);

    if (i->id != STORE_ALL && range->rev >= i->created_rev && rows_have_templates(r, own.type)) {
        struct store_range shared = to_store(range, INSTANCE_TEMPLATE);

        m->arena = arena_new();
        if (store_scan(r->store, &shared, collect, m, st) < 0 || m->failed)
            return -1;
    }
    if (store_scan(r->store, &own, merge_row, m, st) < 0 || m->failed)
        return -1;
    if (!m->stopped)
        (void)give_templates(m, NULL);
    return m->stopped;
}

int rows_scan(struct rest *r, struct rows_range *range, rows_fn *fn, void *arg, struct status *st)
{
    struct merge m = { .rest = r, .range = range, .fn = fn, .arg = arg, .st = st };
    int rc;

    if (range->rev == 0)
        range->rev = store_head(r->store);
    rc = scan(r, &m, st);
    arena_free(m.arena);
    return rc;
}

struct count {
    struct rest *rest;
    const struct rows_range *range;
    struct arena *arena;
    uint64_t n;
    struct status *st;
    bool failed;
};

/* One counts unless the instance has its own in its place; a row that only hides one is none. */
static bool count_template(void *arg, const struct store_row *template)
{
    struct count *c = arg;
    struct store_key key = { .type = template->key.type,
                             .instance = c->range->instance->id,
                             .name = template->key.name };
    struct store_row own;
    struct row row;
    int found = store_get(c->rest->store, c->arena, key, c->range->rev, &own, c->st);

    c->failed = found < 0 || (found && fill(c->rest, c->arena, &own, &row, c->st) < 0);
    if (!c->failed && !found)
        c->n++;
    else if (!c->failed && row.obj.flags & OBJ_HIDDEN)
        c->n--;
    return !c->failed;
}

/* To what the instance has of its own: the rows that all have. */
static int count_templates(struct count *c)
{
    const struct instance *i = c->range->instance;
    struct store_range shared = to_store(c->range, INSTANCE_TEMPLATE);

    if (!rows_have_templates(c->rest, shared.type) || c->range->rev < i->created_rev)
        return 0;
    return store_scan(c->rest->store, &shared, count_template, c, c->st) < 0 || c->failed ? -1 : 0;
}

int rows_count(struct rest *r, const struct rows_range *range, uint64_t max, uint64_t *out,
               struct status *st)
{
    scoped_arena a = arena_new();
    struct rows_range all = *range;
    struct store_range whole = { .type = range->kind->type_id,
                                 .instance = range->instance->id,
                                 .about = true };
    struct store_range own;
    struct count c = { .rest = r, .range = &all, .arena = a, .st = st };

    assert(range->instance->id != STORE_ALL && !range->hash);
    all.after = STR_NONE;
    all.after_instance = 0;
    if (!all.rev)
        all.rev = store_head(r->store);
    own = to_store(&all, range->instance->id);
    *out = 0;
    /* The store keeps count of the whole, which says whether the part is worth counting. */
    if (store_count(r->store, &whole, &c.n, st) < 0)
        return -1;
    if (c.n > max)
        return 0;
    if (store_count(r->store, &own, &c.n, st) < 0 || count_templates(&c) < 0)
        return -1;
    *out = c.n > max ? 0 : c.n;
    return 0;
}
