/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_CALLOUT_H
#define APISERVER_OUTBOUND_CALLOUT_H

/*
 * A question to a webhook: a POST of JSON over TLS, to an address that somebody of an instance has
 * named; or a GET of a document of an aggregated API server.  So nothing of it is trusted: the
 * address is checked before each connect (fleet/egress.h), redirects are not followed, time and
 * size of the answer are bounded.  Loops never wait: a callout belongs to the loop it was started
 * on, and its answer comes there.
 *
 * Whom the operator of the server has named (issuers) may be anywhere; everything else holds for
 * them, too.
 */

#include "apiserver/outbound/peers.h"
#include "apiserver/outbound/service_resolver.h"
#include "base/arena.h"
#include "base/secret.h"

struct callouts;

enum {
    CALLOUT_REPLY_MAX = 6 << 20, /* bytes of an answer */
    CALLOUT_BODY_MAX = 32 << 20, /* bytes of a question */
    CALLOUT_FIELDS = 4,
};

/* As whom somebody is asked that the operator has named; what is empty is not said. */
struct callout_as {
    str server_name; /* of its certificate; empty: the URL's */
    str cert_pem;
    secret key_pem, token;
};

/* Filled in by who asks, and kept with all it points to until `done`. */
struct callout {
    str url; /* https://host[:port][/path] */
    /* The URL is that of a service (service_url), and this is which; NULL: it is any. */
    const struct service_ref *service;
    str ca_pem; /* empty: the system's */
    str body;
    int64_t timeout_ms;
    bool get; /* without a body, and with these headers: */
    const struct http_header *headers;
    size_t nheaders;
    bool insecure; /* as in struct peer_options, as this: */
    str front_proxy;
    bool operators; /* the same; then the URL of a GET may have a query, a POST may give 201 */
    const struct callout_as *as; /* NULL: as nobody */
    size_t reply_max;            /* 0: CALLOUT_REPLY_MAX */
    /* Once, on the loop, never before callout_start returns; reply lives until it returns. */
    void (*done)(struct callout *c, str reply, const struct status *why);
    void *user;

    struct loop_msg msg; /* from here on ours */
    struct callouts *all;
    struct callout *next, **prev;
    struct peer *peer;
    struct arena *arena;
    struct http_call http;
    struct http_header fields[CALLOUT_FIELDS]; /* of a POST */
    struct buf reply;
    struct status *why;
    int code;
    bool asking, over;
};

void callout_start(struct server *s, struct loop *l, struct callout *c);
void callout_cancel(struct callout *c); /* its end comes soon */

/* Why a POST got no answer, as Go's client tells it. */
str callout_failure(struct arena *a, const struct callout *c, const struct status *why);

/* Those of one loop: ends what waits for an answer; and all of it, when the loop runs no more. */
void callouts_stop(void *server_loop);
void callouts_free(struct callouts *all);

/* The parts of such a URL, in the arena; false when it is none. */
bool callout_url(struct arena *a, str url, str *host, str *port, str *path);

#endif
