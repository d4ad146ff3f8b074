/* SPDX-License-Identifier: Apache-2.0 */

/* The policy that is used when the operator gives none: it records who changed what, and who read
 * secrets. */

#include "apiserver/audit/audit_policy.h"
#include "base/banned.h"

const char audit_policy_default[] =
    "apiVersion: audit.k8s.io/v1\n"
    "kind: Policy\n"
    "omitStages: [RequestReceived]\n"
    "rules:\n"
    /* What our own parts look at, and the signs of life that they give. */
    "- level: None\n"
    "  userGroups: [system:kairship:parts]\n"
    "  verbs: [get, list, watch]\n"
    "- level: None\n"
    "  userGroups: [system:kairship:parts]\n"
    "  verbs: [update, patch]\n"
    "  resources:\n"
    "  - group: cluster.karmada.io\n"
    "    resources: ['*/status']\n"
    "  - group: workload.kcp.dev\n"
    "    resources: ['*/status']\n"
    "  - group: work.karmada.io\n"
    "    resources: ['*/status']\n"
    "- level: None\n"
    "  resources:\n"
    "  - group: coordination.k8s.io\n"
    "    resources: [leases]\n"
    "  - group: ''\n"
    "    resources: [events]\n"
    "  - group: events.k8s.io\n"
    "    resources: [events]\n"
    /* Questions that change nothing. */
    "- level: None\n"
    "  resources:\n"
    "  - group: authorization.k8s.io\n"
    "  - group: authentication.k8s.io\n"
    "    resources: [selfsubjectreviews]\n"
    "- level: None\n"
    "  nonResourceURLs: ['/grpc.health.*', '/grpc.reflection.*']\n"
    /* Who sees secrets, gets tokens, reaches into members, takes all away. */
    "- level: Metadata\n"
    "  resources:\n"
    "  - group: ''\n"
    "    resources: [secrets, serviceaccounts/token]\n"
    "  - group: authentication.k8s.io\n"
    "    resources: [tokenreviews]\n"
    "  - group: iam.kairship.io\n"
    "    resources: [logins]\n"
    "  - group: cluster.karmada.io\n"
    "    resources: [clusters/proxy]\n"
    /* Collections of search that have Secrets in them. */
    "  - group: clusterpedia.io\n"
    "    resources: [collectionresources]\n"
    "    resourceNames: [any, kuberesources]\n"
    "- level: Metadata\n"
    "  nonResourceURLs: [/backup]\n"
    /* And everything that is written. */
    "- level: Metadata\n"
    "  verbs: [create, update, patch, delete, deletecollection, post, put]\n";
