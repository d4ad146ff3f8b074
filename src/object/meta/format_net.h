/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_FORMAT_NET_H
#define OBJECT_META_FORMAT_NET_H

/* Only for object/meta/format.c: the formats of addresses. */

#include "base/str.h"

bool format_is_ipv4(str s);
bool format_is_ipv6(str s);
bool format_is_cidr(str s);
bool format_is_mac(str s);
bool format_is_hostname(str s);
bool format_is_email(str s);
bool format_is_uri(str s);

#endif
