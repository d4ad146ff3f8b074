/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_FRAME_CONTROLLER_H
#define FEDERATION_CONTROLLERS_FRAME_CONTROLLER_H

/*
 * What every controller is: an informer that puts keys into a queue, and a worker that takes them
 * out and reconciles.  A controller's file holds a spec and one function; all the rest is here.
 *
 * One controller serves all instances.  Reconcile looks at the world, not at the event; it may run
 * twice, and may be killed at any line.
 *
 * Controllers of a group share its workers, so that a controller without work costs no thread.
 * They are served in turn, a key each, and one controller never has more than one worker: one that
 * is slow, or has much to do, leaves the others to the other workers.  Those that watch the same
 * thing share one informer, which asks with the rights of the first of them.
 */

#include "client/informer.h"

struct controller;
struct controller_group;

/* Something else to watch, whose changes are told as keys of the controller's own. */
struct controller_source {
    struct client_ref ref;
    str label_selector, field_selector;
    bool spec_only; /* not told of changes of the status alone, of kinds with a generation */
    /*
     * Of an object that is being deleted told only while it has this one, and of its end not; "":
     * such an object is no business of ours.  NULL: told of all.
     */
    const char *finalizer;
    /*
     * On the loop, so it must be quick: controller_wake() for each key that this object concerns.
     * The object is as it is now, or as it was last (NULL: not known) when it is deleted.  NULL in
     * the place of map: the key is the object's.
     */
    void (*map)(void *arg, struct controller *c, const struct informer_key *k,
                const struct json *object, bool deleted);
};

struct controller_spec {
    const char *name;
    struct client_ref ref; /* what to watch; instance "*": in all instances */
    str label_selector, field_selector;
    bool spec_only; /* as of controller_source, which says what these three are */
    const char *finalizer;
    void (*map)(void *arg, struct controller *c, const struct informer_key *k,
                const struct json *object, bool deleted);
    bool per_instance; /* keys say the instance only: one look for all that changed in it */
    const struct controller_source *also; /* further things to watch */
    size_t nalso;
    unsigned workers; /* how many of the group's may be with it, each with another key; 0: one */
    /*
     * On a worker, may block; never twice at once for one key.  0, or -1 with *st: then the key
     * comes again after a growing delay.  A positive result is a wish to look again after so many
     * milliseconds.
     */
    int (*reconcile)(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st);
    /*
     * Told once, before the first reconcile, so that arg can hold on to it for controller_wake()
     * and controller_watch(); may be NULL.
     */
    void (*started)(void *arg, struct controller *c);
    void *arg;
};

struct controller_group *controller_group_new(unsigned workers);
void controller_group_free(struct controller_group *g); /* stops those that are in it */

/*
 * The spec is copied, what it points to stays.  The client stays the caller's, and must live
 * longer than all of the group.  Not on a loop's thread.
 */
struct controller *controller_group_start(struct controller_group *g,
                                          const struct controller_spec *spec,
                                          struct client *client);

/* Alone, in a group of one worker. */
struct controller *controller_start(const struct controller_spec *spec, struct client *client);

/* This key is to be looked at, now or after so many milliseconds.  Any thread. */
void controller_wake(struct controller *c, const struct informer_key *k);
void controller_wake_after(struct controller *c, const struct informer_key *k, int64_t ms);

/*
 * One more source, for as long as the controller lives; copied, with the strings of its ref.  One
 * that it has already is not added again.  Any thread, while the loop runs; what is read from the
 * server after it is not older than what the first change that is told follows on.
 */
void controller_watch(struct controller *c, const struct controller_source *s);

/* Waits for the reconcile under way; its loop must run.  Keys that wait are dropped. */
void controller_stop(struct controller *c);

/* The controllers, one or two a file. */
extern const struct controller_spec namespace_controller;
extern const struct controller_spec crd_controller;
extern const struct controller_spec serviceaccount_controller, root_ca_controller;
extern const struct controller_spec token_secret_controller, token_account_controller;
extern const struct controller_spec csr_signer_controller;
extern const struct controller_spec role_aggregation_controller, flowschema_controller;
extern const struct controller_spec admission_policy_controller;
/* Of member clusters; arg: struct clusters (federation/controllers/members/clusters.h). */
extern const struct controller_spec cluster_controller, cluster_status_controller;
extern const struct controller_spec cluster_taint_controller, taint_eviction_controller;
extern const struct controller_spec graceful_eviction_controller;
extern const struct controller_spec cluster_graceful_eviction_controller;
/* The syncers of members in push mode; arg: struct works (federation/controllers/members/works.h).
 */
extern const struct controller_spec works_controller;
/* And those of kcp's Clusters; arg: struct syncer_manager
 * (federation/controllers/members/syncer_manager.h). */
extern const struct controller_spec syncer_manager_controller;
/* Types that those bring; arg of the first: struct api_importer
 * (federation/controllers/members/api_importer.h). */
extern const struct controller_spec api_importer_controller, api_negotiation_controller;
extern const struct controller_spec
    splitter_controller; /* arg: federation/controllers/propagation/splitter.h */
extern const struct controller_spec
    scheduler_controller; /* arg: federation/controllers/propagation/scheduler.h */
extern const struct controller_spec rebalancer_controller;
/* Of propagation; arg: struct propagator (federation/controllers/propagation/propagator.h). */
extern const struct controller_spec detector_controller, binding_controller;
extern const struct controller_spec binding_status_controller, dependencies_controller;
extern const struct controller_spec namespace_sync_controller;
extern const struct controller_spec federated_quota_controller;
/* Of instances. */
extern const struct controller_spec instance_controller; /* arg: its clock; NULL: the real one */
extern const struct controller_spec virtual_cluster_sync_controller;
extern const struct controller_spec resource_statistics_controller; /* arg: struct pace */
extern const struct controller_spec member_registry_controller;
extern const struct controller_spec member_room_controller; /* arg: the fleet */
extern const struct controller_spec instance_registry_controller;
extern const struct controller_spec ghippo_webhook_controller; /* arg: its header */
extern const struct controller_spec
    status_sync_controller; /* arg: federation/controllers/platform/status_sync.h */

#endif
