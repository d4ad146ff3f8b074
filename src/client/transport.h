/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_TRANSPORT_H
#define CLIENT_TRANSPORT_H

/*
 * How a client's requests reach a server: over HTTP (client/http_transport.h), or in process,
 * where the server's own layer implements these functions and no socket is involved.
 *
 * A request is a struct http_call (http/client.h) with its rules: method, path, headers and body
 * in; head, data (any number of times, for a watch without end) and end out, each on the
 * transport's loop, and never from inside of call().  Headers are those of the content; who is
 * asking is the transport's business.
 */

#include "http/client.h"

struct client_transport {
    struct loop *loop; /* functions and callbacks run on its thread */
    str ca_pem;        /* by which the server is known; empty: by those of the system */
    void (*call)(struct client_transport *t, struct http_call *call);
    /*
     * The same for a thread that waits: with its own loop (loop_own()), which it runs until the end
     * has come; callbacks come on its thread or on the transport's.  False: this call has to go by
     * the transport's loop.  NULL: all have.
     */
    bool (*call_from)(struct client_transport *t, struct loop *own, struct http_call *call);
    void (*cancel)(struct client_transport *t,
                   struct http_call *call); /* no callback comes after */
    /* http_call_pause(); NULL: all that comes is taken at once */
    void (*pause)(struct client_transport *t, struct http_call *call, bool paused);
    /* http_call_send(), http_call_unsent() of an upgraded call; NULL: there are none */
    void (*send)(struct client_transport *t, struct http_call *call, str bytes);
    size_t (*unsent)(struct client_transport *t, const struct http_call *call);
    void (*free)(struct client_transport *t); /* what is in flight ends with UNAVAILABLE */
};

#endif
