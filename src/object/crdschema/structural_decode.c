/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kubernetes prunes, drops nulls, types metadata and fills in defaults in four walks; here it is
 * one, which copies an object or a list only from the first member on that changes.
 */

#include "object/crdschema/structural.h"

#include "base/banned.h"

#include "object/crdschema/structural_internal.h"

struct decoder {
    struct arena *arena;
    enum structural_source from;
    bool fill_only;               /* nothing is pruned */
    const struct schema *skip;    /* the root: its metadata is done already */
    struct schema_faults *pruned; /* or NULL */
    struct schema_faults *embedded;
    struct status *st;
};

static int decode(struct decoder *d, const struct schema *s, const struct spot *at, bool keep,
                  const struct json *in, struct json *out);

str spot_path(struct arena *a, const struct spot *at, bool keys)
{
    str up;

    if (!at)
        return STR_NONE;
    up = spot_path(a, at->up, keys);
    if (at->kind == SPOT_INDEX)
        return str_printf(a, "%.*s[%zu]", STR_ARG(up), at->index);
    if (at->kind == SPOT_KEY && keys)
        return str_printf(a, "%.*s[%.*s]", STR_ARG(up), STR_ARG(at->name));
    return str_printf(a, "%.*s%s%.*s", STR_ARG(up), up.n ? "." : "", STR_ARG(at->name));
}

/* Bit for bit: whether it is the very value that was read. */
static bool same(const struct json *a, const struct json *b)
{
    return a->type == b->type && a->n == b->n &&
           (a->type == JSON_BOOL ? a->b == b->b : a->i == b->i);
}

static void unknown(struct decoder *d, const struct spot *up, str name)
{
    struct spot here = { .up = up, .kind = SPOT_FIELD, .name = name };
    struct json path;

    if (!d->pruned)
        return;
    path = json_of_str(spot_path(d->arena, &here, false));
    schema_fault(d->arena, d->pruned, "unknown field %.*s", STR_ARG(json_text(d->arena, &path)));
}

/* The faults of a metadata, told with the path to it; the texts begin `unknown field "`. */
static void take_faults(struct arena *a, struct schema_faults *to, str path,
                        const struct schema_faults *from)
{
    const str head = STR("unknown field \"");

    for (size_t i = 0; to && i < from->n; i++)
        schema_fault(a, to, "unknown field \"%.*s%smetadata.%.*s", STR_ARG(path), path.n ? "." : "",
                     STR_ARG(str_from(from->texts[i], head.n)));
}

/* Those of its members that can be decoded. */
static const struct json *salvage(struct arena *a, const struct schema *object_meta,
                                  const struct json *in)
{
    struct json_object o = json_object_new(a);

    json_for_each_member (m, in) {
        struct json_member one[] = { *m };
        struct json alone = { .type = JSON_OBJECT, .n = 1, .members = one };
        const struct json *typed;
        struct status st;

        status_init(&st, a);
        if (schema_decode(a, object_meta, json_dup(a, &alone), NULL, &typed, &st) == 0 &&
            json_len(typed) == 1)
            json_add(&o, typed->members[0].name, typed->members[0].value);
    }
    return json_object_done(&o);
}

/* k8s: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go */
static int decode_metadata(struct decoder *d, const struct schema *object_meta,
                           const struct spot *at, const struct json *in, struct schema_faults *to,
                           struct json *out)
{
    struct schema_faults faults = { 0 };
    const struct json *typed;
    struct status st;

    status_init(&st, d->arena);
    if (in->type == JSON_NULL)
        in = &json_empty_object;
    if (schema_decode(d->arena, object_meta, in, to ? &faults : NULL, &typed, &st) == 0) {
        take_faults(d->arena, to, spot_path(d->arena, at, true), &faults);
        *out = *typed;
        return 0;
    }
    if (d->from == STRUCTURAL_STORED) {
        *out = json_is(in, JSON_OBJECT) ? *salvage(d->arena, object_meta, in) : *in;
        return 0;
    }
    if (!at)
        return status_set(d->st, REASON_BAD_REQUEST, "%.*s", STR_ARG(st.message));
    return status_set(d->st, REASON_BAD_REQUEST, "%.*s.metadata: Invalid value: %.*s: %.*s",
                      STR_ARG(spot_path(d->arena, at, true)), STR_ARG(json_text(d->arena, in)),
                      STR_ARG(st.message));
}

/* apiVersion, kind and metadata of an embedded resource; *kept false: it goes. */
static int decode_type_meta(struct decoder *d, const struct schema *s, const struct spot *at,
                            const struct json_member *m, struct json *out, bool *kept)
{
    *out = m->value;
    *kept = true;
    if (s == d->skip)
        return 0;
    if (str_is(m->name, "metadata"))
        return decode_metadata(d, schema_field(s, m->name)->type, at, &m->value, d->embedded, out);
    if (m->value.type == JSON_STRING)
        return 0;
    if (d->from == STRUCTURAL_STORED) {
        *kept = false;
        return 0;
    }
    return status_set(d->st, REASON_BAD_REQUEST, "%.*s.%.*s: Invalid value: %.*s: must be a string",
                      STR_ARG(spot_path(d->arena, at, true)), STR_ARG(m->name),
                      STR_ARG(json_text(d->arena, &m->value)));
}

static bool is_type_meta(str name)
{
    return str_is(name, "metadata") || str_is(name, "apiVersion") || str_is(name, "kind");
}

/*
 * A member or item that is described: a null that may not be one becomes the default or goes.
 * k8s: managedfields/internal/structuredmerge.go Apply: what was merged only gets defaults
 */
static inline int decode_child(struct decoder *d, const struct schema *s, const struct spot *at,
                               bool keep, const struct json *in, struct json *out, bool *kept)
{
    *kept = true;
    *out = *in;
    if (in->type == JSON_OBJECT || in->type == JSON_ARRAY)
        return decode(d, s, at, keep, in, out);
    if (in->type != JSON_NULL || s->rules->nullable)
        return 0;
    *kept = s->rules->default_value || d->fill_only || d->from == STRUCTURAL_APPLIED;
    if (s->rules->default_value && d->from != STRUCTURAL_CONVERTED)
        *out = *s->rules->default_value;
    return 0;
}

/* f: the field of the member, or NULL. */
static int decode_member(struct decoder *d, const struct schema *s, const struct schema_field *f,
                         struct spot *at, bool keep, const struct json_member *m, struct json *out,
                         bool *kept)
{
    const struct schema_rules *r = s->rules;

    at->name = m->name;
    at->kind = SPOT_FIELD;
    if (f && (r->root || r->embedded) && is_type_meta(m->name) && !d->fill_only)
        return decode_type_meta(d, s, at->up, m, out, kept);
    if (f && f->type->rules)
        return decode_child(d, f->type, at, false, &m->value, out, kept);
    at->kind = SPOT_KEY;
    if (!f && r->additional)
        return decode_child(d, r->additional, at, false, &m->value, out, kept);
    *out = m->value;
    *kept = f || keep || d->fill_only;
    if (!*kept)
        unknown(d, at->up, m->name);
    return 0;
}

static struct json_object copy_members(struct arena *a, const struct json *in, uint32_t n)
{
    struct json head = *in;

    head.n = n;
    return json_object_from(a, &head);
}

static void fill(struct decoder *d, const struct schema *s, const struct json *in,
                 const uint64_t *seen, struct json_object *o)
{
    for (size_t i = 0; i < s->nfills; i++) {
        if (seen[i / 64] & (uint64_t)1 << i % 64)
            continue;
        if (!o->arena)
            *o = copy_members(d->arena, in, in->n);
        json_add(o, s->fills[i]->name, *s->fills[i]->absent);
    }
}

/* Stays as it is wherever it is described. */
static inline bool is_plain(const struct json *v)
{
    return v->type != JSON_NULL && v->type != JSON_ARRAY && v->type != JSON_OBJECT;
}

static int decode_object(struct decoder *d, const struct schema *s, const struct spot *up,
                         bool keep, const struct json *in, struct json *out)
{
    bool typed = (s->rules->root || s->rules->embedded) && !d->fill_only; /* some of its fields */
    struct schema_walk walk = schema_walk(s);
    struct spot at = { .up = up };
    struct json_object o = { 0 };
    uint64_t few = 0, *seen = &few;

    keep = keep || s->rules->preserve_unknown;
    if (s->nfills > 64)
        seen = arena_array(d->arena, uint64_t, s->nfills / 64 + 1);
    for (uint32_t i = 0; i < in->n; i++) {
        const struct json_member *m = &in->members[i];
        const struct schema_field *f = schema_walk_field(&walk, m->name);
        bool plain = f && f->type->rules && !typed && is_plain(&m->value), kept = true;
        struct json v = m->value;

        if (!plain && decode_member(d, s, f, &at, keep, m, &v, &kept) < 0)
            return -1;
        if (kept && f && f->fill)
            seen[(f->fill - 1) / 64] |= (uint64_t)1 << (f->fill - 1) % 64;
        if (!o.arena && kept && (plain || same(&v, &m->value)))
            continue;
        if (!o.arena)
            o = copy_members(d->arena, in, i);
        if (kept)
            json_add(&o, m->name, v);
    }
    if (d->from != STRUCTURAL_CONVERTED)
        fill(d, s, in, seen, &o);
    *out = o.arena ? json_object_value(&o) : *in;
    return 0;
}

static int decode_array(struct decoder *d, const struct schema *s, const struct spot *up, bool keep,
                        const struct json *in, struct json *out)
{
    const struct schema *items = s->rules->items;
    struct spot at = { .up = up, .kind = SPOT_INDEX };
    struct json_array r = { 0 };

    keep = keep || s->rules->preserve_unknown;
    *out = *in;
    if (!items && (keep || d->fill_only))
        return 0;
    if (!items)
        items = &schema_nothing;
    for (uint32_t i = 0; i < in->n; i++) {
        struct json v = in->items[i];

        at.index = i;
        if (v.type != JSON_NULL) {
            if (decode(d, items, &at, keep, &in->items[i], &v) < 0)
                return -1;
        } else if (!items->rules->nullable && items->rules->default_value &&
                   d->from != STRUCTURAL_CONVERTED) {
            v = *items->rules->default_value;
        }
        if (!r.arena && same(&v, &in->items[i]))
            continue;
        if (!r.arena) {
            r = json_array_new(d->arena);
            for (uint32_t j = 0; j < i; j++)
                json_push(&r, in->items[j]);
        }
        json_push(&r, v);
    }
    if (r.arena)
        *out = json_array_value(&r);
    return 0;
}

static int decode(struct decoder *d, const struct schema *s, const struct spot *at, bool keep,
                  const struct json *in, struct json *out)
{
    if (in->type == JSON_OBJECT)
        return decode_object(d, s, at, keep, in, out);
    if (in->type == JSON_ARRAY)
        return decode_array(d, s, at, keep, in, out);
    *out = *in;
    return 0;
}

const struct json *structural_fill(struct arena *a, const struct schema *s, const struct json *v)
{
    struct status st;
    struct decoder d = { .arena = a, .from = STRUCTURAL_STORED, .fill_only = true, .st = &st };
    struct json out = *v;

    status_init(&st, a);
    (void)decode(&d, s, NULL, true, v, &out); /* fails only on requests */
    return same(&out, v) ? v : json_box(a, out);
}

static int cmp_texts(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static void add_sorted(struct arena *a, struct schema_faults *to, struct schema_faults *from)
{
    if (from->n)
        qsort(from->texts, from->n, sizeof(str), cmp_texts);
    for (size_t i = 0; i < from->n; i++)
        schema_fault(a, to, "%.*s", STR_ARG(from->texts[i]));
}

int structural_decode(struct arena *a, const struct schema *s, const struct json *in,
                      enum structural_source from, struct schema_faults *faults,
                      const struct json **out, struct status *st)
{
    struct schema_faults pruned = { 0 }, embedded = { 0 };
    struct decoder d = { .arena = a,
                         .from = from,
                         .skip = s,
                         .pruned = faults ? &pruned : NULL,
                         .embedded = faults ? &embedded : NULL,
                         .st = st };
    const struct json *meta = json_get(in, STR("metadata"));
    struct json typed, v;

    if (meta && s->rules->root) {
        const struct schema_field *f = schema_field(s, STR("metadata"));

        if (decode_metadata(&d, f->type, NULL, meta, faults, &typed) < 0)
            return -1;
        if (!same(&typed, meta))
            in = json_set(a, in, "metadata", &typed);
    }
    if (decode(&d, s, NULL, false, in, &v) < 0)
        return -1;
    if (faults) {
        add_sorted(a, faults, &pruned);
        add_sorted(a, faults, &embedded);
    }
    *out = same(&v, in) ? in : json_box(a, v);
    return 0;
}

int structural_read(struct arena *a, const struct schema *s, const struct json *in,
                    struct schema_faults *faults, const struct json **out, struct status *st)
{
    return structural_decode(a, s, in, STRUCTURAL_REQUEST, faults, out, st);
}

int structural_convert(struct arena *a, const struct schema *s, const struct json *in,
                       const struct json **out, struct status *st)
{
    return s->rules ? structural_decode(a, s, in, STRUCTURAL_CONVERTED, NULL, out, st)
                    : schema_decode(a, s, in, NULL, out, st);
}
