/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_UPKEEP_AGGREGATOR_H
#define APISERVER_UPKEEP_AGGREGATOR_H

/*
 * Looks whether aggregated API servers are there, says so in the condition Available of their
 * APIServices, and keeps what they say of themselves (apiserver/outbound/backends.h).  Each is
 * looked at when its APIService, its Service or the addresses of that change, and every half
 * minute; one that does not answer after growing delays.  One thread with a queue, and questions on
 * the loop that nobody waits for; instances without such APIServices cost nothing.
 *
 * It also writes the ConfigMap kube-system/extension-apiserver-authentication of instances that
 * have one, by which their servers know us (apiserver/outbound/front_proxy.h).
 *
 * k8s: kube-aggregator/pkg/controllers/status/remote, pkg/controlplane/controller/
 * clusterauthenticationtrust
 */

#include "rest/rest.h"

struct server;
struct aggregator;

struct aggregator *aggregator_new(struct server *s);
void aggregator_free(struct aggregator *g); /* after aggregator_stop */

/* While the loops run; not on one of them. */
void aggregator_start(struct aggregator *g, struct loop *l);
void aggregator_stop(struct aggregator *g);

/* A write was committed.  On the request's loop; cheap. */
void aggregator_note(struct aggregator *g, const struct rest_request *req, const struct json *obj);

#endif
