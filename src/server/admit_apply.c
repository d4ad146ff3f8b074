/* SPDX-License-Identifier: Apache-2.0 */

/* An apply that makes an object needs the right to create it besides the one to patch.
 * k8s: apiserver/pkg/endpoints/handlers/patch.go, withAuthorization */

#include "base/banned.h"
#include "server/admission.h"
#include "server/authz.h"

static int check(const struct admission *a, const struct json **obj, struct status *st)
{
    const struct rest_request *req = a->req;
    struct access x = { .who = req->who,
                        .instance = &req->instance,
                        .verb = STR("create"),
                        .is_resource = true,
                        .group = req->kind->group,
                        .resource = req->kind->plural,
                        .subresource = req->subresource,
                        .namespace_ = req->namespace_,
                        .name = req->name };

    (void)obj;
    if (req->verb != VERB_PATCH || access_allowed(a->server, req->arena, &x, NULL))
        return 0;
    return status_forbidden(st, x.group, x.resource, x.name, "%.*s",
                            STR_ARG(access_denial(req->arena, &x)));
}

const struct admission_plugin admit_apply = {
    .name = "ApplyCreates",
    .group = "*",
    .resource = "*",
    .verbs = VERB_CREATE,
    .mutate = check,
};
