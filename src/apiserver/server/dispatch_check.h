/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_DISPATCH_CHECK_H
#define APISERVER_SERVER_DISPATCH_CHECK_H

/*
 * Nothing is served that authorization was not asked about.  Every request passes one chain, which
 * authorizes what request info (apiserver/call/reqinfo.h) says of it; so what must hold is that
 * request info and the tables of handlers speak of the same things.  Asked once, before a server
 * listens.
 */

#include "rest/kind.h"

struct call_chain;

/* All of the below.  -1 says which handler is reached under a name of another. */
int dispatch_check(struct arena *a, const struct catalog *c, struct status *st)
    __attribute__((warn_unused_result));

/* apiserver/server/chain.c: what every call passes. */
extern const struct call_chain server_chain;

/* The chain authorizes before it dispatches. */
int chain_check(struct status *st) __attribute__((warn_unused_result));

/* The path of every document is no resource's (apiserver/server/document.c); of this one. */
int documents_check(struct arena *a, struct status *st) __attribute__((warn_unused_result));
int document_check(struct arena *a, str pattern, struct status *st)
    __attribute__((warn_unused_result));
const char *document_path(size_t i); /* "/metrics", or with a star at its end; NULL: no more */

/* Who answers in the place of an object is a resource with that verb (apiserver/server/special.c).
 */
int specials_check(const struct catalog *c, struct status *st) __attribute__((warn_unused_result));

/* The paths of every kind are authorized as that resource. */
int kinds_check(struct arena *a, const struct catalog *c, struct status *st)
    __attribute__((warn_unused_result));

/* "/apis/apps/v1/namespaces/ns/deployments" */
str route_path(struct arena *a, const struct kind *k, str namespace_);

#endif
