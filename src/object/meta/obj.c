/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/obj.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/banned.h"
#include "object/meta/managers.h"

enum {
    OBJ_FORMAT = 2,
    OBJ_FORMAT_SEALED = 3,
    OBJ_TEXT_MAX = 8 << 20,
    OBJ_PRINT_MAX = 32 << 20, /* with managedFields, which grow when they are printed */
    HEAD_USUAL = 1024,        /* what stands before the text is seldom longer */
    TEXT_USUAL = 3072,
    PRINTED = 4, /* so many times as long are packed managedFields when they are printed */
    UID_BYTES = 36,
};

struct header { /* as stored; little-endian, as every machine we run on */
    uint8_t format, flags;
    uint16_t reserved;
    uint32_t schema, meta, uid, labels, labels_bytes, annotations;
    uint32_t managed; /* bytes of packed managedFields before the text; not in format 1 */
};

_Static_assert(sizeof(struct header) == OBJ_HEADER, "the header has no gaps");

enum { FORMAT_1_HEADER = offsetof(struct header, managed) };

static bool within(const struct header *h, size_t text)
{
    if (h->meta >= text || h->annotations > h->meta)
        return false;
    if (h->uid > h->meta || (h->uid && h->meta - h->uid < UID_BYTES))
        return false;
    return h->labels <= h->meta && h->labels_bytes <= h->meta - h->labels;
}

/* The header, and where it ends; 0 when it is none. */
static size_t read_header(str value, struct header *h)
{
    size_t n;

    if (value.n < FORMAT_1_HEADER)
        return 0;
    memset(h, 0, sizeof(*h));
    memcpy(h, value.p, FORMAT_1_HEADER);
    n = h->format == 1 ? (size_t)FORMAT_1_HEADER : sizeof(*h);
    if (h->format == 0 || h->format > OBJ_FORMAT || value.n < n)
        return 0;
    memcpy(h, value.p, n);
    return h->managed > value.n - n ? 0 : n;
}

bool obj_view(str value, struct obj *out)
{
    struct header h;
    size_t n = read_header(value, &h);

    if (n == 0)
        return false;
    *out = (struct obj){ .flags = h.flags, .schema = h.schema };
    if (h.flags & OBJ_HIDDEN)
        return true;
    out->managed = str_sub(value, n, h.managed);
    out->text = str_from(value, n + h.managed);
    if (!within(&h, out->text.n))
        return false;
    out->meta = h.meta;
    out->uid = h.uid ? str_sub(out->text, h.uid, UID_BYTES) : STR_NONE;
    out->labels = str_sub(out->text, h.labels, h.labels_bytes);
    out->annotations = h.annotations;
    return true;
}

bool obj_is_sealed(str value)
{
    return value.n >= OBJ_HEADER && value.p[0] == OBJ_FORMAT_SEALED;
}

void obj_head(str value, bool sealed, char out[OBJ_HEADER])
{
    assert(value.n >= OBJ_HEADER && value.p[0] >= OBJ_FORMAT);
    memcpy(out, value.p, OBJ_HEADER);
    out[offsetof(struct header, format)] = sealed ? OBJ_FORMAT_SEALED : OBJ_FORMAT;
}

str obj_encode_hidden(struct arena *a)
{
    struct header *h = arena_new_of(a, struct header);

    h->format = OBJ_FORMAT;
    h->flags = OBJ_HIDDEN;
    return (str){ (const char *)h, sizeof(*h) };
}

void obj_stamp(str value, uint32_t schema)
{
    char *p = (char *)(uintptr_t)value.p; /* ours: made in an arena a moment ago */

    memcpy(p + offsetof(struct header, schema), &schema, sizeof(schema));
}

/* Metadata's members, in order of their names, remembering where the splice points are. */
static void write_meta(struct buf *b, struct arena *a, const struct json *meta, struct header *h)
{
    size_t n = json_len(meta), start = b->n;
    const struct json_member **sorted = arena_array(a, const struct json_member *, n + 1);
    bool first = true;

    for (size_t i = 0; i < n; i++) {
        size_t at = i;

        for (; at > 0 && str_cmp(sorted[at - 1]->name, meta->members[i].name) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &meta->members[i];
    }
    for (size_t i = 0; i < n; i++) {
        const struct json_member *m = sorted[i];
        uint32_t at;

        if (str_is(m->name, "resourceVersion") || str_is(m->name, "managedFields"))
            continue;
        if (!first)
            buf_byte(b, ',');
        first = false;
        json_print_string(b, m->name);
        buf_byte(b, ':');
        at = (uint32_t)(b->n - start);
        json_print_sorted(b, &m->value);
        if (str_is(m->name, "uid") && m->value.type == JSON_STRING && m->value.n == UID_BYTES)
            h->uid = at + 1;
        if (str_is(m->name, "labels") && json_len(&m->value)) {
            h->labels = at;
            h->labels_bytes = (uint32_t)(b->n - start) - at;
        }
        if (str_is(m->name, "annotations") && json_len(&m->value))
            h->annotations = at + 1;
        if (str_is(m->name, "deletionTimestamp"))
            h->flags |= OBJ_DELETING;
    }
    h->meta = (uint32_t)(b->n - start);
}

static bool is_head(str name)
{
    return str_is(name, "kind") || str_is(name, "apiVersion") || str_is(name, "metadata");
}

/* Everything but kind, apiVersion and metadata, in order of names. */
static void write_rest(struct buf *b, struct arena *a, const struct json *tree)
{
    struct json_object rest = json_object_new(a);
    struct json body;
    size_t start = b->n;

    json_for_each_member (m, tree)
        if (!is_head(m->name))
            json_add(&rest, m->name, m->value);
    body = json_object_value(&rest);
    if (body.n == 0) {
        buf_byte(b, '}');
        return;
    }
    json_print_sorted(b, &body);
    if (!buf_overflown(b))
        b->p[start] = ','; /* for its opening brace */
}

str obj_encode(struct arena *a, const struct json *tree, str managed, unsigned flags)
{
    struct header h = { .format = OBJ_FORMAT,
                        .flags = (uint8_t)flags,
                        .managed = (uint32_t)managed.n };
    scoped_buf b = { .max = OBJ_TEXT_MAX };

    (void)buf_reserve(&b, sizeof(h) + managed.n + TEXT_USUAL);
    buf_append(&b, &h, sizeof(h));
    buf_str_append(&b, managed);
    write_meta(&b, a, json_get(tree, STR("metadata")), &h);
    buf_byte(&b, '}');
    write_rest(&b, a, tree);
    assert(!buf_overflown(&b)); /* bodies are limited far below */
    memcpy(b.p, &h, sizeof(h));
    return str_dup(a, buf_str(&b));
}

static void write_head(struct buf *b, const struct obj *o, const struct obj_frame *f)
{
    buf_byte(b, '{');
    buf_str_append(b, f->type);
    buf_lit(b, "\"metadata\":{");
    if (f->rev) {
        buf_lit(b, "\"resourceVersion\":\"");
        buf_u64(b, f->rev);
        buf_lit(b, "\",");
    }
    if (o->flags & OBJ_TEMPLATE) {
        buf_lit(b, "\"uid\":\"");
        buf_str_append(b, f->uid);
        buf_lit(b, "\",\"creationTimestamp\":\"");
        buf_str_append(b, f->created);
        buf_lit(b, "\",");
    }
    if (o->managed.n) {
        buf_lit(b, "\"managedFields\":");
        managers_print(b, o->managed);
        buf_byte(b, ',');
    }
    if (f->instance.n && !o->annotations) {
        buf_lit(b, "\"annotations\":{\"" OBJ_INSTANCE_ANNOTATION "\":\"");
        buf_str_append(b, f->instance);
        buf_lit(b, "\"},");
    }
}

/* Metadata from the text, with the instance's annotation among the others if it is wanted. */
static void write_meta_text(struct buf *b, const struct obj *o, const struct obj_frame *f,
                            size_t upto)
{
    size_t from = 0;

    if (f->instance.n && o->annotations) {
        buf_append(b, o->text.p, o->annotations);
        buf_lit(b, "\"" OBJ_INSTANCE_ANNOTATION "\":\"");
        buf_str_append(b, f->instance);
        buf_lit(b, "\",");
        from = o->annotations;
    }
    buf_append(b, o->text.p + from, upto - from);
}

void obj_write(struct buf *b, const struct obj *o, const struct obj_frame *f)
{
    write_head(b, o, f);
    write_meta_text(b, o, f, o->text.n);
}

void obj_write_partial(struct buf *b, const struct obj *o, const struct obj_frame *f)
{
    write_head(b, o, f);
    write_meta_text(b, o, f, o->meta);
    buf_lit(b, "}}");
}

size_t obj_pieces(struct arena *a, const struct obj *o, const struct obj_frame *f,
                  str pieces[OBJ_PIECES])
{
    scoped_buf head = { .max = OBJ_PRINT_MAX };
    size_t n = 0;

    (void)buf_reserve(&head, HEAD_USUAL + PRINTED * o->managed.n);
    write_head(&head, o, f);
    if (f->instance.n && o->annotations) {
        write_meta_text(&head, o, f, o->annotations);
        pieces[n++] = str_dup(a, buf_str(&head));
        pieces[n++] = str_from(o->text, o->annotations);
        return n;
    }
    pieces[n++] = str_dup(a, buf_str(&head));
    pieces[n++] = o->text;
    return n;
}

int obj_tree(struct arena *a, const struct obj *o, const struct obj_frame *f,
             const struct json **out, struct status *st)
{
    scoped_buf b = { .max = OBJ_PRINT_MAX };

    obj_write(&b, o, f);
    if (json_parse(a, buf_str(&b), NULL, out, st) < 0)
        return status_wrap(st, "a stored object cannot be read");
    return 0;
}

const struct json *obj_labels(struct arena *a, const struct obj *o)
{
    const struct json *labels = NULL;
    struct status st;

    status_init(&st, a);
    if (o->labels.n == 0 || json_parse(a, o->labels, NULL, &labels, &st) < 0)
        return NULL;
    return labels;
}
