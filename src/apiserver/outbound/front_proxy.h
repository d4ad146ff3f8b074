/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_FRONT_PROXY_H
#define APISERVER_OUTBOUND_FRONT_PROXY_H

/*
 * Who we are to aggregated API servers.  They believe what we say of the caller (X-Remote-User and
 * its like) because of our client certificate, which an authority of the server's own signs, one
 * that signs nothing else.  Every instance has a name of its own in it, the only one that its
 * extension-apiserver-authentication allows; so an instance that names the address of another's
 * backend is nobody there.
 *
 * k8s: --requestheader-client-ca-file, --requestheader-allowed-names
 */

#include "base/identity.h"
#include "http/pki.h"
#include "http/server.h"
#include "json/json.h"

struct server;

enum { FRONT_PROXY_HEADERS = 200 }; /* as many lines say who somebody is; more are refused */

/* A certificate for a week and some. */
int front_proxy_sign(struct server *s, struct arena *a, str instance_uid, struct pki_pair *out,
                     struct status *st) __attribute__((warn_unused_result));

/* The data of the ConfigMap kube-system/extension-apiserver-authentication. */
struct json front_proxy_config(struct server *s, struct arena *a, str instance_uid);

/*
 * X-Remote-User, -Uid, -Group and -Extra-… for at most FRONT_PROXY_HEADERS lines at h[*n].
 * FORBIDDEN for names that do not fit into headers.  k8s: client-go/transport SetAuthProxyHeaders
 */
int front_proxy_headers(struct arena *a, const struct identity *who, struct http_header *h,
                        size_t *n, struct status *st) __attribute__((warn_unused_result));

#endif
