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

/*
 * The controllers, in the order of their start: those that every API server runs, and those of the
 * controller-manager.  X(spec, arg): arg is the function of cmd/up.c or cmd/controllers.c
 * that makes the argument of reconcile; NULL: it has none.
 */
#define API_CONTROLLERS(X)               \
    X(namespace_controller, NULL)        \
    X(crd_controller, NULL)              \
    X(role_aggregation_controller, NULL) \
    X(flowschema_controller, NULL)       \
    X(admission_policy_controller, NULL) \
    X(serviceaccount_controller, NULL)   \
    X(root_ca_controller, NULL)          \
    X(token_secret_controller, NULL)     \
    X(token_account_controller, NULL)    \
    X(csr_signer_controller, signer)

#define MANAGER_CONTROLLERS(X)                        \
    X(instance_controller, NULL)                      \
    X(virtual_cluster_sync_controller, NULL)          \
    X(resource_statistics_controller, statistics)     \
    X(status_sync_controller, status_sync)            \
    X(instance_registry_controller, NULL)             \
    X(member_registry_controller, NULL)               \
    X(ghippo_webhook_controller, ghippo_webhook)      \
    X(rights_cleanup_controller, rights_cleanup)      \
    X(cluster_controller, clusters)                   \
    X(left_behind_controller, clusters)               \
    X(cluster_status_controller, clusters)            \
    X(cluster_taint_controller, clusters)             \
    X(taint_eviction_controller, clusters)            \
    X(graceful_eviction_controller, clusters)         \
    X(cluster_graceful_eviction_controller, clusters) \
    X(works_controller, works)                        \
    X(syncer_manager_controller, syncers)             \
    X(member_room_controller, fleet)                  \
    X(api_importer_controller, importer)              \
    X(api_negotiation_controller, NULL)               \
    X(splitter_controller, splitting)                 \
    X(scheduler_controller, scheduler)                \
    X(rebalancer_controller, NULL)                    \
    X(detector_controller, propagation)               \
    X(binding_controller, propagation)                \
    X(binding_status_controller, propagation)         \
    X(dependencies_controller, propagation)           \
    X(namespace_sync_controller, propagation)         \
    X(federated_quota_controller, NULL)               \
    X(unserved_kinds_controller, unserved)

#define X(spec, arg) extern const struct controller_spec spec;
API_CONTROLLERS(X)
MANAGER_CONTROLLERS(X)
#undef X

#endif
