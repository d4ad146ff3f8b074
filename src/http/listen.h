/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

/*
 * Sockets that wait for connections, in two steps: a server takes its address before it has given
 * up the right to and before it has changed anything, and lets clients in when it can serve them.
 */

#include "base/status.h"

/*
 * A socket at this address (http/address.h), which no one else can take from now on, or -1.
 * Messages say what to do, and do not repeat the address.
 */
int listen_bind(str address, struct status *st) __attribute__((warn_unused_result));
int listen_begin(int fd, struct status *st) __attribute__((warn_unused_result));

#endif
