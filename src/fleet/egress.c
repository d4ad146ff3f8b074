/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

const struct egress egress_default = { 0 };

struct v4_rule {
    uint32_t net; /* host order */
    unsigned bits;
    const char *why;
};

struct v6_rule {
    unsigned char net[16];
    unsigned bits;
    const char *why;
};

static const char loopback[] = "loopback address";
static const char metadata[] = "address of a cloud's metadata service";

static const struct v4_rule v4_rules[] = {
    { 0x00000000, 8, "unspecified address" },
    { 0x7f000000, 8, loopback },
    { 0xa9fe0000, 16, "link-local address" },
    { 0x646464c8, 32, metadata }, /* 100.100.100.200, Alibaba */
    { 0xc0000000, 24, metadata }, /* 192.0.0.0/24 with 192.0.0.192, Oracle */
    { 0xa83f8110, 32, metadata }, /* 168.63.129.16, Azure's host */
    { 0xe0000000, 4, "multicast address" },
    { 0xf0000000, 4, "broadcast or reserved address" },
};

static const struct v6_rule v6_rules[] = {
    { { 0 }, 128, "unspecified address" },        { { [15] = 1 }, 128, loopback },
    { { 0xfe, 0x80 }, 10, "link-local address" }, { { 0xfe, 0xc0 }, 10, "site-local address" },
    { { 0xfd, 0x00, 0x0e, 0xc2 }, 32, metadata }, /* fd00:ec2::254, Amazon */
    { { 0xfd, 0x20, 0x00, 0xce }, 32, metadata }, /* fd20:ce::254, Google */
    { { 0xff }, 8, "multicast address" },
};

/* Where an IPv4 address hides in an IPv6 one. */
static const struct {
    unsigned char net[16];
    unsigned bits, at;
} v4_inside[] = {
    { { [10] = 0xff, [11] = 0xff }, 96, 12 },     /* mapped */
    { { 0x00, 0x64, 0xff, 0x9b }, 96, 12 },       /* NAT64, RFC 6052 */
    { { 0x00, 0x64, 0xff, 0x9b, 0, 1 }, 48, 12 }, /* NAT64, RFC 8215 */
    { { 0x20, 0x02 }, 16, 2 },                    /* 6to4 */
    { { 0 }, 96, 12 },                            /* compatible; after :: and ::1 were seen */
};

static const char *v4_refused(const struct egress *e, uint32_t addr)
{
    for (size_t i = 0; i < sizeof(v4_rules) / sizeof(*v4_rules); i++) {
        const struct v4_rule *r = &v4_rules[i];

        if ((addr ^ r->net) >> (32 - r->bits) == 0 && !(r->why == loopback && e->loopback))
            return r->why;
    }
    return NULL;
}

static bool v6_in(const unsigned char *addr, const unsigned char *net, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    return memcmp(addr, net, whole) == 0 &&
           (!rest || (addr[whole] ^ net[whole]) >> (8 - rest) == 0);
}

static const char *v6_refused(const struct egress *e, const unsigned char *addr)
{
    for (size_t i = 0; i < sizeof(v6_rules) / sizeof(*v6_rules); i++) {
        const struct v6_rule *r = &v6_rules[i];

        if (v6_in(addr, r->net, r->bits))
            return r->why == loopback && e->loopback ? NULL : r->why;
    }
    for (size_t i = 0; i < sizeof(v4_inside) / sizeof(*v4_inside); i++) {
        uint32_t v4;

        if (!v6_in(addr, v4_inside[i].net, v4_inside[i].bits))
            continue;
        memcpy(&v4, addr + v4_inside[i].at, sizeof(v4));
        return v4_refused(e, ntohl(v4));
    }
    return NULL;
}

/* ---- our own listeners ---- */

/* An address and a port in one form: IPv4 as mapped IPv6. */
struct endpoint {
    unsigned char addr[16];
    unsigned port;
};

static bool endpoint_of(const struct sockaddr *sa, socklen_t n, struct endpoint *out)
{
    if (sa->sa_family == AF_INET && n >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in in;

        memcpy(&in, sa, sizeof(in));
        *out =
            (struct endpoint){ .addr = { [10] = 0xff, [11] = 0xff }, .port = ntohs(in.sin_port) };
        memcpy(out->addr + 12, &in.sin_addr, 4);
        return true;
    }
    if (sa->sa_family == AF_INET6 && n >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 in;

        memcpy(&in, sa, sizeof(in));
        memcpy(out->addr, &in.sin6_addr, 16);
        out->port = ntohs(in.sin6_port);
        return true;
    }
    return false;
}

static bool unspecified(const struct endpoint *p)
{
    static const unsigned char any4[16] = { [10] = 0xff, [11] = 0xff }, any6[16];

    return memcmp(p->addr, any4, 16) == 0 || memcmp(p->addr, any6, 16) == 0;
}

/* An address is this machine's if a socket can be bound to it. */
static bool is_local(const struct sockaddr *to, socklen_t n)
{
    int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage ss = { 0 };
    bool local;

    if (fd < 0)
        return true; /* cannot tell: denied */
    memcpy(&ss, to, n);
    if (ss.ss_family == AF_INET)
        ((struct sockaddr_in *)&ss)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&ss)->sin6_port = 0;
    local = bind(fd, (const struct sockaddr *)&ss, n) == 0;
    (void)close(fd);
    return local;
}

static bool is_listener(const struct egress *e, const struct sockaddr *to, socklen_t n,
                        const struct endpoint *p)
{
    for (size_t i = 0; i < e->nlisteners; i++) {
        struct endpoint own;

        if (!endpoint_of((const struct sockaddr *)&e->listeners[i], sizeof(e->listeners[i]),
                         &own) ||
            own.port != p->port)
            continue;
        if (memcmp(own.addr, p->addr, 16) == 0 || (unspecified(&own) && is_local(to, n)))
            return true;
    }
    return false;
}

void egress_deny(struct egress *e, str address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&e->listeners[e->nlisteners];
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)v4;
    size_t colon = address.n;
    uint64_t port;
    char host[INET6_ADDRSTRLEN];
    str name;

    while (colon > 0 && address.p[colon - 1] != ':')
        colon--;
    if (e->nlisteners == EGRESS_LISTENERS_MAX || colon == 0 ||
        !str_to_u64(str_from(address, colon), &port) || port > 65535)
        return;
    name = str_sub(address, 0, colon - 1);
    if (name.n >= 2 && name.p[0] == '[')
        name = str_sub(name, 1, name.n - 2);
    if (name.n >= sizeof(host))
        return;
    memcpy(host, name.p, name.n);
    host[name.n] = 0;
    memset(v6, 0, sizeof(e->listeners[0]));
    if (inet_pton(AF_INET6, name.n ? host : "::", &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        e->nlisteners++;
    } else if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        e->nlisteners++;
    }
}

const char *egress_refuses(const struct egress *e, const struct sockaddr *to, socklen_t n)
{
    struct endpoint p;
    const char *why;

    if (n > sizeof(struct sockaddr_storage) || !endpoint_of(to, n, &p))
        return "neither an IPv4 nor an IPv6 address";
    why = v6_refused(e, p.addr);
    if (!why && is_listener(e, to, n, &p))
        why = "address of this server itself";
    return why;
}

static const char *guard_refuses(const void *arg, const struct sockaddr *to, socklen_t n)
{
    return egress_refuses(arg, to, n);
}

struct http_client_guard egress_guard(const struct egress *e)
{
    return (struct http_client_guard){ .refuses = guard_refuses, .arg = e };
}
