/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_DISCOVERY_MERGE_H
#define APISERVER_DISCOVERY_DISCOVERY_MERGE_H

/*
 * The documents of an instance (apiserver/discovery/discovery.h, apiserver/discovery/openapi_v3.h)
 * with what other API servers serve for it: their groups and versions stand where their priorities
 * put them.  Pure functions of trees.
 *
 * k8s: kube-aggregator/pkg/apiserver apisHandler, apiGroupHandler; the discovery manager
 */

#include "json/json.h"

struct aggregated_version {
    str group, version;
    int group_priority, version_priority;
    bool stale;    /* not available at this moment */
    str resources; /* as struct backend has them; may be empty */
    str openapi;
};

struct aggregated {
    const struct aggregated_version *at;
    size_t n;
    uint64_t etag; /* changes with any of it */
};

bool aggregated_has(const struct aggregated *g, str group, str version); /* version may be empty */

/* /apis: an APIGroupList, or an APIGroupDiscoveryList. */
const struct json *merge_groups(struct arena *a, const struct json *doc,
                                const struct aggregated *g);
/* /apis/<group>: an APIGroup; doc is NULL where the instance itself has none of it. */
const struct json *merge_group(struct arena *a, const struct json *doc, str group,
                               const struct aggregated *g);
/* `/` */
const struct json *merge_paths(struct arena *a, const struct json *doc, const struct aggregated *g);
/* /openapi/v3 */
const struct json *merge_openapi(struct arena *a, const struct json *doc, str prefix,
                                 const struct aggregated *g);

#endif
