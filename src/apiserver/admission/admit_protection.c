/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Objects that say that they must not be deleted: what they were distributed to would go with them.
 * A plain Kubernetes knows nothing of that.  karmada: pkg/webhook/resourcedeletionprotection
 */

#include "apiserver/admission/admission.h"
#include "base/banned.h"

#define LABEL "resourcetemplate.karmada.io/deletion-protected"

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct json *labels = json_path(a->old, "metadata.labels");

    (void)obj;
    if (a->req->instance.profile == PROFILE_KUBERNETES)
        return 0;
    if (!str_is(json_str(json_get(labels, STR(LABEL))), "Always"))
        return 0;
    return status_set(
        st, REASON_FORBIDDEN,
        "admission webhook \"resourcedeletionprotection.karmada.io\" denied the "
        "request: This resource is protected, please make sure to remove the label: " LABEL);
}

const struct admission_plugin admit_protection = {
    .name = "ResourceDeletionProtection",
    .group = "*",
    .resource = "*",
    .verbs = VERB_DELETE,
    .validate = validate,
};
