/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/special.h"

#include "apiserver/admission/admission.h"
#include "apiserver/admission/hook_eval.h"
#include "apiserver/admission/webhook_questions.h"
#include "apiserver/auth/review.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/shape.h"
#include "apiserver/outbound/proxy.h"
#include "apiserver/server/dispatch_check.h"
#include "base/banned.h"

/* What is forwarded to a node in other control planes. */
#define PROXIED(resource)                                          \
    { "", resource, "proxy", VERB_GET, pod_needs_kubelet },        \
        { "", resource, "proxy", VERB_CREATE, pod_needs_kubelet }, \
        { "", resource, "proxy", VERB_UPDATE, pod_needs_kubelet }, \
        { "", resource, "proxy", VERB_PATCH, pod_needs_kubelet },  \
    {                                                              \
        "", resource, "proxy", VERB_DELETE, pod_needs_kubelet      \
    }

#define MEMBER_PROXY(verb)                                             \
    {                                                                  \
        "cluster.karmada.io", "clusters", "proxy", verb, cluster_proxy \
    }

static const struct {
    const char *group, *resource, *subresource;
    enum verb verb;
    call_handler *serve;
} specials[] = {
    { "", "serviceaccounts", "token", VERB_CREATE, token_request },
    { "authentication.k8s.io", "tokenreviews", "", VERB_CREATE, token_review },
    { "authentication.k8s.io", "selfsubjectreviews", "", VERB_CREATE, self_subject_review },
    { "authorization.k8s.io", "subjectaccessreviews", "", VERB_CREATE, subject_access_review },
    { "authorization.k8s.io", "localsubjectaccessreviews", "", VERB_CREATE,
      local_subject_access_review },
    { "authorization.k8s.io", "selfsubjectaccessreviews", "", VERB_CREATE,
      self_subject_access_review },
    { "authorization.k8s.io", "selfsubjectrulesreviews", "", VERB_CREATE,
      self_subject_rules_review },
    { "", "bindings", "", VERB_CREATE, pod_binding },
    { "", "pods", "binding", VERB_CREATE, pod_binding },
    { "", "pods", "eviction", VERB_CREATE, pod_evict },
    { "", "pods", "log", VERB_GET, pod_needs_kubelet },
    { "", "pods", "attach", VERB_GET, pod_needs_kubelet },
    { "", "pods", "attach", VERB_CREATE, pod_needs_kubelet },
    { "", "pods", "exec", VERB_GET, pod_needs_kubelet },
    { "", "pods", "exec", VERB_CREATE, pod_needs_kubelet },
    { "iam.kairship.io", "logins", "", VERB_CREATE, login },
    { "", "pods", "portforward", VERB_GET, pod_needs_kubelet },
    { "", "pods", "portforward", VERB_CREATE, pod_needs_kubelet },
    PROXIED("pods"),
    PROXIED("nodes"),
    PROXIED("services"),
    MEMBER_PROXY(VERB_GET),
    MEMBER_PROXY(VERB_CREATE),
    MEMBER_PROXY(VERB_UPDATE),
    MEMBER_PROXY(VERB_PATCH),
    MEMBER_PROXY(VERB_DELETE),
    { NULL, NULL, NULL, 0, NULL },
};

call_handler *special_find(const struct kind *k, str subresource, enum verb verb)
{
    for (size_t i = 0; specials[i].group; i++)
        if (specials[i].verb == verb && str_is(k->plural, specials[i].resource) &&
            str_is(k->group, specials[i].group) && str_is(subresource, specials[i].subresource))
            return specials[i].serve;
    return NULL;
}

/* ---- what policies and webhooks say ---- */

/*
 * What is asked of the server and not stored (bindings, evictions, tokens, reviews) is judged by
 * the instance's policies and webhooks as what is created, before anybody serves it.
 * k8s: apiserver/pkg/endpoints/handlers/create.go
 */

/* The answers are there. */
static void again(struct rest_request *req)
{
    struct call *c = req->user;

    req->warnings = NULL;
    req->notes = NULL;
    if (c->timed_out)
        call_answer_rest(c, &(struct rest_reply){ 0 }); /* it was told so; this lets go of it */
    else
        special_serve(c);
}

/* What is not said is known by the path, or by default. */
static const struct json *complete(const struct rest_request *req,
                                   const struct rest_body_type *type, const struct json *body)
{
    struct json kind = json_of_str(type->kind), version = json_of_str(type->api_version);
    struct json namespace_ = json_of_str(req->namespace_), hour = json_of_int(3600);

    body = json_set(req->arena, body, "kind", &kind);
    body = json_set(req->arena, body, "apiVersion", &version);
    if (req->kind->namespaced && !json_get_str(body, "metadata.namespace").n)
        body = json_set(req->arena, body, "metadata.namespace", &namespace_);
    if (str_is(req->subresource, "token") && !json_path(body, "spec.expirationSeconds"))
        body = json_set(req->arena, body, "spec.expirationSeconds", &hour);
    return body;
}

/* Warnings about the body are those of who serves it: it reads what is left here. */
static int judge(struct rest_request *req, struct status *st)
{
    struct rest_body_type type = shape_of_special(req);
    struct rest_warning *before = req->warnings;
    const struct json *body, *made;
    int rc;

    if (rest_read_body(req, &type, &body, st) < 0)
        return -1;
    req->warnings = before;
    made = body = complete(req, &type, body);
    rc = admission_mutate_far(req, &made, NULL, st);
    if (rc == 0)
        rc = admission_validate_far(req, made, NULL, st);
    if (rc || made == body)
        return rc;
    req->body = json_text(req->arena, made);
    req->body_type = BODY_JSON;
    return 0;
}

/* 0: the body is now what they made of it; -1; or REST_WAIT: special_serve comes again. */
static int special_admit(struct call *c, struct status *st)
{
    struct rest_request *req = &c->rest;
    const struct hook_set *set = hooks_of(c->server->hooks, req->instance.id, st);
    int rc;

    if (!set)
        return -1;
    if (hook_set_is_empty(set))
        return 0;
    if (!req->asked)
        req->body = str_dup(req->arena, req->body); /* of a connection that may go meanwhile */
    webhook_questions_of(req)->again = again;
    rc = judge(req, st);
    if (rc == 0)
        webhook_questions_settle(req);
    return rc;
}

/* All but what is passed on, what is not served here, and passwords. */
static bool is_judged(call_handler *serve)
{
    return serve != cluster_proxy && serve != pod_needs_kubelet && serve != login;
}

void special_serve(struct call *c)
{
    call_handler *serve = special_find(c->rest.kind, c->rest.subresource, c->rest.verb);
    struct status *st = call_status(c);
    int rc = is_judged(serve) ? special_admit(c, st) : 0;

    if (rc == REST_WAIT)
        return;
    if (rc < 0)
        call_fail(c, st);
    else
        serve(c);
}

/* A kind of that name, in whatever version, takes the verb there. */
static bool is_served(const struct catalog *c, size_t i)
{
    for (size_t k = 0; k < c->nkinds; k++) {
        const struct kind *kind = c->kinds[k];
        const struct subresource *sub;

        if (!str_is(kind->group, specials[i].group) || !str_is(kind->plural, specials[i].resource))
            continue;
        sub = kind_subresource(kind, str_of(specials[i].subresource));
        return specials[i].verb & (*specials[i].subresource ? (sub ? sub->verbs : 0) : kind->verbs);
    }
    return false;
}

int specials_check(const struct catalog *c, struct status *st)
{
    for (size_t i = 0; specials[i].group; i++)
        if (!specials[i].serve || !is_served(c, i))
            return status_set(st, REASON_INTERNAL, "%s/%s is served and yet no resource",
                              specials[i].resource, specials[i].subresource);
    return 0;
}
