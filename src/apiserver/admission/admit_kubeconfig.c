/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A kubeconfig inside of an object was written by whoever may write the object, and we connect with
 * it from where we run: it may hold inline data only, and the member must prove who it is.
 */

#include "apiserver/admission/admission.h"
#include "base/banned.h"
#include "client/kubeconfig.h"

enum { TEXT_MAX = 256 << 10 }; /* it is parsed on the request's loop */

#define FIELD "spec.kubeconfig"

/* One cause for each thing that is wrong; values, which may be secret, are never shown. */
static void explain(struct status *st, const struct status *why)
{
    if (!why->causes)
        status_cause(st, CAUSE_INVALID, STR(FIELD), STR_NONE, "%.*s", STR_ARG(why->message));
    for (const struct cause *c = why->causes; c; c = c->next) {
        if (str_is(c->field, "kubeconfig")) /* all of it */
            status_cause(st, CAUSE_INVALID, STR(FIELD), STR_NONE, "is not YAML");
        else
            status_cause(st, CAUSE_INVALID, STR(FIELD), STR_NONE, "%.*s: %.*s", STR_ARG(c->field),
                         STR_ARG(c->message));
    }
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    struct rest_request *req = a->req;
    str text = json_get_str(obj, FIELD);
    struct kubeconfig ignored;
    struct status why;

    if (req->subresource.n || (a->old && str_eq(text, json_get_str(a->old, FIELD))))
        return 0;
    status_init(&why, req->arena);
    if (text.n > TEXT_MAX)
        status_cause(st, CAUSE_TOO_LONG, STR(FIELD), STR_NONE, "may not be more than %d bytes",
                     TEXT_MAX);
    else if (kubeconfig_parse(req->arena, secret_of(text), KUBECONFIG_OBJECT, STR_NONE, STR_NONE,
                              &ignored, &why) < 0)
        explain(st, &why);
    return status_invalid(st, req->kind->group, req->kind->kind,
                          json_get_str(obj, "metadata.name"));
}

const struct admission_plugin admit_kubeconfig = {
    .name = "MemberKubeconfig",
    .group = "workload.kcp.dev",
    .resource = "clusters",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .validate = validate,
};
