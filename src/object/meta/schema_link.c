/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "object/meta/schema_set.h"

enum {
    FILLS_MAX = 64,       /* schema_decode keeps them in a 64-bit set */
    FIELDS_ALL_MAX = 254, /* embedded ones included: schema_index counts in bytes */
};

struct schema_set *schema_set_new(void)
{
    struct schema_set *s = mem_zalloc(sizeof(*s));

    s->arena = arena_new();
    return s;
}

void schema_set_free(struct schema_set *s)
{
    if (!s)
        return;
    map_release(&s->names);
    free(s->types);
    arena_free(s->arena);
    free(s);
}

static int cmp_fields(const void *a, const void *b)
{
    return str_cmp(((const struct schema_field *)a)->name, ((const struct schema_field *)b)->name);
}

static int cmp_types(const void *a, const void *b)
{
    return str_cmp((*(struct type *const *)a)->schema.name,
                   (*(struct type *const *)b)->schema.name);
}

static int bad_type(struct type *t, struct status *st, const char *what)
{
    return status_set(st, REASON_INTERNAL, "table %.*s, line %u: %s \"%.*s\"", STR_ARG(t->table),
                      t->line, what, STR_ARG(t->said));
}

static int link_type(struct schema_set *s, struct type *t, struct status *st);

/* Only named types are objects, and each of those is the beginning of a struct type. */
static struct type *type_of(const struct schema *s)
{
    return (struct type *)(uintptr_t)s;
}

static int link_embeds(struct schema_set *s, struct type *t, struct status *st)
{
    size_t n = t->schema.nfields, at = n;
    struct schema_field *all;

    for (size_t i = 0; i < t->schema.nembeds; i++) {
        struct type *e = type_of(t->schema.embeds[i].type);

        if (link_type(s, e, st) < 0)
            return -1;
        if (e->schema.type != SCHEMA_OBJECT)
            return bad_type(e, st, "cannot be embedded:");
        n += e->schema.nfields;
        if (n > FIELDS_ALL_MAX)
            return bad_type(t, st, "too many fields in");
    }
    all = arena_array(s->arena, struct schema_field, n);
    if (at)
        memcpy(all, t->fields, at * sizeof(*all));
    for (size_t i = 0; i < t->schema.nembeds; i++) {
        const struct schema *e = t->schema.embeds[i].type;

        for (size_t j = 0; j < e->nfields; j++) {
            all[at] = e->fields[j];
            all[at++].proto = 0;
        }
    }
    t->schema.fields = t->fields = all;
    t->schema.nfields = n;
    return 0;
}

static int link_absent(struct schema_set *s, struct schema_field *f, struct status *st)
{
    if (!f->absent)
        f->absent = f->default_value;
    f->defaulted = f->absent;
    if (f->absent || f->presence != SCHEMA_ALWAYS)
        return 0;
    if (f->type->type == SCHEMA_OBJECT && link_type(s, type_of(f->type), st) < 0)
        return -1;
    f->absent = f->type->zero ? f->type->zero : &json_null;
    return 0;
}

static int link_fields(struct schema_set *s, struct type *t, struct status *st)
{
    struct json_object zero = json_object_new(s->arena);
    const struct schema_field *fills[FILLS_MAX], **kept;
    size_t n = 0;

    for (size_t i = 0; i < t->schema.nfields; i++) {
        struct schema_field *f = &t->fields[i];

        if (i && str_eq(f->name, f[-1].name))
            return bad_type(t, st, "a field stands twice in");
        if (link_absent(s, f, st) < 0)
            return -1;
        if (!f->absent)
            continue;
        if (n == FILLS_MAX)
            return bad_type(t, st, "too many fields with defaults in");
        fills[n++] = f;
        f->fill = (unsigned)n;
        json_add(&zero, f->name, *f->absent);
    }
    kept = arena_array(s->arena, const struct schema_field *, n);
    if (n)
        memcpy(kept, fills, n * sizeof(*kept));
    t->schema.fills = kept;
    t->schema.nfills = n;
    t->schema.zero = json_object_done(&zero);
    schema_index(s->arena, &t->schema);
    return 0;
}

static int link_type(struct schema_set *s, struct type *t, struct status *st)
{
    if (!t->defined)
        return bad_type(t, st, "unknown type");
    if (t->state == DONE)
        return 0;
    if (t->state == BUSY)
        return bad_type(t, st, "a type that holds itself:");
    t->state = BUSY;
    if (t->schema.nembeds && link_embeds(s, t, st) < 0)
        return -1;
    if (t->schema.nfields)
        qsort(t->fields, t->schema.nfields, sizeof(*t->fields), cmp_fields);
    if (link_fields(s, t, st) < 0)
        return -1;
    t->state = DONE;
    return 0;
}

int schema_set_link(struct schema_set *s, struct status *st)
{
    assert(!s->linked);
    for (size_t i = 0; i < s->n; i++)
        if (link_type(s, s->types[i], st) < 0)
            return -1;
    if (s->n)
        qsort(s->types, s->n, sizeof(*s->types), cmp_types);
    s->linked = true;
    return 0;
}

const struct schema *schema_set_find(const struct schema_set *s, str name)
{
    const struct type *t = map_get(&s->names, name);

    return t && t->defined ? &t->schema : NULL;
}

void schema_set_each(const struct schema_set *s, void (*fn)(void *arg, const struct schema *t),
                     void *arg)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->types[i]->schema.type == SCHEMA_OBJECT && !s->types[i]->part)
            fn(arg, &s->types[i]->schema);
}
