/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_INTERP_INTERP_TABLE_H
#define FEDERATION_INTERP_INTERP_TABLE_H

/* The table of kinds, for the files of this folder. */

#include "federation/interp/interp.h"

enum { INTERP_COUNTERS = 8 };

/* A number in a status that is shown and summed. */
struct interp_counter {
    const char *name;
    bool always; /* also when it is 0, as Go prints it */
    /* What a silent member adds: NULL: what it said last; "": nothing; else that number. */
    const char *silent;
};

struct interp_kind {
    const char *group, *kind;
    const char *pod;      /* where its pods' spec is */
    const char *replicas; /* the number that is set to revise them; NULL: cannot be */
    int64_t (*count)(const struct json *object); /* NULL: it has no replicas */
    enum interp_health (*health)(const struct json *observed);
    /* Either counters, with generations beside them if they are compared, or a function. */
    struct interp_counter counters[INTERP_COUNTERS];
    bool generations;
    bool rollout; /* it has the conditions Available and Progressing */
    const struct json *(*reflect)(struct arena *a, const struct json *observed);
    const struct json *(*aggregate)(struct arena *a, const struct json *object,
                                    const struct json *aggregated);
    const struct json *(*retain)(struct arena *a, const struct json *desired,
                                 const struct json *observed);
    const struct json *(*prune)(struct arena *a, const struct json *object);
};

/* NULL: not in the table. */
const struct interp_kind *interp_kind(const struct json *object);

/*
 * federation/interp/conditions.c: the status with what conditions say of it, and a copy's status
 * with its condition Progressing if it is stuck.
 */
const struct json *aggregate_conditions(struct arena *a, const struct json *object,
                                        const struct json *status, const struct json *aggregated,
                                        const struct interp_moment *m);
void reflect_stuck(struct arena *a, struct json_object *o, const struct json *status);

/* federation/interp/aggregate.c */
const struct json *aggregate_counters(struct arena *a, const struct json *object,
                                      const struct json *aggregated);
const struct json *aggregate_job(struct arena *a, const struct json *object,
                                 const struct json *aggregated);
const struct json *aggregate_cronjob(struct arena *a, const struct json *object,
                                     const struct json *aggregated);
const struct json *aggregate_ingress(struct arena *a, const struct json *object,
                                     const struct json *aggregated);
const struct json *aggregate_service(struct arena *a, const struct json *object,
                                     const struct json *aggregated);
const struct json *aggregate_pod(struct arena *a, const struct json *object,
                                 const struct json *aggregated);
const struct json *aggregate_pvc(struct arena *a, const struct json *object,
                                 const struct json *aggregated);
const struct json *aggregate_pv(struct arena *a, const struct json *object,
                                const struct json *aggregated);

/* federation/interp/member.c */
enum interp_health health_deployment(const struct json *observed);
enum interp_health health_replicaset(const struct json *observed);
enum interp_health health_daemonset(const struct json *observed);
enum interp_health health_service(const struct json *observed);
enum interp_health health_ingress(const struct json *observed);
enum interp_health health_pod(const struct json *observed);
enum interp_health health_pvc(const struct json *observed);
enum interp_health health_pdb(const struct json *observed);
const struct json *reflect_job(struct arena *a, const struct json *observed);
const struct json *reflect_service(struct arena *a, const struct json *observed);
const struct json *retain_deployment(struct arena *a, const struct json *desired,
                                     const struct json *observed);
const struct json *retain_job(struct arena *a, const struct json *desired,
                              const struct json *observed);
const struct json *retain_pod(struct arena *a, const struct json *desired,
                              const struct json *observed);
const struct json *retain_service(struct arena *a, const struct json *desired,
                                  const struct json *observed);
const struct json *retain_account(struct arena *a, const struct json *desired,
                                  const struct json *observed);
const struct json *retain_pv(struct arena *a, const struct json *desired,
                             const struct json *observed);
const struct json *retain_pvc(struct arena *a, const struct json *desired,
                              const struct json *observed);
const struct json *retain_secret(struct arena *a, const struct json *desired,
                                 const struct json *observed);

/* federation/interp/prune.c */
const struct json *prune_deployment(struct arena *a, const struct json *object);
const struct json *prune_job(struct arena *a, const struct json *object);
const struct json *prune_service(struct arena *a, const struct json *object);
const struct json *prune_secret(struct arena *a, const struct json *object);
const struct json *prune_account(struct arena *a, const struct json *object);
const struct json *prune_pvc(struct arena *a, const struct json *object);

/* federation/interp/requirements.c: a binding's spec.replicaRequirements for a pod of that spec, or
 * NULL. */
const struct json *interp_requirements(struct arena *a, const struct json *pod);

#endif
