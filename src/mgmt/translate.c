/* SPDX-License-Identifier: Apache-2.0 */
#include "mgmt/translate.h"

#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "object/meta/quantity.h"

static const __int128 NANO = 1000000000;

/* "tcpSocket" is TCPSocket here. */
static const struct json *find(const struct json *obj, str name)
{
    const struct json *v = json_get(obj, name);

    if (v)
        return v;
    json_for_each_member (m, obj)
        if (str_eq_nocase(m->name, name))
            return &m->value;
    return NULL;
}

/* Times, and quantities rounded up, as Kubernetes rounds them. */
static bool to_number(str text, struct json *out)
{
    struct quantity q;
    __int128 whole;
    int64_t s;

    if (time_parse_seconds(text, &s)) {
        *out = json_of_int(s);
        return true;
    }
    if (!quantity_parse(text, &q))
        return false;
    whole = q.nanos / NANO + (q.nanos % NANO > 0);
    if (whole > INT64_MAX || whole < INT64_MIN)
        return false;
    *out = json_of_int((int64_t)whole);
    return true;
}

static bool is_any_json(const struct rpc_message *m)
{
    return str_is(m->name, "kairship.io.api.v1.JSON");
}

static struct json any_json(struct arena *a, const struct json *v)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("raw"), json_of_str(base64_encode(a, BASE64_STD, json_text(a, v))));
    return json_object_value(&o);
}

static bool to_message(struct arena *a, const struct rpc_message *m, const struct json *v,
                       struct json *out)
{
    if (is_any_json(m)) {
        *out = any_json(a, v);
        return true;
    }
    if (!json_is(v, JSON_OBJECT))
        return false;
    *out = *translate(a, m, v);
    return true;
}

/* One value of the field's type; false: it has none. */
static bool to_value(struct arena *a, const struct rpc_field *f, const struct json *v,
                     struct json *out)
{
    int32_t number;

    if (f->type == RPC_MESSAGE)
        return to_message(a, f->message, v, out);
    if (f->type == RPC_INT64 && json_is(v, JSON_STRING))
        return to_number(json_str(v), out);
    if (f->type == RPC_ENUM && !enum_number(f->enumeration, json_str(v), &number))
        return false;
    *out = *v;
    if (f->type == RPC_STRING && json_is(v, JSON_INT))
        *out = json_of_str(json_text(a, v));
    return true;
}

static struct json to_list(struct arena *a, const struct rpc_field *f, const struct json *v)
{
    struct json_array list = json_array_new(a);
    struct json item;

    json_for_each (it, v)
        if (to_value(a, f, it, &item))
            json_push(&list, item);
    return json_array_value(&list);
}

const struct json *translate(struct arena *a, const struct rpc_message *m, const struct json *obj)
{
    struct json_object o = json_object_new(a);
    struct json value;

    for (size_t i = 0; i < m->nfields; i++) {
        const struct rpc_field *f = &m->fields[i];
        const struct json *v = find(obj, f->json);

        if (!v || v->type == JSON_NULL)
            continue;
        if (f->flags & RPC_MAP)
            json_add(&o, f->json, *v);
        else if (f->flags & RPC_REPEATED)
            json_add(&o, f->json, to_list(a, f, v));
        else if (to_value(a, f, v, &value))
            json_add(&o, f->json, value);
    }
    return json_object_done(&o);
}
