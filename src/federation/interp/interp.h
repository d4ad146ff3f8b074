/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_INTERP_INTERP_H
#define FEDERATION_INTERP_INTERP_H

/*
 * What a kind means to propagation: how many replicas it has, whether a copy is healthy, which of a
 * copy's status is of interest and how the copies' sum up, what it needs beside it, and which
 * fields belong to the member that runs it.
 *
 * A table by group and kind, of any version; a kind that is not in it is no workload, is healthy,
 * shows its whole status, sums up to nothing, needs nothing and keeps nothing.  Everything is pure
 * and takes any tree at all: what does not have the expected type counts as missing.  Results share
 * parts with what was given.
 *
 * karmada: pkg/resourceinterpreter/default/native
 */

#include "json/json.h"

/* ---- of a template ---- */

struct interp_replicas {
    int64_t replicas;
    /* A binding's spec.replicaRequirements, of one replica; NULL: it asks for nothing. */
    const struct json *requirements;
};

/* False, and *out untouched, when the kind has no replicas. */
bool interp_replicas(struct arena *a, const struct json *object, struct interp_replicas *out);

/* The object with that many replicas; as it is, if they cannot be set. */
const struct json *interp_revise(struct arena *a, const struct json *object, int64_t replicas);

/*
 * What it names and cannot run without: an array of {apiVersion, kind, namespace, name}, each once:
 * ConfigMaps, Secrets, ServiceAccount, PersistentVolumeClaims; empty when there is nothing; at
 * most 1,000.
 */
const struct json *interp_dependencies(struct arena *a, const struct json *object);

/*
 * The object without what only its own cluster says: status, uid, resourceVersion, owners,
 * generated selectors, addresses … ready to be sent elsewhere.
 */
const struct json *interp_prune(struct arena *a, const struct json *object);

/*
 * Members of aggregatedStatus whose cluster is silent say since when.  Their status is what they
 * said last: what was decided (replicas, generations) counts on, what only a look can tell (ready,
 * available) does not.
 */
#define INTERP_UNKNOWN_SINCE "unknownSince"
/* The condition of a binding, and of a workload's template, that names these clusters. */
#define INTERP_STATUS_UNKNOWN "StatusUnknown"

/* What a sum needs beside the statuses. */
struct interp_moment {
    int64_t
        wanted; /* replicas that the clusters are to have in all; the template's if it is less */
    int64_t now_s;
};

/*
 * The template's new status, from those of its copies: aggregated is a binding's
 * status.aggregatedStatus.  NULL when the kind sums up to nothing, or nothing is to be changed.
 */
const struct json *interp_aggregate(struct arena *a, const struct json *object,
                                    const struct json *aggregated, const struct interp_moment *m);

/* The conditions with INTERP_STATUS_UNKNOWN, or without it; the same list when nothing changes. */
const struct json *interp_unknown(struct arena *a, const struct json *all,
                                  const struct json *aggregated);

/* ---- of a copy in a member ---- */

enum interp_health { INTERP_HEALTHY, INTERP_UNHEALTHY, INTERP_UNKNOWN };

/* As the member's server has it.  UNKNOWN: it cannot be told. */
enum interp_health interp_health(const struct json *observed);
const char *interp_health_name(enum interp_health h); /* "Healthy", "Unhealthy", "Unknown" */

/* What a work's manifestStatuses[].status says; NULL: nothing. */
const struct json *interp_reflect(struct arena *a, const struct json *observed);

/*
 * What is to be written, where the member has `observed` already: desired, with those fields of
 * observed that are the member's own.  Metadata is not looked at, but for labels that say so.
 */
const struct json *interp_retain(struct arena *a, const struct json *desired,
                                 const struct json *observed);

#endif
