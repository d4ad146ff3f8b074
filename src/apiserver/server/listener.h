/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_LISTENER_H
#define APISERVER_SERVER_LISTENER_H

/*
 * A port at which one instance looks like a cluster of its own: the bare paths are its, and there
 * is no way from there to another (`/clusters/…` is 404).  What opens the instance elsewhere opens
 * it here: its own certificates and tokens, and the platform admin's.
 *
 * It can play a cluster in trouble.  All functions run on the thread of loops[0], but for new,
 * before the loops run or on any thread, and free, after they have ended.
 */

#include "apiserver/server/server.h"

struct listener;

struct listener_options {
    struct server *server;
    str listen;   /* "127.0.0.1:0" */
    str instance; /* its name */
    struct loop *const *loops;
    size_t nloops;
    struct http_limits http;
    str cert_pem, client_ca_pem;
    secret key_pem;
};

/* Copies what it needs.  Serves as soon as the loops run, also before there is the instance. */
struct listener *listener_new(const struct listener_options *o, struct status *st);
void listener_free(struct listener *l); /* before its server */
str listener_address(const struct listener *l);

enum listener_mode {
    LISTENER_UP,
    LISTENER_SLOW, /* each request waits for some time first */
    LISTENER_HUNG, /* connections are taken, and no byte moves on any */
    LISTENER_DOWN, /* nobody listens, all connections are closed */
};

/* delay_ms is of LISTENER_SLOW.  Fails only where the port has been taken by another meanwhile. */
int listener_set(struct listener *l, enum listener_mode mode, int64_t delay_ms, struct status *st)
    __attribute__((warn_unused_result));

#endif
