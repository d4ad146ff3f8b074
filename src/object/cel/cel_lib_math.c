/* SPDX-License-Identifier: Apache-2.0 */

/* Operators. */

#include "object/cel/cel_functions.h"

#include <math.h>

#include "base/banned.h"

enum { SECOND = 1000000000 };

static struct cel_value overflow(struct cel_run *r, const char *what)
{
    return cel_error(r, "%s overflow", what);
}

CEL_FN(not )
{
    (void)r;
    return cel_bool(!v[0].b);
}

CEL_FN(negate_int)
{
    return v[0].i == INT64_MIN ? overflow(r, "integer") : cel_int(-v[0].i);
}

CEL_FN(negate_double)
{
    (void)r;
    return cel_double(-v[0].f);
}

#define CHECKED(name, builtin, member, make, what)                                      \
    CEL_FN(name)                                                                        \
    {                                                                                   \
        __typeof__(+v[0].member) out;                                                   \
                                                                                        \
        return builtin(v[0].member, v[1].member, &out) ? overflow(r, what) : make(out); \
    }

CHECKED(add_int, __builtin_add_overflow, i, cel_int, "integer")
CHECKED(sub_int, __builtin_sub_overflow, i, cel_int, "integer")
CHECKED(mul_int, __builtin_mul_overflow, i, cel_int, "integer")
CHECKED(add_uint, __builtin_add_overflow, u, cel_uint, "unsigned integer")
CHECKED(sub_uint, __builtin_sub_overflow, u, cel_uint, "unsigned integer")
CHECKED(mul_uint, __builtin_mul_overflow, u, cel_uint, "unsigned integer")
CHECKED(add_duration, __builtin_add_overflow, i, cel_duration, "duration")
CHECKED(sub_duration, __builtin_sub_overflow, i, cel_duration, "duration")

#define DOUBLES(name, op)                    \
    CEL_FN(name)                             \
    {                                        \
        (void)r;                             \
        return cel_double(v[0].f op v[1].f); \
    }

DOUBLES(add_double, +)
DOUBLES(sub_double, -)
DOUBLES(mul_double, *)

CEL_FN(div_double)
{
    double a = v[0].f, b = v[1].f;

    (void)r;
    if (b != 0)
        return cel_double(a / b);
    if (a == 0 || isnan(a) || isnan(b))
        return cel_double(NAN);
    return cel_double(signbit(a) == signbit(b) ? INFINITY : -INFINITY);
}

CEL_FN(div_int)
{
    if (v[1].i == 0)
        return cel_error(r, "division by zero");
    if (v[0].i == INT64_MIN && v[1].i == -1)
        return overflow(r, "integer");
    return cel_int(v[0].i / v[1].i);
}

CEL_FN(mod_int)
{
    if (v[1].i == 0)
        return cel_error(r, "modulus by zero");
    if (v[0].i == INT64_MIN && v[1].i == -1)
        return overflow(r, "integer");
    return cel_int(v[0].i % v[1].i);
}

CEL_FN(div_uint)
{
    return v[1].u == 0 ? cel_error(r, "division by zero") : cel_uint(v[0].u / v[1].u);
}

CEL_FN(mod_uint)
{
    return v[1].u == 0 ? cel_error(r, "modulus by zero") : cel_uint(v[0].u % v[1].u);
}

CEL_FN(add_string)
{
    size_t n = v[0].s.n + v[1].s.n;
    char *p = arena_alloc_raw(r->arena, n + 1);

    if (v[0].s.n)
        memcpy(p, v[0].s.p, v[0].s.n);
    if (v[1].s.n)
        memcpy(p + v[0].s.n, v[1].s.p, v[1].s.n);
    return (struct cel_value){ .kind = v[0].kind, .s = { p, n } };
}

/* ---- lists: sets are joined, map lists merged ---- */

static bool same_keys(struct cel_run *r, const struct schema *s, const struct cel_value *a,
                      const struct cel_value *b)
{
    if (s->list_type == SCHEMA_LIST_SET)
        return cel_equal(r, a, b);
    if ((a->kind != CEL_OBJECT && a->kind != CEL_MAP) || a->kind != b->kind)
        return false;
    for (size_t i = 0; i < s->nlist_keys; i++) {
        struct cel_value key = cel_str(s->list_keys[i]), x, y;
        bool in_a = cel_lookup(r, a, &key, &x), in_b = cel_lookup(r, b, &key, &y);

        if (in_a != in_b || (in_a && !cel_equal(r, &x, &y)))
            return false;
    }
    return true;
}

CEL_FN(add_list)
{
    const struct schema *s = v[0].json ? v[0].schema : NULL;
    size_t n = 0;
    struct cel_value *out;

    if (!cel_work(r, 8 * ((uint64_t)v[0].n + v[1].n)))
        return cel_no_overload(r);
    out = arena_alloc_raw(r->arena, ((size_t)v[0].n + v[1].n + 1) * sizeof(*out));
    for (; n < v[0].n; n++)
        out[n] = cel_item(r, &v[0], n);
    for (size_t i = 0; i < v[1].n; i++) {
        struct cel_value item = cel_item(r, &v[1], i);
        size_t k = s && s->list_type != SCHEMA_LIST_ATOMIC ? 0 : n;

        while (k < n && !same_keys(r, s, &out[k], &item))
            k++;
        out[k] = item;
        n += k == n;
    }
    return cel_list(out, n);
}

/* ---- times ---- */

static struct cel_value shifted(struct cel_run *r, struct cel_value t, int64_t ns)
{
    int64_t sec = ns / SECOND, rest = t.time.ns + ns % SECOND;

    if (rest < 0) {
        rest += SECOND;
        sec--;
    } else if (rest >= SECOND) {
        rest -= SECOND;
        sec++;
    }
    t.time.s += sec;
    t.time.ns = (int32_t)rest;
    if (t.time.s < -62135596800 || t.time.s > 253402300799)
        return overflow(r, "timestamp");
    return t;
}

CEL_FN(add_time)
{
    return v[0].kind == CEL_TIMESTAMP ? shifted(r, v[0], v[1].i) : shifted(r, v[1], v[0].i);
}

CEL_FN(sub_time)
{
    return v[1].i == INT64_MIN ? overflow(r, "timestamp") : shifted(r, v[0], -v[1].i);
}

CEL_FN(sub_times)
{
    __int128 ns = (__int128)(v[0].time.s - v[1].time.s) * SECOND + v[0].time.ns - v[1].time.ns;

    return ns > INT64_MAX || ns < INT64_MIN ? overflow(r, "duration") : cel_duration((int64_t)ns);
}

/* ---- relations ---- */

CEL_FN(less)
{
    (void)r;
    return cel_bool(cel_order(&v[0], &v[1]) < 0);
}

CEL_FN(less_equal)
{
    (void)r;
    return cel_bool(cel_order(&v[0], &v[1]) <= 0);
}

CEL_FN(greater)
{
    (void)r;
    return cel_bool(cel_order(&v[0], &v[1]) == 1);
}

CEL_FN(greater_equal)
{
    int order = cel_order(&v[0], &v[1]);

    (void)r;
    return cel_bool(order == 0 || order == 1);
}

CEL_FN(equals)
{
    return cel_bool(cel_equal(r, &v[0], &v[1]));
}

CEL_FN(differs)
{
    return cel_bool(!cel_equal(r, &v[0], &v[1]));
}

CEL_FN(in_list)
{
    for (size_t i = 0; i < v[1].n && r->steps <= CEL_STEPS_MAX; i++) {
        struct cel_value item = cel_item(r, &v[1], i);

        if (cel_equal(r, &item, &v[0]))
            return cel_bool(true);
    }
    return cel_bool(false);
}

CEL_FN(in_map)
{
    struct cel_value ignored;

    return cel_bool(cel_lookup(r, &v[1], &v[0], &ignored));
}

CEL_FN(size)
{
    (void)r;
    return cel_int(v[0].kind == CEL_STRING ? cel_code_points(v[0].s) : (int64_t)cel_size(&v[0]));
}
