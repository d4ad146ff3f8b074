/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_SPECIAL_H
#define APISERVER_SERVER_SPECIAL_H

/*
 * Resources that are not objects in the store: reviews that are answered and forgotten, tokens,
 * bindings, evictions.  A row of the table in apiserver/server/special.c says who serves it.  They
 * are in the catalog like all others, so discovery, authorization and options are those of every
 * resource.
 */

#include "apiserver/call/call.h"

/* The rows that are served in this room. */
call_handler pod_binding, pod_evict, pod_needs_kubelet;
/* Of what a binding or an eviction wrote: only that it is so (201), or why not. */
void pod_done(struct rest_request *req, const struct rest_reply *reply);

/* NULL: an ordinary resource. */
call_handler *special_find(const struct kind *k, str subresource, enum verb verb);

/* Asks the instance's policies and webhooks, where they have a say, and then who serves it. */
void special_serve(struct call *c);

#endif
