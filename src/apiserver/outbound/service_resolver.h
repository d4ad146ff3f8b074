/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_SERVICE_RESOLVER_H
#define APISERVER_OUTBOUND_SERVICE_RESOLVER_H

/*
 * Where a Service of an instance is: how webhooks and aggregated API servers are reached that are
 * named by one.  Instances have no network of their own, so no cluster IP is ever connected to: an
 * ExternalName is a name to look up, any other Service has addresses in its EndpointSlices or
 * Endpoints, of which one that is ready is taken by chance.  Whether one may connect there is not
 * decided here (fleet/egress.h).
 *
 * k8s: apiserver/pkg/util/proxy ResolveEndpoint, ResolveCluster
 */

#include "rest/rest.h"

struct server;

struct service_ref {
    struct instance instance;
    str namespace_, name;
    uint16_t port; /* of the Service, not of what is behind it */
};

/* Why there is no address, as the condition of an APIService says it. */
enum service_fault {
    SERVICE_FOUND,
    SERVICE_NOT_FOUND,
    SERVICE_PORT_ERROR,
    SERVICE_NO_ENDPOINTS, /* no object that has any */
    SERVICE_NOT_READY,    /* none with this port and ready */
    SERVICE_UNREADABLE,
};
const char *service_fault_name(enum service_fault f); /* "ServiceNotFound" */

struct service_place {
    str host, port;
};

/*
 * Reads the store's head, in an epoch.  *out lives in the arena.  What went wrong is also the
 * message of st (NOT_FOUND, UNAVAILABLE), in the words of that condition.
 */
enum service_fault service_resolve(struct server *s, struct arena *a, const struct service_ref *ref,
                                   struct service_place *out, struct status *st)
    __attribute__((warn_unused_result));

/* "name.namespace.svc": what its certificate must be for. */
str service_host(struct arena *a, str namespace_, str name);

/* "https://name.namespace.svc:443/path": how messages name a webhook that is a service. */
str service_url(struct arena *a, const struct json *service);
/* Of a clientConfig's or an APIService's `service`. */
struct service_ref service_ref_read(struct arena *a, const struct instance *i,
                                    const struct json *service);

#endif
