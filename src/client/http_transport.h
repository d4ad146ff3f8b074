/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_HTTP_TRANSPORT_H
#define CLIENT_HTTP_TRANSPORT_H

/* The transport to a server that a kubeconfig names: its address, its path prefix, its credentials.
 */

#include "client/kubeconfig.h"
#include "client/transport.h"

/* On the loop's thread, or before it runs.  The kubeconfig is copied. */
struct client_transport *http_transport_new(struct loop *l, const struct kubeconfig *k,
                                            struct status *st);

/* To a server that somebody else named: as in struct http_client_options. */
struct http_transport_bounds {
    struct http_client_guard guard;
    int64_t connect_ms;
    size_t window;
};
struct client_transport *http_transport_guarded(struct loop *l, const struct kubeconfig *k,
                                                const struct http_transport_bounds *b,
                                                struct status *st);

#endif
