/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_ADDRESS_H
#define HTTP_ADDRESS_H

/*
 * Addresses as people write them: "host:port", "[v6]:port", ":port" (every address of the machine).
 * A host is a name or an IP address, here always without brackets.  Pure functions.
 */

#include <stdbool.h>

#include "base/status.h"

struct host_port {
    str host; /* part of the text that was read; empty: every address */
    unsigned port;
};

/* BAD_REQUEST says what to write instead. */
int address_parse(str text, struct host_port *out, struct status *st)
    __attribute__((warn_unused_result));

str address_print(struct arena *a, str host, unsigned port); /* with brackets where they belong */

bool address_is_ip(str host);
bool address_is_v6(str host);
/* The one form that the kernel prints: "2001:db8::1" of "2001:DB8:0::1".  False: it is no IP. */
bool address_normal(struct arena *a, str host, str *out);
bool address_is_any(str host);      /* every address of the machine: "", "0.0.0.0", "::" */
bool address_is_loopback(str host); /* of this machine alone, localhost among them */
bool address_is_link_local(str host);

#endif
