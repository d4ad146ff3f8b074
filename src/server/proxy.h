/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PROXY_H
#define SERVER_PROXY_H

/* Passing a call on to another API server, and its answer back (server/proxy.c). */

#include "server/call.h"
#include "server/peers.h"

/* One that serves a part of the instance's API. */
struct proxy_backend {
    struct peer_options peer;
    const struct identity *who; /* for whom */
};

/* rest: the path there, without its first slash. */
void proxy_backend(struct call *c, const struct proxy_backend *b, str rest);

#endif
