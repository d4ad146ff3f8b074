/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Scripts that say what a kind means: what they must be like is known above the server
 * (server_options.check_scripts).  karmada: pkg/webhook/resourceinterpretercustomization
 */

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "kinds/own/karmada.h"
#include "rest/lookup.h"

static bool add(void *arg, const struct json *obj)
{
    json_push(arg, *obj);
    return true;
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    struct rest_request *r = a->req;
    struct json_array others = json_array_new(r->arena);
    struct status why;

    if (!a->server->check_scripts || r->subresource.n)
        return 0;
    if (lookup_each(r->rest, r->arena, &r->instance, r->kind, STR_NONE, add, &others, st) < 0)
        return -1;
    status_init(&why, r->arena);
    if (a->server->check_scripts(r->arena, obj, json_array_done(&others), &why) == 0)
        return 0;
    return karmada_deny(st, "resourceinterpretercustomization.karmada.io", "%.*s",
                        STR_ARG(why.message));
}

const struct admission_plugin admit_customization = {
    .name = "ResourceInterpreterCustomization",
    .group = "config.karmada.io",
    .resource = "resourceinterpretercustomizations",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .validate = validate,
};
