/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_ROLLOUT_H
#define SIM_ROLLOUT_H

/*
 * One step of a Deployment from its old ReplicaSets to the new one.  Pure: given how many each is
 * to have and has, how many each is to have next.
 *
 * k8s: pkg/controller/deployment/rolling.go, recreate.go.  A change of scale in the middle of a
 * rollout goes to the new ReplicaSet; Kubernetes spreads it over all in proportion.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rollout {
    int64_t desired, max_surge, max_unavailable;
    bool recreate, paused;
};

struct rollout_set {
    int64_t spec;                /* what it is to have */
    int64_t replicas, available; /* what it has */
    int64_t want;                /* out: what it is to have next */
};

/* sets[0] is the new one, the others follow oldest first.  True if any is to change. */
bool rollout_step(const struct rollout *r, struct rollout_set *sets, size_t n);

/* Nothing is left to do: all replicas are of the new one, and available. */
bool rollout_is_complete(const struct rollout *r, const struct rollout_set *sets, size_t n);

#endif
