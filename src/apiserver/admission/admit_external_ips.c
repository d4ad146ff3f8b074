/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Services get no external addresses: whoever may make a service could take traffic of others with
 * them (CVE-2020-8554).  Those that a service has stay.
 * k8s: plugin/pkg/admission/denyserviceexternalips
 */

#include "apiserver/admission/admission.h"
#include "base/banned.h"

static bool has(const struct json *list, const struct json *ip)
{
    json_for_each (x, list)
        if (json_equal(x, ip))
            return true;
    return false;
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct json *had = json_path(a->old, "spec.externalIPs");

    if (a->req->subresource.n)
        return 0;
    json_for_each (ip, json_path(obj, "spec.externalIPs"))
        if (!has(had, ip))
            return status_forbidden(st, STR_NONE, a->req->kind->plural,
                                    json_get_str(obj, "metadata.name"),
                                    "Use of external IPs is denied by admission control");
    return 0;
}

const struct admission_plugin admit_external_ips = {
    .name = "DenyServiceExternalIPs",
    .optional = true,
    .group = "",
    .resource = "services",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .validate = validate,
};
