/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/rbac_builtin.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/installation.h"
#include "base/mem.h"

enum { RULES_MAX = 10 };

/* Lists are words with blanks between; "core" is the group without a name. */
struct rule {
    const char *verbs, *groups, *resources, *only; /* names of objects; without resources, paths */
};

static const struct {
    const char *user;
    struct rule rules[RULES_MAX]; /* the last has no verbs */
} builtins[] = {
    { "system:kairship:namespace-controller",
      {
          { "get list watch delete deletecollection", "*", "*", NULL },
          { "update patch", "core", "namespaces/finalize namespaces/status", NULL },
          { "get", NULL, NULL, "/api /api/* /apis /apis/*" },
      } },
    { "system:kairship:aggregator",
      {
          { "get", "apiregistration.k8s.io", "apiservices", NULL },
          { "update", "apiregistration.k8s.io", "apiservices/status", NULL },
          { "get create update", "core", "configmaps", NULL },
      } },
    { "system:kairship:fleet",
      {
          { "get", "cluster.karmada.io workload.kcp.dev fleet.kairship.io", "clusters", NULL },
          { "get", "core", "secrets", NULL },
      } },
    { "system:kairship:instance",
      {
          { "get list watch patch", "tenancy.kairship.io", "instances", NULL },
          { "list watch delete", "cluster.karmada.io workload.kcp.dev", "clusters", NULL },
          { "list patch", "work.karmada.io", "works", NULL },
      } },
    { "system:kairship:detector",
      {
          { "get list watch update patch", "*", "*", NULL }, /* whatever a policy names */
          { "escalate bind", "rbac.authorization.k8s.io", "roles clusterroles", NULL },
          { "create", "work.karmada.io", "resourcebindings clusterresourcebindings", NULL },
          { "get", NULL, NULL, "/api /api/* /apis /apis/*" },
      } },
    { "system:kairship:binding",
      {
          { "get list watch", "*", "*", NULL },
          { "update patch", "work.karmada.io", "resourcebindings clusterresourcebindings", NULL },
          { "create update delete", "work.karmada.io", "works", NULL },
          { "get", NULL, NULL, "/api /api/* /apis /apis/*" },
      } },
    { "system:kairship:binding-status",
      {
          { "get list watch", "*", "*", NULL },
          { "update", "*", "*/status", NULL },
          { "get", NULL, NULL, "/api /api/* /apis /apis/*" },
      } },
    { "system:kairship:dependencies",
      {
          { "get list watch", "*", "*", NULL },
          { "create update patch", "work.karmada.io", "resourcebindings", NULL },
          { "get", NULL, NULL, "/api /api/* /apis /apis/*" },
      } },
    { "system:kairship:namespace-sync",
      {
          { "get list watch", "core", "namespaces", NULL },
          { "get list watch", "cluster.karmada.io", "clusters", NULL },
          { "get list watch", "policy.karmada.io", "clusteroverridepolicies", NULL },
          { "get create update", "work.karmada.io", "works", NULL },
      } },
    { "system:kairship:federated-quota",
      {
          { "get list watch", "policy.karmada.io", "federatedresourcequotas", NULL },
          { "update", "policy.karmada.io", "federatedresourcequotas/status", NULL },
          { "get list watch", "cluster.karmada.io", "clusters", NULL },
          { "get list watch create update delete", "work.karmada.io", "works", NULL },
      } },
    { "system:kairship:customizations",
      {
          { "get list watch", "config.karmada.io", "resourceinterpretercustomizations", NULL },
      } },
    { "system:kairship:propagation",
      {
          { "create patch update", "core", "events", NULL },
      } },
    { "system:kairship:scheduler",
      {
          { "get list watch patch", "work.karmada.io",
            "resourcebindings resourcebindings/status clusterresourcebindings "
            "clusterresourcebindings/status",
            NULL },
          { "get list watch", "cluster.karmada.io", "clusters", NULL },
          { "create patch", "core", "events", NULL },
      } },
    { "system:kairship:rebalancer",
      {
          { "get list watch delete", "apps.karmada.io", "workloadrebalancers", NULL },
          { "patch", "apps.karmada.io", "workloadrebalancers/status", NULL },
          { "get patch", "work.karmada.io", "resourcebindings clusterresourcebindings", NULL },
      } },
    { "system:kairship:ghippo-webhook",
      {
          { "get list watch", "tenancy.kairship.io", "instances", NULL },
          { "list watch", "iam.kairship.io", "workspaces", NULL },
          { "list watch", "cluster.karmada.io", "clusters", NULL },
          { "get create update delete", "work.karmada.io", "works", NULL },
      } },
    { "system:kairship:rights-cleanup",
      {
          { "get list watch update", "iam.kairship.io", "groups platformroles workspaces", NULL },
          { "get list watch", "iam.kairship.io", "users", NULL },
          { "get list watch", "tenancy.kairship.io", "instances", NULL },
          { "get list watch", "fleet.kairship.io", "clusters", NULL },
          { "create patch", "core", "events", NULL },
      } },
    { "system:kairship:instance-registry",
      {
          { "get list watch patch", "tenancy.kairship.io", "instances", NULL },
          { "get list watch create delete", "iam.kairship.io", "gproductresources", NULL },
      } },
    { "system:kairship:management",
      {
          { "impersonate", "core", "users groups serviceaccounts", NULL },
          { "impersonate", "authentication.k8s.io", "uids", NULL },
          { "get list watch create update patch delete", "tenancy.kairship.io", "instances", NULL },
          { "get list watch create update patch delete", "fleet.kairship.io", "clusters", NULL },
          { "get create update delete", "core", "secrets", NULL },
      } },
    { "system:kairship:member-registry",
      {
          { "get list watch", "cluster.karmada.io", "clusters", NULL },
          { "get", "tenancy.kairship.io", "instances", NULL },
          { "get list watch create update delete", "fleet.kairship.io", "clusters", NULL },
          { "update", "fleet.kairship.io", "clusters/status", NULL },
          { "get create update delete", "core", "secrets", NULL },
          { "create", "core", "namespaces", NULL },
      } },
    { "system:kairship:login",
      {
          { "create", "iam.kairship.io", "sessions", NULL },
      } },
    { "system:kairship:resource-statistics",
      {
          { "get list watch", "tenancy.kairship.io", "instances", NULL },
          { "update", "tenancy.kairship.io", "instances/status", NULL },
          { "list watch", "core", "services secrets configmaps persistentvolumeclaims", NULL },
          { "list watch", "apps", "deployments", NULL },
          { "list watch", "cluster.karmada.io workload.kcp.dev", "clusters", NULL },
          { "list watch", "policy.karmada.io", "propagationpolicies overridepolicies", NULL },
      } },
    { "system:kairship:status-sync",
      {
          { "get list watch", "tenancy.kairship.io", "instances", NULL },
          { "update", "tenancy.kairship.io", "instances/status", NULL },
          { "list", "core", "namespaces", NULL },
          { "get", NULL, NULL, "/version" },
      } },
    { "system:kairship:virtual-cluster-sync",
      {
          { "get list watch patch", "tenancy.kairship.io", "instances", NULL },
          { "get list watch create patch delete", "fleet.kairship.io", "clusters", NULL },
      } },
    { "system:kairship:cluster-controller",
      {
          { "get list watch update patch", "cluster.karmada.io", "clusters", NULL },
          { "get list watch create delete", "core", "namespaces", NULL },
          { "get list update", "work.karmada.io", "works", NULL },
          { "list", "work.karmada.io", "resourcebindings clusterresourcebindings", NULL },
          { "get", "tenancy.kairship.io", "instances", NULL },
          { "list", "fleet.kairship.io", "clusters", NULL }, /* what is left behind */
          { "update", "fleet.kairship.io", "clusters/status", NULL },
          { "create patch", "core", "events", NULL },
      } },
    { "system:kairship:left-behind",
      {
          { "get list watch", "fleet.kairship.io", "clusters", NULL },
          { "update", "fleet.kairship.io", "clusters/status", NULL },
          { "get", "cluster.karmada.io", "clusters", NULL },
          { "get", "work.karmada.io", "works", NULL },
          { "get", "core", "configmaps", INSTALLATION_NAME },
      } },
    { "system:kairship:cluster-status-controller",
      {
          { "get list watch", "cluster.karmada.io", "clusters", NULL },
          { "update", "cluster.karmada.io", "clusters/status", NULL },
          { "get", "coordination.k8s.io", "leases", NULL },
          { "get", "tenancy.kairship.io", "instances", NULL },
      } },
    { "system:kairship:cluster-taint-controller",
      {
          { "get list watch update", "cluster.karmada.io", "clusters", NULL },
          { "list watch", "policy.karmada.io", "clustertaintpolicies", NULL },
          { "get list watch", "tenancy.kairship.io", "instances", NULL },
      } },
    { "system:kairship:taint-eviction-controller",
      {
          { "get list watch", "cluster.karmada.io", "clusters", NULL },
          { "get list watch update", "work.karmada.io", "resourcebindings clusterresourcebindings",
            NULL },
          { "get list watch", "tenancy.kairship.io", "instances", NULL },
      } },
    { "system:kairship:graceful-eviction-controller",
      {
          { "get list watch update", "work.karmada.io", "resourcebindings", NULL },
          { "list delete", "work.karmada.io", "works", NULL },
          { "get", "tenancy.kairship.io", "instances", NULL },
      } },
    { "system:kairship:cluster-graceful-eviction-controller",
      {
          { "get list watch update", "work.karmada.io", "clusterresourcebindings", NULL },
          { "list delete", "work.karmada.io", "works", NULL },
          { "get", "tenancy.kairship.io", "instances", NULL },
      } },
    { "system:kairship:fleet", /* reads where members are, and their credentials */
      {
          { "get", "cluster.karmada.io workload.kcp.dev fleet.kairship.io", "clusters", NULL },
          { "get", "core", "secrets", NULL },
      } },
    { "system:kairship:work",
      {
          { "get list watch", "cluster.karmada.io", "clusters", NULL },
          { "update", "cluster.karmada.io", "clusters/status", NULL },
          { "get list watch", "tenancy.kairship.io", "instances", NULL },
          { "get list watch patch", "work.karmada.io", "works", NULL },
          { "patch", "work.karmada.io", "works/status", NULL },
          { "create patch", "core", "events", NULL },
          { "get", "core", "configmaps", INSTALLATION_NAME },
      } },
    { "system:kairship:syncer-manager",
      {
          { "update patch", "workload.kcp.dev", "clusters clusters/status", NULL },
          { "get list watch", "*", "*", NULL }, /* a syncer's: types that others choose */
          { "update", "*", "*/status", NULL },
          { "get create patch delete", "core", "serviceaccounts secrets events", NULL },
          { "get create patch delete escalate bind", "rbac.authorization.k8s.io",
            "clusterroles clusterrolebindings", NULL },
      } },
    { "system:kairship:member-room",
      {
          { "get list watch", "workload.kcp.dev", "clusters", NULL },
          { "update", "workload.kcp.dev", "clusters/status", NULL },
      } },
    { "system:kairship:api-importer",
      {
          { "get list watch", "workload.kcp.dev", "clusters", NULL },
          { "update", "workload.kcp.dev", "clusters/status", NULL },
          { "get list create update delete", "apiresource.kcp.dev", "apiresourceimports", NULL },
          { "get", "apiextensions.k8s.io", "customresourcedefinitions", NULL },
          { "get", NULL, NULL, "/api/* /apis/*" },
      } },
    { "system:kairship:api-negotiation",
      {
          { "get list watch", "apiresource.kcp.dev", "apiresourceimports", NULL },
          { "get list watch create update delete", "apiresource.kcp.dev", "negotiatedapiresources",
            NULL },
          { "patch", "apiresource.kcp.dev",
            "apiresourceimports/status negotiatedapiresources/status", NULL },
          { "get list watch create update delete", "apiextensions.k8s.io",
            "customresourcedefinitions", NULL },
          { "list", "*", "*", NULL }, /* whether objects of a type are left */
          { "get", NULL, NULL, "/api/* /apis/*" },
      } },
    { "system:kairship:splitter",
      {
          { "get list watch", "workload.kcp.dev", "clusters", NULL },
          { "get list watch", "apiresource.kcp.dev", "apiresourceimports negotiatedapiresources",
            NULL },
          { "get", "tenancy.kairship.io", "instances", NULL },
          /* whatever was negotiated, and what it mounts */
          { "get list watch create update patch delete", "*", "*", NULL },
          { "update", "*", "*/status", NULL },
      } },
    { "system:kairship:search",
      {
          { "get list watch", "*", "*", NULL },
          { "update patch", "cluster.clusterpedia.io", "pediaclusters/status", NULL },
          { "patch", "fleet.kairship.io", "clusters", NULL }, /* their finalizer */
          { "create", "authorization.k8s.io", "subjectaccessreviews", NULL },
          { "get", NULL, NULL, "/version /api /api/* /apis /apis/*" },
      } },
    { "system:kairship:flowschema",
      {
          { "get list watch", "flowcontrol.apiserver.k8s.io",
            "flowschemas prioritylevelconfigurations", NULL },
          { "patch", "flowcontrol.apiserver.k8s.io", "flowschemas/status", NULL },
      } },
    { "system:kairship:admission-policy",
      {
          { "get list watch", "admissionregistration.k8s.io", "validatingadmissionpolicies", NULL },
          { "patch", "admissionregistration.k8s.io", "validatingadmissionpolicies/status", NULL },
          { "get", NULL, NULL, "/api /api/* /apis /apis/* /openapi/*" },
      } },
    { "system:kairship:role-aggregation",
      {
          { "get list watch update patch escalate", "rbac.authorization.k8s.io", "clusterroles",
            NULL },
      } },
    { "system:kairship:crd-controller",
      {
          { "get list watch update patch", "apiextensions.k8s.io",
            "customresourcedefinitions customresourcedefinitions/status", NULL },
          { "get list delete deletecollection", "*", "*", NULL },
      } },
    { "system:kairship:garbage-collector",
      {
          { "get list watch patch update delete", "*", "*", NULL },
      } },
    { "system:kairship:csr-signer",
      {
          { "get list watch delete", "certificates.k8s.io", "certificatesigningrequests", NULL },
          { "update", "certificates.k8s.io", "certificatesigningrequests/status", NULL },
          { "sign", "certificates.k8s.io", "signers", NULL },
      } },
    { "system:kairship:quota-controller",
      {
          { "update", "core", "resourcequotas/status", NULL },
      } },
    { "system:kairship:root-ca-controller",
      {
          { "get", "core", "namespaces", NULL },
          { "get list watch create update", "core", "configmaps", NULL },
      } },
    { "system:kairship:serviceaccount-controller",
      {
          { "get list watch", "core", "namespaces", NULL },
          { "get create", "core", "serviceaccounts", NULL },
          { "get create update", "core", "configmaps", NULL },
      } },
    { "system:kairship:simulator",
      {
          { "get list watch", "core",
            "configmaps endpoints nodes persistentvolumeclaims persistentvolumes pods secrets "
            "services",
            NULL },
          { "create update patch delete", "core",
            "endpoints persistentvolumeclaims persistentvolumes pods pods/binding "
            "serviceaccounts/token",
            NULL },
          { "update", "core",
            "nodes nodes/status persistentvolumeclaims/status persistentvolumes/status pods/status "
            "services/status",
            NULL },
          { "get list watch create update patch delete", "apps batch",
            "controllerrevisions daemonsets daemonsets/status deployments deployments/status jobs "
            "jobs/status replicasets replicasets/status statefulsets statefulsets/status",
            NULL },
          { "get create update", "coordination.k8s.io", "leases", NULL },
          { "get create update delete", "discovery.k8s.io",
            "endpointslices endpointslices/restricted", NULL },
          { "get", "storage.k8s.io", "storageclasses", NULL },
      } },
    { "system:kairship:unserved-kinds",
      {
          { "get list watch",
            "autoscaling.karmada.io networking.karmada.io remedy.karmada.io config.karmada.io "
            "policy.karmada.io cluster.karmada.io cluster.clusterpedia.io tenancy.kairship.io",
            "federatedhpas cronfederatedhpas multiclusterservices multiclusteringresses remedies "
            "resourceinterpreterwebhookconfigurations resourceinterpretercustomizations "
            "propagationpolicies clusterpropagationpolicies clusters pediaclusters instances",
            NULL },
          { "update", "autoscaling.karmada.io", "federatedhpas/status", NULL },
          { "update", "networking.karmada.io", "multiclusterservices/status", NULL },
          { "create patch", "core", "events", NULL },
      } },
    { "system:kairship:token-account-controller",
      {
          { "get list watch create", "core", "serviceaccounts", NULL },
          { "get list update delete", "core", "secrets", NULL },
          { "create", "core", "serviceaccounts/token", NULL },
          { "get", "core", "namespaces", NULL },
      } },
    { "system:kairship:token-secret-controller",
      {
          { "get list watch update delete", "core", "secrets", NULL },
          { "get", "core", "serviceaccounts", NULL },
          { "create", "core", "serviceaccounts/token", NULL },
      } },
};

enum { BUILTINS = sizeof(builtins) / sizeof(*builtins) };

struct rbac_builtins {
    struct rbac_row *roles[BUILTINS];
};

static void add_words(struct arena *a, struct json_object *o, str member, const char *words)
{
    struct json_array list = json_array_new(a);

    if (!words)
        return;
    for (str rest = str_of(words), word; str_split(&rest, ' ', &word);)
        json_push(&list, json_of_str(str_is(word, "core") ? STR_NONE : word));
    json_add(o, member, json_array_value(&list));
}

static struct json rule_of(struct arena *a, const struct rule *r)
{
    struct json_object o = json_object_new(a);

    add_words(a, &o, STR("verbs"), r->verbs);
    add_words(a, &o, STR("apiGroups"), r->groups);
    add_words(a, &o, STR("resources"), r->resources);
    add_words(a, &o, r->resources ? STR("resourceNames") : STR("nonResourceURLs"), r->only);
    return json_object_value(&o);
}

static struct rbac_row *role_of(size_t i)
{
    scoped_arena a = arena_new();
    struct json_array rules = json_array_new(a);
    struct json_object role = json_object_new(a);

    for (const struct rule *r = builtins[i].rules; r->verbs; r++)
        json_push(&rules, rule_of(a, r));
    json_add(&role, STR("rules"), json_array_value(&rules));
    return rbac_role_new(str_of(builtins[i].user), false, 0, json_object_done(&role));
}

struct rbac_builtins *rbac_builtins_new(void)
{
    struct rbac_builtins *b = mem_zalloc(sizeof(*b));

    for (size_t i = 0; i < BUILTINS; i++)
        b->roles[i] = role_of(i);
    return b;
}

void rbac_builtins_free(struct rbac_builtins *b)
{
    for (size_t i = 0; b && i < BUILTINS; i++)
        rbac_row_unref(b->roles[i]);
    free(b);
}

const struct rbac_role *rbac_builtins_find(const struct rbac_builtins *b, str user)
{
    for (size_t i = 0; i < BUILTINS; i++)
        if (str_eq(user, b->roles[i]->name))
            return (const struct rbac_role *)(const void *)b->roles[i];
    return NULL;
}
