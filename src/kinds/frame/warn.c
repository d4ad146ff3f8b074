/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/warn.h"

#include <arpa/inet.h>
#include <stdarg.h>

#include "base/banned.h"
#include "base/buf.h"
#include "kinds/frame/check.h"
#include "object/meta/quantity.h"

void warn_at(const struct warner *w, const struct site *s, const char *fmt, ...)
{
    const char *text;
    va_list ap;
    str path;

    if (warn_full(w))
        return;
    path = site_path(w->arena, s);
    va_start(ap, fmt);
    text = arena_vprintf(w->arena, fmt, ap);
    va_end(ap);
    schema_fault(w->arena, w->out, "%.*s: %s", STR_ARG(path), text);
}

/* ---- addresses; k8s: apimachinery/pkg/util/validation/ip.go ---- */

struct address {
    unsigned char bytes[16];
    bool six, mapped; /* mapped: an IPv4 one inside of an IPv6 one */
    bool odd;         /* has zeros that are read by nobody else */
};

static bool read_address(struct arena *a, str text, struct address *out)
{
    static const unsigned char prefix[12] = { [10] = 0xff, [11] = 0xff };
    int family = site_ip_family_loose(text);
    str plain = text;

    *out = (struct address){ .six = family == 6, .odd = family && !site_ip_family(text) };
    if (!family)
        return false;
    if (out->odd)
        plain = site_ip_plain(a, text);
    (void)inet_pton(out->six ? AF_INET6 : AF_INET, str_z(a, plain), out->bytes);
    out->mapped = out->six && memcmp(out->bytes, prefix, sizeof(prefix)) == 0;
    return true;
}

/* As RFC 5952 has it: the longest run of zeros is left out, an IPv4 part is not dotted. */
static str print_six(struct arena *a, const unsigned char *bytes)
{
    scoped_buf b = { .max = INET6_ADDRSTRLEN };
    size_t best = 8, longest = 1;

    for (size_t i = 0, run = 0; i < 8; i++) {
        run = bytes[2 * i] || bytes[2 * i + 1] ? 0 : run + 1;
        if (run > longest) {
            longest = run;
            best = i + 1 - run;
        }
    }
    for (size_t i = 0; i < 8; i++) {
        if (i == best) {
            buf_lit(&b, "::");
            i += longest - 1;
            continue;
        }
        buf_printf(&b, "%s%x", i && i != best + longest ? ":" : "",
                   bytes[2 * i] << 8 | bytes[2 * i + 1]);
    }
    return str_dup(a, buf_str(&b));
}

static str print_address(struct arena *a, const struct address *x)
{
    const unsigned char *v4 = x->bytes + (x->mapped ? 12 : 0);

    if (x->six && !x->mapped)
        return print_six(a, x->bytes);
    return str_printf(a, "%u.%u.%u.%u", v4[0], v4[1], v4[2], v4[3]);
}

void warn_ip(const struct warner *w, const struct site *ip)
{
    struct address x;
    str text = json_str(ip->v), good;

    if (!read_address(w->arena, text, &x))
        return;
    good = print_address(w->arena, &x);
    if (x.odd || x.mapped)
        warn_at(w, ip,
                "non-standard IP address \"%.*s\" will be considered invalid in a future "
                "Kubernetes release: use \"%.*s\"",
                STR_ARG(text), STR_ARG(good));
    else if (x.six && !str_eq(text, good))
        warn_at(w, ip, "IPv6 address \"%.*s\" should be in RFC 5952 canonical format (\"%.*s\")",
                STR_ARG(text), STR_ARG(good));
}

void warn_ips(const struct warner *w, const struct site *list, const char *member)
{
    site_each(item, list)
    {
        struct site inside = member ? site_in(&item, member) : item;

        warn_ip(w, &inside);
    }
}

static bool read_range(struct arena *a, str text, struct address *out, uint64_t *bits, bool *zero)
{
    ptrdiff_t slash = str_find(text, '/', 0);
    str digits = slash < 0 ? STR_NONE : str_from(text, (size_t)slash + 1);

    *zero = digits.n > 1 && digits.p[0] == '0';
    return slash > 0 && read_address(a, str_sub(text, 0, (size_t)slash), out) &&
           str_to_u64(digits, bits) && *bits <= (out->six ? 128 : 32);
}

/* The range's first address, and how long its prefix is where that is shown. */
static str print_range(struct arena *a, struct address x, uint64_t bits)
{
    for (size_t i = bits; i < (x.six ? 128u : 32u); i++)
        x.bytes[i / 8] &= (unsigned char)~(0x80 >> (i % 8));
    x.mapped = x.mapped && bits >= 96;
    return str_printf(a, "%.*s/%llu", STR_ARG(print_address(a, &x)),
                      (unsigned long long)(x.mapped ? bits - 96 : bits));
}

void warn_range(const struct warner *w, const struct site *range)
{
    str text = json_str(range->v), good, one;
    struct address x;
    uint64_t bits;
    bool zero, inside;

    if (!read_range(w->arena, text, &x, &bits, &zero))
        return;
    good = print_range(w->arena, x, bits);
    one = str_printf(w->arena, "%.*s/%d", STR_ARG(print_address(w->arena, &x)), x.six ? 128 : 32);
    inside = false;
    for (size_t i = bits; i < (x.six ? 128u : 32u); i++)
        inside = inside || x.bytes[i / 8] & (0x80 >> (i % 8));
    if (inside)
        warn_at(w, range,
                "CIDR value \"%.*s\" is ambiguous in this context (should be \"%.*s\" or "
                "\"%.*s\"?)",
                STR_ARG(text), STR_ARG(good), STR_ARG(one));
    if (x.odd || zero || x.mapped)
        warn_at(w, range,
                "non-standard CIDR value \"%.*s\" will be considered invalid in a future "
                "Kubernetes release: use \"%.*s\"",
                STR_ARG(text), STR_ARG(good));
    else if (!inside && x.six && !str_eq(text, good))
        warn_at(w, range,
                "IPv6 CIDR value \"%.*s\" should be in RFC 5952 canonical format (\"%.*s\")",
                STR_ARG(text), STR_ARG(good));
}

/* ---- amounts ---- */

void warn_fraction(const struct warner *w, const struct site *amounts, const char *resource)
{
    enum { MILLI = 1000000 };
    const struct json *v = json_get(amounts->v, str_of(resource));
    struct site at = site_key(amounts, str_of(resource), v);
    struct quantity q;

    if (!v || !quantity_parse(json_str(v), &q))
        return;
    if (q.nanos % (1000 * (__int128)MILLI) != 0) /* thousandths are rounded up, never away */
        warn_at(w, &at, "fractional byte value %.*s is invalid, must be an integer",
                STR_ARG(check_quote(w->arena, json_str(v))));
}

void warn_claim(const struct warner *w, const struct site *spec)
{
    struct site resources = site_in(spec, "resources");
    struct site requests = site_in(&resources, "requests");
    struct site limits = site_in(&resources, "limits");

    warn_fraction(w, &requests, "storage");
    warn_fraction(w, &limits, "storage");
}

/* ---- names that are no more ---- */

/* k8s: pkg/api/node/util.go */
static const struct warn_row node_labels[] = {
    WARN_ROW("beta.kubernetes.io/arch",
             "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    WARN_ROW("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    WARN_ROW("failure-domain.beta.kubernetes.io/region",
             "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"),
    WARN_ROW("failure-domain.beta.kubernetes.io/zone",
             "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    WARN_ROW("beta.kubernetes.io/instance-type",
             "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
    WARN_ROW("app.kubernetes.io/created-by", "deprecated since v1.9"),
    WARN_ROW("scheduler.alpha.kubernetes.io/preferAvoidPods",
             "deprecated since v1.22; use Taints and Tolerations instead"),
    WARN_ROW("node-role.kubernetes.io/master",
             "use \"node-role.kubernetes.io/control-plane\" instead"),
};

const char *warn_node_label(str key)
{
    for (size_t i = 0; i < sizeof(node_labels) / sizeof(*node_labels); i++)
        if (str_is(key, node_labels[i].name))
            return node_labels[i].why;
    return NULL;
}

void warn_node_term(const struct warner *w, const struct site *term, bool values)
{
    struct site terms = site_in(term, "matchExpressions");

    site_each(e, &terms)
    {
        struct site key = site_in(&e, "key"), list = site_in(&e, "values");
        const char *why = warn_node_label(json_str(key.v));

        if (why)
            warn_at(w, &key, "%.*s is %s", STR_ARG(json_str(key.v)), why);
        if (!values)
            continue;
        site_each(value, &list)
        {
            str faults[NAME_FAULTS];
            size_t n = label_value_faults(json_str(value.v), faults);

            for (size_t i = 0; i < n; i++)
                warn_at(w, &value, "%.*s is invalid, %.*s", STR_ARG(json_str(value.v)),
                        STR_ARG(faults[i]));
        }
    }
}

void warn_members(const struct warner *w, const struct site *at, const struct warn_row *rows,
                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct site s = site_in(at, rows[i].name);

        s.name = rows[i].shown;
        if (s.v)
            warn_at(w, &s, "%s", rows[i].why);
    }
}

void warn_annotations(const struct warner *w, const struct site *owner, const struct warn_row *rows,
                      size_t n)
{
    struct site meta = site_in(owner, "metadata"), all = site_in(&meta, "annotations");

    for (size_t i = 0; i < n; i++) {
        struct site s = site_key(&all, str_of(rows[i].name), NULL);

        if (json_get(all.v, str_of(rows[i].name)))
            warn_at(w, &s, "%s", rows[i].why);
    }
}
