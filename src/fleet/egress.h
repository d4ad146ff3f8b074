/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_EGRESS_H
#define FLEET_EGRESS_H

/*
 * Where connections may go that somebody else than the operator named (DESIGN 4.15): the address of
 * a member in an API object, a webhook.  The check is of addresses, after name resolution and right
 * before each connect, so that a name cannot point elsewhere the second time.
 *
 * Denied always: link-local (and with it the metadata services of clouds), unspecified, multicast,
 * broadcast and reserved addresses, the metadata addresses outside of link-local, and our own
 * listeners.  Loopback is denied unless allowed by a flag.  IPv4 inside of IPv6 (mapped,
 * compatible, NAT64, 6to4) counts as the IPv4 it is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "http/client.h"

enum { EGRESS_LISTENERS_MAX = 8 };

struct egress {
    bool loopback; /* allowed */
    /*
     * Our own listeners: denied at exactly that address and port; an unspecified address means that
     * port at every address of this machine, of which loopback addresses are known as such.
     */
    struct sockaddr_storage listeners[EGRESS_LISTENERS_MAX];
    size_t nlisteners;
};

/* Nothing but the fixed rules; no loopback. */
extern const struct egress egress_default;

/* Adds a listener of ours: "127.0.0.1:6443", "[::]:6443", ":6443".  What is none is ignored. */
void egress_deny(struct egress *e, str address);

/* NULL when one may connect there; else why not, in words ("link-local address"). */
const char *egress_refuses(const struct egress *e, const struct sockaddr *to, socklen_t n);

/* The same as the HTTP client asks it (http/client.h). */
struct http_client_guard egress_guard(const struct egress *e);

#endif
