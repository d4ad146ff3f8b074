/* SPDX-License-Identifier: Apache-2.0 */

/* Trees to protobuf. */

#include <math.h>

#include "base/banned.h"
#include "base/encode.h"
#include "rpc/message_scalar.h"

struct encoder {
    struct buf *out;
    struct arena *arena; /* for what must be converted first */
};

static void encode(struct encoder *e, const struct rpc_message *m, const struct json *tree,
                   int depth);

static double real_of(const struct json *v)
{
    if (json_is(v, JSON_FLOAT))
        return v->f;
    if (json_is(v, JSON_INT))
        return (double)v->i;
    if (str_is(json_str(v), "Infinity"))
        return INFINITY;
    return str_is(json_str(v), "-Infinity") ? -INFINITY : NAN;
}

static uint64_t float_bits(double d)
{
    float f = (float)d;
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static uint64_t double_bits(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof(bits));
    return bits;
}

static uint64_t whole_of(const struct json *v)
{
    uint64_t u = 0;

    if (json_is(v, JSON_BOOL))
        return v->b;
    if (json_is(v, JSON_INT))
        return (uint64_t)v->i;
    (void)str_to_u64(json_str(v), &u);
    return u;
}

static uint64_t zigzag(uint64_t v)
{
    return v << 1 ^ (0 - (v >> 63));
}

static uint64_t number_of(const struct rpc_field *f, const struct json *v)
{
    int32_t number = 0;

    switch ((enum rpc_type)f->type) {
    case RPC_DOUBLE:
        return double_bits(real_of(v));
    case RPC_FLOAT:
        return float_bits(real_of(v));
    case RPC_SINT32:
    case RPC_SINT64:
        return zigzag(whole_of(v));
    case RPC_ENUM:
        if (!json_is(v, JSON_STRING))
            return whole_of(v);
        (void)enum_number(f->enumeration, json_str(v), &number);
        return (uint64_t)(int64_t)number;
    case RPC_INT64:
    case RPC_UINT64:
    case RPC_INT32:
    case RPC_FIXED64:
    case RPC_FIXED32:
    case RPC_BOOL:
    case RPC_UINT32:
    case RPC_SFIXED32:
    case RPC_SFIXED64:
    case RPC_STRING:
    case RPC_MESSAGE:
    case RPC_BYTES:
        break;
    }
    return whole_of(v);
}

static void put_number(struct buf *b, enum pb_wire wire, uint64_t v)
{
    if (wire == PB_VARINT) {
        pb_put_varint(b, v);
        return;
    }
    for (int i = 0; i < (wire == PB_FIXED32 ? 4 : 8); i++)
        buf_byte(b, (char)(v >> (8 * i)));
}

static void put_bytes(struct encoder *e, const struct rpc_field *f, str text)
{
    str bytes = STR_NONE;

    if (f->type == RPC_STRING)
        bytes = text;
    else if (!base64_decode(e->arena, BASE64_STD, text, &bytes))
        return;
    pb_put_bytes(e->out, f->number, bytes);
}

/* A value in the form that the tree has; v is checked already. */
static void put_value(struct encoder *e, const struct rpc_field *f, const struct json *v, int depth)
{
    enum pb_wire wire = scalar_wire(f);
    size_t mark;

    if (f->type == RPC_MESSAGE) {
        mark = pb_begin(e->out, f->number);
        encode(e, f->message, v, depth + 1);
        pb_end(e->out, mark);
    } else if (wire == PB_BYTES) {
        put_bytes(e, f, json_str(v));
    } else {
        pb_put_varint(e->out, (uint64_t)f->number << 3 | (unsigned)wire);
        put_number(e->out, wire, number_of(f, v));
    }
}

static bool valid(struct encoder *e, const struct rpc_field *f, const struct json *v,
                  struct json *out)
{
    if (f->type != RPC_MESSAGE)
        return scalar_given(e->arena, f, v, out);
    *out = *v;
    return json_is(v, JSON_OBJECT);
}

static void put_list(struct encoder *e, const struct rpc_field *f, const struct json *list,
                     int depth)
{
    enum pb_wire wire = scalar_wire(f);
    bool packed = wire != PB_BYTES && json_len(list) > 0;
    size_t mark = packed ? pb_begin(e->out, f->number) : 0;
    struct json v;

    json_for_each (item, list) {
        if (!valid(e, f, item, &v))
            continue;
        if (packed)
            put_number(e->out, wire, number_of(f, &v));
        else
            put_value(e, f, &v, depth);
    }
    if (packed)
        pb_end(e->out, mark);
}

static void put_map(struct encoder *e, const struct rpc_field *f, const struct json *map, int depth)
{
    const struct rpc_field *key = &f->message->fields[0], *value = &f->message->fields[1];
    struct json k, v;
    size_t mark;

    json_for_each_member (m, map) {
        struct json name = json_of_str(m->name);

        if (key->type == RPC_BOOL)
            name = json_of_bool(str_is(m->name, "true"));
        if (!valid(e, key, &name, &k) || !valid(e, value, &m->value, &v))
            continue;
        mark = pb_begin(e->out, f->number);
        put_value(e, key, &k, depth);
        put_value(e, value, &v, depth);
        pb_end(e->out, mark);
    }
}

static void put_field(struct encoder *e, const struct rpc_field *f, const struct json *given,
                      int depth)
{
    struct json v;

    if (f->flags & RPC_MAP)
        put_map(e, f, given, depth);
    else if (f->flags & RPC_REPEATED)
        put_list(e, f, given, depth);
    else if (valid(e, f, given, &v) && !scalar_is_default(f, &v))
        put_value(e, f, &v, depth);
}

static void encode(struct encoder *e, const struct rpc_message *m, const struct json *tree,
                   int depth)
{
    if (depth > RPC_DEPTH_MAX)
        return;
    for (size_t i = 0; i < m->nfields; i++) {
        const struct json *v = json_get(tree, m->fields[i].json);

        if (v && v->type != JSON_NULL)
            put_field(e, &m->fields[i], v, depth);
    }
}

void message_encode(struct buf *b, const struct rpc_message *m, const struct json *tree)
{
    scoped_arena a = arena_new();
    struct encoder e = { .out = b, .arena = a };

    encode(&e, m, tree, 0);
}
