/* SPDX-License-Identifier: Apache-2.0 */

/* URLs, IP addresses and CIDRs. */

#include "object/cel/cel_functions.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "object/cel/cel_net.h"
#include "object/meta/format_net.h"

/* ---- URLs ---- */

struct url {
    str text, scheme, host, path, query;
};

/* k8s: url.ParseRequestURI, absolute or from the root. */
static const struct url *parse_url(struct cel_run *r, str s)
{
    struct url *u;
    ptrdiff_t colon = str_find(s, ':', 0), end;

    if (!format_is_uri(s) || str_is(s, "*"))
        return NULL;
    u = arena_new_of(r->arena, struct url);
    u->text = s;
    if (s.n && s.p[0] != '/') {
        u->scheme = str_sub(s, 0, (size_t)colon);
        s = str_from(s, (size_t)colon + 1);
    }
    end = str_find(s, '?', 0);
    if (end >= 0) {
        u->query = str_from(s, (size_t)end + 1);
        s = str_sub(s, 0, (size_t)end);
    }
    if (u->scheme.n && str_starts(s, STR("//"))) {
        ptrdiff_t slash = str_find(s, '/', 2), at;

        u->host = str_sub(s, 2, slash < 0 ? s.n : (size_t)slash - 2);
        at = str_find(u->host, '@', 0);
        if (at >= 0)
            u->host = str_from(u->host, (size_t)at + 1);
        s = slash < 0 ? STR_NONE : str_from(s, (size_t)slash);
    }
    u->path = s;
    return u;
}

CEL_FN(url)
{
    const struct url *u = parse_url(r, v[0].s);

    return u ? cel_thing(CEL_URL, u)
             : cel_error(r,
                         "URL parse error during conversion from string: parse \"%.*s\": "
                         "invalid URI for request",
                         STR_ARG(v[0].s));
}

CEL_FN(is_url)
{
    return cel_bool(parse_url(r, v[0].s) != NULL);
}

static const struct url *url_of(const struct cel_value *v)
{
    return v->thing;
}

CEL_FN(url_scheme)
{
    (void)r;
    return cel_str(url_of(v)->scheme);
}

CEL_FN(url_host)
{
    (void)r;
    return cel_str(url_of(v)->host);
}

CEL_FN(url_path)
{
    (void)r;
    return cel_str(url_of(v)->path);
}

/* "[::1]:80": where the port's colon is, or -1. */
static ptrdiff_t port_colon(str host)
{
    ptrdiff_t close = str_find(host, ']', 0);

    return str_find(host, ':', close < 0 ? 0 : (size_t)close);
}

CEL_FN(url_hostname)
{
    str host = url_of(v)->host;
    ptrdiff_t colon = port_colon(host);

    (void)r;
    if (colon >= 0)
        host.n = (size_t)colon;
    if (host.n >= 2 && host.p[0] == '[')
        host = str_sub(host, 1, host.n - 2);
    return cel_str(host);
}

CEL_FN(url_port)
{
    str host = url_of(v)->host;
    ptrdiff_t colon = port_colon(host);

    (void)r;
    return cel_str(colon < 0 ? STR("") : str_from(host, (size_t)colon + 1));
}

static str decoded(struct cel_run *r, str s)
{
    str out;

    return percent_decode(r->arena, PERCENT_QUERY, s, &out) ? out : s;
}

/* Values of a name are a list, in their order; few enough for pairs to be compared. */
CEL_FN(url_query)
{
    str rest = url_of(v)->query, part;
    size_t n = 0, max = 1;
    struct cel_value *pairs;

    for (size_t i = 0; i < rest.n; i++)
        max += rest.p[i] == '&';
    if (max > 1000 || !cel_work(r, 16 * max + rest.n))
        return cel_error(r, "the query is too long");
    pairs = arena_array(r->arena, struct cel_value, 2 * max);
    while (str_split(&rest, '&', &part)) {
        ptrdiff_t eq = str_find(part, '=', 0);
        str name = decoded(r, eq < 0 ? part : str_sub(part, 0, (size_t)eq));
        str value = eq < 0 ? STR("") : decoded(r, str_from(part, (size_t)eq + 1));
        size_t k = 0;
        struct cel_value *list, *old;

        if (part.n == 0)
            continue;
        while (k < n && !str_eq(pairs[2 * k].s, name))
            k++;
        old = &pairs[2 * k + 1];
        list = arena_array(r->arena, struct cel_value, (k < n ? old->n : 0) + 1u);
        if (k < n)
            memcpy(list, old->values, old->n * sizeof(*list));
        list[k < n ? old->n : 0] = cel_str(value);
        pairs[2 * k] = cel_str(name);
        *old = cel_list(list, (k < n ? old->n : 0) + 1u);
        n += k == n;
    }
    return (struct cel_value){ .kind = CEL_MAP, .n = (uint32_t)n, .values = pairs };
}

/* ---- addresses ---- */

/* Strict: no leading zeros, no IPv4 inside of IPv6, no zones. */
static bool parse_ip(str s, struct cel_ip *out)
{
    char z[INET6_ADDRSTRLEN + 1];
    bool v6 = str_find(s, ':', 0) >= 0;

    if (s.n == 0 || s.n >= sizeof(z) || memchr(s.p, '\0', s.n) || (v6 && str_find(s, '.', 0) >= 0))
        return false;
    memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    memset(out, 0, sizeof(*out));
    out->v4 = !v6;
    return inet_pton(v6 ? AF_INET6 : AF_INET, z, out->bytes) == 1;
}

static bool parse_cidr(str s, struct cel_ip *out)
{
    ptrdiff_t slash = str_find(s, '/', 0);
    str digits = slash < 0 ? STR_NONE : str_from(s, (size_t)slash + 1);
    uint64_t bits;

    if (slash < 0 || digits.n == 0 || digits.n > 3 || (digits.n > 1 && digits.p[0] == '0') ||
        !str_to_u64(digits, &bits) || !parse_ip(str_sub(s, 0, (size_t)slash), out) ||
        bits > (out->v4 ? 32 : 128))
        return false;
    out->bits = (unsigned)bits;
    return true;
}

str cel_ip_text(struct arena *a, const struct cel_ip *ip, bool cidr)
{
    char z[INET6_ADDRSTRLEN + 1];

    if (!inet_ntop(ip->v4 ? AF_INET : AF_INET6, ip->bytes, z, sizeof(z)))
        return STR_NONE;
    return cidr ? str_printf(a, "%s/%u", z, ip->bits) : str_dup(a, str_of(z));
}

static struct cel_value keep(struct cel_run *r, enum cel_kind kind, const struct cel_ip *ip)
{
    struct cel_ip *out = arena_new_of(r->arena, struct cel_ip);

    *out = *ip;
    return cel_thing(kind, out);
}

static const struct cel_ip *ip_of(const struct cel_value *v)
{
    return v->thing;
}

CEL_FN(ip)
{
    struct cel_ip ip;

    if (!parse_ip(v[0].s, &ip))
        return cel_error(r, "IP Address \"%.*s\" parse error during conversion from string",
                         STR_ARG(v[0].s));
    return keep(r, CEL_IP, &ip);
}

CEL_FN(is_ip)
{
    struct cel_ip ip;

    (void)r;
    return cel_bool(parse_ip(v[0].s, &ip));
}

CEL_FN(ip_is_canonical)
{
    struct cel_ip ip;

    if (!parse_ip(v[0].s, &ip))
        return cel_fn_ip(r, v);
    return cel_bool(str_eq(cel_ip_text(r->arena, &ip, false), v[0].s));
}

CEL_FN(ip_family)
{
    (void)r;
    return cel_int(ip_of(v)->v4 ? 4 : 6);
}

static bool all_zero(const struct cel_ip *ip, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ip->bytes[i])
            return false;
    return true;
}

static bool is_unspecified(const struct cel_ip *ip)
{
    return all_zero(ip, 16);
}

static bool is_loopback(const struct cel_ip *ip)
{
    return ip->v4 ? ip->bytes[0] == 127 : all_zero(ip, 15) && ip->bytes[15] == 1;
}

static bool is_link_multicast(const struct cel_ip *ip)
{
    if (ip->v4)
        return ip->bytes[0] == 224 && ip->bytes[1] == 0 && ip->bytes[2] == 0;
    return ip->bytes[0] == 0xff && (ip->bytes[1] & 0x0f) == 2;
}

static bool is_link_unicast(const struct cel_ip *ip)
{
    if (ip->v4)
        return ip->bytes[0] == 169 && ip->bytes[1] == 254;
    return ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

static bool is_multicast(const struct cel_ip *ip)
{
    return ip->v4 ? (ip->bytes[0] & 0xf0) == 0xe0 : ip->bytes[0] == 0xff;
}

CEL_FN(ip_unspecified)
{
    (void)r;
    return cel_bool(is_unspecified(ip_of(v)));
}

CEL_FN(ip_loopback)
{
    (void)r;
    return cel_bool(is_loopback(ip_of(v)));
}

CEL_FN(ip_link_multicast)
{
    (void)r;
    return cel_bool(is_link_multicast(ip_of(v)));
}

CEL_FN(ip_link_unicast)
{
    (void)r;
    return cel_bool(is_link_unicast(ip_of(v)));
}

CEL_FN(ip_global_unicast)
{
    const struct cel_ip *ip = ip_of(v);
    bool broadcast = ip->v4 && memcmp(ip->bytes, "\xff\xff\xff\xff", 4) == 0;

    (void)r;
    return cel_bool(!broadcast && !is_unspecified(ip) && !is_loopback(ip) && !is_multicast(ip) &&
                    !is_link_unicast(ip));
}

/* ---- ranges ---- */

CEL_FN(cidr)
{
    struct cel_ip ip;

    if (!parse_cidr(v[0].s, &ip))
        return cel_error(r, "network address parse error during conversion from string: \"%.*s\"",
                         STR_ARG(v[0].s));
    return keep(r, CEL_CIDR, &ip);
}

CEL_FN(is_cidr)
{
    struct cel_ip ip;

    (void)r;
    return cel_bool(parse_cidr(v[0].s, &ip));
}

static bool same_prefix(const struct cel_ip *a, const struct cel_ip *b, unsigned bits)
{
    if (a->v4 != b->v4 || memcmp(a->bytes, b->bytes, bits / 8) != 0)
        return false;
    return bits % 8 == 0 || (a->bytes[bits / 8] ^ b->bytes[bits / 8]) >> (8 - bits % 8) == 0;
}

CEL_FN(cidr_contains_ip)
{
    struct cel_ip ip;

    if (v[1].kind == CEL_IP)
        ip = *ip_of(&v[1]);
    else if (!parse_ip(v[1].s, &ip))
        return cel_fn_ip(r, &v[1]);
    return cel_bool(same_prefix(ip_of(v), &ip, ip_of(v)->bits));
}

CEL_FN(cidr_contains_cidr)
{
    struct cel_ip other;

    if (v[1].kind == CEL_CIDR)
        other = *ip_of(&v[1]);
    else if (!parse_cidr(v[1].s, &other))
        return cel_fn_cidr(r, &v[1]);
    return cel_bool(other.bits >= ip_of(v)->bits && same_prefix(ip_of(v), &other, ip_of(v)->bits));
}

CEL_FN(cidr_ip)
{
    struct cel_ip ip = *ip_of(v);

    ip.bits = 0;
    return keep(r, CEL_IP, &ip);
}

CEL_FN(cidr_masked)
{
    struct cel_ip ip = *ip_of(v);

    for (unsigned i = 0; i < 16; i++)
        if (ip.bits < 8 * (i + 1))
            ip.bytes[i] &= ip.bits <= 8 * i ? 0 : (uint8_t)(0xff << (8 - ip.bits % 8));
    return keep(r, CEL_CIDR, &ip);
}

CEL_FN(cidr_prefix)
{
    (void)r;
    return cel_int(ip_of(v)->bits);
}

str cel_url_text(const struct cel_value *v)
{
    return url_of(v)->text;
}
