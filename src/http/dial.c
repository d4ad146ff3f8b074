/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dial.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/banned.h"

/* Linux: a connect ends with the time of sends, as EINPROGRESS. */
static int connect_one(const struct addrinfo *to, int wait_s)
{
    const struct timeval wait = { .tv_sec = wait_s };
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return fd;
    err = errno == EINPROGRESS ? ETIMEDOUT : errno;
    (void)close(fd);
    errno = err;
    return -1;
}

int dial(struct arena *a, str host, str port, int wait_s, struct status *st)
{
    const struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *all = NULL;
    int rc = getaddrinfo(str_z(a, host), str_z(a, port), &want, &all), fd = -1;

    if (rc != 0)
        return status_set(st, REASON_UNAVAILABLE, "%.*s: %s", STR_ARG(host), gai_strerror(rc));
    for (const struct addrinfo *x = all; x && fd < 0; x = x->ai_next)
        fd = connect_one(x, wait_s);
    rc = errno;
    freeaddrinfo(all);
    if (fd >= 0)
        return fd;
    (void)status_errno(st, rc, "connect to %.*s port %.*s", STR_ARG(host), STR_ARG(port));
    st->reason = REASON_UNAVAILABLE;
    return -1;
}
