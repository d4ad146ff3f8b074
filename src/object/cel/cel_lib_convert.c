/* SPDX-License-Identifier: Apache-2.0 */

/* Conversions between types. */

#include "object/cel/cel_functions.h"

#include <math.h>

#include "base/banned.h"
#include "json/number.h"

static str print_double(struct cel_run *r, double f)
{
    char text[NUMBER_TEXT_MAX];
    size_t n;

    if (isnan(f))
        return STR("NaN");
    if (isinf(f))
        return f > 0 ? STR("+Inf") : STR("-Inf");
    n = number_print(text, f);
    return str_dup(r->arena, (str){ text, n });
}

/* Digits, a point, an exponent: what number_parse() may be given. */
static bool is_decimal(str s)
{
    size_t i = 0, digits = 0;

    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
        i++;
    for (; i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '.'); i++)
        digits += s.p[i] != '.';
    if (digits == 0)
        return false;
    if (i < s.n && (s.p[i] | 0x20) == 'e') {
        i++;
        if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
            i++;
        if (i == s.n)
            return false;
        while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
            i++;
    }
    return i == s.n && str_find(s, '.', (size_t)(str_find(s, '.', 0) + 1)) <= str_find(s, '.', 0);
}

CEL_FN(to_int)
{
    const struct cel_value *x = v;
    int64_t i;

    switch ((int)x->kind) {
    case CEL_UINT:
        return x->u > INT64_MAX ? cel_error(r, "integer overflow") : cel_int((int64_t)x->u);
    case CEL_DOUBLE:
        if (!(x->f > -9223372036854775808.0 && x->f < 9223372036854775807.0))
            return cel_error(r, "integer overflow");
        return cel_int((int64_t)x->f);
    case CEL_STRING:
        if (str_to_i64(x->s, &i))
            return cel_int(i);
        return cel_error(r, "strconv.ParseInt: parsing \"%.*s\": invalid syntax", STR_ARG(x->s));
    case CEL_TIMESTAMP:
        return cel_int(x->time.s);
    default:
        return *x;
    }
}

CEL_FN(to_uint)
{
    const struct cel_value *x = v;
    uint64_t u;

    switch ((int)x->kind) {
    case CEL_INT:
        return x->i < 0 ? cel_error(r, "unsigned integer overflow") : cel_uint((uint64_t)x->i);
    case CEL_DOUBLE:
        if (!(x->f >= 0 && x->f < 18446744073709551615.0))
            return cel_error(r, "unsigned integer overflow");
        return cel_uint((uint64_t)x->f);
    case CEL_STRING:
        if (str_to_u64(x->s, &u))
            return cel_uint(u);
        return cel_error(r, "strconv.ParseUint: parsing \"%.*s\": invalid syntax", STR_ARG(x->s));
    default:
        return *x;
    }
}

CEL_FN(to_double)
{
    const struct cel_value *x = v;
    str s = x->s;
    double f;

    switch ((int)x->kind) {
    case CEL_INT:
        return cel_double((double)x->i);
    case CEL_UINT:
        return cel_double((double)x->u);
    case CEL_STRING:
        if (str_eq_nocase(s, STR("nan")))
            return cel_double(NAN);
        if (str_eq_nocase(s, STR("inf")) || str_eq_nocase(s, STR("+inf")))
            return cel_double(INFINITY);
        if (str_eq_nocase(s, STR("-inf")))
            return cel_double(-INFINITY);
        if (s.n < 1000 && is_decimal(s) &&
            number_parse(str_z(r->arena, s.p[0] == '+' ? str_from(s, 1) : s), &f))
            return cel_double(f);
        return cel_error(r, "strconv.ParseFloat: parsing \"%.*s\": invalid syntax", STR_ARG(s));
    default:
        return *x;
    }
}

struct cel_value cel_to_string(struct cel_run *r, const struct cel_value *v)
{
    struct arena *a = r->arena;

    switch ((int)v->kind) {
    case CEL_STRING:
        return *v;
    case CEL_BOOL:
        return cel_str(v->b ? STR("true") : STR("false"));
    case CEL_INT:
        return cel_str(str_printf(a, "%lld", (long long)v->i));
    case CEL_UINT:
        return cel_str(str_printf(a, "%llu", (unsigned long long)v->u));
    case CEL_DOUBLE:
        return cel_str(print_double(r, v->f));
    case CEL_BYTES:
        if (!str_utf8_valid(v->s))
            return cel_error(r, "invalid UTF-8 in bytes, cannot convert to string");
        return cel_str(v->s);
    case CEL_TIMESTAMP:
        return cel_str(cel_print_timestamp(a, v->time.s, v->time.ns));
    case CEL_DURATION:
        return cel_str(cel_print_duration(a, v->i));
    case CEL_IP:
    case CEL_CIDR:
    case CEL_QUANTITY:
    case CEL_SEMVER:
        return cel_str(cel_thing_text(a, v));
    default:
        return cel_no_overload(r);
    }
}

CEL_FN(to_string_fn)
{
    return cel_to_string(r, v);
}

CEL_FN(to_bytes)
{
    (void)r;
    return (struct cel_value){ .kind = CEL_BYTES, .s = v[0].s };
}

CEL_FN(to_bool)
{
    static const char *const words[] = { "1", "t", "true",  "TRUE",  "True",
                                         "0", "f", "false", "FALSE", "False" };

    if (v[0].kind == CEL_BOOL)
        return v[0];
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (str_is(v[0].s, words[i]))
            return cel_bool(i < 5);
    return cel_error(r, "strconv.ParseBool: parsing \"%.*s\": invalid syntax", STR_ARG(v[0].s));
}

CEL_FN(to_duration)
{
    int64_t ns;

    if (v[0].kind == CEL_DURATION)
        return v[0];
    if (!cel_parse_duration(v[0].s, &ns))
        return cel_error(r, "time: invalid duration \"%.*s\"", STR_ARG(v[0].s));
    return cel_duration(ns);
}

CEL_FN(to_timestamp)
{
    struct cel_value out = { .kind = CEL_TIMESTAMP };

    if (v[0].kind == CEL_TIMESTAMP)
        return v[0];
    if (v[0].kind == CEL_INT) {
        if (v[0].i < -62135596800 || v[0].i > 253402300799)
            return cel_error(r, "timestamp overflow");
        out.time.s = v[0].i;
        return out;
    }
    if (!cel_parse_timestamp(v[0].s, &out.time.s, &out.time.ns))
        return cel_error(r, "cannot parse \"%.*s\" as a timestamp", STR_ARG(v[0].s));
    return out;
}

CEL_FN(type_of_value)
{
    (void)r;
    return (struct cel_value){ .kind = CEL_TYPE, .type = v[0].kind };
}

CEL_FN(as_dyn)
{
    (void)r;
    return v[0];
}
