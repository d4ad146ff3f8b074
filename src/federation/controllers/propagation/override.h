/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_OVERRIDE_H
#define FEDERATION_CONTROLLERS_PROPAGATION_OVERRIDE_H

/*
 * A manifest changed for one cluster, as OverridePolicies or ClusterOverridePolicies say
 * (spec/karmada 2.10).  Pure: results live in the arena and share parts with what was given.
 *
 * Policies that mean the object are applied in order of precision, then name, so that the more
 * exact one has the last word; of each its rules whose targetCluster matches, and of a rule the
 * overriders image, command, args, labels, annotations, field, plaintext.  Callers apply cluster
 * policies first, then those of the namespace.
 */

#include "federation/sched/sched.h"

struct override_result {
    const struct json *manifest;
    /* [{"policyName","overriders"}] by name, for the Work's annotation; NULL: none applied. */
    const struct json *applied;
    str failed; /* on failure: the policy's name */
};

/*
 * policies: an array of policies of one kind.  -1 with INVALID when an overrider cannot be applied:
 * then this cluster gets nothing.
 */
int override_apply(struct arena *a, const struct json *manifest, const struct json *policies,
                   const struct sched_cluster *cluster, struct override_result *out,
                   struct status *st) __attribute__((warn_unused_result));

/* One rule's overriders alone. */
int override_apply_overriders(struct arena *a, const struct json *manifest,
                              const struct json *overriders, const struct json **out,
                              struct status *st) __attribute__((warn_unused_result));

/* The parts of "[host/]repository[:tag|@digest]"; false: not an image's name. */
struct override_image {
    str host, repository, tag, digest;
};
bool override_image_parse(str image, struct override_image *out);

#endif
