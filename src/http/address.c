/* SPDX-License-Identifier: Apache-2.0 */
#include "http/address.h"

#include <arpa/inet.h>

#include "base/arena.h"
#include "base/banned.h"

enum { PORT_MAX = 65535 };

/* Both families in sixteen bytes: IPv4 as the kernel maps it (::ffff:1.2.3.4). */
struct ip {
    bool v6;
    unsigned char bytes[16];
};

static bool read_ip(str host, struct ip *out)
{
    char z[INET6_ADDRSTRLEN];

    if (host.n == 0 || host.n >= sizeof(z))
        return false;
    memcpy(z, host.p, host.n);
    z[host.n] = '\0';
    *out = (struct ip){ .bytes = { [10] = 0xff, [11] = 0xff } };
    if (inet_pton(AF_INET, z, out->bytes + 12) == 1)
        return true;
    out->v6 = true;
    return inet_pton(AF_INET6, z, out->bytes) == 1;
}

static bool maps_v4(const struct ip *ip)
{
    static const unsigned char head[12] = { [10] = 0xff, [11] = 0xff };

    return memcmp(ip->bytes, head, sizeof(head)) == 0;
}

static int parse_port(str text, unsigned *out, struct status *st)
{
    uint64_t port;

    if (!str_to_u64(text, &port) || port > PORT_MAX)
        return status_set(st, REASON_BAD_REQUEST, "the port is a number from 0 to %d, not \"%.*s\"",
                          PORT_MAX, STR_ARG(text));
    *out = (unsigned)port;
    return 0;
}

int address_parse(str text, struct host_port *out, struct status *st)
{
    size_t colon = text.n;
    struct host_port r;
    struct ip ip;

    while (colon > 0 && text.p[colon - 1] != ':')
        colon--;
    if (colon == 0 || str_ends(text, STR("]")))
        return status_set(st, REASON_BAD_REQUEST, "the port is missing, as in %.*s:6443",
                          STR_ARG(text));
    r.host = str_sub(text, 0, colon - 1);
    if (str_starts(r.host, STR("[")) && str_ends(r.host, STR("]"))) {
        r.host = str_sub(r.host, 1, r.host.n - 2);
        if (!read_ip(r.host, &ip) || !ip.v6)
            return status_set(st, REASON_BAD_REQUEST, "\"%.*s\" in brackets is not an IPv6 address",
                              STR_ARG(r.host));
    } else if (str_find(r.host, ':', 0) >= 0) {
        return status_set(st, REASON_BAD_REQUEST,
                          "an IPv6 address has brackets around it, as in [::1]:6443");
    }
    if (parse_port(str_from(text, colon), &r.port, st) < 0)
        return -1;
    *out = r;
    return 0;
}

str address_print(struct arena *a, str host, unsigned port)
{
    bool v6 = address_is_v6(host);

    return str_printf(a, "%s%.*s%s:%u", v6 ? "[" : "", STR_ARG(host), v6 ? "]" : "", port);
}

bool address_is_ip(str host)
{
    struct ip ip;

    return read_ip(host, &ip);
}

bool address_is_v6(str host)
{
    struct ip ip;

    return read_ip(host, &ip) && ip.v6;
}

bool address_normal(struct arena *a, str host, str *out)
{
    char text[INET6_ADDRSTRLEN];
    struct ip ip;

    if (!read_ip(host, &ip) ||
        !inet_ntop(ip.v6 ? AF_INET6 : AF_INET, ip.bytes + (ip.v6 ? 0 : 12), text, sizeof(text)))
        return false;
    *out = str_dup(a, str_of(text));
    return true;
}

bool address_is_any(str host)
{
    static const unsigned char zero[16];
    struct ip ip;

    if (host.n == 0)
        return true;
    return read_ip(host, &ip) &&
           memcmp(ip.bytes + (maps_v4(&ip) ? 12 : 0), zero, maps_v4(&ip) ? 4 : sizeof(zero)) == 0;
}

bool address_is_loopback(str host)
{
    static const unsigned char one[16] = { [15] = 1 };
    struct ip ip;

    if (!read_ip(host, &ip))
        return str_eq_nocase(host, STR("localhost"));
    return maps_v4(&ip) ? ip.bytes[12] == 127 : memcmp(ip.bytes, one, sizeof(one)) == 0;
}

bool address_is_link_local(str host)
{
    struct ip ip;

    if (!read_ip(host, &ip))
        return false;
    return maps_v4(&ip) ? ip.bytes[12] == 169 && ip.bytes[13] == 254
                        : ip.bytes[0] == 0xfe && (ip.bytes[1] & 0xc0) == 0x80;
}
