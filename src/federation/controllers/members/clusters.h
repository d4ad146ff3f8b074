/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_CLUSTERS_H
#define FEDERATION_CONTROLLERS_MEMBERS_CLUSTERS_H

/*
 * What the controllers of member clusters share (cluster.c, cluster_status.c, cluster_taint.c,
 * taint_eviction.c, graceful_eviction.c): their arg, and words about Cluster objects.
 */

#include "base/clock.h"
#include "client/recorder.h"
#include "federation/controllers/frame/controller.h"
#include "fleet/probe.h"

#define CLUSTER_FINALIZER   "karmada.io/cluster-controller"
#define CLUSTER_NAMESPACE   "karmada-cluster" /* Secrets and Leases of members */
#define CLUSTER_NOT_READY   "cluster.karmada.io/not-ready"
#define CLUSTER_UNREACHABLE "cluster.karmada.io/unreachable"

/* When a cluster counts as failed, and what follows: an Instance's spec.settings.failover. */
struct failover {
    bool enabled;        /* workloads are moved away from clusters with NoExecute taints */
    int64_t success_ms;  /* healthy again after answering so long */
    int64_t failure_ms;  /* unhealthy after not answering so long */
    int64_t startup_ms;  /* how long a new one may be silent (pull mode) */
    int64_t grace_ms;    /* how long a running one may be silent (pull mode) */
    int64_t eviction_ms; /* so long after it became unhealthy its workloads are moved away */
    int64_t graceful_ms; /* how long the old replicas stay while new ones start */
};

extern const struct failover failover_default; /* Karmada's, off */

struct cluster_probes; /* cluster_status.c */

/* The arg of all of them.  Zeroed fields mean the defaults. */
struct clusters {
    struct fleet *fleet;
    struct clock *clock;             /* NULL: the real one */
    struct recorder *recorder;       /* the owner's; NULL: nobody is told */
    const struct failover *failover; /* for instances that say nothing; NULL: failover_default */
    int64_t status_ms;               /* how often members are looked at; 0: 10 s */
    int64_t health_ms;               /* how long a member may take to answer; 0: 5 s */
    int64_t removal_ms;              /* how long a cluster may resist its removal; 0: 5 min */
    struct cluster_probes *probes;   /* of cluster_status.c: zeroed at first */
    struct controller *taints;       /* of cluster_taint.c */
    struct controller *evictions;    /* of taint_eviction.c */
};

/*
 * Ends the looks at members that are under way: before the controllers stop, while the fleet's loop
 * runs, not on it.  And the memory: after they have stopped.
 */
void clusters_stop(struct clusters *c);
void clusters_release(struct clusters *c);

/* What holds in this instance (client_ref's form: root is empty). */
int failover_read(const struct clusters *c, struct client *client, struct arena *a, str instance,
                  struct failover *out, struct status *st) __attribute__((warn_unused_result));

/*
 * A further thing to watch: the settings of instances, whose changes concern all clusters there.
 * The key that is woken says the instance alone; clusters_wake_all() is how it is reconciled.
 */
#define CLUSTERS_SETTINGS                                                 \
    {                                                                     \
        .ref = { .group = STR_INIT("tenancy.kairship.io"),                \
                 .version = STR_INIT("v1alpha1"),                         \
                 .resource = STR_INIT("instances") },                     \
        .spec_only = true, .finalizer = "", .map = clusters_map_settings, \
    }

void clusters_map_settings(void *arg, struct controller *ctl, const struct informer_key *k,
                           const struct json *object, bool deleted);
int clusters_wake_all(struct client *client, struct arena *a, const struct informer_key *k,
                      struct controller *ctl, struct status *st)
    __attribute__((warn_unused_result));

/* ---- objects ---- */

/* The instance as a client_ref says it. */
static inline str clusters_instance(const struct informer_key *k)
{
    return str_is(k->instance, "root") ? STR_NONE : k->instance;
}

static inline struct client_ref clusters_ref(const struct informer_key *k)
{
    return (struct client_ref){ .instance = clusters_instance(k),
                                .group = STR("cluster.karmada.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("clusters"),
                                .name = k->name };
}

struct clock *clusters_clock(const struct clusters *c);
str clusters_now(const struct clusters *c, struct arena *a); /* metav1.Time */

/* A member of status.conditions, or NULL. */
const struct json *clusters_condition(const struct json *object, str type);

/*
 * The conditions with this one set; lastTransitionTime stays while the status does.
 */
const struct json *clusters_set_condition(struct arena *a, const struct json *conditions,
                                          const char *type, const char *status, str reason,
                                          str message, str now);

/* The status with what a look at the member has found. */
const struct json *clusters_found(struct arena *a, const struct json *status,
                                  const struct probe_report *r, str now);

/* The list with that taint, or without it; the same list when nothing changes. */
const struct json *clusters_taint_add(struct arena *a, const struct json *taints, str key,
                                      str value, str effect, str now);
const struct json *clusters_taint_remove(struct arena *a, const struct json *taints, str key,
                                         str effect);

/* Milliseconds from an object's time to now; `otherwise` if it is none. */
int64_t clusters_age_ms(const struct clusters *c, str time, int64_t otherwise);

#endif
