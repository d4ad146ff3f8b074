/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests for certificates.
 * k8s: plugin/pkg/admission/certificates; what is inside of the PEM is part of validation there.
 */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/webhook_questions.h"
#include "apiserver/auth/signer.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/encode.h"
#include "http/csr.h"

#define GROUP "certificates.k8s.io"

static int forbid(const struct admission *a, struct status *st, str why)
{
    str name = a->req->name;

    return status_forbidden(st, a->req->kind->group, a->req->kind->plural, name, "%.*s",
                            STR_ARG(why));
}

static int invalid(const struct admission *a, const struct json *obj, struct status *st,
                   const char *field, str value, const struct status *why)
{
    status_cause(st, CAUSE_INVALID, str_of(field), value, "%.*s", STR_ARG(why->message));
    return status_invalid(st, a->req->kind->group, a->req->kind->kind,
                          json_get_str(obj, "metadata.name"));
}

/* ---- what may be asked for ---- */

static bool has_org(const struct csr *c, const char *org)
{
    for (size_t i = 0; i < c->norgs; i++)
        if (str_is(c->orgs[i], org))
            return true;
    return false;
}

/* k8s: CertificateSubjectRestriction */
static int check_subject(const struct admission *a, const struct json *obj, const struct csr *c,
                         struct status *st)
{
    str signer = json_get_str(obj, "spec.signerName");

    if (str_is(signer, SIGNER_API_CLIENT) && has_org(c, "system:masters"))
        return forbid(
            a, st,
            STR("use of " SIGNER_API_CLIENT " signer with system:masters group is not allowed"));
    if (str_is(signer, SIGNER_ADMIN_CLIENT) && !identity_in_group(a->req->who, "system:masters"))
        return forbid(
            a, st,
            STR("use of " SIGNER_ADMIN_CLIENT " signer is for members of system:masters only"));
    return 0;
}

static int validate_create(const struct admission *a, const struct json *obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    const struct json *request = json_path(obj, "spec.request");
    struct status why;
    struct csr csr;
    str pem = STR_NONE;

    if (a->req->subresource.n)
        return 0;
    status_init(&why, arena);
    (void)base64_decode(arena, BASE64_GO, json_str(request), &pem);
    if (csr_read(arena, pem, &csr, &why) < 0)
        return invalid(a, obj, st, "spec.request", json_text(arena, request ? request : &json_null),
                       &why);
    return check_subject(a, obj, &csr, st);
}

const struct admission_plugin admit_csr_request = {
    .name = "CertificateSubjectRestriction",
    .group = GROUP,
    .resource = "certificatesigningrequests",
    .verbs = VERB_CREATE,
    .validate = validate_create,
};

/* ---- who may decide and sign; k8s: IsAuthorizedForSignerName ---- */

/* 1, 0, -1 or REST_WAIT. */
static int may(const struct admission *a, const char *verb, str signer, struct status *st)
{
    struct access x = {
        .who = a->req->who,
        .instance = &a->req->instance,
        .verb = str_of(verb),
        .is_resource = true,
        .group = STR(GROUP),
        .resource = STR("signers"),
        .name = signer,
    };
    ptrdiff_t slash = str_find(signer, '/', 0);
    str reason;
    int rc = webhook_questions_access(a->server, a->req, &x, STR("*"), &reason, st);

    if (rc || slash < 0)
        return rc;
    x.name = str_printf(a->req->arena, "%.*s/*", STR_ARG(str_sub(signer, 0, (size_t)slash)));
    return webhook_questions_access(a->server, a->req, &x, STR("*"), &reason, st);
}

/* By the signer that it had, in case somebody tries to change that, too. */
static int validate_approval(const struct admission *a, const struct json *obj, struct status *st)
{
    str signer = json_get_str(a->old, "spec.signerName");
    int rc;

    (void)obj;
    if (!str_is(a->req->subresource, "approval"))
        return 0;
    rc = may(a, "approve", signer, st);
    if (rc)
        return rc == 1 ? 0 : rc;
    return forbid(a, st,
                  str_printf(a->req->arena,
                             "user not permitted to approve requests with signerName \"%.*s\"",
                             STR_ARG(signer)));
}

const struct admission_plugin admit_csr_approval = {
    .name = "CertificateApproval",
    .group = GROUP,
    .resource = "certificatesigningrequests",
    .verbs = VERB_UPDATE,
    .validate = validate_approval,
};

static bool same(const struct json *a, const struct json *b, const char *path)
{
    const struct json *x = json_path(a, path), *y = json_path(b, path);

    return json_equal(x ? x : &json_null, y ? y : &json_null);
}

static int validate_signing(const struct admission *a, const struct json *obj, struct status *st)
{
    str signer = json_get_str(a->old, "spec.signerName"), pem = STR_NONE;
    struct status why;
    int rc;

    if (!str_is(a->req->subresource, "status") ||
        (same(obj, a->old, "status.certificate") && same(obj, a->old, "status.conditions")))
        return 0;
    status_init(&why, a->req->arena);
    (void)base64_decode(a->req->arena, BASE64_GO, json_get_str(obj, "status.certificate"), &pem);
    if (pem.n && csr_check_issued(a->req->arena, pem, &why) < 0)
        return invalid(a, obj, st, "status.certificate", STR("\"<certificate data>\""), &why);
    rc = may(a, "sign", signer, st);
    if (rc)
        return rc == 1 ? 0 : rc;
    return forbid(a, st,
                  str_printf(a->req->arena,
                             "user not permitted to sign requests with signerName \"%.*s\"",
                             STR_ARG(signer)));
}

const struct admission_plugin admit_csr_signing = {
    .name = "CertificateSigning",
    .group = GROUP,
    .resource = "certificatesigningrequests",
    .verbs = VERB_UPDATE,
    .validate = validate_signing,
};
