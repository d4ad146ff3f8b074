/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_CLIENT_RESOLVE_H
#define HTTP_CLIENT_RESOLVE_H

/*
 * Host names to addresses, off the loop: getaddrinfo() blocks, so names are looked up by a thread
 * of their own.  Addresses written as numbers need none and are there at once.
 */

#include <stdbool.h>
#include <sys/socket.h>

#include "base/str.h"
#include "loop/loop.h"

struct client_resolve;

enum { CLIENT_ADDRS_MAX = 8 };

struct client_addrs {
    struct sockaddr_storage addr[CLIENT_ADDRS_MAX];
    socklen_t len[CLIENT_ADDRS_MAX];
    unsigned n;
    int error; /* of getaddrinfo, when n is 0 */
};

/* True when host is a number and out is filled (or the port is not one: n is 0). */
bool client_resolve_number(str host, str port, struct client_addrs *out);

/* Calls done(arg, addrs) on the loop, once, unless cancelled before. */
struct client_resolve *client_resolve_start(struct loop *l, str host, str port,
                                            void (*done)(void *arg, const struct client_addrs *),
                                            void *arg);
void client_resolve_cancel(struct client_resolve *r); /* on the loop; NULL is fine */

#endif
