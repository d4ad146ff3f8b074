/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_DISCOVERY_H
#define APISERVER_DISCOVERY_DISCOVERY_H

/*
 * What an instance serves, as clients ask for it: the legacy documents, one per group version, and
 * the aggregated ones, everything in two.  Pure functions of the catalog; trees in the arena, which
 * share strings with the catalog.
 */

#include "rest/kind.h"

/* Groups in the order of the catalog, the core group ("") among them; versions by preference. */
struct discovery_group {
    str name;
    const str *versions;
    size_t nversions;
    const struct kind *const *kinds; /* of all its versions, as the catalog has them */
    size_t nkinds;
};
size_t discovery_groups(struct arena *a, const struct catalog *c, struct discovery_group **out);

/*
 * Order of versions, best first: v2, v1, v1beta2, v1beta1, v1alpha1, then what is not of this form
 * by name.  Negative when a comes first.  k8s: apimachinery/pkg/version
 */
int discovery_version_cmp(str a, str b);

/* Some kind of the group is not a CRD's. */
bool discovery_is_native(const struct catalog *c, str group);

/* The kinds of a group version, by plural name. */
size_t discovery_kinds(struct arena *a, const struct catalog *c, str group, str version,
                       const struct kind *const **out);

/* /api; `server` is where clients on other machines connect to, "host:port", or empty. */
const struct json *discovery_api(struct arena *a, const struct catalog *c, str server);
const struct json *discovery_apis(struct arena *a, const struct catalog *c); /* /apis */
/* /apis/<group>; NULL when it is not served. */
const struct json *discovery_group(struct arena *a, const struct catalog *c, str group);
/* /api/v1 and /apis/<group>/<version>; NULL when it is not served. */
const struct json *discovery_resources(struct arena *a, const struct catalog *c, str group,
                                       str version);

/* Aggregated: of /api (core) or /apis; api_version is "v2" or "v2beta1", which differ in name. */
const struct json *discovery_aggregated(struct arena *a, const struct catalog *c, bool core,
                                        str api_version);

/* `/`: all paths there are. */
const struct json *discovery_paths(struct arena *a, const struct catalog *c);

#endif
