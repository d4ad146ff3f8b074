/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_BACKENDS_H
#define APISERVER_OUTBOUND_BACKENDS_H

/*
 * What aggregated API servers say of themselves, as last heard: their resources, in the form of
 * aggregated discovery, and a hash of their OpenAPI.  Filled by who looks whether they are there
 * (apiserver/upkeep/aggregator.h); in memory only, bounded, and known again after a restart once
 * they were asked.  Any thread.
 */

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

struct backends;

enum {
    BACKEND_DOC_MAX = 1 << 20,  /* bytes of a document of a backend */
    BACKENDS_MAX = 64 << 20,    /* bytes of all; beyond it all are forgotten, and asked again */
    BACKEND_RESOURCES_MAX = 500 /* in one group version */
};

struct backend {
    str resources; /* JSON, the `resources` of a version in aggregated discovery; empty: not known
                    */
    str openapi;   /* changes with its document; empty: it has none of this group version */
    uint64_t hash; /* of both */
};

struct backends *backends_new(void);
void backends_free(struct backends *b);

/* Of an APIService of that instance; zeroed when nothing is known.  Lives as long as the arena. */
struct backend backends_get(struct backends *b, struct arena *a, uint32_t instance, str name);
void backends_put(struct backends *b, uint32_t instance, str name, const struct backend *doc);
void backends_forget(struct backends *b, uint32_t instance, str name);

/*
 * From what a backend answers to /apis/<group>/<version> (APIResourceList) to the resources of
 * aggregated discovery; and from its /openapi/v3 the hash for that group version, empty if it has
 * none.  Nothing of it is trusted: what is not well formed is refused, or left out.
 */
int backend_read_resources(struct arena *a, str text, str group, str version, str *out,
                           struct status *st) __attribute__((warn_unused_result));
str backend_read_openapi(struct arena *a, str text, str group, str version);

#endif
