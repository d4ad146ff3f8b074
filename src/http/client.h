/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

/*
 * An HTTP client of one loop: one HTTP/2 connection to one server (HTTP/1.1 connections where the
 * server has no HTTP/2), opened when needed, reopened after it broke.  No redirects, no cookies, no
 * proxies but the one that is named.
 *
 * All functions and callbacks run on the loop's thread.
 */

#include <sys/socket.h>

#include "base/bytes.h"
#include "http/server.h"

struct http_client;

/*
 * Says where one may connect: asked of each address after name resolution, right before the
 * connect.  NULL: allowed; else why not, for the error's text.
 */
struct http_client_guard {
    const char *(*refuses)(const void *arg, const struct sockaddr *to, socklen_t n);
    const void *arg; /* outlives the client */
};

struct http_client_options {
    struct loop *loop;
    str host, port;  /* to connect to */
    str server_name; /* for SNI and verification; empty: host */
    bool tls;
    str ca_pem;   /* empty: the system's */
    str cert_pem; /* client certificate, may be empty */
    secret key_pem;
    bool insecure;                  /* no verification; only from a named flag of a person */
    str proxy_host, proxy_port;     /* of an HTTP proxy that leads to the server; TLS only */
    bool http1;                     /* do not offer HTTP/2 */
    bool h2_prior;                  /* without TLS: HTTP/2 from the first byte, not HTTP/1.1 */
    unsigned streams;               /* calls at once on one connection; more wait; 0: 100 */
    size_t window;                  /* bytes of an answer that come unasked; 0: 8 MiB (HTTP/2) */
    int64_t connect_ms;             /* 0: 10 s */
    struct http_client_guard guard; /* zeroed: everywhere */
};

struct http_client *http_client_new(const struct http_client_options *o, struct status *st);
void http_client_free(struct http_client *c); /* calls in flight end with UNAVAILABLE */

/*
 * One request.  Filled by the caller and kept, with what it points to, until `end` is called
 * (exactly once) or http_call_cancel returns.
 */
struct http_call {
    str method, path; /* path with query, escaped */
    const struct http_header *headers;
    size_t nheaders;
    str body;
    int64_t timeout_ms; /* to the end of the reply; 0: none (watch) */
    /*
     * The connection is asked to become what the headers say (upgrade: websocket); it is one of its
     * own, with HTTP/1.1.  Behind a head with 101 all that comes is data, until one side closes,
     * and http_call_send sends.  Any other head is that of a reply as always.
     */
    bool upgrade;

    /* may be NULL: */
    void (*head)(struct http_call *call, int status, const struct http_header *h, size_t nh);
    void (*data)(struct http_call *call, str bytes);
    void (*trailers)(struct http_call *call, const struct http_header *h, size_t nh); /* HTTP/2 */
    /* why is NULL when the reply came whole; else UNAVAILABLE (connect, reset), TIMEOUT … */
    void (*end)(struct http_call *call, const struct status *why);
    void *user;

    void *impl; /* the client's */
};
void http_client_call(struct http_client *c, struct http_call *call);
void http_call_cancel(struct http_client *c, struct http_call *call); /* no callback comes after */

/*
 * No more of the answer for now, or go on: how who passes it on keeps little of it.  What is on its
 * way (options.window, and with HTTP/1.1 one read) still comes.
 */
void http_call_pause(struct http_call *call, bool paused);

/*
 * Behind a 101: copied, and sent as fast as the other side takes it; how much has not left yet. The
 * call ends when that is more than some MiB.
 */
void http_call_send(struct http_call *call, str bytes);
size_t http_call_unsent(const struct http_call *call);

#endif
