/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_CRD_CUSTOM_H
#define KINDS_CRD_CUSTOM_H

/*
 * The kinds of a CustomResourceDefinition: one for each served version, as good as a built-in one.
 *
 * Made from what the CRD says and has been accepted as, never from who it belongs to: instances
 * with equal CRDs share one.  Frozen; counted references; any thread.
 */

#include "rest/kind.h"

struct custom;

/* True when the CRD is established: what it describes is served. */
bool custom_is_served(const struct json *crd);

/* Of all that custom_new looks at: equal CRDs have equal hashes. */
uint64_t custom_hash(const struct json *crd);

/*
 * The CRD is an object of apiextensions.k8s.io/v1 that was accepted; it is copied.  type_id is that
 * of its group and plural.  `native` has the built-in kinds: ObjectMeta, and Kubernetes' own, which
 * clients also write in protobuf when a CRD describes them.  INVALID when the schema cannot be
 * compiled.
 */
struct custom *custom_new(const struct json *crd, uint32_t type_id, const struct catalog *native,
                          struct status *st);
struct custom *custom_ref(struct custom *c);
void custom_unref(struct custom *c);          /* NULL is fine */
bool custom_is_alone(const struct custom *c); /* nobody but the caller has a reference */

/* The served versions. */
size_t custom_kinds(const struct custom *c, const struct kind *const **out);
size_t custom_bytes(const struct custom *c); /* about what it takes */

#endif
