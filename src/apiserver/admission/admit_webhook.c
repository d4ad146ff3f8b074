/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/admit_webhook.h"

#include "apiserver/admission/hook_eval.h"
#include "apiserver/admission/hook_review.h"
#include "apiserver/admission/webhook_questions.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/shape.h"
#include "apiserver/outbound/callout.h"
#include "base/banned.h"
#include "base/uuid.h"
#include "rest/refuse.h"

/* A question that was sent, and its answer. */
struct asked {
    struct asked *next;
    struct webhook_questions *all;
    struct callout callout;
    struct service_ref service; /* of the callout */
    str configuration;
    uint64_t rev;
    size_t place;
    bool mutating;
    unsigned round;
    enum review_version version;
    const struct json *obj, *old;
    char uid[UUID_SIZE];
    bool answered;
    struct review_answer answer;
    struct status *failure; /* NULL: there is an answer */
};

/* ---- questions ---- */

static bool same_tree(const struct json *a, const struct json *b)
{
    return a == b || (a && b && json_equal(a, b));
}

static struct asked *find(struct webhook_questions *all, const struct webhook *h,
                          const struct hook_write *w, bool mutating, unsigned round)
{
    for (struct asked *q = all->hooks; q; q = q->next)
        if (q->mutating == mutating && q->round == round && q->rev == h->rev &&
            q->place == h->place && str_eq(q->configuration, h->configuration) &&
            same_tree(q->obj, w->obj) && same_tree(q->old, w->old))
            return q;
    return NULL;
}

static void on_answer(struct callout *c, str reply, const struct status *why)
{
    struct asked *q = c->user;
    struct rest_request *req = q->all->req;
    struct status *st = arena_new_of(req->arena, struct status);

    status_init(st, req->arena);
    q->answered = true;
    if (why && review_http_failure(c->code, st) == 0) {
        status_copy(st, why);
        st->message = callout_failure(req->arena, c, why);
        (void)status_wrap(st, "failed to call webhook");
    }
    if (why || review_answer_read(req->arena, str_dup(req->arena, reply), q->version,
                                  (str){ q->uid, UUID_LEN }, q->mutating, &q->answer, st) < 0)
        q->failure = st;
    webhook_questions_answered(q->all);
}

static struct status *no_way(struct rest_request *req)
{
    struct status *st = arena_new_of(req->arena, struct status);

    status_init(st, req->arena);
    (void)status_set(st, REASON_INTERNAL,
                     "webhook does not accept known AdmissionReview versions (v1, v1beta1)");
    return st;
}

static struct asked *asked_new(struct webhook_questions *all, const struct webhook *h,
                               const struct hook_write *w, bool mutating, unsigned round)
{
    struct arena *a = all->req->arena;
    struct asked *q = arena_new_of(a, struct asked);

    *q = (struct asked){ .next = all->hooks,
                         .all = all,
                         .configuration = str_dup(a, h->configuration),
                         .rev = h->rev,
                         .place = h->place,
                         .mutating = mutating,
                         .round = round,
                         .version = h->version,
                         .obj = w->obj,
                         .old = w->old };
    uuid_v4(q->uid);
    all->hooks = q;
    all->n++;
    return q;
}

static int64_t time_for(const struct rest_request *req, const struct webhook *h)
{
    int64_t left = req->deadline_ms ? req->deadline_ms - loop_now_ms(req->loop) : h->timeout_ms;

    return left < h->timeout_ms ? left : h->timeout_ms;
}

static struct asked *ask(struct server *s, struct webhook_questions *all, const struct webhook *h,
                         struct hook_write *w, const struct kind *as, bool mutating, unsigned round)
{
    struct rest_request *req = w->req;
    struct asked *q = asked_new(all, h, w, mutating, round);

    if (h->version == REVIEW_UNKNOWN) {
        q->answered = true;
        q->failure = no_way(req);
        return q;
    }
    q->callout = (struct callout){
        .url = str_dup(req->arena, h->url),
        .ca_pem = str_dup(req->arena, h->ca_pem),
        .body =
            review_question(req->arena, h->version, (str){ q->uid, UUID_LEN }, hook_request(w, as),
                            hook_object(w, w->obj, as), hook_object(w, w->old, as)),
        .timeout_ms = time_for(req, h),
        .done = on_answer,
        .user = q,
    };
    if (h->service.name.n) {
        q->service = (struct service_ref){ .instance = req->instance,
                                           .namespace_ = str_dup(req->arena, h->service.namespace_),
                                           .name = str_dup(req->arena, h->service.name),
                                           .port = h->service.port };
        q->callout.service = &q->service;
    }
    all->pending++;
    callout_start(s, req->loop, &q->callout);
    return q;
}

/* ---- answers ---- */

/* k8s: an internal error names itself as its cause */
static int call_failed(const struct webhook *h, str why, struct status *st)
{
    str text = str_printf(st->arena, "failed calling webhook \"%.*s\": %.*s", STR_ARG(h->name),
                          STR_ARG(why));

    status_cause(st, CAUSE_OTHER, STR_NONE, STR_NONE, "%.*s", STR_ARG(text));
    return status_set(st, REASON_INTERNAL, "Internal error occurred: %.*s", STR_ARG(text));
}

static void tell(struct rest_request *req, const struct webhook *h, const struct review_answer *a)
{
    size_t n = 0;

    json_for_each (v, a->warnings)
        if (json_str(v).n && n++ < REVIEW_WARNINGS_MAX)
            rest_warn(req, str_sub(json_str(v), 0, REVIEW_WARNING_MAX));
    n = 0;
    json_for_each_member (m, a->notes)
        if (n++ < REVIEW_NOTES_MAX)
            rest_note(req, str_printf(req->arena, "%.*s/%.*s", STR_ARG(h->name), STR_ARG(m->name)),
                      json_str(&m->value));
}

/* 1: allowed; 0: as if it were not there; -1. */
static int heed(struct rest_request *req, const struct webhook *h, const struct asked *q,
                struct status *st)
{
    if (q->failure) {
        if (h->ignores_failure) {
            rest_note(req, STR("failed-open.admission.k8s.io/webhook"),
                      str_dup(req->arena, h->name));
            return 0;
        }
        return call_failed(h, q->failure->message, st);
    }
    tell(req, h, &q->answer);
    return q->answer.allowed ? 1 : review_refuse(st, h->name, q->answer.status);
}

/* 1 when it is to be asked, 0, or -1. */
static int concerns(struct server *s, const struct webhook *h, struct hook_write *w,
                    const struct kind **as, struct status *st)
{
    int rc = hook_matches(&h->match, w, as, st);
    struct hook_eval e;
    str why = STR_NONE;

    if (rc <= 0 || !h->conditions.n)
        return rc;
    hook_eval_init(&e, s, w, *as);
    rc = hook_eval_conditions(&e, &h->conditions, &why);
    if (webhook_questions_waits(w->req))
        return -1; /* who asks for the write waits with it */
    if (rc >= 0 || h->ignores_failure)
        return rc > 0;
    (void)status_forbidden(st, w->req->kind->group, w->req->kind->plural, w->name, "%.*s",
                           STR_ARG(why));
    return -1;
}

static int too_many(struct status *st)
{
    return status_set(st, REASON_INTERNAL,
                      "Internal error occurred: the object changes each time webhooks are asked "
                      "about it");
}

/* ---- mutating ---- */

/* k8s: what a patch makes wrong is nobody's fault */
static int patch_failed(str why, struct status *st)
{
    status_cause(st, CAUSE_OTHER, STR_NONE, STR_NONE, "%.*s", STR_ARG(why));
    return status_set(st, REASON_INTERNAL, "Internal error occurred: %.*s", STR_ARG(why));
}

static int nothing_to_patch(const struct webhook *h, struct status *st)
{
    return patch_failed(str_printf(st->arena,
                                   "admission webhook \"%.*s\" attempted to modify the object, "
                                   "which is not supported for this operation",
                                   STR_ARG(h->name)),
                        st);
}

static int put_scale(struct rest_request *req, const struct json *scale, const struct json **obj,
                     struct status *st)
{
    const struct json *replicas = json_path(scale, "spec.replicas");

    if (json_int(replicas, 0) < 0)
        status_cause(st, CAUSE_INVALID, STR("spec.replicas"), json_text(st->arena, replicas),
                     "must be greater than or equal to 0");
    if (status_invalid(st, STR("autoscaling"), STR("Scale"), req->name) < 0)
        return -1;
    *obj = rest_scale_put(req, req->kind, *obj, scale);
    return 0;
}

static int apply(struct rest_request *req, const struct kind *as, const struct hook_write *w,
                 const struct json *patch, const struct json **obj, struct status *st)
{
    struct hook_write shown = *w;
    const struct json *doc = hook_object(&shown, *obj, as), *raw, *made;
    struct rest_body_type shape = shape_of(req, as);
    struct status *why = arena_new_of(req->arena, struct status);

    status_init(why, req->arena);
    if (json_patch(req->arena, doc, patch, &raw, why) < 0 ||
        schema_decode(req->arena, shape.schema, raw, NULL, &made, why) < 0)
        return patch_failed(why->message, st);
    if (!json_is(made, JSON_OBJECT) || !str_eq(json_get_str(made, "kind"), shape.kind) ||
        !str_eq(json_get_str(made, "apiVersion"), shape.api_version))
        return patch_failed(refuse_unknown(req->arena,
                                           str_sub(json_get_str(made, "apiVersion"), 0, 128),
                                           str_sub(json_get_str(made, "kind"), 0, 64)),
                            st);
    if (rest_is_scale(req))
        return put_scale(req, made, obj, st);
    if (req->kind->namespaced && json_get_str(made, "metadata.namespace").n &&
        !str_eq(json_get_str(made, "metadata.namespace"), req->namespace_))
        return status_set(st, REASON_BAD_REQUEST,
                          "the namespace of the provided object does not match the namespace sent "
                          "on the request");
    if (as != req->kind && rest_convert(req, as, req->kind, made, &made, why) < 0)
        return patch_failed(why->message, st);
    *obj = made;
    return 0;
}

/* One round over all; *changed: by whom last, for those that want to see it again. */
static int mutate_round(struct server *s, const struct hook_set *set, struct rest_request *req,
                        const struct json **obj, const struct json *old, unsigned round,
                        size_t *changed, struct status *st)
{
    size_t last = *changed;

    for (size_t i = 0; i < set->mutating.n; i++) {
        const struct webhook *h = &set->mutating.at[i];
        struct hook_write w = hook_write_of(req, *obj, old);
        struct webhook_questions *all = webhook_questions_of(req);
        const struct json *before = *obj;
        const struct kind *as;
        struct asked *q;
        int rc;

        w.unborn = !old;
        if (round && (!h->again || last <= i + 1))
            continue; /* nobody behind it has changed anything */
        rc = concerns(s, h, &w, &as, st);
        if (rc < 0)
            return -1;
        if (!rc)
            continue;
        if (all->n >= ASKED_MAX)
            return too_many(st);
        q = find(all, h, &w, true, round);
        if (!q)
            q = ask(s, all, h, &w, as, true, round);
        if (!q->answered)
            return REST_WAIT;
        rc = heed(req, h, q, st);
        if (rc > 0 && json_len(q->answer.patch))
            rc = *obj ? apply(req, as, &w, q->answer.patch, obj, st) : nothing_to_patch(h, st);
        if (rc < 0)
            return -1;
        if (*obj != before && !json_equal(*obj, before))
            *changed = i + 1;
    }
    return 0;
}

int webhooks_mutate(struct server *s, const struct hook_set *set, struct rest_request *req,
                    const struct json **obj, const struct json *old, struct status *st)
{
    size_t changed = 0;
    int rc;

    rc = mutate_round(s, set, req, obj, old, 0, &changed, st);
    return rc || !changed ? rc : mutate_round(s, set, req, obj, old, 1, &changed, st);
}

/* ---- validating ---- */

int webhooks_validate(struct server *s, const struct hook_set *set, struct hook_write *w,
                      struct status *st)
{
    struct rest_request *req = w->req;
    const struct webhooks *hooks = &set->validating;
    struct asked **asked;
    struct webhook_questions *all;

    if (!hooks->n)
        return 0;
    all = webhook_questions_of(req);
    asked = arena_array(req->arena, struct asked *, hooks->n);
    for (size_t i = 0; i < hooks->n; i++) {
        const struct kind *as;
        int rc = concerns(s, &hooks->at[i], w, &as, st);

        if (rc > 0 && all->n >= ASKED_MAX)
            rc = too_many(st);
        if (rc < 0)
            return all->pending ? REST_WAIT : -1; /* those on their way hold the request */
        if (!rc)
            continue;
        asked[i] = find(all, &hooks->at[i], w, false, 0);
        if (!asked[i])
            asked[i] = ask(s, all, &hooks->at[i], w, as, false, 0);
    }
    if (all->pending)
        return REST_WAIT;
    for (size_t i = 0; i < hooks->n; i++)
        if (asked[i] && heed(req, &hooks->at[i], asked[i], st) < 0)
            return -1;
    return 0;
}
