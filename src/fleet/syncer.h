/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_SYNCER_H
#define FLEET_SYNCER_H

/*
 * Keeps one member in step with what one instance wants there, and tells the instance what became
 * of it.  It is given a client of each and a name, and does not care where it runs: in the
 * controller-manager (push), in the member (pull), or by hand (none).
 *
 * Two feeds over one engine.  SYNCER_WORKS: the Works of namespace karmada-es-<cluster>; each
 * manifest is made in the member, and put back when somebody changes or deletes it there; status
 * and health go into the Work.  SYNCER_LABELS: objects of given types that have the label
 * workloads.kcp.dev/cluster=<cluster>; each has a copy in the member, in a namespace that belongs
 * to this instance and that namespace alone; the copy's status goes back into the object.
 *
 * What is wanted is looked up when it is time to act, so nothing is kept but keys and hashes, and
 * nothing on disk: a new syncer goes on where another one was killed.  An object is in one request
 * at a time, up to `in_flight` objects at once.  One that fails comes again after a growing,
 * random delay; when the member or the instance does not answer at all, one object at a time asks,
 * and no condition is touched meanwhile: it is not the object's fault.
 *
 * Everything is on the loop of both clients, which must be the same; nothing blocks.
 */

#include "base/clock.h"
#include "client/client.h"
#include "client/recorder.h"
#include "fleet/owner.h"

#define SYNCER_CLUSTER_LABEL "workloads.kcp.dev/cluster"
/* On a copy and its namespace: where it comes from, {"logical-cluster":…,"namespace":…}. */
#define SYNCER_LOCATOR "kcp.dev/namespace-locator"

struct syncer;

/* What a kind means to an instance (interp/); quick, since it is asked on the loop. */
struct syncer_ops {
    /* What is to be written, where the member has `observed`: its own fields stay. */
    int (*retain)(void *arg, struct arena *a, str instance, const struct json *desired,
                  const struct json *observed, const struct json **out, struct status *st);
    /* Of a copy: what the Work shows of its status (NULL: nothing), and Healthy or the like. */
    const struct json *(*reflect)(void *arg, struct arena *a, str instance,
                                  const struct json *observed);
    const char *(*health)(void *arg, struct arena *a, str instance, const struct json *observed);
};

/* "deployments.apps" of version v1. */
struct syncer_type {
    str group, version, resource;
};

enum syncer_feeds { SYNCER_WORKS = 1 << 0, SYNCER_LABELS = 1 << 1 };

struct syncer_options {
    struct client *source, *target; /* live longer than the syncer */
    str instance;                   /* in the source's requests; empty: its own */
    str logical;                    /* the instance's name, in locators; empty: `instance` */
    str cluster;
    struct ownership owner; /* whose what it makes is */
    unsigned feeds;
    bool told;                       /* Works that change are told by syncer_work() */
    const struct syncer_ops *ops;    /* kept; of SYNCER_WORKS */
    void *ops_arg;                   /* kept */
    const struct syncer_type *types; /* of SYNCER_LABELS, namespaced ones */
    size_t ntypes;
    int64_t beat_ms; /* tells the workload.kcp.dev Cluster so often that it lives; 0: not */
    struct recorder *recorder; /* events on Works; kept; NULL: none */
    struct clock *clock;       /* of timestamps; NULL: the real one */
    unsigned in_flight;        /* 0: 32 */
    int64_t retry_ms; /* first delay of a failed object; 0: 250 ms, up to 1000 times that */
    int64_t idle_ms;  /* a watch that nothing is wanted of ends after; 0: a minute */
};

/* Copies what it needs but where it says "kept".  On the loop from here on. */
struct syncer *syncer_new(const struct syncer_options *o);
void syncer_start(struct syncer *s);
void syncer_free(struct syncer *s); /* requests under way are dropped; the member stays as it is */

/* A Work of this cluster as it is now; NULL: it has gone. */
void syncer_work(struct syncer *s, str name, const struct json *work);

/* A namespace's name in the member, and its locator; without an installation as programs before
 * this one made them.  Pure. */
struct syncer_origin {
    str installation, logical, namespace;
};
str syncer_namespace(struct arena *a, const struct syncer_origin *o);
str syncer_locator(struct arena *a, const struct syncer_origin *o);
/* False: this is no locator. */
bool syncer_origin_read(struct arena *a, str locator, struct syncer_origin *out);

enum syncer_mode {
    SYNCER_RUNNING, /* what has failed is tried again at once */
    SYNCER_PAUSED,  /* the member is known to be away: nothing is asked */
    /* The instance is: the member's word is heard, and nothing is written to it.  What would have
     * been is not remembered, so a new syncer has to follow this one. */
    SYNCER_SUSPENDED,
    SYNCER_ABANDONED, /* the member is gone for good: Works that are deleted may go, at once */
};
void syncer_set_mode(struct syncer *s, enum syncer_mode mode);

/* The types that are wanted from now on; those that are left out stay in the member as they are. */
void syncer_set_types(struct syncer *s, const struct syncer_type *types, size_t n);

struct syncer_stats {
    size_t objects, waiting, running;         /* now */
    size_t watches;                           /* of types of the member */
    uint64_t writes, status_writes, failures; /* to the member, to the source; since the start */
};
struct syncer_stats syncer_stats(const struct syncer *s);

#endif
