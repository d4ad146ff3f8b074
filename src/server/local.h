/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_LOCAL_H
#define SERVER_LOCAL_H

/*
 * The transport of clients in our own process: no socket, no TLS, the same chain behind
 * authentication.  Each caller has a name of its own, which authorization, audit and logs see.
 */

#include "client/transport.h"
#include "meta/identity.h"
#include "server/server.h"

/*
 * For one loop of the server.  user: "system:kairship:namespace-controller", which outlives the
 * client; what it may do is said in server/rbac_builtin.c, and without a row there it may nothing.
 */
struct client_transport *server_local_transport(struct server *s, struct loop *l, str user);

/* As someone else, with the rights of that identity; its strings outlive the client. */
struct client_transport *server_local_as(struct server *s, struct loop *l,
                                         const struct identity *who);

/* Watches of that loop, these included, have been told of all up to this revision; on the loop. */
uint64_t server_local_watched(struct server *s, struct loop *l);

#endif
