/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_PEERS_H
#define APISERVER_OUTBOUND_PEERS_H

/*
 * HTTP clients for servers that users of an instance have configured: webhooks and aggregated API
 * servers.  Each loop has one client for each server; configurations share it if they name the same
 * server and trust the same CA.  The servers are not trusted: each address is checked before a
 * connection is made (fleet/egress.h), and redirects are not followed.
 *
 * Everything here runs on the loop.
 */

#include "base/secret.h"
#include "client/transport.h"

struct server;
struct peers;
struct peer;

enum { PEERS_KEPT = 32 }; /* clients of a loop; above that, unused ones are freed */

struct peer_options {
    str host, port;
    str server_name; /* empty: host */
    str ca_pem;      /* empty: the system's CAs */
    bool insecure;   /* skip the check of the server certificate, as an APIService may demand */
    /* Client certificate: the front proxy of the instance with this uid
     * (apiserver/outbound/front_proxy.h), */
    str front_proxy;
    str cert_pem; /* or this one; if both are empty, none is presented */
    secret key_pem;
    bool operators; /* the operator has configured it: any address is allowed */
};

/* Returns the clients of the loop, which the first call creates. */
struct peers *peers_of(struct server *s, struct loop *l);
void peers_free(struct peers *all); /* after the loop has ended */

/* Returns a reference that the caller owns, or NULL. */
struct peer *peer_get(struct peers *all, const struct peer_options *o, struct status *st);
void peer_unref(struct peer *p);
struct client_transport *peer_transport(struct peer *p); /* lives as long as the reference */

#endif
