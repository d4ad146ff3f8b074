/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Devices that others use are seen by those only whose namespace is marked for it.
 * k8s: pkg/registry/resource/utils.go AuthorizedForAdmin, which is told beside the kind's rules;
 * here it is asked when these are kept.
 */

#include "apiserver/admission/admission.h"
#include "base/banned.h"
#include "rest/lookup.h"

#define MARK "resource.kubernetes.io/admin-access"

/* The first one that asks for it, or -1. */
static ptrdiff_t first_asking(const struct json *list, const char *path)
{
    ptrdiff_t at = 0;

    json_for_each (v, list) {
        if (json_bool(json_path(v, path)))
            return at;
        at++;
    }
    return -1;
}

static int is_marked(const struct rest_request *r, struct status *st)
{
    const struct kind *k = catalog_find(r->catalog, STR_NONE, STR("v1"), STR("namespaces"));
    const struct json *ns = NULL;

    if (!k)
        return 0;
    if (lookup_get(r->rest, r->arena, &r->instance, k, STR_NONE, r->namespace_, &ns, st) < 0)
        return -1;
    return str_is(json_str(json_get(json_path(ns, "metadata.labels"), STR(MARK))), "true");
}

static int refuse(const struct rest_request *r, const struct json *obj, str field,
                  struct status *st)
{
    int marked = is_marked(r, st);

    if (marked != 0)
        return marked < 0 ? -1 : 0;
    status_cause(st, CAUSE_FORBIDDEN, field, STR_NONE,
                 "admin access to devices requires the `" MARK ": true` label on the containing "
                 "namespace");
    return status_invalid(st, r->kind->group, r->kind->kind, json_get_str(obj, "metadata.name"));
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    static const char *const given = "status.allocation.devices.results";
    const struct rest_request *r = a->req;
    bool template = str_is(r->kind->plural, "resourceclaimtemplates");
    ptrdiff_t at;

    if (str_is(r->subresource, "status")) {
        if (first_asking(json_path(a->old, given), "adminAccess") >= 0)
            return 0;
        at = first_asking(json_path(obj, given), "adminAccess");
        return at < 0 ? 0
                      : refuse(r, obj, str_printf(r->arena, "%s[%td].adminAccess", given, at), st);
    }
    if (a->old || r->subresource.n || (!template && !str_is(r->kind->plural, "resourceclaims")))
        return 0;
    at = first_asking(
        json_path(obj, template ? "spec.spec.devices.requests" : "spec.devices.requests"),
        "exactly.adminAccess");
    return at < 0 ? 0
                  : refuse(r, obj,
                           str_printf(r->arena, "spec.devices.requests[%td].adminAccess", at), st);
}

const struct admission_plugin admit_devices = {
    .name = "DeviceAdminAccess",
    .group = "resource.k8s.io",
    .resource = "*",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .validate = validate,
};
