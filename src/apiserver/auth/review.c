/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Questions about rights, and who am I.  k8s: pkg/registry/authorization,
 * pkg/apis/authorization/validation, pkg/registry/authentication/selfsubjectreview
 */

#include "apiserver/auth/review.h"
#include "apiserver/auth/access_webhook.h"
#include "apiserver/auth/authz.h"
#include "apiserver/auth/people.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/userinfo.h"
#include "base/banned.h"

/* ---- what is asked ---- */

static const struct json *read_review(struct call *c, struct status *st)
{
    const struct kind *k = c->rest.kind;
    struct rest_body_type type = { .schema = k->schema,
                                   .kind = k->kind,
                                   .api_version = k->api_version };
    const struct json *body;

    return rest_read_body(&c->rest, &type, &body, st) < 0 ? NULL : body;
}

static void check_selector(struct status *st, const struct json *attributes, const char *name)
{
    const struct json *s = json_get(attributes, str_of(name));
    str raw = json_get_str(s, "rawSelector");
    bool parts = json_len(json_get(s, STR("requirements"))) > 0;
    str at = str_printf(st->arena, "spec.resourceAttributes.%s", name);

    if (s && raw.n && parts)
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, "%.*s.rawSelector", STR_ARG(at)),
                     json_text(st->arena, json_get(s, STR("rawSelector"))),
                     "may not specified at the same time as requirements");
    if (s && !raw.n && !parts)
        status_cause(st, CAUSE_REQUIRED, str_printf(st->arena, "%.*s.requirements", STR_ARG(at)),
                     STR_NONE, "when %.*s is specified, requirements or rawSelector is required",
                     STR_ARG(at));
}

static void check_attributes(struct status *st, const struct json *spec)
{
    const struct json *resource = json_get(spec, STR("resourceAttributes"));
    const struct json *path = json_get(spec, STR("nonResourceAttributes"));

    if (resource && path)
        status_cause(st, CAUSE_INVALID, STR("spec.nonResourceAttributes"),
                     json_text(st->arena, path),
                     "cannot be specified in combination with resourceAttributes");
    if (!resource && !path)
        status_cause(st, CAUSE_INVALID, STR("spec.resourceAttributes"), STR("null"),
                     "exactly one of nonResourceAttributes or resourceAttributes must be "
                     "specified");
    check_selector(st, resource, "fieldSelector");
    check_selector(st, resource, "labelSelector");
}

static void check_subject(struct status *st, const struct json *spec)
{
    if (!json_get_str(spec, "user").n && json_len(json_get(spec, STR("groups"))) == 0)
        status_cause(st, CAUSE_INVALID, STR("spec.user"), STR("\"\""),
                     "at least one of user or group must be specified");
}

static void check_metadata(struct status *st, const struct json *body, bool local)
{
    const struct json *meta = json_get(body, STR("metadata"));
    bool namespaced = json_get(meta, STR("namespace"));

    if (json_len(meta) > (namespaced ? 1 : 0))
        status_cause(st, CAUSE_INVALID, STR("metadata"), json_text(st->arena, meta), "%s",
                     local ? "must be empty except for namespace" : "must be empty");
}

static void check_local(struct status *st, const struct json *body, str namespace_)
{
    const struct json *spec = json_get(body, STR("spec"));
    const struct json *path = json_get(spec, STR("nonResourceAttributes"));
    str asked = json_get_str(spec, "resourceAttributes.namespace");
    struct json value = json_of_str(asked);

    if (json_get(spec, STR("resourceAttributes")) && !str_eq(asked, namespace_))
        status_cause(st, CAUSE_INVALID, STR("spec.resourceAttributes.namespace"),
                     json_text(st->arena, &value), "must match metadata.namespace");
    if (path)
        status_cause(st, CAUSE_INVALID, STR("spec.nonResourceAttributes"),
                     json_text(st->arena, path), "disallowed on this kind of request");
}

/* ---- who is asked about ---- */

static const str *strings(struct arena *a, const struct json *list, size_t *n)
{
    str *out = arena_array(a, str, json_len(list) + 1);

    *n = 0;
    json_for_each (v, list)
        out[(*n)++] = json_str(v);
    return out;
}

/* With the groups that it would have if it came itself. */
static struct identity subject(struct call *c, const struct json *spec)
{
    struct arena *a = c->arena;
    struct identity who = { .user = json_get_str(spec, "user"), .uid = json_get_str(spec, "uid") };
    const struct json *extra = json_get(spec, STR("extra"));
    struct identity_extra *more = arena_array(a, struct identity_extra, json_len(extra) + 1);

    who.groups = strings(a, json_get(spec, STR("groups")), &who.ngroups);
    who.extra = more;
    json_for_each_member (m, extra) {
        struct identity_extra *e = &more[who.nextra++];

        e->key = m->name;
        e->values = strings(a, &m->value, &e->nvalues);
    }
    people_entitle(c->server->people, a, &c->rest.instance, &who);
    return who;
}

/* ---- answers ---- */

static void answer(struct call *c, const struct json *body, struct json_object *status)
{
    struct json_object o = json_object_new(c->arena);
    const struct json *spec = json_get(body, STR("spec"));

    json_add(&o, STR("kind"), json_of_str(c->rest.kind->kind));
    json_add(&o, STR("apiVersion"), json_of_str(c->rest.kind->api_version));
    json_add(&o, STR("metadata"), *json_get(body, STR("metadata")));
    if (spec)
        json_add(&o, STR("spec"), *spec);
    json_add(&o, STR("status"), json_object_value(status));
    call_answer_json(c, 201, json_object_done(&o));
}

struct asked {                     /* of the operator's webhook */
    struct access_webhook webhook; /* first */
    const struct json *body;
};

static void tell(struct call *c, const struct json *body, bool allowed, str reason, str error)
{
    struct json_object status = json_object_new(c->arena);

    json_add(&status, STR("allowed"), json_of_bool(allowed));
    if (reason.n)
        json_add(&status, STR("reason"), json_of_str(reason));
    if (error.n)
        json_add(&status, STR("evaluationError"), json_of_str(error));
    answer(c, body, &status);
}

static void webhook_said(struct access_webhook *w)
{
    tell(w->call, ((struct asked *)(void *)w)->body, w->allowed, w->reason,
         w->failed ? access_webhook_failure(w)->message : STR_NONE);
}

static void decide(struct call *c, const struct json *body, const struct identity *who)
{
    const struct json *spec = json_get(body, STR("spec"));
    const struct json *r = json_get(spec, STR("resourceAttributes"));
    const struct json *p = json_get(spec, STR("nonResourceAttributes"));
    struct access x = {
        .who = who,
        .instance = &c->rest.instance,
        .verb = json_get_str(r ? r : p, "verb"),
        .is_resource = r != NULL,
        .group = json_get_str(r, "group"),
        .resource = json_get_str(r, "resource"),
        .subresource = json_get_str(r, "subresource"),
        .namespace_ = json_get_str(r, "namespace"),
        .name = json_get_str(r, "name"),
        .path = json_get_str(p, "path"),
    };
    str reason = STR_NONE;
    bool allowed = access_allowed(c->server, c->arena, &x, &reason);
    struct asked *q;

    if (allowed || !access_webhook_knows(c->server, &x)) {
        tell(c, body, allowed, reason, STR_NONE);
        return;
    }
    q = arena_new_of(c->arena, struct asked);
    *q = (struct asked){
        .webhook = { .call = c, .access = x, .reason = reason, .done = webhook_said }, .body = body
    };
    q->webhook.access.who = &q->webhook.who;
    q->webhook.who = *who;
    if (access_webhook_ask(&q->webhook, json_get_str(r, "version")))
        webhook_said(&q->webhook);
}

/* Fails the call when there were field errors; k8s: the error names no kind. */
static bool refused(struct call *c, struct status *st)
{
    if (status_invalid(st, c->rest.kind->group, STR(""), STR("")) == 0)
        return false;
    call_fail(c, st);
    return true;
}

void subject_access_review(struct call *c)
{
    struct status *st = call_status(c);
    const struct json *body = read_review(c, st), *spec = json_get(body, STR("spec"));
    struct identity who;

    if (!body) {
        call_fail(c, st);
        return;
    }
    check_attributes(st, spec);
    check_subject(st, spec);
    check_metadata(st, body, false);
    if (refused(c, st))
        return;
    who = subject(c, spec);
    decide(c, body, &who);
}

void local_subject_access_review(struct call *c)
{
    struct status *st = call_status(c);
    const struct json *body = read_review(c, st), *spec = json_get(body, STR("spec"));
    str path = c->rest.namespace_, said = json_get_str(body, "metadata.namespace");
    struct json namespace_ = json_of_str(path);
    struct identity who;

    if (body && said.n && !str_eq(said, path)) {
        body = NULL;
        (void)status_set(st, REASON_BAD_REQUEST,
                         "the namespace of the provided object does not match the namespace sent "
                         "on the request");
    }
    if (!body) {
        call_fail(c, st);
        return;
    }
    body = json_set(c->arena, body, "metadata.namespace", &namespace_);
    check_attributes(st, spec);
    check_subject(st, spec);
    check_metadata(st, body, true);
    check_local(st, body, path);
    if (refused(c, st))
        return;
    who = subject(c, spec);
    decide(c, body, &who);
}

void self_subject_access_review(struct call *c)
{
    struct status *st = call_status(c);
    const struct json *body = read_review(c, st);

    if (!body) {
        call_fail(c, st);
        return;
    }
    check_attributes(st, json_get(body, STR("spec")));
    check_metadata(st, body, false);
    if (!refused(c, st))
        decide(c, body, &c->who);
}

void self_subject_rules_review(struct call *c)
{
    struct status *st = call_status(c);
    const struct json *body = read_review(c, st);
    str namespace_ = json_get_str(body, "spec.namespace");
    struct json_object status = json_object_new(c->arena);
    struct access any = { .who = &c->who, .instance = &c->rest.instance };
    struct rbac_rules rules;
    bool webhook;

    if (body && !namespace_.n)
        (void)status_set(st, REASON_BAD_REQUEST, "no namespace on request");
    if (!body || !namespace_.n ||
        rbac_rules(c->server->rbac, c->arena, &c->who, &c->rest.instance, namespace_, &rules, st) <
            0) {
        call_fail(c, st);
        return;
    }
    json_add(&status, STR("resourceRules"), *rules.resource_rules);
    json_add(&status, STR("nonResourceRules"), *rules.non_resource_rules);
    /* k8s: plugin/pkg/authorizer/webhook RulesFor */
    webhook = access_webhook_knows(c->server, &any);
    json_add(&status, STR("incomplete"), json_of_bool(webhook));
    if (webhook && !rules.error.n)
        rules.error = STR("webhook authorizer does not support user rule resolution");
    if (rules.error.n)
        json_add(&status, STR("evaluationError"), json_of_str(rules.error));
    /* k8s: what was asked is not said again */
    answer(c, json_set(c->arena, body, "spec", &json_empty_object), &status);
}

void self_subject_review(struct call *c)
{
    struct status *st = call_status(c);
    const struct json *body = read_review(c, st);
    struct json_object status = json_object_new(c->arena), meta = json_object_new(c->arena);
    char *now = arena_alloc(c->arena, TIME_TEXT_SIZE);
    size_t n = time_format_seconds(now, clock_wall_s(c->server->clock));

    if (!body) {
        call_fail(c, st);
        return;
    }
    json_add(&meta, STR("creationTimestamp"), json_of_str((str){ now, n }));
    json_add(&status, STR("userInfo"), *userinfo_json(c->arena, &c->who));
    answer(c, json_set(c->arena, body, "metadata", json_object_done(&meta)), &status);
}
