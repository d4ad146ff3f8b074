/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CEL_CEL_NET_H
#define OBJECT_CEL_CEL_NET_H

/* Addresses and ranges of object/cel/cel_lib_net.c, for those who compare and print them. */

#include "object/cel/cel.h"

struct cel_ip {
    uint8_t bytes[16]; /* four of IPv4, the rest zero */
    bool v4;
    unsigned bits; /* of a range */
};

str cel_ip_text(struct arena *a, const struct cel_ip *ip, bool cidr);
str cel_url_text(const struct cel_value *v);

#endif
