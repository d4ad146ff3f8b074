/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pods/eviction: a pod is deleted if its disruption budget has room for it.  Taking from the budget
 * and deleting are two writes; between them the budget names the pod, so that whoever keeps the
 * budget gives back what was taken for nothing.
 * k8s: pkg/registry/core/pod/storage/eviction.go
 */

#include "apiserver/call/internal.h"
#include "apiserver/call/shape.h"
#include "apiserver/server/special.h"
#include "base/banned.h"
#include "object/meta/condition.h"
#include "object/meta/selector.h"
#include "rest/lookup.h"

enum { EVICTION_TRIES = 5, DISRUPTED_MAX = 2000, RETRY_S = 10 };

#define WOULD_VIOLATE "Cannot evict pod as it would violate the pod's disruption budget."

struct eviction {
    struct call *call;
    const struct json *options; /* how the pod is deleted; NULL: as always */
    const struct kind *pods, *budgets;
    str name;
    bool dry_run;
    unsigned tries;
};

/* ---- which budget ---- */

struct search {
    struct arena *arena;
    const struct json *labels, *budget;
    size_t n;
};

static bool look(void *arg, const struct json *budget)
{
    struct search *s = arg;
    const struct json *tree = json_path(budget, "spec.selector");
    struct selector selector;
    struct status st;

    status_init(&st, s->arena);
    if (!tree || selector_of_tree(s->arena, tree, &selector, &st) < 0 ||
        !selector_matches(&selector, s->labels))
        return true;
    s->budget = budget;
    s->n++;
    return true;
}

/* 0 with the pod's budget, or NULL if it has none. */
static int find_budget(const struct eviction *e, const struct json *pod, const struct json **out,
                       struct status *st)
{
    struct rest_request *r = &e->call->rest;
    struct search s = { .arena = r->arena, .labels = json_path(pod, "metadata.labels") };

    *out = NULL;
    if (!e->budgets)
        return 0;
    if (lookup_each(r->rest, r->arena, &r->instance, e->budgets, r->namespace_, look, &s, st) < 0)
        return -1;
    *out = s.budget;
    if (s.n <= 1)
        return 0;
    return status_set(st, REASON_INTERNAL,
                      "This pod has more than one PodDisruptionBudget, which the eviction "
                      "subresource does not support.");
}

/* ---- whether it has room ---- */

/* Pods that serve nobody are in no budget. */
static bool is_idle(const struct json *pod)
{
    static const char *const phases[] = { "Succeeded", "Failed", "Pending" };
    str phase = json_get_str(pod, "status.phase");

    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++)
        if (str_is(phase, phases[i]))
            return true;
    return json_path(pod, "metadata.deletionTimestamp") != NULL;
}

static int64_t number(const struct json *budget, const char *path)
{
    return json_int(json_path(budget, path), 0);
}

static bool goes_free(const struct json *pod, const struct json *budget)
{
    int64_t healthy = number(budget, "status.currentHealthy");
    int64_t needed = number(budget, "status.desiredHealthy");

    if (object_is_ready(pod))
        return false;
    return str_is(json_get_str(budget, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow") ||
           (needed > 0 && healthy >= needed);
}

static int refuse(struct status *st, str why)
{
    status_cause(st, CAUSE_DISRUPTION_BUDGET, STR_NONE, STR_NONE, "%.*s", STR_ARG(why));
    return status_set(st, REASON_TOO_MANY_REQUESTS, WOULD_VIOLATE);
}

static int check_room(const struct json *budget, struct status *st)
{
    str name = json_get_str(budget, "metadata.name");
    int64_t allowed = number(budget, "status.disruptionsAllowed");

    if (number(budget, "status.observedGeneration") < number(budget, "metadata.generation")) {
        st->retry_after_s = RETRY_S;
        return refuse(st, str_printf(st->arena,
                                     "The disruption budget %.*s is still being processed by the "
                                     "server.",
                                     STR_ARG(name)));
    }
    if (allowed < 0)
        return status_forbidden(st, STR("policy"), STR("poddisruptionbudget"), name,
                                "pdb disruptions allowed is negative");
    if (json_len(json_path(budget, "status.disruptedPods")) > DISRUPTED_MAX)
        return status_forbidden(st, STR("policy"), STR("poddisruptionbudget"), name,
                                "DisruptedPods map too big - too many evictions not confirmed by "
                                "PDB controller");
    if (allowed > 0)
        return 0;
    return refuse(st, str_printf(st->arena,
                                 "The disruption budget %.*s needs %lld healthy pods and has %lld "
                                 "currently",
                                 STR_ARG(name), (long long)number(budget, "status.desiredHealthy"),
                                 (long long)number(budget, "status.currentHealthy")));
}

/* ---- the two writes ---- */

static void attempt(struct eviction *e);

static void delete_pod(struct eviction *e)
{
    struct rest_request *r = &e->call->rest;

    r->kind = e->pods;
    r->name = e->name;
    r->subresource = STR_NONE;
    r->verb = VERB_DELETE;
    r->body_type = BODY_JSON;
    r->body = e->options ? json_text(r->arena, e->options) : STR_NONE;
    r->delete = (struct delete_options){ .dry_run = e->dry_run, .evicts = true };
    r->done = pod_done;
    r->user = e->call;
    rest_serve(r);
}

static void taken(struct rest_request *req, const struct rest_reply *reply)
{
    struct eviction *e = req->user;

    if (!reply->failure)
        delete_pod(e);
    else if (reply->failure->reason == REASON_CONFLICT && ++e->tries < EVICTION_TRIES)
        attempt(e);
    else
        call_answer_rest(e->call, reply);
}

/* The conditions with the one that says that nobody more may go.  k8s: controller/disruption */
static const struct json *exhausted(struct arena *a, const struct json *budget, str now)
{
    const struct json *all = json_path(budget, "status.conditions");
    const struct json *had = condition_find(all, "DisruptionAllowed");
    str since = json_get_str(had, "lastTransitionTime");
    struct json_array out = json_array_new(a);
    struct json_object o = json_object_new(a);

    json_for_each (c, all)
        if (c != had)
            json_push(&out, *c);
    if (!str_is(json_get_str(had, "status"), "False") || !since.n)
        since = now;
    json_add(&o, STR("type"), json_of_str(STR("DisruptionAllowed")));
    json_add(&o, STR("status"), json_of_str(STR("False")));
    json_add(&o, STR("observedGeneration"),
             json_of_int(number(budget, "status.observedGeneration")));
    json_add(&o, STR("lastTransitionTime"), json_of_str(since));
    json_add(&o, STR("reason"), json_of_str(STR("InsufficientPods")));
    json_add(&o, STR("message"), json_of_str(STR("")));
    json_push(&out, json_object_value(&o));
    return json_array_done(&out);
}

/* One less, at this version of the budget. */
static str budget_patch(const struct eviction *e, const struct json *budget)
{
    struct arena *a = e->call->arena;
    struct json left = json_of_int(number(budget, "status.disruptionsAllowed") - 1);
    struct json_object pods = json_object_new(a);
    const struct json *patch = json_set(a, &json_empty_object, "metadata.resourceVersion",
                                        json_path(budget, "metadata.resourceVersion"));
    char *now = arena_alloc(a, TIME_TEXT_SIZE);
    size_t n = time_format_seconds(now, clock_wall_s(e->call->server->clock));

    json_add(&pods, e->name, json_of_str((str){ now, n }));
    if (number(budget, "status.disruptionsAllowed") == 1)
        patch = json_set(a, patch, "status.conditions", exhausted(a, budget, (str){ now, n }));
    patch = json_set(a, patch, "status.disruptionsAllowed", &left);
    patch = json_set(a, patch, "status.disruptedPods", json_object_done(&pods));
    return json_text(a, patch);
}

static void take(struct eviction *e, const struct json *budget)
{
    struct rest_request *r = &e->call->rest;

    r->kind = e->budgets;
    r->name = json_get_str(budget, "metadata.name");
    r->subresource = STR("status");
    r->verb = VERB_PATCH;
    r->patch_type = PATCH_MERGE;
    r->body_type = BODY_JSON;
    r->body = budget_patch(e, budget);
    r->write.dry_run = e->dry_run;
    r->write.field_manager = STR("kube-apiserver"); /* k8s: the API server's own client asks */
    r->done = taken;
    r->user = e;
    rest_serve(r);
}

static void attempt(struct eviction *e)
{
    struct rest_request *r = &e->call->rest;
    struct status *st = call_status(e->call);
    const struct json *pod, *budget;
    int found =
        lookup_get(r->rest, r->arena, &r->instance, e->pods, r->namespace_, e->name, &pod, st);

    if (found == 0)
        (void)status_not_found(st, e->pods->group, e->pods->plural, e->name);
    if (found <= 0) {
        call_fail(e->call, st);
        return;
    }
    if (is_idle(pod)) {
        delete_pod(e);
        return;
    }
    if (find_budget(e, pod, &budget, st) < 0 ||
        (budget && !goes_free(pod, budget) && check_room(budget, st) < 0))
        call_fail(e->call, st);
    else if (!budget || goes_free(pod, budget))
        delete_pod(e);
    else
        take(e, budget);
}

static int read_eviction(struct eviction *e, struct status *st)
{
    struct rest_request *r = &e->call->rest;
    struct rest_body_type type = shape_of_special(r);
    const struct json *body;
    str name;

    if (rest_read_body(r, &type, &body, st) < 0 || rest_check_namespace(r, body, st) < 0)
        return -1;
    name = json_get_str(body, "metadata.name");
    if (!str_eq(name, r->name))
        return status_set(st, REASON_BAD_REQUEST,
                          "name in URL does not match name in Eviction object");
    e->options = json_get(body, STR("deleteOptions"));
    e->dry_run = r->write.dry_run || json_len(json_path(e->options, "dryRun")) > 0;
    return 0;
}

void pod_evict(struct call *c)
{
    struct eviction *e = arena_new_of(c->arena, struct eviction);
    struct status *st = call_status(c);

    *e = (struct eviction){ .call = c,
                            .pods = c->rest.kind,
                            .budgets = catalog_find(c->rest.catalog, STR("policy"), STR("v1"),
                                                    STR("poddisruptionbudgets")),
                            .name = c->rest.name };
    if (read_eviction(e, st) < 0)
        call_fail(c, st);
    else
        attempt(e);
}
