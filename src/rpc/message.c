/* SPDX-License-Identifier: Apache-2.0 */

/* Protobuf to trees. */

#include "rpc/message.h"

#include <inttypes.h>
#include <math.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/pbwire.h"
#include "rpc/message_scalar.h"

const struct rpc_field *message_field(const struct rpc_message *m, str name)
{
    for (size_t i = 0; i < m->nfields; i++)
        if (str_eq(m->fields[i].json, name) || str_eq(m->fields[i].name, name))
            return &m->fields[i];
    return NULL;
}

const struct rpc_enum_value *enum_value(const struct rpc_enum *e, int32_t number)
{
    for (size_t i = 0; i < e->nvalues; i++)
        if (e->values[i].number == number)
            return &e->values[i];
    return NULL;
}

bool enum_number(const struct rpc_enum *e, str name, int32_t *out)
{
    for (size_t i = 0; i < e->nvalues; i++) {
        if (!str_eq(e->values[i].name, name))
            continue;
        *out = e->values[i].number;
        return true;
    }
    return false;
}

/* ---- scalars ---- */

static const enum pb_wire wires[] = {
    [RPC_DOUBLE] = PB_FIXED64,  [RPC_FLOAT] = PB_FIXED32,    [RPC_INT64] = PB_VARINT,
    [RPC_UINT64] = PB_VARINT,   [RPC_INT32] = PB_VARINT,     [RPC_FIXED64] = PB_FIXED64,
    [RPC_FIXED32] = PB_FIXED32, [RPC_BOOL] = PB_VARINT,      [RPC_STRING] = PB_BYTES,
    [RPC_MESSAGE] = PB_BYTES,   [RPC_BYTES] = PB_BYTES,      [RPC_UINT32] = PB_VARINT,
    [RPC_ENUM] = PB_VARINT,     [RPC_SFIXED32] = PB_FIXED32, [RPC_SFIXED64] = PB_FIXED64,
    [RPC_SINT32] = PB_VARINT,   [RPC_SINT64] = PB_VARINT,
};

enum pb_wire scalar_wire(const struct rpc_field *f)
{
    return wires[f->type];
}

static struct json of_double(double d)
{
    if (isnan(d))
        return json_of_str(STR("NaN"));
    if (isinf(d))
        return json_of_str(d > 0 ? STR("Infinity") : STR("-Infinity"));
    return json_of_float(d);
}

static double of_float_bits(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return (double)f;
}

static struct json of_u64(struct arena *a, uint64_t v)
{
    if (v <= INT64_MAX)
        return json_of_int((int64_t)v);
    return json_of_str(str_printf(a, "%" PRIu64, v));
}

static int64_t zigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static struct json of_enum(const struct rpc_enum *e, int32_t number)
{
    const struct rpc_enum_value *v = enum_value(e, number);

    return v ? json_of_str(v->name) : json_of_int(number);
}

static struct json of_number(struct arena *a, const struct rpc_field *f, uint64_t v)
{
    switch ((enum rpc_type)f->type) {
    case RPC_DOUBLE:
        return of_double(pb_double(v));
    case RPC_FLOAT:
        return of_double(of_float_bits((uint32_t)v));
    case RPC_INT64:
    case RPC_SFIXED64:
        return json_of_int((int64_t)v);
    case RPC_UINT64:
    case RPC_FIXED64:
        return of_u64(a, v);
    case RPC_INT32:
    case RPC_SFIXED32:
        return json_of_int((int32_t)(uint32_t)v);
    case RPC_UINT32:
    case RPC_FIXED32:
        return json_of_int((uint32_t)v);
    case RPC_BOOL:
        return json_of_bool(v != 0);
    case RPC_ENUM:
        return of_enum(f->enumeration, (int32_t)(uint32_t)v);
    case RPC_SINT32:
        return json_of_int((int32_t)zigzag((uint32_t)v));
    case RPC_SINT64:
        return json_of_int(zigzag(v));
    case RPC_STRING:
    case RPC_BYTES:
    case RPC_MESSAGE:
        break;
    }
    return json_null;
}

/* ---- messages ---- */

struct decoder {
    struct arena *arena;
    size_t began; /* bytes of the arena */
    struct status *st;
};

/* What has been found of one field. */
struct found {
    const struct rpc_field *field;
    struct json value;
    struct json_array list;
    struct json_object map;
};

struct found_list {
    struct found *p;
    size_t n, cap;
};

static int decode(struct decoder *d, const struct rpc_message *m, str bytes, int depth,
                  struct json *out);

static int broken(struct decoder *d, const struct rpc_message *m, const char *why)
{
    return status_set(d->st, REASON_BAD_REQUEST, "the message %.*s cannot be decoded: %s",
                      STR_ARG(m->name), why);
}

static const struct rpc_field *field_of(const struct rpc_message *m, uint32_t number)
{
    size_t from = 0, to = m->nfields;

    while (from < to) {
        size_t at = (from + to) / 2;

        if (m->fields[at].number == number)
            return &m->fields[at];
        if (m->fields[at].number < number)
            from = at + 1;
        else
            to = at;
    }
    return NULL;
}

static struct found *found_of(struct decoder *d, struct found_list *l, const struct rpc_field *f)
{
    for (size_t i = l->n; i-- > 0;)
        if (l->p[i].field == f)
            return &l->p[i];
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 4;
        struct found *more = arena_array(d->arena, struct found, cap);

        if (l->n)
            memcpy(more, l->p, l->n * sizeof(*more));
        l->p = more;
        l->cap = cap;
    }
    l->p[l->n] = (struct found){ .field = f,
                                 .list = json_array_new(d->arena),
                                 .map = json_object_new(d->arena) };
    return &l->p[l->n++];
}

static int decode_value(struct decoder *d, const struct rpc_message *m, const struct rpc_field *f,
                        const struct pb_field *w, int depth, struct json *out)
{
    if (f->type == RPC_MESSAGE)
        return decode(d, f->message, w->bytes, depth + 1, out);
    if (f->type == RPC_STRING && !str_utf8_valid(w->bytes))
        return broken(d, m, "a string is not UTF-8");
    if (f->type == RPC_STRING)
        *out = json_of_str(str_dup(d->arena, w->bytes));
    else if (f->type == RPC_BYTES)
        *out = json_of_str(base64_encode(d->arena, BASE64_STD, w->bytes));
    else
        *out = of_number(d->arena, f, w->value);
    return 0;
}

static bool next_packed(struct pb_reader *r, enum pb_wire wire, uint64_t *out)
{
    size_t n = wire == PB_FIXED32 ? 4 : 8;

    if (wire == PB_VARINT)
        return pb_next_varint(r, out);
    if ((size_t)(r->end - r->p) < n) {
        r->bad = true;
        return false;
    }
    *out = 0;
    for (size_t i = 0; i < n; i++)
        *out |= (uint64_t)r->p[i] << (8 * i);
    r->p += n;
    return true;
}

static int decode_packed(struct decoder *d, const struct rpc_message *m, struct found *to,
                         str bytes)
{
    struct pb_reader r = pb_reader(bytes);
    uint64_t v;

    while (r.p < r.end) {
        if (!next_packed(&r, scalar_wire(to->field), &v))
            return broken(d, m, "a packed list is cut off");
        json_push(&to->list, of_number(d->arena, to->field, v));
    }
    return 0;
}

static str key_text(struct arena *a, const struct json *key)
{
    return json_is(key, JSON_STRING) ? json_str(key) : json_text(a, key);
}

/* A map is a list of entries; a later one replaces an earlier one of the same key. */
static int decode_entry(struct decoder *d, struct found *to, str bytes, int depth)
{
    const struct rpc_message *entry = to->field->message;
    const struct json *key, *value;
    struct json whole, none;
    str name = STR_NONE;

    if (decode(d, entry, bytes, depth + 1, &whole) < 0)
        return -1;
    key = json_get(&whole, entry->fields[0].json);
    value = json_get(&whole, entry->fields[1].json);
    if (!key && entry->fields[0].type != RPC_STRING)
        name = entry->fields[0].type == RPC_BOOL ? STR("false") : STR("0");
    else if (key)
        name = key_text(d->arena, key);
    none = scalar_default(&entry->fields[1]);
    json_put(&to->map, name, value ? *value : none);
    return 0;
}

static int decode_field(struct decoder *d, const struct rpc_message *m, struct found *to,
                        const struct pb_field *w, int depth)
{
    const struct rpc_field *f = to->field;
    struct json v;

    if (f->flags & RPC_MAP)
        return decode_entry(d, to, w->bytes, depth);
    if (f->flags & RPC_REPEATED && w->wire == PB_BYTES && scalar_wire(f) != PB_BYTES)
        return decode_packed(d, m, to, w->bytes);
    if (decode_value(d, m, f, w, depth, &v) < 0)
        return -1;
    if (f->flags & RPC_REPEATED)
        json_push(&to->list, v);
    else if (f->type == RPC_MESSAGE && json_is(&to->value, JSON_OBJECT))
        to->value = *json_merge_patch(d->arena, &to->value, &v);
    else
        to->value = v;
    return 0;
}

static bool fits(const struct rpc_field *f, enum pb_wire wire)
{
    bool packable = f->flags & RPC_REPEATED && scalar_wire(f) != PB_BYTES;

    return wire == scalar_wire(f) || (packable && wire == PB_BYTES);
}

static struct json tree_of(struct decoder *d, const struct found_list *l)
{
    struct json_object o = json_object_new(d->arena);

    for (size_t i = 0; i < l->n; i++) {
        struct found *f = &l->p[i];

        if (f->field->flags & RPC_MAP)
            json_add(&o, f->field->json, json_object_value(&f->map));
        else if (f->field->flags & RPC_REPEATED && f->list.n)
            json_add(&o, f->field->json, json_array_value(&f->list));
        else if (!(f->field->flags & RPC_REPEATED) && !scalar_is_default(f->field, &f->value))
            json_add(&o, f->field->json, f->value);
    }
    return json_object_value(&o);
}

static int decode(struct decoder *d, const struct rpc_message *m, str bytes, int depth,
                  struct json *out)
{
    struct pb_reader r = pb_reader(bytes);
    struct found_list all = { 0 };
    struct pb_field w;

    if (depth > RPC_DEPTH_MAX)
        return broken(d, m, "it is nested too deeply");
    if (arena_size(d->arena) - d->began > RPC_DECODED_MAX)
        return status_set(d->st, REASON_TOO_LARGE, "the message is too large");
    while (pb_next(&r, &w)) {
        const struct rpc_field *f = field_of(m, w.number);

        if (f && fits(f, w.wire) && decode_field(d, m, found_of(d, &all, f), &w, depth) < 0)
            return -1;
    }
    if (r.bad)
        return broken(d, m, "it is cut off or no protobuf");
    *out = tree_of(d, &all);
    return 0;
}

int message_decode(struct arena *a, const struct rpc_message *m, str bytes, const struct json **out,
                   struct status *st)
{
    struct decoder d = { .arena = a, .began = arena_size(a), .st = st };
    struct json v;

    if (decode(&d, m, bytes, 0, &v) < 0)
        return -1;
    *out = json_box(a, v);
    return 0;
}
