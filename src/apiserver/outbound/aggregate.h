/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_AGGREGATE_H
#define APISERVER_OUTBOUND_AGGREGATE_H

/*
 * Requests for what other API servers serve for an instance (apiserver/outbound/apiservices.h):
 * they are passed on by apiserver/outbound/proxy.c, with the caller's name
 * (apiserver/outbound/front_proxy.h).  Who may was decided before. Parts of our own see only what
 * the instance serves itself.
 *
 * k8s: kube-aggregator/pkg/apiserver/handler_proxy.go
 */

#include "apiserver/call/call.h"
#include "apiserver/discovery/discovery_merge.h"

/* False: it is the instance's own.  True: it is answered, or will be. */
bool aggregate_serve(struct call *c);

/* For the documents of the call's instance, in its arena; NULL: nothing is served elsewhere. */
const struct aggregated *aggregate_versions(struct call *c);

#endif
