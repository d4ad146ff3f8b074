/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_SPLITTER_H
#define FEDERATION_CONTROLLERS_PROPAGATION_SPLITTER_H

/*
 * The splitter: in an instance of profile minimal a plain workload is spread over its kcp Clusters
 * without any policy.  For each cluster there is a shard "<name>--<cluster>", labelled for the
 * syncer and owned by the workload (its root); what the shards say is summed up in the root.
 *
 *   splitter.c         the controller: types, clusters, roots
 *   splitter_plan.c    pure: which clusters, how many replicas each
 *   splitter_shard.c   pure: what a shard looks like
 *   splitter_follow.c  ConfigMaps and Secrets, which follow those who mount them
 *
 * Objects that somebody has labelled for a cluster by hand are left alone.
 */

#include <pthread.h>

#include "base/clock.h"
#include "base/map.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/members/api_types.h"

#define SPLITTER_CLUSTER "workloads.kcp.dev/cluster" /* label: which syncer it is for */
#define SPLITTER_OWNED   "kcp.dev/owned-by"          /* label: the root's name, or a hash of it */
#define SPLITTER_PLACED  "kairship.io/placed-by"     /* annotation: the label is ours */

enum { SPLITTER_CLUSTERS_MAX = 1000 };

/* The controller's arg. */
struct splitting {
    int64_t grace_ms;    /* how long a cluster may be not Ready before its share moves; 0: 30 s */
    struct clock *clock; /* NULL: the real one */

    struct controller *controller;
    pthread_mutex_t mu;
    struct map types;    /* guarded by mu: "group version Kind" → struct api_type */
    struct map clusters; /* guarded by mu: instance → hash of what its clusters were */
};

void splitting_init(struct splitting *s);    /* before its options are set */
void splitting_release(struct splitting *s); /* after its controller has stopped */

/* ---- splitter_plan.c ---- */

enum spread_how {
    SPREAD_SPLIT, /* replicas are divided */
    SPREAD_ALL,   /* each cluster gets a copy */
    SPREAD_ONE,   /* one cluster gets a copy: it cannot be changed once it runs */
    SPREAD_LABEL, /* the object itself goes to one cluster */
};

enum spread_how spread_how(str group, str kind);

struct split_place { /* a cluster, for one root */
    str cluster;
    bool accepts;       /* the type, by its import */
    bool ready;         /* now */
    bool lost;          /* not ready for too long, being deleted, or drained */
    str silent;         /* since when it is not ready, beyond its grace time; empty: it is */
    bool unschedulable; /* nothing new */
    bool has;           /* a shard of the root, */
    int64_t before;     /* with so many replicas */
    bool wanted;        /* by the plan: a shard, */
    int64_t replicas;   /* with so many */
};

/* Of a Cluster object; *soon_ms becomes smaller when its state ends by itself before. */
struct split_place place_of(const struct json *cluster, int64_t now_s, int64_t grace_ms,
                            int64_t *soon_ms);

/*
 * Decides wanted and replicas of each; places are sorted by cluster.  seed: what chooses among
 * equals when there is to be one.  When no cluster can take it, those that have it keep it.
 */
void plan_places(enum spread_how how, int64_t replicas, uint64_t seed, struct split_place *places,
                 size_t n);

/* ---- splitter_shard.c ---- */

/* "<name>--<cluster>", or with a hash where that would be too long. */
str shard_name(struct arena *a, str name, str cluster);
/* The value of SPLITTER_OWNED: a label's value is short. */
str shard_owner_label(struct arena *a, str name);

/* replicas < 0: as the root says. */
const struct json *shard_of(struct arena *a, const struct json *root, str cluster,
                            int64_t replicas);
/* The existing shard made equal to the wanted one; the same pointer when nothing differs. */
const struct json *shard_updated(struct arena *a, const struct json *existing,
                                 const struct json *wanted);

enum shard_claim { SHARD_OTHERS, SHARD_MINE, SHARD_STALE /* of a root of that name, now gone */ };
enum shard_claim shard_claim(const struct json *shard, str kind, str name, str uid);

/*
 * The root's new status; NULL: unchanged.  shards: an array of those that are wanted.  silent:
 * since when clusters are, by name, or NULL.
 */
const struct json *shard_sum(struct arena *a, const struct json *root, const struct json *shards,
                             const struct json *silent, const char *trouble, int64_t now_s);

/* ---- splitter_follow.c ---- */

/* A ConfigMap or Secret and its copies in clusters that need it. */
int splitter_follow(struct splitting *s, struct client *client, struct arena *a, str instance,
                    str kind, str namespace, str name, struct status *st)
    __attribute__((warn_unused_result));
/* Those that the root or the shard mounts are to be looked at. */
void splitter_wake_followers(struct splitting *s, struct arena *a, const struct informer_key *k,
                             const struct json *object);
/* Wake for one that has changed: itself, or the one it is a copy of. */
void splitter_on_configmap(void *arg, struct controller *c, const struct informer_key *k,
                           const struct json *object, bool deleted);
void splitter_on_secret(void *arg, struct controller *c, const struct informer_key *k,
                        const struct json *object, bool deleted);

/* ---- splitter.c ---- */

/* Each type of workloads that is known, in the arena. */
struct api_type *splitting_types(struct splitting *s, struct arena *a, size_t *n);
/* "<group|core> <version> <Kind> <name>": a key's name for one object. */
str splitter_key(struct arena *a, str api_version, str kind, str name);

#endif
