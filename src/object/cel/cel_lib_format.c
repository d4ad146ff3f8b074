/* SPDX-License-Identifier: Apache-2.0 */

/* 'text %s %d'.format([…]), as cel-go's strings extension has it. */

#include "object/cel/cel_functions.h"

#include <math.h>

#include "base/banned.h"
#include "base/buf.h"

enum { FORMAT_MAX = 1 << 20, NESTING_MAX = 64, PRECISION_MAX = 100 };

struct clause {
    char verb;
    int precision; /* -1: not said */
};

static bool print_value(struct cel_run *r, struct buf *b, const struct cel_value *v,
                        unsigned depth);

static bool print_list(struct cel_run *r, struct buf *b, const struct cel_value *v, unsigned depth)
{
    buf_byte(b, '[');
    for (size_t i = 0; i < v->n; i++) {
        struct cel_value item = cel_item(r, v, i);

        if (i)
            buf_lit(b, ", ");
        if (!cel_work(r, 8) || !print_value(r, b, &item, depth))
            return false;
    }
    buf_byte(b, ']');
    return true;
}

static bool print_map(struct cel_run *r, struct buf *b, const struct cel_value *v, unsigned depth)
{
    buf_byte(b, '{');
    for (size_t i = 0; i < v->n; i++) {
        struct cel_value key = cel_key(v, i), item = cel_entry(r, v, i);

        if (i)
            buf_lit(b, ", ");
        if (!cel_work(r, 8) || !print_value(r, b, &key, depth))
            return false;
        buf_lit(b, ": ");
        if (!print_value(r, b, &item, depth))
            return false;
    }
    buf_byte(b, '}');
    return true;
}

static bool print_value(struct cel_run *r, struct buf *b, const struct cel_value *v, unsigned depth)
{
    struct cel_value s;

    if (depth > NESTING_MAX)
        return false;
    if (v->kind == CEL_LIST)
        return print_list(r, b, v, depth + 1);
    if (v->kind == CEL_MAP || v->kind == CEL_OBJECT)
        return print_map(r, b, v, depth + 1);
    if (v->kind == CEL_NULL || v->kind == CEL_TYPE) {
        buf_str_append(b, str_of(v->kind == CEL_NULL ? "null" : cel_kind_name(v->type)));
        return true;
    }
    s = cel_to_string(r, v);
    if (s.kind != CEL_STRING)
        return false;
    buf_str_append(b, s.s);
    return true;
}

static void print_based(struct buf *b, uint64_t u, unsigned base, bool upper)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[64];
    size_t at = sizeof(text);

    do
        text[--at] = digits[u % base];
    while (u /= base);
    buf_append(b, text + at, sizeof(text) - at);
}

static bool print_integer(struct buf *b, const struct cel_value *v, unsigned base, bool upper)
{
    if (v->kind == CEL_BOOL && base == 2) {
        buf_byte(b, v->b ? '1' : '0');
        return true;
    }
    if (v->kind == CEL_INT && v->i < 0)
        buf_byte(b, '-');
    if (v->kind == CEL_INT)
        print_based(b, v->i < 0 ? 0 - (uint64_t)v->i : (uint64_t)v->i, base, upper);
    else if (v->kind == CEL_UINT)
        print_based(b, v->u, base, upper);
    else if (base == 16 && (v->kind == CEL_STRING || v->kind == CEL_BYTES))
        for (size_t i = 0; i < v->s.n; i++)
            buf_printf(b, upper ? "%02X" : "%02x", (unsigned char)v->s.p[i]);
    else
        return false;
    return true;
}

static bool print_double(struct buf *b, const struct cel_value *v, const struct clause *c)
{
    double f = v->kind == CEL_INT ? (double)v->i : v->kind == CEL_UINT ? (double)v->u : v->f;
    int precision = c->precision < 0 ? 6 : c->precision;

    if (v->kind != CEL_DOUBLE && v->kind != CEL_INT && v->kind != CEL_UINT)
        return false;
    if (isnan(f) || isinf(f))
        buf_str_append(b, str_of(isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity"));
    else if (c->verb == 'e')
        buf_printf(b, "%.*e", precision, f);
    else
        buf_printf(b, "%.*f", precision, f);
    return true;
}

static bool print_clause(struct cel_run *r, struct buf *b, const struct clause *c,
                         const struct cel_value *v)
{
    switch (c->verb) {
    case 's':
        return print_value(r, b, v, 0);
    case 'd':
        if (v->kind == CEL_DOUBLE && (isnan(v->f) || isinf(v->f)))
            return print_double(b, v, c);
        return v->kind == CEL_DOUBLE ? false : print_integer(b, v, 10, false);
    case 'b':
        return print_integer(b, v, 2, false);
    case 'o':
        return print_integer(b, v, 8, false);
    case 'x':
    case 'X':
        return print_integer(b, v, 16, c->verb == 'X');
    case 'e':
    case 'f':
        return print_double(b, v, c);
    default:
        return false;
    }
}

/* Behind the %: precision and verb; false when there is none. */
static bool parse_clause(str s, size_t *at, struct clause *c)
{
    *c = (struct clause){ .precision = -1 };
    if (*at < s.n && s.p[*at] == '.') {
        c->precision = 0;
        for (++*at; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9'; ++*at)
            if (c->precision <= PRECISION_MAX)
                c->precision = c->precision * 10 + (s.p[*at] - '0');
    }
    if (*at >= s.n || c->precision > PRECISION_MAX)
        return false;
    c->verb = s.p[(*at)++];
    return true;
}

CEL_FN(format)
{
    str s = v[0].s;
    size_t used = 0, at = 0;
    scoped_buf b;

    buf_init(&b, FORMAT_MAX);
    while (at < s.n) {
        struct clause c;
        struct cel_value item;

        if (s.p[at] != '%' || (at + 1 < s.n && s.p[at + 1] == '%')) {
            buf_byte(&b, s.p[at]);
            at += s.p[at] == '%' ? 2 : 1;
            continue;
        }
        at++;
        if (!parse_clause(s, &at, &c))
            return cel_error(r, "unexpected end of string");
        if (used >= v[1].n)
            return cel_error(r, "index %zu out of range", used);
        item = cel_item(r, &v[1], used++);
        if (!print_clause(r, &b, &c, &item))
            return cel_error(r, "error during formatting: could not format a value with '%%%c'",
                             c.verb >= ' ' && c.verb < 0x7f ? c.verb : '?');
    }
    if (buf_overflown(&b) || !cel_work(r, b.n))
        return cel_error(r, "the string is too long");
    return cel_str(str_dup(r->arena, buf_str(&b)));
}
