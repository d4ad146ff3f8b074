/* SPDX-License-Identifier: Apache-2.0 */

/* Trees from and to what REST clients see: proto3's JSON. */

#include <stdarg.h>

#include "base/banned.h"
#include "rpc/message_scalar.h"

/* ---- from clients ---- */

struct path { /* to a value, for messages about it */
    const struct path *up;
    str name;
};

struct input {
    struct arena *arena;
    struct status *st;
};

static int read_message(struct input *in, const struct rpc_message *m, const struct json *v,
                        const struct path *at, int depth, struct json *out);

static void print_path(struct buf *b, const struct path *p)
{
    if (!p)
        return;
    print_path(b, p->up);
    if (b->n)
        buf_byte(b, '.');
    buf_str_append(b, p->name);
}

int message_refuse(struct status *st, str field, const char *fmt, ...)
{
    const char *why;
    va_list ap;

    va_start(ap, fmt);
    why = arena_vprintf(st->arena, fmt, ap);
    va_end(ap);
    status_cause(st, CAUSE_OTHER, field, STR_NONE, "%s", why);
    return status_set(st, REASON_BAD_REQUEST, "%.*s: %s", STR_ARG(field), why);
}

static int refuse(struct input *in, const struct path *at, const char *want)
{
    scoped_buf b = { .max = 4096 };

    print_path(&b, at);
    if (b.n == 0)
        return status_set(in->st, REASON_BAD_REQUEST, "the request: must be %s", want);
    return message_refuse(in->st, buf_str(&b), "must be %s", want);
}

static int read_value(struct input *in, const struct rpc_field *f, const struct json *v,
                      const struct path *at, int depth, struct json *out)
{
    const char *why;

    if (f->type == RPC_MESSAGE)
        return read_message(in, f->message, v, at, depth + 1, out);
    return scalar_read(in->arena, f, v, out, &why) ? 0 : refuse(in, at, why);
}

static int read_list(struct input *in, const struct rpc_field *f, const struct json *v,
                     const struct path *at, int depth, struct json *out)
{
    struct json_array list = json_array_new(in->arena);
    struct json item;

    if (!json_is(v, JSON_ARRAY))
        return refuse(in, at, "an array");
    json_for_each (it, v) {
        if (read_value(in, f, it, at, depth, &item) < 0)
            return -1;
        json_push(&list, item);
    }
    *out = json_array_value(&list);
    return 0;
}

static int read_map(struct input *in, const struct rpc_field *f, const struct json *v,
                    const struct path *at, int depth, struct json *out)
{
    const struct rpc_field *key = &f->message->fields[0], *value = &f->message->fields[1];
    struct json_object map = json_object_new(in->arena);
    struct json item, k;
    const char *why;

    if (!json_is(v, JSON_OBJECT))
        return refuse(in, at, "an object");
    json_for_each_member (m, v) {
        struct json name = json_of_str(m->name);
        struct path below = { at, m->name };

        if (key->type == RPC_BOOL ? !str_is(m->name, "true") && !str_is(m->name, "false")
                                  : !scalar_read(in->arena, key, &name, &k, &why))
            return refuse(in, &below, "a key of the map's type");
        if (read_value(in, value, &m->value, &below, depth, &item) < 0)
            return -1;
        json_add(&map, m->name, item);
    }
    *out = json_object_value(&map);
    return 0;
}

static int read_field(struct input *in, const struct rpc_field *f, const struct json *v,
                      const struct path *at, int depth, struct json *out)
{
    if (f->flags & RPC_MAP)
        return read_map(in, f, v, at, depth, out);
    if (f->flags & RPC_REPEATED)
        return read_list(in, f, v, at, depth, out);
    return read_value(in, f, v, at, depth, out);
}

static bool is_left_out(const struct rpc_field *f, const struct json *v)
{
    if (f->flags & (RPC_MAP | RPC_REPEATED))
        return json_len(v) == 0;
    return scalar_is_default(f, v);
}

static int read_message(struct input *in, const struct rpc_message *m, const struct json *v,
                        const struct path *at, int depth, struct json *out)
{
    struct json_object o = json_object_new(in->arena);
    struct json value;

    if (!json_is(v, JSON_OBJECT))
        return refuse(in, at, "an object");
    if (depth > RPC_DEPTH_MAX)
        return refuse(in, at, "less deep");
    json_for_each_member (member, v) {
        const struct rpc_field *f = message_field(m, member->name);
        struct path below = { at, member->name };

        if (!f || member->value.type == JSON_NULL)
            continue;
        if (read_field(in, f, &member->value, &below, depth, &value) < 0)
            return -1;
        if (!is_left_out(f, &value))
            json_put(&o, f->json, value); /* the later one of "a_b" and "aB" */
    }
    *out = json_object_value(&o);
    return 0;
}

int message_read(struct arena *a, const struct rpc_message *m, const struct json *v,
                 const struct json **out, struct status *st)
{
    struct input in = { .arena = a, .st = st };
    struct json tree;

    if (read_message(&in, m, v, NULL, 0, &tree) < 0)
        return -1;
    *out = json_box(a, tree);
    return 0;
}

/* ---- to clients ---- */

struct printer {
    struct buf *out;
    struct arena *arena;
};

static void print_message(struct printer *p, const struct rpc_message *m, const struct json *tree,
                          int depth);

static bool is_wide(const struct rpc_field *f)
{
    static const uint8_t wide[] = { RPC_INT64, RPC_UINT64, RPC_FIXED64, RPC_SFIXED64, RPC_SINT64 };

    return memchr(wide, f->type, sizeof(wide));
}

static void print_value(struct printer *p, const struct rpc_field *f, const struct json *given,
                        int depth)
{
    struct json v;

    if (f->type == RPC_MESSAGE) {
        print_message(p, f->message, given, depth + 1);
        return;
    }
    if (!scalar_given(p->arena, f, given, &v))
        v = scalar_default(f);
    if (is_wide(f) && json_is(&v, JSON_INT)) {
        buf_byte(p->out, '"');
        buf_i64(p->out, v.i);
        buf_byte(p->out, '"');
        return;
    }
    json_print(p->out, &v);
}

static void print_list(struct printer *p, const struct rpc_field *f, const struct json *list,
                       int depth)
{
    buf_byte(p->out, '[');
    json_for_each (item, list) {
        if (item != list->items)
            buf_byte(p->out, ',');
        print_value(p, f, item, depth);
    }
    buf_byte(p->out, ']');
}

static void print_map(struct printer *p, const struct rpc_field *f, const struct json *map,
                      int depth)
{
    buf_byte(p->out, '{');
    json_for_each_member (m, map) {
        if (m != map->members)
            buf_byte(p->out, ',');
        json_print_string(p->out, m->name);
        buf_byte(p->out, ':');
        print_value(p, &f->message->fields[1], &m->value, depth);
    }
    buf_byte(p->out, '}');
}

static void print_field(struct printer *p, const struct rpc_field *f, const struct json *v,
                        int depth)
{
    struct json none = scalar_default(f);

    if (f->flags & RPC_MAP)
        print_map(p, f, v, depth);
    else if (f->flags & RPC_REPEATED)
        print_list(p, f, v, depth);
    else if (v && v->type != JSON_NULL)
        print_value(p, f, v, depth);
    else if (f->type == RPC_MESSAGE)
        buf_lit(p->out, "null");
    else
        print_value(p, f, &none, depth);
}

static void print_message(struct printer *p, const struct rpc_message *m, const struct json *tree,
                          int depth)
{
    bool first = true;

    buf_byte(p->out, '{');
    for (size_t i = 0; i < m->nfields && depth <= RPC_DEPTH_MAX; i++) {
        const struct rpc_field *f = &m->fields[i];
        const struct json *v = json_get(tree, f->json);

        if (!v && f->flags & RPC_PRESENCE)
            continue;
        if (!first)
            buf_byte(p->out, ',');
        first = false;
        json_print_string(p->out, f->json);
        buf_byte(p->out, ':');
        print_field(p, f, v, depth);
    }
    buf_byte(p->out, '}');
}

void message_print(struct buf *b, const struct rpc_message *m, const struct json *tree)
{
    scoped_arena a = arena_new();
    struct printer p = { .out = b, .arena = a };

    print_message(&p, m, tree, 0);
}
