/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_CEL_NET_H
#define META_CEL_NET_H

/* Addresses and ranges of meta/cel_lib_net.c, for those who compare and print them. */

#include "meta/cel.h"

struct cel_ip {
    uint8_t bytes[16]; /* four of IPv4, the rest zero */
    bool v4;
    unsigned bits; /* of a range */
};

str cel_ip_text(struct arena *a, const struct cel_ip *ip, bool cidr);
str cel_url_text(const struct cel_value *v);

#endif
