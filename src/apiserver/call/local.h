/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_LOCAL_H
#define APISERVER_CALL_LOCAL_H

/*
 * The transport of clients in our own process: no socket, no TLS, the same chain behind
 * authentication.  Each caller has a name of its own, which authorization, audit and logs see.
 */

#include "base/identity.h"
#include "client/request.h"
#include "client/transport.h"
#include "json/json.h"

struct server;

/*
 * For one loop of the server.  user: "system:kairship:namespace-controller", which outlives the
 * client; what it may do is said in apiserver/auth/rbac_builtin.c, and without a row there it may
 * nothing.
 */
struct client_transport *server_local_transport(struct server *s, struct loop *l, str user);

/* What it writes goes by the loop in any case, and so waits behind what the loop was asked. */
void server_local_by_loop(struct client_transport *t);

/* As someone else, with the rights of that identity; its strings outlive the client. */
struct client_transport *server_local_as(struct server *s, struct loop *l,
                                         const struct identity *who);

/*
 * An object of root at once, for a part that has asked for its caller's rights itself: 1 with its
 * tree in the arena, without managedFields, 0 when there is none, or -1.  Any thread; never blocks.
 */
int server_local_look(struct server *s, struct arena *a, const struct client_ref *ref,
                      const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* Watches of that loop, these included, have been told of all up to this revision; on the loop. */
uint64_t server_local_watched(struct server *s, struct loop *l);

#endif
