/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_PROXY_H
#define APISERVER_OUTBOUND_PROXY_H

/* Passing a call on to another API server, and its answer back (apiserver/outbound/proxy.c). */

#include "apiserver/call/call.h"
#include "apiserver/outbound/peers.h"

/* One that serves a part of the instance's API. */
struct proxy_backend {
    struct peer_options peer;
    const struct identity *who; /* for whom */
};

/* rest: the path there, without its first slash. */
void proxy_backend(struct call *c, const struct proxy_backend *b, str rest);

call_handler instance_proxy; /* the whole API of an instance that is attached */
call_handler cluster_proxy;  /* gets the call as it came: neither options nor body are read */

#endif
