/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kubernetes' protobuf by table (spec/apimachinery 1.2).  A message becomes the JSON object that
 * the same client would have sent; schema_decode() then treats both alike, zero values included.
 *
 * What a body can make us allocate is bounded by a small multiple of its size: the fields of a
 * message are collected in a stack of slots that all messages share, so a message of two bytes
 * costs one value and no more.
 */

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pbwire.h"
#include "object/meta/schema.h"

enum {
    DEPTH_MAX = 100, /* of messages, as protobuf's own readers have it */
    FEW = 16,
};

/* A field of a message that is being read. */
struct slot {
    bool seen;
    struct json value;
    struct json_array list;
    struct json_object map;
};

struct decoder {
    struct arena *arena;
    struct status *st;
    struct slot *slots; /* those of all open messages, the innermost last */
    size_t n, cap;
    unsigned depth;
};

static int truncated(struct status *st)
{
    return status_set(st, REASON_BAD_REQUEST, "proto: unexpected EOF");
}

int proto_unwrap(str body, struct proto_unknown *out, struct status *st)
{
    static const char magic[4] = { 'k', '8', 's', '\0' };
    struct proto_unknown u = { 0 };
    struct pb_reader r, type;
    struct pb_field f;

    if (!str_starts(body, (str){ magic, sizeof(magic) }))
        return status_set(st, REASON_BAD_REQUEST,
                          "provided data does not appear to be a protobuf message, expected prefix "
                          "[107 56 115 0]");
    type = pb_reader(STR_NONE);
    r = pb_reader(str_from(body, sizeof(magic)));
    while (pb_next(&r, &f)) {
        if (f.wire == PB_BYTES && f.number == 1)
            type = pb_reader(f.bytes);
        else if (f.wire == PB_BYTES && f.number == 2)
            u.raw = f.bytes;
    }
    while (pb_next(&type, &f)) {
        if (f.wire == PB_BYTES && f.number == 1)
            u.api_version = f.bytes;
        else if (f.wire == PB_BYTES && f.number == 2)
            u.kind = f.bytes;
    }
    if (r.bad || type.bad)
        return truncated(st);
    if (!str_utf8_valid(u.api_version) || !str_utf8_valid(u.kind))
        return status_set(st, REASON_BAD_REQUEST, "proto: invalid UTF-8 in the type of the body");
    *out = u;
    return 0;
}

static int wrong_wire(struct decoder *d, const struct schema_field *field, const struct pb_field *f)
{
    return status_set(d->st, REASON_BAD_REQUEST, "proto: wrong wireType = %u for field %.*s",
                      f->wire, STR_ARG(field->name));
}

static int read_string(struct decoder *d, str bytes, struct json *out)
{
    if (!str_utf8_valid(bytes))
        return status_set(d->st, REASON_BAD_REQUEST, "proto: invalid UTF-8 in a string");
    *out = json_of_str(bytes);
    return 0;
}

static int read_double(struct decoder *d, double v, struct json *out)
{
    if (!isfinite(v))
        return status_set(d->st, REASON_BAD_REQUEST, "proto: a number that JSON does not have");
    *out = json_of_float(v);
    return 0;
}

/* Time and MicroTime {1 seconds, 2 nanos}; an empty message is the zero time. */
static int read_time(struct decoder *d, const struct schema *s, str bytes, struct json *out)
{
    struct pb_reader r = pb_reader(bytes);
    char text[TIME_TEXT_SIZE];
    struct pb_field f;
    int64_t seconds = 0, micro = 0;
    size_t n;

    while (pb_next(&r, &f)) {
        if (f.number == 1 && f.wire == PB_VARINT)
            seconds = (int64_t)f.value;
        else if (f.number == 2 && f.wire == PB_VARINT)
            micro = (int32_t)f.value / 1000;
    }
    if (r.bad)
        return truncated(d->st);
    *out = json_null;
    if (bytes.n == 0)
        return 0;
    if (s->type == SCHEMA_TIME)
        n = time_format_seconds(text, seconds);
    else if (__builtin_mul_overflow(seconds, 1000000, &seconds) ||
             __builtin_add_overflow(seconds, micro, &seconds))
        n = 0;
    else
        n = time_format_micro(text, seconds);
    if (n == 0)
        return status_set(d->st, REASON_BAD_REQUEST,
                          "proto: a time outside of the years 0 to 9999");
    *out = json_of_str(str_dup(d->arena, (str){ text, n }));
    return 0;
}

/* The bytes of field `number`, empty if it is not there: Quantity's string, RawExtension's raw. */
static int read_inner(struct decoder *d, str bytes, uint32_t number, str *out)
{
    struct pb_reader r = pb_reader(bytes);
    struct pb_field f;

    *out = STR("");
    while (pb_next(&r, &f))
        if (f.number == number && f.wire == PB_BYTES)
            *out = f.bytes;
    return r.bad ? truncated(d->st) : 0;
}

static int read_quantity(struct decoder *d, str bytes, struct json *out)
{
    str text;

    if (read_inner(d, bytes, 1, &text) < 0)
        return -1;
    return read_string(d, text.n ? text : STR("0"), out);
}

/* {1 type, 2 intVal, 3 strVal}; type 1 is a string */
static int read_int_or_string(struct decoder *d, str bytes, struct json *out)
{
    struct pb_reader r = pb_reader(bytes);
    str text = STR("");
    uint64_t type = 0;
    struct pb_field f;
    int32_t number = 0;

    while (pb_next(&r, &f)) {
        if (f.number == 1 && f.wire == PB_VARINT)
            type = f.value;
        else if (f.number == 2 && f.wire == PB_VARINT)
            number = (int32_t)f.value;
        else if (f.number == 3 && f.wire == PB_BYTES)
            text = f.bytes;
    }
    if (r.bad)
        return truncated(d->st);
    if (type == 1)
        return read_string(d, text, out);
    *out = json_of_int(number);
    return 0;
}

/* RawExtension, FieldsV1, JSON: {1 raw}, with JSON in it */
static int read_any(struct decoder *d, str bytes, struct json *out)
{
    const struct json *v = &json_null;
    str raw;

    if (read_inner(d, bytes, 1, &raw) < 0)
        return -1;
    if (raw.n && json_parse(d->arena, raw, NULL, &v, d->st) < 0)
        return -1;
    *out = *v;
    return 0;
}

static int read_message(struct decoder *d, const struct schema *s, str raw, struct json *out);
static int read_list_field(struct decoder *d, const struct schema_field *field,
                           const struct schema *items, const struct pb_field *f,
                           struct json_array *list);

/* A message that is nothing but a list. */
static int read_wrapped(struct decoder *d, const struct schema_field *field, const struct schema *s,
                        str bytes, struct json *out)
{
    struct json_array list = json_array_new(d->arena);
    struct pb_reader r = pb_reader(bytes);
    struct pb_field f;

    while (pb_next(&r, &f))
        if (f.number == s->wrapped && read_list_field(d, field, s->items, &f, &list) < 0)
            return -1;
    if (r.bad)
        return truncated(d->st);
    *out = json_array_value(&list);
    return 0;
}

static int read_value(struct decoder *d, const struct schema_field *field, const struct schema *s,
                      const struct pb_field *f, struct json *out);

/* A message with one of two fields, the second perhaps repeated. */
static int read_either(struct decoder *d, const struct schema_field *field,
                       const struct schema_either *e, str bytes, struct json *out)
{
    struct json_array list = json_array_new(d->arena);
    struct pb_reader r = pb_reader(bytes);
    struct pb_field f;
    bool object = false;

    *out = json_false;
    while (pb_next(&r, &f)) {
        if (f.number == e->object_proto) {
            if (read_value(d, field, e->object, &f, out) < 0)
                return -1;
            object = true;
        } else if (f.number == e->other_proto && e->other->type == SCHEMA_LIST) {
            if (read_list_field(d, field, e->other->items, &f, &list) < 0)
                return -1;
        } else if (f.number == e->other_proto && !object) {
            if (read_value(d, field, e->other, &f, out) < 0)
                return -1;
        }
    }
    if (r.bad)
        return truncated(d->st);
    if (!object && e->other->type == SCHEMA_LIST)
        *out = json_array_value(&list);
    return 0;
}

static enum pb_wire wire_of(const struct schema *s)
{
    switch (s->type) {
    case SCHEMA_BOOL:
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return PB_VARINT;
    case SCHEMA_DOUBLE:
        return PB_FIXED64;
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
    case SCHEMA_ANY:
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
    case SCHEMA_LIST:
        break;
    }
    return PB_BYTES;
}

static int read_value(struct decoder *d, const struct schema_field *field, const struct schema *s,
                      const struct pb_field *f, struct json *out)
{
    if (f->wire != wire_of(s))
        return wrong_wire(d, field, f);
    switch (s->type) {
    case SCHEMA_STRING:
        return read_string(d, f->bytes, out);
    case SCHEMA_BYTES:
        *out = json_of_str(base64_encode(d->arena, BASE64_STD, f->bytes));
        return 0;
    case SCHEMA_BOOL:
        *out = json_of_bool(f->value != 0);
        return 0;
    case SCHEMA_INT32:
        *out = json_of_int((int32_t)f->value);
        return 0;
    case SCHEMA_INT64:
        *out = json_of_int((int64_t)f->value);
        return 0;
    case SCHEMA_DOUBLE:
        return read_double(d, pb_double(f->value), out);
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
        return read_time(d, s, f->bytes, out);
    case SCHEMA_QUANTITY:
        return read_quantity(d, f->bytes, out);
    case SCHEMA_INT_OR_STRING:
        return read_int_or_string(d, f->bytes, out);
    case SCHEMA_ANY:
        return s->either ? read_either(d, field, s->either, f->bytes, out)
                         : read_any(d, f->bytes, out);
    case SCHEMA_OBJECT:
        return read_message(d, s, f->bytes, out);
    case SCHEMA_LIST:
        return read_wrapped(d, field, s, f->bytes, out);
    case SCHEMA_MAP:
        break;
    }
    return status_set(d->st, REASON_BAD_REQUEST, "proto: field %.*s has no protobuf form",
                      STR_ARG(field->name));
}

/* One item, or a packed run of numbers. */
static int read_list_field(struct decoder *d, const struct schema_field *field,
                           const struct schema *items, const struct pb_field *f,
                           struct json_array *list)
{
    struct pb_reader r = pb_reader(f->bytes);
    struct pb_field one = { .wire = PB_VARINT };
    struct json v;

    if (f->wire != PB_BYTES || wire_of(items) != PB_VARINT) {
        if (read_value(d, field, items, f, &v) < 0)
            return -1;
        json_push(list, v);
        return 0;
    }
    while (r.p < r.end && pb_next_varint(&r, &one.value)) {
        if (read_value(d, field, items, &one, &v) < 0)
            return -1;
        json_push(list, v);
    }
    return r.bad ? truncated(d->st) : 0;
}

/* {1 key, 2 value}; what is missing is zero */
static int read_map_entry(struct decoder *d, const struct schema_field *field,
                          const struct pb_field *f, struct json_object *map)
{
    const struct schema *items = field->type->items;
    struct json v = items->zero ? *items->zero : json_null, key = json_of_str(STR(""));
    struct pb_reader r = pb_reader(f->bytes);
    struct pb_field part;

    if (f->wire != PB_BYTES)
        return wrong_wire(d, field, f);
    while (pb_next(&r, &part)) {
        if (part.number == 1 && part.wire != PB_BYTES)
            return wrong_wire(d, field, &part);
        if (part.number == 1 && read_string(d, part.bytes, &key) < 0)
            return -1;
        if (part.number == 2 && read_value(d, field, items, &part, &v) < 0)
            return -1;
    }
    if (r.bad)
        return truncated(d->st);
    json_add(map, json_str(&key), v);
    return 0;
}

static bool stands_later(const struct json_object *o, uint32_t i)
{
    for (uint32_t j = i + 1; j < o->n; j++)
        if (str_eq(o->members[i].name, o->members[j].name))
            return true;
    return false;
}

/* Of entries with the same key the last one counts. */
static void drop_duplicates(struct json_object *o)
{
    struct map seen = { 0 };
    uint32_t to = o->n;

    for (uint32_t i = o->n; i-- > 0;) {
        bool again = o->n <= FEW ? stands_later(o, i)
                                 : map_put(&seen, o->members[i].name, &o->members[i]) != NULL;

        if (!again)
            o->members[--to] = o->members[i];
    }
    map_release(&seen);
    o->members += to;
    o->n -= to;
    o->cap -= to;
}

static void push_slots(struct decoder *d, size_t n)
{
    if (d->n + n > d->cap) {
        d->cap = 2 * (d->n + n);
        d->slots = mem_realloc_n(d->slots, d->cap, sizeof(*d->slots));
    }
    if (n)
        memset(d->slots + d->n, 0, n * sizeof(*d->slots));
    d->n += n;
}

/* Reading may move the slots, so they are found anew by their place. */
static int read_field(struct decoder *d, const struct schema_field *field, size_t at,
                      const struct pb_field *f)
{
    struct json_array list = d->slots[at].list;
    struct json_object map = d->slots[at].map;
    struct json v = json_null;
    int rc;

    if (field->type->type == SCHEMA_LIST && !field->type->wrapped) {
        if (!list.arena)
            list = json_array_new(d->arena);
        rc = read_list_field(d, field, field->type->items, f, &list);
    } else if (field->type->type == SCHEMA_MAP) {
        if (!map.arena)
            map = json_object_new(d->arena);
        rc = read_map_entry(d, field, f, &map);
    } else
        rc = read_value(d, field, field->type, f, &v);
    d->slots[at] = (struct slot){ true, v, list, map };
    return rc;
}

/* The fields of an embedded message are fields of ours. */
static int read_embedded(struct decoder *d, const struct schema *s, size_t base,
                         const struct schema *embedded, str bytes)
{
    struct json v;

    if (read_message(d, embedded, bytes, &v) < 0)
        return -1;
    assert(d->slots); /* those of s, which has the fields that are embedded */
    json_for_each_member (m, &v) {
        const struct schema_field *f = schema_field(s, m->name);

        if (f)
            d->slots[base + (size_t)(f - s->fields)] =
                (struct slot){ .seen = true, .value = m->value };
    }
    return 0;
}

static int dispatch(struct decoder *d, const struct schema *s, size_t base,
                    const struct pb_field *f)
{
    for (size_t i = 0; i < s->nfields; i++)
        if (s->fields[i].proto == f->number)
            return read_field(d, &s->fields[i], base + i, f);
    for (size_t i = 0; i < s->nembeds; i++)
        if (s->embeds[i].proto == f->number && f->wire == PB_BYTES)
            return read_embedded(d, s, base, s->embeds[i].type, f->bytes);
    return 0;
}

static struct json take_slot(struct slot *slot)
{
    if (slot->list.arena)
        return json_array_value(&slot->list);
    if (!slot->map.arena)
        return slot->value;
    drop_duplicates(&slot->map);
    return json_object_value(&slot->map);
}

/* As many members as were seen, not one byte more. */
static struct json take_slots(struct decoder *d, const struct schema *s, size_t base)
{
    struct json_object o = json_object_new(d->arena);
    uint32_t n = 0;

    for (size_t i = 0; i < s->nfields; i++)
        n += d->slots[base + i].seen;
    o.members = arena_alloc_raw(d->arena, n * sizeof(*o.members));
    o.cap = n;
    for (size_t i = 0; i < s->nfields; i++)
        if (d->slots[base + i].seen)
            json_add(&o, s->fields[i].name, take_slot(&d->slots[base + i]));
    return json_object_value(&o);
}

static int read_message(struct decoder *d, const struct schema *s, str raw, struct json *out)
{
    struct pb_reader r = pb_reader(raw);
    size_t base = d->n;
    struct pb_field f;
    int rc = 0;

    *out = json_empty_object;
    if (raw.n == 0)
        return 0;
    if (d->depth == DEPTH_MAX)
        return status_set(d->st, REASON_BAD_REQUEST, "proto: messages nest too deep");
    d->depth++;
    push_slots(d, s->nfields);
    while (rc == 0 && pb_next(&r, &f))
        rc = dispatch(d, s, base, &f);
    if (rc == 0 && r.bad)
        rc = truncated(d->st);
    if (rc == 0)
        *out = take_slots(d, s, base);
    d->n = base;
    d->depth--;
    return rc;
}

int proto_decode(struct arena *a, const struct schema *s, str raw, const struct json **out,
                 struct status *st)
{
    struct decoder d = { .arena = a, .st = st };
    struct json v;
    int rc = read_message(&d, s, raw, &v);

    free(d.slots);
    if (rc < 0)
        return -1;
    *out = json_box(a, v);
    return 0;
}
