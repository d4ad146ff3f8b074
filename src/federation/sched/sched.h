/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_SCHED_SCHED_H
#define FEDERATION_SCHED_SCHED_H

/*
 * Which clusters get a template, and how many replicas each: a pure function.
 *
 *     (needs, placement, clusters, previous result)  ->  (clusters with replicas, explanation)
 *
 * Nothing is read or written, no time is looked at, nothing is kept: the same question has the same
 * answer, so that the explanation can be had again at any time by asking again.  The rules are
 * Karmada's (spec/karmada.md 2.4-2.7): filter -> score -> select by spread constraints -> divide.
 *
 *     const struct sched_cluster *clusters[…];   parsed once, kept while the object is the same
 *     struct sched_request r;
 *     struct sched_decision d;
 *
 *     sched_request_of_binding(binding, &r);
 *     sched_decide(a, &r, clusters, n, &d);
 *     if (d.outcome == SCHED_DONE)
 *         … sched_targets(a, &d) is the new spec.clusters
 *     … sched_explain(a, &r, &d) says of each cluster why
 *
 * Everything lives in the arena given, and points into the request and the clusters.  Any thread.
 * Cost: n log n in clusters, a bounded search in regions; replicas do not count.
 */

#include "json/json.h"

/* ---- clusters ---- */

struct sched_taint { /* only those that keep work away: NoSchedule, NoExecute */
    str key, value, effect;
};

/* cpu in thousandths, all else in whole units rounded up. */
struct sched_amount {
    str name;
    int64_t n;
};

struct sched_amounts {
    const struct sched_amount *v; /* sorted by name */
    size_t n;
};

struct sched_grade { /* nodes that have at least `min` free */
    int64_t count;
    struct sched_amounts min;
};

/* What of a Cluster (cluster.karmada.io/v1alpha1) counts here. */
struct sched_cluster {
    str name, provider, region;
    const str *zones;
    size_t nzones;
    const struct json *labels; /* NULL: none */
    const struct sched_taint *taints;
    size_t ntaints;
    const uint64_t *apis; /* sorted hashes of "groupVersion kind" */
    size_t napis;
    bool deleting, ready;
    bool counted;              /* has a resourceSummary */
    int64_t pods, used;        /* slots that are free, and pods that it has, … */
    int64_t waiting;           /* … of which so many have found no node */
    struct sched_amounts free; /* allocatable - allocated - allocating */
    const struct sched_grade *grades;
    size_t ngrades;
    /*
     * Says whether two states of a cluster can lead to other decisions, room aside: labels, taints,
     * provider, region, zones, APIs, being deleted.  Heartbeats and usage do not change it.
     */
    uint64_t fingerprint;
};

/* Never fails: what is missing or makes no sense counts as absent.  Shares the tree's strings. */
const struct sched_cluster *sched_cluster_parse(struct arena *a, const struct json *cluster);
/* The same, sharing nothing, and without all that does not count: to be kept for long. */
const struct sched_cluster *sched_cluster_keep(struct arena *a, const struct json *cluster);

/* ---- the question ---- */

/* Room that was given out in a cluster, and does not show in what it tells of itself. */
struct sched_promise {
    str cluster;
    int64_t pods;
    struct sched_amounts amounts; /* in no order */
};

struct sched_request {
    const struct json *placement; /* NULL: everywhere, duplicated */
    str api_version, kind;        /* of the template */
    str uid;                      /* of the template: breaks ties; may be empty */
    int64_t replicas;
    const struct json *requirements; /* spec.replicaRequirements; NULL: none */
    size_t components;
    const struct json *previous;          /* spec.clusters: [{name, replicas}]; NULL: none */
    const struct json *evictions;         /* spec.gracefulEvictionTasks; NULL: none */
    str affinity;                         /* group of clusterAffinities used last; empty: none */
    bool fresh;                           /* divide anew, as if nothing were placed (rebalance) */
    const struct sched_promise *promised; /* by cluster; of this one, too */
    size_t npromised;
};

/* Slices of a ResourceBinding or ClusterResourceBinding (work.karmada.io/v1alpha2). */
void sched_request_of_binding(const struct json *binding, struct sched_request *out);

/* What one replica needs; none of nothing. */
struct sched_amounts sched_request_amounts(struct arena *a, const struct sched_request *r);

/* Replicas count for it (else it goes to clusters whole). */
bool sched_is_workload(const struct sched_request *r);

/* ---- the answer ---- */

/*
 * Only SCHED_DONE is an order.  After any other outcome the previous result stays: what runs is
 * never taken away because nothing better was found (Karmada empties the result when nothing fits).
 * SCHED_DONE chooses at least one cluster, unless the object is to have 0 replicas.
 */
enum sched_outcome {
    SCHED_DONE,
    SCHED_NO_FIT,        /* no cluster passes the filters */
    SCHED_UNSCHEDULABLE, /* not enough room: try again later */
    SCHED_ERROR,         /* the placement cannot be met */
};

/* Why a cluster is not, or is, in the result; in the order in which they are looked at. */
enum sched_verdict {
    SCHED_NO_API,
    SCHED_TAINTED,
    SCHED_NOT_AFFINE,
    SCHED_NO_PROPERTY, /* spread by provider, region or zone, and it has none */
    SCHED_EVICTING,
    SCHED_NOT_SELECTED, /* spread constraints chose others */
    SCHED_NO_SHARE,     /* selected, and got no replica */
    SCHED_UNDECIDED,    /* passed the filters, but the decision failed later */
    SCHED_CHOSEN,
};

struct sched_row { /* of one cluster */
    const struct sched_cluster *cluster;
    enum sched_verdict verdict;
    const struct sched_taint *taint; /* SCHED_TAINTED: the first that is not tolerated */
    str property;                    /* SCHED_NO_PROPERTY: which */
    bool had;                        /* it was in the previous result, */
    int64_t before;                  /* with so many */
    int64_t replicas;                /* and now has so many */
    int64_t score;
    int64_t room;   /* replicas that fit beside what it has; < 0: not asked */
    int64_t weight; /* by which it was divided; < 0: not divided */
    unsigned tier;  /* 0, or the overflow group that let it in, from 1 */
};

enum sched_way {              /* how replicas were given out */
                 SCHED_WHOLE, /* no replicas to speak of: each selected cluster gets the object */
                 SCHED_DUPLICATED,
                 SCHED_STATIC_WEIGHT,
                 SCHED_DYNAMIC_WEIGHT,
                 SCHED_AGGREGATED,
};

struct sched_decision {
    enum sched_outcome outcome;
    str message;  /* unless SCHED_DONE: for the condition Scheduled, in Karmada's words */
    str affinity; /* the group of clusterAffinities that this is about; empty: there are none */
    size_t tried; /* groups tried before it */
    enum sched_way way;
    bool scaled_up, scaled_down, kept; /* dynamic and aggregated: what became of the old result */
    int64_t weights;                   /* sum of what it was divided by */
    struct sched_row *rows;            /* all clusters that are not being deleted, by name */
    size_t nrows;
};

/* clusters: sorted by name, each once. */
void sched_decide(struct arena *a, const struct sched_request *r,
                  const struct sched_cluster *const *clusters, size_t n,
                  struct sched_decision *out);

/* spec.clusters: [{"name","replicas"}], by name; replicas only where they count. */
const struct json *sched_targets(struct arena *a, const struct sched_decision *d);

/*
 * Whether the placement differs from the one last scheduled with in something that counts: of
 * clusterAffinities only the group in use does.  applied: NULL when there is none.
 */
bool sched_placement_changed(const struct json *placement, const struct json *applied,
                             str affinity);

/* ---- the explanation ---- */

/* Why this cluster, in one sentence without its name: "3 of 9 replicas: weight 2 of 6". */
str sched_why(struct arena *a, const struct sched_request *r, const struct sched_decision *d,
              const struct sched_row *row);
/* "m1 5, m2 1": who gets how many; of many the first. */
str sched_result(struct arena *a, const struct sched_decision *d);
/* The whole decision in one sentence. */
str sched_sentence(struct arena *a, const struct sched_request *r, const struct sched_decision *d);
/*
 * Room changes as soon as something is placed, so that why a division came out as it did cannot be
 * computed later: the scheduler keeps it in this annotation, {"cluster": "why"} of those chosen.
 * NULL when the decision does not depend on room.  At most SCHED_WHY_MAX clusters.
 */
#define SCHED_WHY_ANNOTATION "kairship.io/explanation"
enum { SCHED_WHY_MAX = 32 };
const struct json *sched_whys(struct arena *a, const struct sched_request *r,
                              const struct sched_decision *d);
/*
 * {"outcome","message","affinity","strategy","sentence","clusters":[{"name","chosen","replicas",
 * "before","step","why","kept",…}]}
 */
const struct json *sched_explain(struct arena *a, const struct sched_request *r,
                                 const struct sched_decision *d);

/* ---- parts of it, for others ---- */

/* Whether a cluster affinity means this cluster; none means each. */
bool sched_matches(struct arena *a, const struct json *affinity, const struct sched_cluster *c);

/*
 * n over the targets (spec.clusters) by the replicas that they have, into out, in their order: how
 * a Job's completions follow its parallelism.
 */
void sched_divide_alike(struct arena *a, const struct json *targets, int64_t n, str uid,
                        int64_t *out);

/* ---- the kcp way ---- */

/* As even as can be, the first get the rest: 10 over 3 is 4, 3, 3; 2 over 3 is 1, 1, 0. */
void sched_split_evenly(int64_t replicas, int64_t *out, size_t n);

#endif
