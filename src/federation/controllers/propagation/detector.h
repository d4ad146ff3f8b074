/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_DETECTOR_H
#define FEDERATION_CONTROLLERS_PROPAGATION_DETECTOR_H

/* Parts of the detector: policies (detector_policy.c), bindings (detector_binding.c). */

#include "federation/controllers/propagation/propagator.h"

/* What differs between the two kinds of policies. */
struct policy_kind {
    const char *resource;
    const char *id;               /* label on what it claims */
    const char *name, *namespace; /* annotations; no namespace: NULL */
    const char *finalizer;
};
extern const struct policy_kind policy_namespaced, policy_cluster;

struct client_ref policy_ref(const struct policy_kind *k, str instance, str namespace, str name);

/* The best of the policies for this object, or NULL (spec/karmada 2.3). */
const struct json *policy_best(struct arena *a, const struct json *policies,
                               const struct json *object);

/* The same object claimed by the policy, or by none (policy NULL); unchanged: the same pointer. */
const struct json *policy_claimed(struct arena *a, const struct json *object,
                                  const struct policy_kind *k, const struct json *policy);
bool policy_has_claim(const struct json *object, const struct policy_kind *k);

/* Writes the claim on an object; *object becomes what it is now. */
int policy_write_claim(struct client *client, struct arena *a, const struct client_ref *ref,
                       const struct json **object, const struct policy_kind *k,
                       const struct json *policy, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The binding of a template that the policy has claimed, made or brought up to date.  1 when it was
 * there and is left as it is.
 */
int detector_bind(const struct propagator_at *at, const struct json *template,
                  const struct policy_kind *k, const struct json *policy, bool changed,
                  struct status *st) __attribute__((warn_unused_result));

/* Reconciles a policy (detector_policy.c). */
int detector_policy(struct propagator *p, struct client *client, struct arena *a,
                    const struct informer_key *k, const struct policy_kind *kind, str name,
                    struct status *st) __attribute__((warn_unused_result));

/* Wakes the detector for a template. */
void detector_wake(struct propagator *p, struct arena *a, str instance, str api_version, str kind,
                   str namespace, str name);

/* Watches the kinds that a policy's selectors name, where they are served. */
int detector_watch(struct propagator *p, struct client *client, struct arena *a, str instance,
                   const struct json *policy, struct status *st)
    __attribute__((warn_unused_result));

#endif
