/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/banned.h"
#include "json/members.h"
#include "json/scan.h"

const struct json json_null = { .type = JSON_NULL };
const struct json json_true = { .type = JSON_BOOL, .b = true };
const struct json json_false = { .type = JSON_BOOL, .b = false };
const struct json json_empty_object = { .type = JSON_OBJECT };
const struct json json_empty_array = { .type = JSON_ARRAY };

const struct json *json_get(const struct json *v, str name)
{
    json_for_each_member (m, v)
        if (scan_equal(m->name, name))
            return &m->value;
    return NULL;
}

const struct json *json_at(const struct json *v, size_t i)
{
    return json_is(v, JSON_ARRAY) && i < v->n ? &v->items[i] : NULL;
}

const struct json *json_path(const struct json *v, const char *path)
{
    for (const char *end; v; path = end + 1) {
        end = strchrnul(path, '.');
        v = json_get(v, (str){ path, (size_t)(end - path) });
        if (*end == '\0')
            break;
    }
    return v;
}

const char *json_type_name(const struct json *v)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",        [JSON_BOOL] = "a boolean",  [JSON_INT] = "a number",
        [JSON_FLOAT] = "a number",   [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };

    return names[v ? v->type : JSON_NULL];
}

static bool is_number(const struct json *v)
{
    return v->type == JSON_INT || v->type == JSON_FLOAT;
}

/* The double as an int64, if it is one exactly. */
static bool integral(double f, int64_t *out)
{
    if (f < -9223372036854775808.0 || f >= 9223372036854775808.0 || f != floor(f))
        return false;
    *out = (int64_t)f;
    return true;
}

static bool numbers_equal(const struct json *a, const struct json *b)
{
    int64_t i;

    if (a->type == JSON_INT && b->type == JSON_INT)
        return a->i == b->i;
    if (a->type == JSON_FLOAT && b->type == JSON_FLOAT)
        return a->f == b->f;
    if (a->type == JSON_FLOAT)
        return integral(a->f, &i) && i == b->i;
    return integral(b->f, &i) && i == a->i;
}

static bool items_equal(const struct json *a, const struct json *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!json_equal(&a->items[i], &b->items[i]))
            return false;
    return true;
}

static bool members_equal_sorted(const struct json_member *a, const struct json_member *b, size_t n)
{
    const struct json_member *few_a[MEMBERS_FEW], *few_b[MEMBERS_FEW];
    const struct json_member **in_a = members_sorted(a, n, few_a);
    const struct json_member **in_b = members_sorted(b, n, few_b);
    bool equal = true;

    for (size_t i = 0; equal && i < n; i++)
        equal =
            str_eq(in_a[i]->name, in_b[i]->name) && json_equal(&in_a[i]->value, &in_b[i]->value);
    members_sorted_free(in_a, few_a);
    members_sorted_free(in_b, few_b);
    return equal;
}

/* Mostly the order is the same; what follows the first difference is sorted. */
static bool members_equal(const struct json *a, const struct json *b)
{
    for (size_t i = 0; i < a->n; i++) {
        if (!scan_equal(a->members[i].name, b->members[i].name))
            return members_equal_sorted(a->members + i, b->members + i, a->n - i);
        if (!json_equal(&a->members[i].value, &b->members[i].value))
            return false;
    }
    return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
    if (a == b)
        return true;
    if (!a || !b)
        return false;
    if (is_number(a) && is_number(b))
        return numbers_equal(a, b);
    if (a->type != b->type || a->n != b->n)
        return false;
    switch (a->type) {
    case JSON_BOOL:
        return a->b == b->b;
    case JSON_STRING:
        return a->s == b->s || str_eq(json_str(a), json_str(b));
    case JSON_ARRAY:
        return a->items == b->items || items_equal(a, b);
    case JSON_OBJECT:
        return a->members == b->members || members_equal(a, b);
    case JSON_NULL:
    case JSON_INT:
    case JSON_FLOAT:
        break;
    }
    return true;
}

struct json json_of_float(double f)
{
    int64_t i;

    assert(isfinite(f));
    return integral(f, &i) ? json_of_int(i) : (struct json){ .type = JSON_FLOAT, .f = f };
}

const struct json *json_box(struct arena *a, struct json v)
{
    struct json *p = arena_alloc_raw(a, sizeof(*p));

    *p = v;
    return p;
}

static size_t string_bytes(const struct json *v)
{
    size_t n = v->type == JSON_STRING ? v->n : 0;

    json_for_each (it, v)
        n += string_bytes(it);
    json_for_each_member (m, v)
        n += m->name.n + string_bytes(&m->value);
    return n;
}

/* Strings go to one block, where *to moves on. */
static str dup_str(char **to, str s)
{
    char *p = *to;

    if (s.n)
        memcpy(p, s.p, s.n);
    *to += s.n;
    return (str){ p, s.n };
}

static struct json dup_value(struct arena *a, const struct json *v, char **to)
{
    struct json out = *v;

    if (v->type == JSON_STRING) {
        out.s = dup_str(to, json_str(v)).p;
    } else if (v->type == JSON_ARRAY && v->n) {
        struct json *items = arena_alloc_raw(a, v->n * sizeof(*items));

        for (size_t i = 0; i < v->n; i++)
            items[i] = dup_value(a, &v->items[i], to);
        out.items = items;
    } else if (v->type == JSON_OBJECT && v->n) {
        struct json_member *m = arena_alloc_raw(a, v->n * sizeof(*m));

        for (size_t i = 0; i < v->n; i++) {
            m[i].name = dup_str(to, v->members[i].name);
            m[i].value = dup_value(a, &v->members[i].value, to);
        }
        out.members = m;
    }
    return out;
}

const struct json *json_dup(struct arena *a, const struct json *v)
{
    char *strings;

    if (!v)
        return NULL;
    strings = arena_alloc_raw(a, string_bytes(v) + 1);
    return json_box(a, dup_value(a, v, &strings));
}

struct json_object json_object_new(struct arena *a)
{
    return (struct json_object){ .arena = a };
}

static uint32_t larger(uint32_t cap)
{
    return cap ? cap * 2 : 8;
}

struct json_object json_object_from(struct arena *a, const struct json *v)
{
    struct json_object o = json_object_new(a);

    if (json_len(v) == 0 || v->type != JSON_OBJECT)
        return o;
    o.cap = v->n + 4;
    o.members = arena_alloc_raw(a, o.cap * sizeof(*o.members));
    memcpy(o.members, v->members, v->n * sizeof(*o.members));
    o.n = v->n;
    return o;
}

void json_add(struct json_object *o, str name, struct json v)
{
    if (o->n == o->cap) {
        uint32_t cap = larger(o->cap);
        struct json_member *m = arena_alloc_raw(o->arena, cap * sizeof(*m));

        if (o->n)
            memcpy(m, o->members, o->n * sizeof(*m));
        o->members = m;
        o->cap = cap;
    }
    o->members[o->n++] = (struct json_member){ name, v };
}

static struct json_member *find(struct json_object *o, str name)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (scan_equal(o->members[i].name, name))
            return &o->members[i];
    return NULL;
}

void json_put(struct json_object *o, str name, struct json v)
{
    struct json_member *m = find(o, name);

    if (m)
        m->value = v;
    else
        json_add(o, name, v);
}

void json_remove(struct json_object *o, str name)
{
    struct json_member *m = find(o, name);

    if (!m)
        return;
    o->n--;
    memmove(m, m + 1, (size_t)(o->members + o->n - m) * sizeof(*m));
}

struct json json_object_value(struct json_object *o)
{
    return (struct json){ .type = JSON_OBJECT, .n = o->n, .members = o->members };
}

const struct json *json_object_done(struct json_object *o)
{
    return json_box(o->arena, json_object_value(o));
}

struct json_array json_array_new(struct arena *a)
{
    return (struct json_array){ .arena = a };
}

void json_push(struct json_array *r, struct json v)
{
    if (r->n == r->cap) {
        uint32_t cap = larger(r->cap);
        struct json *items = arena_alloc_raw(r->arena, cap * sizeof(*items));

        if (r->n)
            memcpy(items, r->items, r->n * sizeof(*items));
        r->items = items;
        r->cap = cap;
    }
    r->items[r->n++] = v;
}

struct json json_array_value(struct json_array *r)
{
    return (struct json){ .type = JSON_ARRAY, .n = r->n, .items = r->items };
}

const struct json *json_array_done(struct json_array *r)
{
    return json_box(r->arena, json_array_value(r));
}

static struct json set(struct arena *a, const struct json *v, str path, const struct json *value)
{
    str rest = path, name;
    struct json_object o;
    const struct json *below;

    (void)str_split(&rest, '.', &name);
    below = json_get(v, name);
    if (!value && !below)
        return v ? *v : json_empty_object;
    o = json_object_from(a, v);
    if (rest.p)
        json_put(&o, name, set(a, below, rest, value));
    else if (value)
        json_put(&o, name, *value);
    else
        json_remove(&o, name);
    return json_object_value(&o);
}

const struct json *json_set(struct arena *a, const struct json *v, const char *path,
                            const struct json *value)
{
    return json_box(a, set(a, v, str_of(path), value));
}
