/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"

enum {
    PIECE = 32 << 10,      /* as large as the kernel makes them */
    LINKS_MAX = 4096,      /* what is beyond is not looked at; the same of addresses */
    INTERRUPTED_TRIES = 3, /* the list has changed while the kernel told it */
};

struct reading {
    struct arena *arena;
    struct link *links;
    struct link_address *addresses;
    size_t nlinks, naddresses;
    bool interrupted;
};

/* The items with room for one more. */
static void *with_room(struct arena *a, void *items, size_t n, size_t size)
{
    enum { FIRST = 16 };
    bool full = n == 0 || (n >= FIRST && (n & (n - 1)) == 0);
    void *more;

    if (!full)
        return items;
    more = arena_alloc_n(a, n ? 2 * n : FIRST, size);
    if (n)
        memcpy(more, items, n * size);
    return more;
}

static str text_of(struct arena *a, const struct rtattr *at)
{
    size_t max = RTA_PAYLOAD(at);

    return str_dup(a, (str){ RTA_DATA(at), strnlen(RTA_DATA(at), max) });
}

static unsigned number_of(const struct rtattr *at)
{
    unsigned n = 0;

    if (RTA_PAYLOAD(at) >= sizeof(n))
        memcpy(&n, RTA_DATA(at), sizeof(n));
    return n;
}

static str kind_of(struct arena *a, const struct rtattr *info)
{
    int left = (int)RTA_PAYLOAD(info);

    for (const struct rtattr *at = RTA_DATA(info); RTA_OK(at, left); at = RTA_NEXT(at, left))
        if (at->rta_type == IFLA_INFO_KIND)
            return text_of(a, at);
    return STR_NONE;
}

static void take_link(struct reading *r, const struct nlmsghdr *h)
{
    const struct ifinfomsg *m = NLMSG_DATA(h);
    struct link l = { .index = m->ifi_index,
                      .up = m->ifi_flags & IFF_UP,
                      .loopback = m->ifi_flags & IFF_LOOPBACK };
    int left = (int)IFLA_PAYLOAD(h);

    if (r->nlinks == LINKS_MAX)
        return;
    for (const struct rtattr *at = IFLA_RTA(m); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
        if (at->rta_type == IFLA_IFNAME)
            l.name = text_of(r->arena, at);
        else if (at->rta_type == IFLA_MASTER)
            l.master = (int)number_of(at);
        else if (at->rta_type == IFLA_LINKINFO)
            l.kind = kind_of(r->arena, at);
    }
    r->links = with_room(r->arena, r->links, r->nlinks, sizeof(*r->links));
    r->links[r->nlinks++] = l;
}

static bool ip_of(struct arena *a, int family, const struct rtattr *at, str *out)
{
    size_t size = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    char text[INET6_ADDRSTRLEN];

    if ((family != AF_INET && family != AF_INET6) || RTA_PAYLOAD(at) != size ||
        !inet_ntop(family, RTA_DATA(at), text, sizeof(text)))
        return false;
    *out = str_dup(a, str_of(text));
    return true;
}

/* The flag of temporary addresses says of IPv4 that it is not the first of its network. */
static bool is_passing(int family, unsigned flags)
{
    unsigned temporary = family == AF_INET6 ? IFA_F_TEMPORARY : 0;

    return flags & (temporary | IFA_F_DEPRECATED | IFA_F_TENTATIVE | IFA_F_DADFAILED);
}

static void take_address(struct reading *r, const struct nlmsghdr *h)
{
    const struct ifaddrmsg *m = NLMSG_DATA(h);
    struct link_address d = { .index = (int)m->ifa_index,
                              .global = m->ifa_scope == RT_SCOPE_UNIVERSE };
    unsigned flags = m->ifa_flags;
    int left = (int)IFA_PAYLOAD(h);
    bool local = false; /* of a line between two, ADDRESS is that of the other end */

    if (r->naddresses == LINKS_MAX)
        return;
    for (const struct rtattr *at = IFA_RTA(m); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
        if (at->rta_type == IFA_LOCAL)
            local = ip_of(r->arena, m->ifa_family, at, &d.ip);
        else if (at->rta_type == IFA_ADDRESS && !local)
            (void)ip_of(r->arena, m->ifa_family, at, &d.ip);
        else if (at->rta_type == IFA_FLAGS)
            flags = number_of(at);
    }
    if (d.ip.n == 0)
        return;
    d.passing = is_passing(m->ifa_family, flags);
    r->addresses = with_room(r->arena, r->addresses, r->naddresses, sizeof(*r->addresses));
    r->addresses[r->naddresses++] = d;
}

/* 1: the list goes on in the next piece; 0: that was all; -1 with errno. */
static int take_piece(struct reading *r, const void *piece, size_t n)
{
    for (const struct nlmsghdr *h = piece; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
        if (h->nlmsg_flags & NLM_F_DUMP_INTR)
            r->interrupted = true;
        if (h->nlmsg_type == NLMSG_DONE)
            return 0;
        if (h->nlmsg_type == NLMSG_ERROR) {
            const struct nlmsgerr *e = NLMSG_DATA(h);

            errno = -e->error;
            return -1;
        }
        if (h->nlmsg_type == RTM_NEWLINK)
            take_link(r, h);
        else if (h->nlmsg_type == RTM_NEWADDR)
            take_address(r, h);
    }
    return 1;
}

/* Asks for a whole list, and takes it. */
static int take_list(struct reading *r, int fd, unsigned short type)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg any; /* longer than struct ifaddrmsg, which begins as it does */
    } ask = { .head = { .nlmsg_len = sizeof(ask),
                        .nlmsg_type = type,
                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
    void *piece = arena_alloc_raw(r->arena, PIECE);
    int more = 1;

    if (send(fd, &ask, sizeof(ask), 0) < 0)
        return -1;
    while (more > 0) {
        ssize_t n = recv(fd, piece, PIECE, MSG_TRUNC);

        if (n > PIECE)
            errno = EMSGSIZE;
        if (n <= 0 || n > PIECE)
            return -1;
        more = take_piece(r, piece, (size_t)n);
    }
    return more;
}

static int read_lists(struct reading *r)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), rc, err;

    if (fd < 0)
        return -1;
    rc = take_list(r, fd, RTM_GETLINK);
    if (rc == 0)
        rc = take_list(r, fd, RTM_GETADDR);
    err = errno;
    (void)close(fd);
    errno = err;
    return rc;
}

int links_read(struct arena *a, struct links *out, struct status *st)
{
    struct reading r = { .interrupted = true };

    for (int i = 0; r.interrupted && i < INTERRUPTED_TRIES; i++) {
        r = (struct reading){ .arena = a };
        if (read_lists(&r) < 0)
            return status_errno(st, errno, "cannot read the addresses of this machine");
    }
    *out = (struct links){ r.links, r.nlinks, r.addresses, r.naddresses };
    return 0;
}
