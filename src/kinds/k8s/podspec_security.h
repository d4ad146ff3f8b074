/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_PODSPEC_SECURITY_H
#define KINDS_K8S_PODSPEC_SECURITY_H

/*
 * The Pod Security Standards: what a level of them forbids a pod, as a version of Kubernetes had
 * it, and what the labels of a namespace choose.  Pure: who is asked, and what comes of it, is
 * apiserver/admission/admit_pod_security.c.
 *
 * k8s: staging/src/k8s.io/pod-security-admission/{api,policy}
 */

#include "base/status.h"
#include "json/json.h"

#define POD_SECURITY_LABELS "pod-security.kubernetes.io/" /* before all of their names */

enum pod_level { POD_PRIVILEGED, POD_BASELINE, POD_RESTRICTED }; /* each stricter */
enum { POD_VERSION_LATEST = -1 };

struct pod_policy {
    enum pod_level level;
    int64_t minor; /* of v1.N, or POD_VERSION_LATEST */
};

struct pod_policies {
    struct pod_policy enforce, audit, warn;
};

/*
 * What these labels (an object, or NULL) choose.  Values that say nothing are causes of `faults`,
 * and stand for the strictest of what is enforced, and for nothing of what is told.
 */
struct pod_policies pod_policies_of(const struct json *labels, struct status *faults);

bool pod_policy_equal(struct pod_policy a, struct pod_policy b);
str pod_policy_text(struct arena *a, struct pod_policy p); /* `restricted:v1.24` */

/*
 * True, and what is wrong, where the policy forbids the pod: reasons with a comma between, and with
 * `details` what each is about, in parentheses.
 */
bool podspec_forbidden(struct arena *a, struct pod_policy p, const struct json *metadata,
                       const struct json *spec, bool details, str *why);

#endif
