/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_KARMADA_H
#define OBJECT_META_KARMADA_H

/*
 * The words by which the parts of Karmada's propagation know each other: labels, annotations,
 * finalizers, and how bindings and works are named.  spec/karmada 1.10-1.14.
 */

#include "json/json.h"

/* Labels. */
#define KARMADA_PP_ID          "propagationpolicy.karmada.io/permanent-id"
#define KARMADA_CPP_ID         "clusterpropagationpolicy.karmada.io/permanent-id"
#define KARMADA_RB_ID          "resourcebinding.karmada.io/permanent-id"
#define KARMADA_CRB_ID         "clusterresourcebinding.karmada.io/permanent-id"
#define KARMADA_WORK_ID        "work.karmada.io/permanent-id"
#define KARMADA_DEPENDED_BY    "resourcebinding.karmada.io/depended-by-" /* and a hash */
#define KARMADA_CLAIMED_BY     "resourcetemplate.karmada.io/claimed-by"
#define KARMADA_MANAGED        "karmada.io/managed"
#define KARMADA_SYSTEM         "karmada.io/system"
#define KARMADA_SKIP_NAMESPACE "namespace.karmada.io/skip-auto-propagation"
#define KARMADA_RETAIN         "resourcetemplate.karmada.io/retain-replicas"

/* Annotations. */
#define KARMADA_PP_NAMESPACE              "propagationpolicy.karmada.io/namespace"
#define KARMADA_PP_NAME                   "propagationpolicy.karmada.io/name"
#define KARMADA_CPP_NAME                  "clusterpropagationpolicy.karmada.io/name"
#define KARMADA_APPLIED_PLACEMENT         "policy.karmada.io/applied-placement"
#define KARMADA_APPLIED_OVERRIDES         "policy.karmada.io/applied-overrides"
#define KARMADA_APPLIED_CLUSTER_OVERRIDES "policy.karmada.io/applied-cluster-overrides"
#define KARMADA_RB_NAMESPACE              "resourcebinding.karmada.io/namespace"
#define KARMADA_RB_NAME                   "resourcebinding.karmada.io/name"
#define KARMADA_CRB_NAME                  "clusterresourcebinding.karmada.io/name"
#define KARMADA_WORK_NAMESPACE            "work.karmada.io/namespace"
#define KARMADA_WORK_NAME                 "work.karmada.io/name"
#define KARMADA_CONFLICT                  "work.karmada.io/conflict-resolution"
#define KARMADA_TEMPLATE_UID              "resourcetemplate.karmada.io/uid"
#define KARMADA_TEMPLATE_GENERATION       "resourcetemplate.karmada.io/generation"
#define KARMADA_MANAGED_LABELS            "resourcetemplate.karmada.io/managed-labels"
#define KARMADA_MANAGED_ANNOTATIONS       "resourcetemplate.karmada.io/managed-annotations"
#define KARMADA_DEPENDENCIES              "resourcebinding.karmada.io/dependencies"

/* Finalizers. */
#define KARMADA_RB_FINALIZER   "karmada.io/binding-controller"
#define KARMADA_CRB_FINALIZER  "karmada.io/cluster-resource-binding-controller"
#define KARMADA_DEPS_FINALIZER "karmada.io/binding-dependencies-distributor"
#define KARMADA_PP_FINALIZER   "karmada.io/propagation-policy-controller"
#define KARMADA_CPP_FINALIZER  "karmada.io/cluster-propagation-policy-controller"
#define KARMADA_WORK_FINALIZER "karmada.io/execution-controller"

/* Where the works for a cluster live: karmada-es-<cluster>, and back (false: no such namespace). */
#define KARMADA_EXECUTION_PREFIX "karmada-es-"
str karmada_execution_namespace(struct arena *a, str cluster);
bool karmada_execution_cluster(str namespace, str *cluster);

/* karmada-system, karmada-cluster, karmada-es-*: nothing in these is propagated. */
bool karmada_namespace_reserved(str namespace);

/* "nginx-deployment": the binding of a template. */
str karmada_binding_name(struct arena *a, str name, str kind);
/* "nginx-687f7fb96f": the work of a template; the namespace is empty where it has none. */
str karmada_work_name(struct arena *a, str namespace, str name, str kind);
/* The label's key on a binding that "namespace/name" depends on. */
str karmada_depended_by(struct arena *a, str namespace, str name);

/* metadata.labels and metadata.annotations of any object; empty when it has none of that name. */
str karmada_label(const struct json *object, const char *key);
str karmada_annotation(const struct json *object, const char *key);

#endif
