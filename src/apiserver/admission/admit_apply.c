/* SPDX-License-Identifier: Apache-2.0 */

/* An apply or a PUT that makes an object needs the right to create it besides the one to change it.
 * k8s: apiserver/pkg/endpoints/handlers/patch.go and update.go, withAuthorization */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/webhook_questions.h"
#include "base/banned.h"

static str version_of(str api_version)
{
    ptrdiff_t slash = str_find(api_version, '/', 0);

    return slash < 0 ? api_version : str_from(api_version, (size_t)slash + 1);
}

static int check(const struct admission *a, const struct json *obj, struct status *st)
{
    struct rest_request *req = a->req;
    struct access x = { .who = req->who,
                        .instance = &req->instance,
                        .verb = STR("create"),
                        .is_resource = true,
                        .group = req->kind->group,
                        .resource = req->kind->plural,
                        .subresource = req->subresource,
                        .namespace_ = req->namespace_,
                        .name = req->name };

    str reason;
    int rc;

    (void)obj;
    if (req->verb == VERB_CREATE)
        return 0;
    rc = webhook_questions_access(a->server, req, &x, version_of(req->kind->api_version), &reason,
                                  st);
    if (rc)
        return rc == 1 ? 0 : rc;
    return status_forbidden(st, x.group, x.resource, x.name, "%.*s",
                            STR_ARG(access_denial(req->arena, &x)));
}

const struct admission_plugin admit_apply = {
    .name = "ApplyCreates",
    .group = "*",
    .resource = "*",
    .verbs = VERB_CREATE,
    .validate = check,
};
