/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/message_scalar.h"

#include <inttypes.h>
#include <math.h>

#include "base/banned.h"
#include "base/encode.h"

struct json scalar_default(const struct rpc_field *f)
{
    switch ((enum rpc_type)f->type) {
    case RPC_STRING:
    case RPC_BYTES:
        return json_of_str(STR(""));
    case RPC_BOOL:
        return json_false;
    case RPC_MESSAGE:
        return json_empty_object;
    case RPC_ENUM:
        return json_of_str(f->enumeration->values[0].name);
    case RPC_DOUBLE:
    case RPC_FLOAT:
    case RPC_INT64:
    case RPC_UINT64:
    case RPC_INT32:
    case RPC_FIXED64:
    case RPC_FIXED32:
    case RPC_UINT32:
    case RPC_SFIXED32:
    case RPC_SFIXED64:
    case RPC_SINT32:
    case RPC_SINT64:
        break;
    }
    return json_of_int(0);
}

bool scalar_is_default(const struct rpc_field *f, const struct json *v)
{
    struct json none;

    if (f->flags & RPC_PRESENCE || f->type == RPC_MESSAGE)
        return false;
    none = scalar_default(f);
    return json_equal(v, &none);
}

/* ---- as clients write them ---- */

static bool read_whole(const struct json *v, int64_t from, int64_t to, struct json *out)
{
    struct json number = json_is(v, JSON_FLOAT) ? json_of_float(v->f) : *v; /* 1.0 is one */
    int64_t i;

    if (json_is(&number, JSON_INT))
        i = number.i;
    else if (!json_is(v, JSON_STRING) || !str_to_i64(json_str(v), &i))
        return false;
    *out = json_of_int(i);
    return i >= from && i <= to;
}

static bool read_u64(const struct json *v, struct json *out)
{
    uint64_t u;

    if (read_whole(v, 0, INT64_MAX, out))
        return true;
    if (json_is(v, JSON_FLOAT) || !json_is(v, JSON_STRING) || !str_to_u64(json_str(v), &u))
        return false;
    *out = *v;
    return true;
}

static bool read_text_number(struct arena *a, str text, struct json *out)
{
    static const char *const odd[] = { "NaN", "Infinity", "-Infinity" };
    const struct json *v;
    struct status st;

    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        if (!str_is(text, odd[i]))
            continue;
        *out = json_of_str(str_of(odd[i]));
        return true;
    }
    status_init(&st, a);
    if (json_parse(a, text, NULL, &v, &st) < 0 || (v->type != JSON_INT && v->type != JSON_FLOAT))
        return false;
    *out = *v;
    return true;
}

static bool read_real(struct arena *a, const struct json *v, struct json *out)
{
    if (json_is(v, JSON_STRING))
        return read_text_number(a, json_str(v), out);
    *out = *v;
    return v->type == JSON_INT || v->type == JSON_FLOAT;
}

static bool read_enum(const struct rpc_enum *e, const struct json *v, struct json *out)
{
    const struct rpc_enum_value *known;
    int32_t number;

    if (json_is(v, JSON_STRING) && enum_number(e, json_str(v), &number)) {
        *out = *v;
        return true;
    }
    if (!read_whole(v, INT32_MIN, INT32_MAX, out))
        return false;
    known = enum_value(e, (int32_t)out->i);
    if (known)
        *out = json_of_str(known->name);
    return true;
}

/* Either alphabet, with padding or without. */
static bool read_bytes(struct arena *a, const struct json *v, struct json *out)
{
    str text = json_str(v), bytes;
    char *plain;
    size_t n = 0;

    if (!json_is(v, JSON_STRING))
        return false;
    plain = arena_alloc(a, text.n + 1);
    for (; n < text.n && text.p[n] != '='; n++)
        plain[n] = (char)(text.p[n] == '+' ? '-' : text.p[n] == '/' ? '_' : text.p[n]);
    if (text.n - n > 2 || !base64_decode(a, BASE64_URL, (str){ plain, n }, &bytes))
        return false;
    *out = json_of_str(base64_encode(a, BASE64_STD, bytes));
    return true;
}

bool scalar_read(struct arena *a, const struct rpc_field *f, const struct json *v, struct json *out,
                 const char **why)
{
    switch ((enum rpc_type)f->type) {
    case RPC_STRING:
        *why = "a string";
        *out = *v;
        return json_is(v, JSON_STRING);
    case RPC_BYTES:
        *why = "bytes in base64";
        return read_bytes(a, v, out);
    case RPC_BOOL:
        *why = "true or false";
        *out = *v;
        return json_is(v, JSON_BOOL);
    case RPC_ENUM:
        *why = "a name of the enum";
        return read_enum(f->enumeration, v, out);
    case RPC_DOUBLE:
    case RPC_FLOAT:
        *why = "a number";
        return read_real(a, v, out);
    case RPC_INT64:
    case RPC_SFIXED64:
    case RPC_SINT64:
        *why = "a 64-bit integer";
        return read_whole(v, INT64_MIN, INT64_MAX, out);
    case RPC_UINT64:
    case RPC_FIXED64:
        *why = "an unsigned 64-bit integer";
        return read_u64(v, out);
    case RPC_INT32:
    case RPC_SFIXED32:
    case RPC_SINT32:
        *why = "a 32-bit integer";
        return read_whole(v, INT32_MIN, INT32_MAX, out);
    case RPC_UINT32:
    case RPC_FIXED32:
        *why = "an unsigned 32-bit integer";
        return read_whole(v, 0, UINT32_MAX, out);
    case RPC_MESSAGE:
        break;
    }
    return false;
}

bool scalar_given(struct arena *a, const struct rpc_field *f, const struct json *v,
                  struct json *out)
{
    const char *why;

    if (f->type == RPC_STRING && (json_is(v, JSON_INT) || json_is(v, JSON_FLOAT))) {
        *out = json_of_str(json_text(a, v));
        return true;
    }
    return scalar_read(a, f, v, out, &why);
}
