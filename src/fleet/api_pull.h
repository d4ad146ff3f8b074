/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_API_PULL_H
#define FLEET_API_PULL_H

/*
 * Types of a member, as specs of APIResourceImports: from its discovery, its CRDs and its OpenAPI
 * documents.  Blocks; each request has a time limit and the first that is not answered ends the
 * round, so that a member that hangs holds up its caller for seconds only.
 */

#include "client/client.h"

enum {
    API_PULL_TYPES_MAX = 256, /* of one member */
    API_PULL_MS = 5000,       /* of one request */
};

struct api_pull {
    const struct json **specs; /* common part of the specs, without location and strategy */
    size_t n;
    str *skipped; /* plurals of types that could not be had, */
    size_t nskipped;
    str why; /* and why; empty: none */
};

/*
 * wanted: "deployments.apps, configmaps, *.example.com": a resource, or all of a group, each in the
 * version that the member prefers.  What the member does not have is left out; what it describes
 * in a way that cannot be used is left out and named.  Fails when the member does not answer.
 * bare: a type for which this says yes is only looked up, not described.
 */
int api_pull(struct client *member, struct arena *a, str wanted,
             bool (*bare)(void *arg, str group, str version, str plural), void *arg,
             struct api_pull *out, struct status *st) __attribute__((warn_unused_result));

#endif
