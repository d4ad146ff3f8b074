/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel_internal.h"

#include <math.h>

#include "base/banned.h"
#include "base/encode.h"
#include "object/meta/schema_rules.h"

struct cel_value cel_error(struct cel_run *r, const char *fmt, ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return (struct cel_value){ .kind = CEL_ERROR, .s = str_of(text) };
}

struct cel_value cel_no_overload(struct cel_run *r)
{
    (void)r;
    return (struct cel_value){ .kind = CEL_ERROR, .s = STR("no such overload") };
}

struct cel_value cel_list(const struct cel_value *values, size_t n)
{
    return (struct cel_value){ .kind = CEL_LIST, .n = (uint32_t)n, .values = values };
}

struct cel_value cel_optional(struct arena *a, const struct cel_value *v)
{
    struct cel_value *kept = NULL;

    if (v) {
        kept = arena_alloc_raw(a, sizeof(*kept));
        *kept = *v;
    }
    return (struct cel_value){ .kind = CEL_OPTIONAL, .values = kept };
}

/* ---- of JSON ---- */

static struct cel_value of_string(struct cel_run *r, str s, const struct schema *schema)
{
    str format = schema && schema->rules && schema->rules->limits
                     ? schema->rules->limits->format_text
                     : STR_NONE;
    struct cel_value v = cel_str(s);
    bool time = schema && (schema->type == SCHEMA_TIME || schema->type == SCHEMA_MICROTIME);

    if (!schema || (!format.n && !time && schema->type != SCHEMA_BYTES))
        return v;
    if (str_is(format, "duration")) {
        int64_t ns;

        return cel_parse_duration(s, &ns) ? cel_duration(ns) : v;
    }
    if (time || str_is(format, "date-time")) {
        if (cel_parse_timestamp(s, &v.time.s, &v.time.ns))
            v.kind = CEL_TIMESTAMP;
        return v.kind == CEL_TIMESTAMP ? v : cel_str(s);
    }
    if (str_is(format, "date")) {
        int64_t sec;

        if (cel_parse_date(s, &sec))
            return (struct cel_value){ .kind = CEL_TIMESTAMP, .time = { sec, 0 } };
        return v;
    }
    if (str_is(format, "byte") || schema->type == SCHEMA_BYTES) {
        /* Each time anew: its memory must be paid for. */
        if (!cel_work(r, s.n) || !base64_decode(r->arena, BASE64_GO, s, &v.s))
            return cel_error(r, "illegal base64 data");
        v.kind = CEL_BYTES;
    }
    return v;
}

struct cel_value cel_of_json(struct cel_run *r, const struct json *v, const struct schema *s)
{
    struct cel_value out = { .kind = CEL_NULL };

    if (!v)
        return out;
    switch (v->type) {
    case JSON_NULL:
        return out;
    case JSON_BOOL:
        return cel_bool(v->b);
    case JSON_INT:
        return s && s->type == SCHEMA_DOUBLE ? cel_double((double)v->i) : cel_int(v->i);
    case JSON_FLOAT:
        if (s && (s->type == SCHEMA_INT64 || s->type == SCHEMA_INT32) &&
            fabs(v->f) < 9007199254740992.0)
            return cel_int((int64_t)v->f);
        return cel_double(v->f);
    case JSON_STRING:
        return of_string(r, json_str(v), s);
    case JSON_ARRAY:
        out.kind = CEL_LIST;
        out.items = v->items;
        break;
    case JSON_OBJECT:
        out.kind = s && s->type == SCHEMA_OBJECT ? CEL_OBJECT : CEL_MAP;
        out.members = v->members;
        break;
    }
    out.json = true;
    out.n = v->n;
    out.schema = s;
    return out;
}

static const struct schema *items_of(const struct schema *s)
{
    return s ? s->items : NULL;
}

struct cel_value cel_item(struct cel_run *r, const struct cel_value *list, size_t i)
{
    return list->json ? cel_of_json(r, &list->items[i], items_of(list->schema)) : list->values[i];
}

struct cel_value cel_key(const struct cel_value *map, size_t i)
{
    return map->json ? cel_str(map->members[i].name) : map->values[2 * i];
}

struct cel_value cel_entry(struct cel_run *r, const struct cel_value *map, size_t i)
{
    const struct schema_field *f;

    if (!map->json)
        return map->values[2 * i + 1];
    if (map->kind != CEL_OBJECT)
        return cel_of_json(r, &map->members[i].value, items_of(map->schema));
    f = schema_field(map->schema, map->members[i].name);
    return cel_of_json(r, &map->members[i].value, f ? f->type : NULL);
}

/* Loops over keys ask for one after another: the search begins where the last one ended. */
static bool lookup_json(struct cel_run *r, const struct cel_value *map, str key, size_t *out)
{
    size_t from = r->hint_of == map->members && r->hint < map->n ? r->hint : 0, i = from;

    for (size_t k = 0; k < map->n; k++) {
        if (str_eq(map->members[i].name, key)) {
            r->steps += k / 8;
            r->hint_of = map->members;
            r->hint = i;
            *out = i;
            return true;
        }
        i = i + 1 < map->n ? i + 1 : 0;
    }
    r->steps += map->n / 8;
    return false;
}

bool cel_lookup(struct cel_run *r, const struct cel_value *map, const struct cel_value *key,
                struct cel_value *out)
{
    size_t i = 0;

    if (map->json) {
        if (key->kind != CEL_STRING || !lookup_json(r, map, key->s, &i))
            return false;
    } else {
        while (i < map->n && !cel_equal(r, &map->values[2 * i], key))
            i++;
        if (i == map->n)
            return false;
    }
    *out = cel_entry(r, map, i);
    return true;
}

/* ---- order ---- */

static int order_double(double a, double b)
{
    return isnan(a) || isnan(b) ? CEL_UNORDERED : (a > b) - (a < b);
}

static int order_int_double(int64_t i, double f)
{
    double whole;

    if (isnan(f))
        return CEL_UNORDERED;
    if (f >= 9223372036854775808.0)
        return -1;
    if (f < -9223372036854775808.0)
        return 1;
    whole = trunc(f);
    if (i != (int64_t)whole)
        return i < (int64_t)whole ? -1 : 1;
    return (whole > f) - (whole < f);
}

static int order_uint_double(uint64_t u, double f)
{
    double whole;

    if (isnan(f))
        return CEL_UNORDERED;
    if (f >= 18446744073709551616.0)
        return -1;
    if (f < 0)
        return 1;
    whole = trunc(f);
    if (u != (uint64_t)whole)
        return u < (uint64_t)whole ? -1 : 1;
    return (whole > f) - (whole < f);
}

static int order_int_uint(int64_t i, uint64_t u)
{
    if (i < 0)
        return -1;
    return ((uint64_t)i > u) - ((uint64_t)i < u);
}

static int flip(int order)
{
    return order == CEL_UNORDERED ? order : -order;
}

static bool is_number(const struct cel_value *v)
{
    return v->kind == CEL_INT || v->kind == CEL_UINT || v->kind == CEL_DOUBLE;
}

static int order_numbers(const struct cel_value *a, const struct cel_value *b)
{
    if (a->kind == b->kind) {
        if (a->kind == CEL_DOUBLE)
            return order_double(a->f, b->f);
        return a->kind == CEL_INT ? (a->i > b->i) - (a->i < b->i) : (a->u > b->u) - (a->u < b->u);
    }
    if (a->kind == CEL_INT)
        return b->kind == CEL_UINT ? order_int_uint(a->i, b->u) : order_int_double(a->i, b->f);
    if (a->kind == CEL_UINT)
        return b->kind == CEL_INT ? flip(order_int_uint(b->i, a->u))
                                  : order_uint_double(a->u, b->f);
    return flip(b->kind == CEL_INT ? order_int_double(b->i, a->f) : order_uint_double(b->u, a->f));
}

int cel_order(const struct cel_value *a, const struct cel_value *b)
{
    if (is_number(a) && is_number(b))
        return order_numbers(a, b);
    if (a->kind != b->kind)
        return CEL_UNORDERED;
    switch ((int)a->kind) {
    case CEL_BOOL:
        return a->b - b->b;
    case CEL_STRING:
    case CEL_BYTES: {
        int c = str_cmp(a->s, b->s);

        return (c > 0) - (c < 0);
    }
    case CEL_DURATION:
        return (a->i > b->i) - (a->i < b->i);
    case CEL_TIMESTAMP:
        if (a->time.s != b->time.s)
            return a->time.s < b->time.s ? -1 : 1;
        return (a->time.ns > b->time.ns) - (a->time.ns < b->time.ns);
    default:
        return CEL_UNORDERED;
    }
}

/* ---- equality ---- */

static bool equal_maps(struct cel_run *r, const struct cel_value *a, const struct cel_value *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        struct cel_value k = cel_key(a, i), x = cel_entry(r, a, i), y;

        if (!cel_lookup(r, b, &k, &y) || !cel_equal(r, &x, &y))
            return false;
    }
    return true;
}

/* Sets and map lists are the same in any order. */
static bool unordered(const struct cel_value *v)
{
    return v->json && v->schema && v->schema->list_type != SCHEMA_LIST_ATOMIC;
}

static bool contains(struct cel_run *r, const struct cel_value *list, const struct cel_value *v,
                     size_t hint)
{
    for (size_t i = 0; i < list->n; i++) {
        struct cel_value x = cel_item(r, list, (hint + i) % list->n);

        if (cel_equal(r, &x, v))
            return true;
    }
    return false;
}

static bool equal_lists(struct cel_run *r, const struct cel_value *a, const struct cel_value *b)
{
    bool any_order = unordered(a) || unordered(b);

    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        struct cel_value x = cel_item(r, a, i), y = cel_item(r, b, i);

        if (any_order ? !contains(r, b, &x, i) : !cel_equal(r, &x, &y))
            return false;
    }
    return true;
}

bool cel_equal(struct cel_run *r, const struct cel_value *a, const struct cel_value *b)
{
    bool map_a = a->kind == CEL_MAP || a->kind == CEL_OBJECT;
    bool map_b = b->kind == CEL_MAP || b->kind == CEL_OBJECT;

    if (++r->steps > CEL_STEPS_MAX)
        return false; /* the run ends in an error */
    if (is_number(a) && is_number(b))
        return order_numbers(a, b) == 0;
    if (map_a && map_b)
        return equal_maps(r, a, b);
    if (a->kind != b->kind)
        return false;
    switch ((int)a->kind) {
    case CEL_NULL:
        return true;
    case CEL_LIST:
        return equal_lists(r, a, b);
    case CEL_TYPE:
        return a->type == b->type;
    case CEL_OPTIONAL:
        return !a->values || !b->values ? a->values == b->values
                                        : cel_equal(r, a->values, b->values);
    case CEL_BOOL:
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        r->steps += a->kind == CEL_STRING || a->kind == CEL_BYTES ? a->s.n / 32 : 0;
        return cel_order(a, b) == 0;
    default:
        return cel_thing_equal(a, b);
    }
}

/* ---- sizes ---- */

uint64_t cel_size(const struct cel_value *v)
{
    switch ((int)v->kind) {
    case CEL_STRING:
    case CEL_BYTES:
        return v->s.n;
    case CEL_LIST:
    case CEL_MAP:
    case CEL_OBJECT:
        return v->n;
    case CEL_OPTIONAL:
        return v->values ? cel_size(v->values) : 1;
    default:
        return 1;
    }
}

int64_t cel_code_points(str s)
{
    int64_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

size_t cel_next_point(str s, size_t at)
{
    at++;
    while (at < s.n && (s.p[at] & 0xc0) == 0x80)
        at++;
    return at;
}

bool cel_is_zero(const struct cel_value *v)
{
    switch ((int)v->kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return !v->b;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DURATION:
        return v->i == 0;
    case CEL_DOUBLE:
        return v->f == 0;
    case CEL_STRING:
    case CEL_BYTES:
        return v->s.n == 0;
    case CEL_LIST:
    case CEL_MAP:
    case CEL_OBJECT:
        return v->n == 0;
    case CEL_OPTIONAL:
        return !v->values;
    default:
        return false;
    }
}

struct cel_value cel_fields(struct arena *a, const str *names, const struct cel_value *values,
                            size_t n)
{
    struct cel_value *pairs = arena_array(a, struct cel_value, 2 * n);

    for (size_t i = 0; i < n; i++) {
        pairs[2 * i] = cel_str(names[i]);
        pairs[2 * i + 1] = values[i];
    }
    return (struct cel_value){ .kind = CEL_MAP, .n = (uint32_t)n, .values = pairs };
}
