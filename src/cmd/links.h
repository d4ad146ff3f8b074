/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_LINKS_H
#define CMD_LINKS_H

/* The network interfaces of this machine and their addresses, as the kernel tells them. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"

struct link {
    int index;
    int master;     /* the index of the bridge or bond that it is a port of; 0: none */
    str name, kind; /* kind: "bridge", "veth", "vxlan", …; empty: a device of hardware, or lo */
    bool up, loopback;
};

struct link_address {
    int index; /* of its link */
    str ip;
    bool global;  /* the kernel's scope of it */
    bool passing; /* not yet or no longer good, or one that IPv6 makes for some hours */
};

struct links {
    const struct link *links;
    size_t nlinks;
    const struct link_address *addresses; /* in the kernel's order: IPv4 first */
    size_t naddresses;
};

/* By netlink, which the sandbox allows; microseconds, without waiting for anything. */
int links_read(struct arena *a, struct links *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
