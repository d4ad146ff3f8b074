/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Doors of entry: an object that names a Secret by which this server connects to a cluster.  It
 * reads the Secret with rights of its own, so whoever may write such an object could have any
 * Secret's credentials used for them, or sent elsewhere.  So the writer needs the right on the
 * target: to get that Secret.  Whoever brings credentials of their own has it.
 */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/webhook_questions.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"

enum { SECRETS = 2, PLACES = 4 };

/* Where a kind names its Secrets, and what else says where their credentials go. */
static const struct door {
    const char *group;
    const char *secrets[SECRETS];
    const char *places[PLACES];
} doors[] = {
    { "tenancy.kairship.io", { "spec.attach.kubeconfigSecretRef" }, { NULL } },
    { "fleet.kairship.io", { "spec.secretRef" }, { "spec.apiEndpoint" } },
    { "cluster.karmada.io",
      { "spec.secretRef", "spec.impersonatorSecretRef" },
      { "spec.apiEndpoint", "spec.proxyURL", "spec.proxyHeader",
        "spec.insecureSkipTLSVerification" } },
};

static const struct door *door_of(const struct admission *a)
{
    for (size_t i = 0; i < sizeof(doors) / sizeof(*doors); i++)
        if (str_is(a->req->kind->group, doors[i].group))
            return &doors[i];
    return NULL;
}

static bool same(const struct json *a, const struct json *b, const char *path)
{
    const struct json *now = json_path(a, path), *was = json_path(b, path);

    return now && was ? json_equal(now, was) : now == was;
}

/* The credentials go where they went. */
static bool is_as_before(const struct admission *a, const struct door *d, const struct json *obj,
                         const char *ref)
{
    if (!a->old || !same(obj, a->old, ref))
        return false;
    for (size_t i = 0; i < PLACES && d->places[i]; i++)
        if (!same(obj, a->old, d->places[i]))
            return false;
    return true;
}

static int check(const struct admission *a, const struct json *obj, const char *ref,
                 struct status *st)
{
    const struct rest_request *r = a->req;
    const struct json *named = json_path(obj, ref);
    struct access x = { .who = r->who,
                        .instance = &r->instance,
                        .verb = STR("get"),
                        .is_resource = true,
                        .resource = STR("secrets"),
                        .namespace_ = json_get_str(named, "namespace"),
                        .name = json_get_str(named, "name") };
    str reason;
    int may;

    if (!x.name.n)
        return 0;
    may = webhook_questions_access(a->server, a->req, &x, STR("v1"), &reason, st);
    if (may)
        return may == 1 ? 0 : may;
    return status_forbidden(st, r->kind->group, r->kind->plural, json_get_str(obj, "metadata.name"),
                            "%s names a Secret whose credentials would be used: %.*s", ref,
                            STR_ARG(access_denial(r->arena, &x)));
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct door *d = door_of(a);

    if (a->req->subresource.n || a->req->who->rights || !d)
        return 0;
    for (size_t i = 0; i < SECRETS && d->secrets[i]; i++) {
        int rc = is_as_before(a, d, obj, d->secrets[i]) ? 0 : check(a, obj, d->secrets[i], st);

        if (rc)
            return rc;
    }
    return 0;
}

#define ENTRY(g, r)                                                                         \
    {                                                                                       \
        .name = "Entry", .group = (g), .resource = (r), .verbs = VERB_CREATE | VERB_UPDATE, \
        .validate = validate,                                                               \
    }

const struct admission_plugin admit_attach = ENTRY("tenancy.kairship.io", "instances");
const struct admission_plugin admit_registration = ENTRY("fleet.kairship.io", "clusters");
const struct admission_plugin admit_member = ENTRY("cluster.karmada.io", "clusters");
