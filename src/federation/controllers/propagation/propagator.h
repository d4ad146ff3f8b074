/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_PROPAGATOR_H
#define FEDERATION_CONTROLLERS_PROPAGATION_PROPAGATOR_H

/*
 * What the controllers between a template and its Works share (detector.c, binding.c,
 * binding_status.c, dependencies.c, namespace_sync.c): their arg, the way from a kind to its
 * resource, and how a Work is made.
 *
 * What is remembered here saves work and is never needed: it can be lost at any time.
 */

#include <pthread.h>

#include "base/map.h"
#include "base/pace.h"
#include "client/recorder.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/customizations.h"
#include "federation/controllers/propagation/silence.h"
#include "federation/sched/sched.h"

/* Zeroed, then propagator_init(); one for all five controllers, or one each. */
struct propagator {
    struct recorder *recorder;             /* the owner's; NULL: no events */
    struct customizations *customizations; /* the owner's; NULL: kinds mean what they mean */
    bool preemption;                       /* Karmada's gate PropagationPolicyPreemption */

    struct pace told; /* of Works; only the loop touches it */
    struct silence *silence;
    struct controller *detector, *binding, *status, *dependencies, *namespaces;
    pthread_mutex_t mu;
    /* guarded by mu: */
    struct map resources; /* "instance apiVersion kind" → where it is served */
    struct map seen;      /* key of a template → hash of what was propagated */
    struct map missing;   /* key of an object → bindings that wait for it */
    struct map followed;  /* types that dependencies.c watches */
};

void propagator_init(struct propagator *p);
void propagator_release(struct propagator *p); /* after the controllers have stopped */

/* ---- where things are ---- */

/* The instance as a client_ref says it. */
static inline str propagator_instance(const struct informer_key *k)
{
    return str_is(k->instance, "root") ? STR_NONE : k->instance;
}

/* A binding: a ResourceBinding, or a ClusterResourceBinding where the namespace is empty. */
struct client_ref propagator_binding_ref(str instance, str namespace, str name);
struct client_ref propagator_work_ref(str instance, str namespace, str name);
/* The label that says which Works are a binding's, and its value. */
const char *propagator_id_label(const struct json *binding);
str propagator_id(const struct json *binding);

/*
 * The resource of a kind, by discovery or memory: group, version, resource and instance of *out.
 * 1; 0 when the instance does not serve it; -1 with *st.
 */
int propagator_resource(struct propagator *p, struct client *client, struct arena *a, str instance,
                        str api_version, str kind, struct client_ref *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The object that a reference {apiVersion, kind, namespace, name} means: 1, with where it is; 0
 * when there is none; -1 with *st.
 */
int propagator_object(struct propagator *p, struct client *client, struct arena *a, str instance,
                      const struct json *reference, struct client_ref *ref,
                      const struct json **object, struct status *st)
    __attribute__((warn_unused_result));

/* What the instance says of that object's kind (federation/interp/scripts.h): *out, for as long as
 * the arena.
 */
int propagator_scripts(struct propagator *p, struct arena *a, str instance,
                       const struct json *object, const struct scripts **out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * Whether the scheduler has seen the binding as it is and has given it clusters: only then does it
 * have a place to go, and copies may leave those from which it is evicted.
 */
bool propagator_is_placed(const struct json *binding);

/* All Works of a binding: an array. */
int propagator_works(struct client *client, struct arena *a, str instance,
                     const struct json *binding, const struct json **works, struct status *st)
    __attribute__((warn_unused_result));

/* Nothing of such a namespace is propagated: Karmada's own, and kube-*. */
bool propagator_skips(str namespace);
/* Nothing of such a kind is a template: Karmada's own groups, events and leases. */
bool propagator_skips_kind(str api_version, str kind);
/* Each cluster has its own: what every namespace has, and the Service of the API itself. */
bool propagator_is_everywhere(str kind, str namespace, str name);

/* ---- trees ---- */

/* metadata.labels or metadata.annotations, to be changed. */
struct json_object propagator_map(struct arena *a, const struct json *object, const char *path);
/* A controller's owner reference, as the only one. */
struct json propagator_owners(struct arena *a, const struct json *owner);
/* {apiVersion, kind, namespace, name, uid, resourceVersion} of an object. */
struct json propagator_reference(struct arena *a, const struct json *object);
bool propagator_deleting(const struct json *object);

/* ---- Works ---- */

struct work_order {
    str cluster;
    const struct json *manifest; /* the object for this cluster, not yet made ready */
    const struct json *template; /* whose name and uid count */
    str id_label, id;            /* of the binding; may be empty */
    struct json annotations;     /* of the Work: an object */
    struct json labels;          /* more of the Work's: an object, or null */
    struct json owners;          /* an array, or null */
    bool suspended, preserved;
};

/*
 * Creates or updates the Work; writes only if something differs.  existing: as it is, or NULL.
 * -1 also when one of that name is being deleted: CONFLICT, it comes again.  A cluster without an
 * execution namespace (it is joining or leaving): NOT_FOUND.
 */
int propagator_work(struct client *client, struct arena *a, str instance,
                    const struct work_order *o, const struct json *existing, struct status *st)
    __attribute__((warn_unused_result));
/* The request alone, for many at once: 1; 0: nothing is to be written. */
int propagator_work_request(struct arena *a, str instance, const struct work_order *o,
                            const struct json *existing, struct client_request *out,
                            struct status *st) __attribute__((warn_unused_result));

/* Where a reconcile is at: who asks, for which instance. */
struct propagator_at {
    struct propagator *p;
    struct client *client;
    struct arena *a;
    str instance;
};

/* Both kinds of override policies, applied to a manifest for that cluster. */
struct override_policies {
    const struct json *cluster, *namespaced; /* arrays */
};
int propagator_overrides(struct client *client, struct arena *a, str instance, str namespace,
                         struct override_policies *out, struct status *st)
    __attribute__((warn_unused_result));
/*
 * *manifest changed, and what was applied added to the annotations.  -1 with INVALID when one
 * cannot be applied, told as an event on the template.
 */
int propagator_override(const struct propagator_at *at, str cluster,
                        const struct override_policies *policies, const struct json *template,
                        const struct json **manifest, struct json_object *annotations,
                        struct status *st) __attribute__((warn_unused_result));

/* An event on an object; nothing without a recorder. */
void propagator_tell(struct propagator *p, str instance, const struct json *object,
                     enum recorder_type type, const char *reason, str message);

/* ---- memory ---- */

/* Whether the hash of this key is the one that was kept last. */
bool propagator_seen(struct propagator *p, str key, uint64_t hash);
void propagator_keep(struct propagator *p, str key, uint64_t hash);
uint64_t propagator_hash(struct arena *a, const struct json *template);

#endif
