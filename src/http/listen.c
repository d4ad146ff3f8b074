/* SPDX-License-Identifier: Apache-2.0 */
#include "http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/banned.h"
#include "http/address.h"

static const struct {
    int err;
    const char *what;
} sentences[] = {
    { EADDRINUSE, "the address is in use; stop the server that has it, or choose another port" },
    { EADDRNOTAVAIL, "this is not an address of this machine; take one of those that \"ip "
                     "address\" shows, or 0.0.0.0 for all of them" },
    { EACCES, "this port takes a right: ports below 1024 are for root, or for a program with "
              "CAP_NET_BIND_SERVICE; choose a higher one, as 6443" },
};

static int failed(struct status *st, int err)
{
    for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
        if (sentences[i].err == err)
            return status_set(st, REASON_UNAVAILABLE, "%s", sentences[i].what);
    return status_errno(st, err, "cannot listen");
}

static int bind_to(const struct addrinfo *ai)
{
    int on = 1, off = 0;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (ai->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0)
        return fd;
    on = errno;
    (void)close(fd);
    errno = on;
    return -1;
}

int listen_bind(str address, struct status *st)
{
    scoped_arena a = arena_new();
    const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    struct host_port to;
    struct addrinfo *list;
    const char *host;
    int rc, fd = -1;

    if (address_parse(address, &to, st) < 0)
        return -1;
    host = to.host.n ? str_z(a, to.host) : NULL;
    rc = getaddrinfo(host, arena_printf(a, "%u", to.port), &hints, &list);
    if (rc != 0)
        return status_set(st, REASON_BAD_REQUEST,
                          "%s has no address (%s); give an address of this machine, or 0.0.0.0 for "
                          "all of them",
                          host ? host : "the machine", gai_strerror(rc));
    /* For every address of the machine: the one that serves IPv4 and IPv6 together, if it can. */
    for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
        if (host || ai->ai_family == AF_INET6)
            fd = bind_to(ai);
    for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
        fd = bind_to(ai);
    rc = errno;
    freeaddrinfo(list);
    return fd < 0 ? failed(st, rc) : fd;
}

int listen_begin(int fd, struct status *st)
{
    return listen(fd, SOMAXCONN) == 0 ? 0 : failed(st, errno);
}
