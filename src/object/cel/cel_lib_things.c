/* SPDX-License-Identifier: Apache-2.0 */

/* Quantities, versions and named formats. */

#include "object/cel/cel_functions.h"

#include "base/banned.h"
#include "base/encode.h"
#include "object/cel/cel_net.h"
#include "object/meta/format.h"
#include "object/meta/names.h"
#include "object/meta/quantity.h"

#define NANO ((__int128)1000000000)

/* ---- quantities ---- */

static const struct quantity *quantity_of(const struct cel_value *v)
{
    return v->thing;
}

static struct cel_value keep_quantity(struct cel_run *r, struct quantity q)
{
    struct quantity *out = arena_new_of(r->arena, struct quantity);

    *out = q;
    return cel_thing(CEL_QUANTITY, out);
}

CEL_FN(quantity)
{
    struct quantity q;

    if (!quantity_parse(v[0].s, &q))
        return cel_error(r, "quantities must match the regular expression "
                            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return keep_quantity(r, q);
}

CEL_FN(is_quantity)
{
    struct quantity q;

    (void)r;
    return cel_bool(quantity_parse(v[0].s, &q));
}

static bool whole(const struct quantity *q, int64_t *out)
{
    __int128 i = q->nanos / NANO;

    if (q->nanos % NANO != 0 || i > INT64_MAX || i < INT64_MIN)
        return false;
    *out = (int64_t)i;
    return true;
}

CEL_FN(quantity_is_integer)
{
    int64_t i;

    (void)r;
    return cel_bool(whole(quantity_of(v), &i));
}

CEL_FN(quantity_as_integer)
{
    int64_t i;

    return whole(quantity_of(v), &i) ? cel_int(i) : cel_error(r, "cannot convert value to integer");
}

CEL_FN(quantity_as_double)
{
    (void)r;
    return cel_double((double)quantity_of(v)->nanos / 1e9);
}

CEL_FN(quantity_sign)
{
    __int128 n = quantity_of(v)->nanos;

    (void)r;
    return cel_int((n > 0) - (n < 0));
}

static struct cel_value sum(struct cel_run *r, const struct cel_value *v, bool minus)
{
    struct quantity q = *quantity_of(&v[0]);
    __int128 other = v[1].kind == CEL_INT ? v[1].i * NANO : quantity_of(&v[1])->nanos;

    if (minus ? __builtin_sub_overflow(q.nanos, other, &q.nanos)
              : __builtin_add_overflow(q.nanos, other, &q.nanos))
        return cel_error(r, "quantity overflow");
    return keep_quantity(r, q);
}

CEL_FN(quantity_add)
{
    return sum(r, v, false);
}

CEL_FN(quantity_sub)
{
    return sum(r, v, true);
}

/* ---- versions ---- */

struct semver {
    str text;
    uint64_t numbers[3];
    str pre; /* behind the dash */
};

static bool is_identifier(str s, bool pre)
{
    bool digits = true;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool digit = c >= '0' && c <= '9';

        if (!digit && c != '-' && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            return false;
        digits &= digit;
    }
    return s.n > 0 && !(pre && digits && s.n > 1 && s.p[0] == '0');
}

static bool identifiers(str s, bool pre)
{
    str part;

    while (str_split(&s, '.', &part))
        if (!is_identifier(part, pre))
            return false;
    return true;
}

/* Lenient: a leading v, leading zeros, and missing numbers. */
static bool parse_semver(str s, bool lenient, struct semver *out)
{
    ptrdiff_t plus, dash;
    size_t n = 0;
    str part;

    *out = (struct semver){ .text = s };
    if (lenient && s.n && s.p[0] == 'v')
        s = str_from(s, 1);
    plus = str_find(s, '+', 0);
    if (plus >= 0) {
        if (!identifiers(str_from(s, (size_t)plus + 1), false) || (size_t)plus + 1 == s.n)
            return false;
        s.n = (size_t)plus;
    }
    dash = str_find(s, '-', 0);
    if (dash >= 0) {
        out->pre = str_from(s, (size_t)dash + 1);
        if (out->pre.n == 0 || !identifiers(out->pre, true))
            return false;
        s.n = (size_t)dash;
    }
    if (s.n == 0)
        return false;
    while (str_split(&s, '.', &part)) {
        if (n == 3 || part.n == 0 || (!lenient && part.n > 1 && part.p[0] == '0') ||
            !str_to_u64(part, &out->numbers[n++]))
            return false;
    }
    return n == 3 || lenient;
}

static bool lenient(const struct cel_run *r, const struct cel_value *v)
{
    return r->node->nargs == 2 && v[1].b;
}

CEL_FN(semver)
{
    struct semver s, *out;

    if (!parse_semver(v[0].s, lenient(r, v), &s))
        return cel_error(r, "semver parse error during conversion from string: \"%.*s\"",
                         STR_ARG(v[0].s));
    out = arena_new_of(r->arena, struct semver);
    *out = s;
    return cel_thing(CEL_SEMVER, out);
}

CEL_FN(is_semver)
{
    struct semver s;

    return cel_bool(parse_semver(v[0].s, lenient(r, v), &s));
}

static const struct semver *semver_of(const struct cel_value *v)
{
    return v->thing;
}

CEL_FN(semver_major)
{
    (void)r;
    return cel_int((int64_t)semver_of(v)->numbers[0]);
}

CEL_FN(semver_minor)
{
    (void)r;
    return cel_int((int64_t)semver_of(v)->numbers[1]);
}

CEL_FN(semver_patch)
{
    (void)r;
    return cel_int((int64_t)semver_of(v)->numbers[2]);
}

static int sign_of(int c)
{
    return (c > 0) - (c < 0);
}

static int cmp_identifiers(str a, str b)
{
    uint64_t x, y;
    bool num_a = str_to_u64(a, &x), num_b = str_to_u64(b, &y);

    if (num_a && num_b)
        return (x > y) - (x < y);
    return num_a != num_b ? (num_a ? -1 : 1) : sign_of(str_cmp(a, b));
}

static int cmp_pre(str a, str b)
{
    str x, y;

    if (a.n == 0 || b.n == 0)
        return (a.n == 0) - (b.n == 0);
    for (;;) {
        bool more_a = str_split(&a, '.', &x), more_b = str_split(&b, '.', &y);
        int c;

        if (!more_a || !more_b)
            return more_a - more_b;
        c = cmp_identifiers(x, y);
        if (c)
            return c;
    }
}

static int cmp_semver(const struct semver *a, const struct semver *b)
{
    for (size_t i = 0; i < 3; i++)
        if (a->numbers[i] != b->numbers[i])
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
    return cmp_pre(a->pre, b->pre);
}

static int cmp_things(const struct cel_value *v)
{
    return v[0].kind == CEL_QUANTITY ? sign_of(quantity_cmp(v[0].thing, v[1].thing))
                                     : cmp_semver(v[0].thing, v[1].thing);
}

CEL_FN(thing_compare)
{
    (void)r;
    return cel_int(cmp_things(v));
}

CEL_FN(thing_less)
{
    (void)r;
    return cel_bool(cmp_things(v) < 0);
}

CEL_FN(thing_greater)
{
    (void)r;
    return cel_bool(cmp_things(v) > 0);
}

/* ---- formats ---- */

struct format {
    const char *name;
    enum { BY_NAME, QUALIFIED, LABEL_VALUE, BY_FORMAT } by;
    enum name_rule rule;
    bool prefix;
    const char *format, *fault;
    unsigned size; /* of a regular expression for it, to count its cost by */
};

static const struct format formats[] = {
    { "dns1123Label", BY_NAME, NAME_LABEL, false, NULL, NULL, 30 },
    { "dns1123Subdomain", BY_NAME, NAME_SUBDOMAIN, false, NULL, NULL, 60 },
    { "dns1035Label", BY_NAME, NAME_LABEL_1035, false, NULL, NULL, 30 },
    { "dns1123LabelPrefix", BY_NAME, NAME_LABEL, true, NULL, NULL, 30 },
    { "dns1123SubdomainPrefix", BY_NAME, NAME_SUBDOMAIN, true, NULL, NULL, 60 },
    { "dns1035LabelPrefix", BY_NAME, NAME_LABEL_1035, true, NULL, NULL, 30 },
    { "qualifiedName", QUALIFIED, NAME_PATH, false, NULL, NULL, 60 },
    { "labelValue", LABEL_VALUE, NAME_PATH, false, NULL, NULL, 40 },
    { "uri", BY_FORMAT, NAME_PATH, false, "uri", "invalid uri", 1103 },
    { "uuid", BY_FORMAT, NAME_PATH, false, "uuid", "does not match the UUID format", 70 },
    { "byte", BY_FORMAT, NAME_PATH, false, "byte", "invalid base64", 84 },
    { "date", BY_FORMAT, NAME_PATH, false, "date", "invalid date", 71 },
    { "datetime", BY_FORMAT, NAME_PATH, false, "date-time", "invalid datetime", 71 },
};

static const struct format *find_format(str name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (str_is(name, formats[i].name))
            return &formats[i];
    return NULL;
}

uint64_t cel_format_cost(const struct cel_value *format)
{
    const struct format *f = format->thing;

    return (f->size + 3) / 4;
}

CEL_FN(format_named)
{
    const struct format *f = find_format(v[0].s);
    struct cel_value out = cel_thing(CEL_FORMAT, f);

    return cel_optional(r->arena, f ? &out : NULL);
}

/* format.dns1123Label() and the like: the name is the function's. */
CEL_FN(format_here)
{
    (void)v;
    return cel_thing(CEL_FORMAT, find_format(str_from(r->node->name, sizeof("format.") - 1)));
}

static size_t faults_of(const struct format *f, str s, str out[NAME_FAULTS])
{
    if (f->by == BY_NAME) {
        if (f->prefix && s.n > 1 && s.p[s.n - 1] == '-')
            s.n--; /* what is appended makes it whole */
        return name_faults(f->rule, s, out);
    }
    if (f->by == QUALIFIED)
        return qualified_name_faults(s, out);
    if (f->by == LABEL_VALUE)
        return label_value_faults(s, out);
    if (format_find(str_of(f->format))(s))
        return 0;
    out[0] = str_of(f->fault);
    return 1;
}

CEL_FN(format_validate)
{
    str faults[NAME_FAULTS];
    size_t n = faults_of(v[0].thing, v[1].s, faults);
    struct cel_value *texts = arena_array(r->arena, struct cel_value, n + 1), list;

    for (size_t i = 0; i < n; i++)
        texts[i] = cel_str(faults[i]);
    list = cel_list(texts, n);
    return cel_optional(r->arena, n ? &list : NULL);
}

/* ---- all ---- */

bool cel_thing_equal(const struct cel_value *a, const struct cel_value *b)
{
    const struct cel_ip *x = a->thing, *y = b->thing;

    switch ((int)a->kind) {
    case CEL_QUANTITY:
    case CEL_SEMVER: {
        struct cel_value both[] = { *a, *b };

        return cmp_things(both) == 0;
    }
    case CEL_IP:
    case CEL_CIDR:
        return x->v4 == y->v4 && x->bits == y->bits && memcmp(x->bytes, y->bytes, 16) == 0;
    case CEL_URL:
        return str_eq(cel_url_text(a), cel_url_text(b));
    default:
        return a->thing == b->thing;
    }
}

str cel_thing_text(struct arena *a, const struct cel_value *v)
{
    switch ((int)v->kind) {
    case CEL_IP:
    case CEL_CIDR:
        return cel_ip_text(a, v->thing, v->kind == CEL_CIDR);
    case CEL_QUANTITY:
        return quantity_print(a, v->thing);
    case CEL_SEMVER:
        return semver_of(v)->text;
    default:
        return STR_NONE;
    }
}
