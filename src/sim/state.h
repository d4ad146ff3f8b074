/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_STATE_H
#define SIM_STATE_H

/* What the controllers of sim/ share and nobody else includes. */

#include <stdatomic.h>

#include "federation/controllers/frame/controller.h"
#include "sim/objects.h"
#include "sim/sim.h"
#include "sim/usage.h"

enum sim_controller {
    SIM_DEPLOYMENTS,
    SIM_REPLICASETS,
    SIM_STATEFULSETS,
    SIM_DAEMONSETS,
    SIM_JOBS,
    SIM_SERVICES,
    SIM_CLAIMS,
    SIM_PODS, /* and nodes; last, as it tells the others */
    SIM_CONTROLLERS
};

struct sim {
    struct sim_options o;
    struct client *client;
    struct controller_group *group;
    struct controller *controllers[SIM_CONTROLLERS];
    struct usage *usage;
    struct services *services;
    struct processes *processes;
    bool ending; /* of the loop: nobody is to be told of processes any more */
    atomic_uint next_ip;
};

extern const struct controller_spec sim_deployments, sim_replicasets, sim_statefulsets,
    sim_daemonsets, sim_jobs, sim_services, sim_claims, sim_pods;

static inline int64_t sim_now_s(void)
{
    return clock_wall_s(clock_real());
}

static inline void sim_wake(struct sim *s, enum sim_controller which, const struct informer_key *k)
{
    controller_wake(s->controllers[which], k);
}

/* Adds a count that is left out where it is zero, as Kubernetes does. */
static inline void sim_count(struct json_object *o, const char *name, int64_t n)
{
    if (n)
        json_add(o, str_of(name), json_of_int(n));
}

/* ---- node.c ---- */

int sim_reconcile_node(struct sim *s, struct client *client, struct arena *a,
                       const struct informer_key *k, struct status *st);
str sim_node_address(struct arena *a, str instance, str node); /* always the same */

/* ---- service.c ---- */

struct services;
struct services *services_new(void);
void services_free(struct services *s);
/* A pod with these labels has come, gone or changed; moved: its labels may have been others. */
void services_touch(struct sim *s, const struct informer_key *pod, const struct json *labels,
                    bool moved);

/* ---- revision.c: of StatefulSets and DaemonSets ---- */

struct revision {
    str hash; /* of the template, and the label of pods that are of it */
    str name; /* of the ControllerRevision */
};
/* The ControllerRevision of the template as it is, made where there is none. */
int revision_ensure(struct client *client, struct arena *a, const struct informer_key *k,
                    const struct json *owner, const char *kind, struct revision *out,
                    struct status *st) __attribute__((warn_unused_result));

#endif
