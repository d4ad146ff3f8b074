/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is asked of the server and not stored (bindings, evictions, tokens, reviews) is judged by
 * the instance's policies and webhooks as what is created, before anybody serves it.
 * k8s: apiserver/pkg/endpoints/handlers/create.go
 */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/hook_eval.h"
#include "apiserver/admission/webhook_questions.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/shape.h"
#include "apiserver/server/special.h"
#include "base/banned.h"

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

int special_admit(struct call *c, struct status *st)
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
