/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pods keep to what the labels of their namespace say (kinds/k8s/podspec_security.h).  What makes
 * pods is let through: its writer and the audit hear what will become of them.
 *
 * k8s: plugin/pkg/admission/security/podsecurity, pod-security-admission/admission/admission.go
 */

#include <stdlib.h>

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/map.h"
#include "kinds/k8s/podspec_security.h"
#include "rest/lookup.h"

/* Pods that a namespace has already, looked at when it becomes stricter: no loop waits for more. */
enum { PODS_MAX = 500 };

static const struct pod_target {
    const char *group, *resource;
    const char *pod; /* where it has one; "": it is one itself */
} targets[] = {
    { "", "pods", "" },
    { "", "namespaces", NULL },
    { "", "replicationcontrollers", "spec.template" },
    { "", "podtemplates", "template" },
    { "apps", "deployments", "spec.template" },
    { "apps", "replicasets", "spec.template" },
    { "apps", "statefulsets", "spec.template" },
    { "apps", "daemonsets", "spec.template" },
    { "batch", "jobs", "spec.template" },
    { "batch", "cronjobs", "spec.jobTemplate.spec.template" },
};

static const struct pod_target *target_of(const struct kind *k)
{
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
        if (str_is(k->group, targets[i].group) && str_is(k->plural, targets[i].resource))
            return &targets[i];
    return NULL;
}

static const struct json *labels_of(const struct json *obj)
{
    return json_path(obj, "metadata.labels");
}

#define NOTE(name) STR(POD_SECURITY_LABELS name)

/* ---- namespaces ---- */

static bool same_faults(const struct status *a, const struct status *b)
{
    const struct cause *x = a->causes, *y = b->causes;

    while (x && y && str_eq(x->field, y->field) && str_eq(x->message, y->message)) {
        x = x->next;
        y = y->next;
    }
    return !x && !y;
}

/* Pods that there is the same to say of. */
struct crowd {
    str name; /* the first of them */
    size_t n;
};

struct pods {
    struct arena *arena;
    struct pod_policy policy;
    size_t seen;
    struct map crowds; /* by what is wrong */
    str *wrong;
    size_t n;
};

static bool look_at_pod(void *arg, const struct json *pod)
{
    struct pods *p = arg;
    struct crowd *c;
    str why;

    if (p->seen == PODS_MAX)
        return false;
    p->seen++;
    if (!podspec_forbidden(p->arena, p->policy, json_get(pod, STR("metadata")),
                           json_get(pod, STR("spec")), false, &why))
        return true;
    c = map_get(&p->crowds, why);
    if (!c) { /* pods come by name */
        c = arena_new_of(p->arena, struct crowd);
        c->name = json_get_str(pod, "metadata.name");
        map_put(&p->crowds, why, c);
        p->wrong[p->n++] = why;
    }
    c->n++;
    return true;
}

static str crowd_text(struct arena *a, const struct crowd *c, str why)
{
    if (c->n == 1)
        return str_concat(a, c->name, STR(": "), why);
    if (c->n == 2)
        return str_concat(a, c->name, STR(" (and 1 other pod): "), why);
    return str_concat(a, c->name, str_printf(a, " (and %zu other pods): ", c->n - 1), why);
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static int count_pods(const struct admission *a, const struct kind *k, uint64_t *out,
                      struct status *st)
{
    const struct rest_request *r = a->req;
    struct store_range range = {
        .type = k->type_id,
        .instance = r->instance.id,
        .prefix = str_concat(r->arena, r->name, STR("/"), STR_NONE),
    };

    return store_count(a->server->store, &range, out, st);
}

static void warn_of_pods(struct rest_request *r, struct pods *p, uint64_t total)
{
    if (p->seen < total)
        rest_warn(r, str_printf(r->arena,
                                "new PodSecurity enforce level only checked against the first %zu "
                                "of %llu existing pods",
                                p->seen, (unsigned long long)total));
    if (p->n)
        rest_warn(r, str_printf(r->arena,
                                "existing pods in namespace \"%.*s\" violate the new PodSecurity "
                                "enforce level \"%.*s\"",
                                STR_ARG(r->name), STR_ARG(pod_policy_text(r->arena, p->policy))));
    for (size_t i = 0; i < p->n; i++)
        p->wrong[i] = crowd_text(r->arena, map_get(&p->crowds, p->wrong[i]), p->wrong[i]);
    if (p->n)
        qsort(p->wrong, p->n, sizeof(*p->wrong), by_text);
    for (size_t i = 0; i < p->n; i++)
        rest_warn(r, p->wrong[i]);
}

/* What the pods that are there violate.  k8s: EvaluatePodsInNamespace */
static int look_at_pods(const struct admission *a, struct pod_policy policy, struct status *st)
{
    struct rest_request *r = a->req;
    const struct kind *k = catalog_find(r->catalog, STR_NONE, STR("v1"), STR("pods"));
    struct pods p = { .arena = r->arena, .policy = policy };
    uint64_t total = 0;
    int rc;

    if (!k)
        return 0;
    p.wrong = arena_array(r->arena, str, PODS_MAX);
    rc = lookup_each(r->rest, r->arena, &r->instance, k, r->name, look_at_pod, &p, st);
    if (rc == 0 && p.seen == PODS_MAX)
        rc = count_pods(a, k, &total, st);
    if (rc == 0)
        warn_of_pods(r, &p, total);
    map_release(&p.crowds);
    return rc;
}

static int validate_namespace(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct rest_request *r = a->req;
    struct pod_policies now, was;
    struct status faults, had;

    if (r->subresource.n || (a->old && json_equal(labels_of(obj), labels_of(a->old))))
        return 0;
    status_init(&faults, r->arena);
    status_init(&had, r->arena);
    now = pod_policies_of(labels_of(obj), &faults);
    was = pod_policies_of(labels_of(a->old), &had);
    if (faults.causes && (!a->old || !same_faults(&faults, &had))) {
        int rc =
            status_invalid(&faults, STR_NONE, STR("Namespace"), json_get_str(obj, "metadata.name"));

        status_copy(st, &faults);
        return rc;
    }
    if (!a->old || pod_policy_equal(now.enforce, was.enforce) ||
        now.enforce.level == POD_PRIVILEGED ||
        (now.enforce.minor == was.enforce.minor && now.enforce.level <= was.enforce.level))
        return 0;
    return look_at_pods(a, now.enforce, st);
}

/* ---- pods, and what makes them ---- */

/* Other images, or other containers: nothing else of a pod changes that a level looks at. */
static bool images_differ(const struct json *pod, const struct json *old, const char *list)
{
    const struct json *now = json_path(pod, list), *was = json_path(old, list);

    if (json_len(now) != json_len(was))
        return true;
    for (size_t i = 0; i < json_len(now); i++)
        if (!str_eq(json_get_str(json_at(now, i), "image"), json_get_str(json_at(was, i), "image")))
            return true;
    return false;
}

/* These are known by name. */
static bool ephemeral_differ(const struct json *pod, const struct json *old)
{
    static const char list[] = "spec.ephemeralContainers";
    struct map had = { 0 };
    bool differ = false;

    json_for_each (c, json_path(old, list))
        map_put(&had, json_get_str(c, "name"), (void *)(uintptr_t)c);
    json_for_each (c, json_path(pod, list)) {
        const struct json *was = map_get(&had, json_get_str(c, "name"));

        differ |= !was || !str_eq(json_get_str(c, "image"), json_get_str(was, "image"));
    }
    map_release(&had);
    return differ;
}

static bool is_significant(const struct json *pod, const struct json *old)
{
    return images_differ(pod, old, "spec.containers") ||
           images_differ(pod, old, "spec.initContainers") || ephemeral_differ(pod, old);
}

/* k8s: field.ErrorList.ToAggregate */
static str faults_text(struct arena *a, const struct status *faults)
{
    str all = STR_NONE;

    for (const struct cause *c = faults->causes; c; c = c->next)
        all = str_concat(a, all, all.n ? STR(", ") : STR_NONE, cause_text(a, c));
    return faults->ncauses > 1 ? str_concat(a, STR("["), all, STR("]")) : all;
}

/* True, and what is said of it. */
static bool violates(struct arena *a, struct pod_policy p, const struct json *pod, str *text)
{
    str why, name;

    if (!podspec_forbidden(a, p, json_get(pod, STR("metadata")), json_get(pod, STR("spec")), true,
                           &why))
        return false;
    name = pod_policy_text(a, p);
    *text = str_concat(a, STR("violate PodSecurity \""), name,
                       str_concat(a, STR("\": "), why, STR_NONE));
    return true;
}

static str would(struct arena *a, str text)
{
    return str_concat(a, STR("would "), text, STR_NONE);
}

/* What enforces, tells the audit, and warns are often one. */
static int evaluate(const struct admission *a, const struct pod_policies *p, const struct json *obj,
                    const struct json *pod, bool enforce, struct status *st)
{
    struct rest_request *r = a->req;
    str text = STR_NONE;
    bool refused = false, bad;

    if (enforce) {
        rest_note(r, NOTE("enforce-policy"), pod_policy_text(r->arena, p->enforce));
        refused = violates(r->arena, p->enforce, pod, &text);
        if (refused) /* "violates" */
            status_forbidden(st, STR_NONE, r->kind->plural, json_get_str(obj, "metadata.name"),
                             "violates%.*s", STR_ARG(str_from(text, strlen("violate"))));
    }
    bad = enforce && pod_policy_equal(p->audit, p->enforce)
              ? refused
              : violates(r->arena, p->audit, pod, &text);
    if (bad)
        rest_note(r, NOTE("audit-violations"), would(r->arena, text));
    if (refused)
        return -1;
    if (!pod_policy_equal(p->warn, p->audit))
        bad = violates(r->arena, p->warn, pod, &text);
    if (bad)
        rest_warn(r, would(r->arena, text));
    return 0;
}

/* 1 with them, 0 without a namespace. */
static int policies_of(const struct rest_request *r, struct pod_policies *out,
                       struct status *faults, struct status *st)
{
    const struct kind *k = catalog_find(r->catalog, STR_NONE, STR("v1"), STR("namespaces"));
    const struct json *ns = NULL;
    int found =
        k ? lookup_plain(r->rest, r->arena, &r->instance, k, STR_NONE, r->namespace_, &ns, st) : 0;

    if (found > 0)
        *out = pod_policies_of(labels_of(ns), faults);
    return found;
}

static const char *const other_subresources[] = { "exec",     "attach", "binding",
                                                  "eviction", "log",    "portforward",
                                                  "proxy",    "status", NULL };

static int validate_pod(const struct admission *a, const struct pod_target *t,
                        const struct json *obj, struct status *st)
{
    struct rest_request *r = a->req;
    const struct json *pod = t->pod[0] ? json_path(obj, t->pod) : obj;
    bool enforce = pod == obj;
    struct pod_policies p;
    struct status faults;
    int found;

    if (!json_is(pod, JSON_OBJECT) ||
        (enforce ? str_is_any(r->subresource, other_subresources) : r->subresource.n > 0))
        return 0;
    status_init(&faults, r->arena);
    found = policies_of(r, &p, &faults, st);
    if (found <= 0)
        return found;
    if (!faults.causes && p.warn.level == POD_PRIVILEGED && p.audit.level == POD_PRIVILEGED &&
        (!enforce || p.enforce.level == POD_PRIVILEGED)) {
        if (enforce)
            rest_note(r, NOTE("enforce-policy"), STR("privileged:latest"));
        return 0;
    }
    if (enforce && a->old && !is_significant(obj, a->old))
        return 0;
    if (faults.causes)
        rest_note(r, NOTE("error"),
                  str_concat(r->arena, STR("Failed to parse policy: "),
                             faults_text(r->arena, &faults), STR_NONE));
    return evaluate(a, &p, obj, pod, enforce, st);
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct pod_target *t = target_of(a->req->kind);

    if (!t)
        return 0;
    return t->pod ? validate_pod(a, t, obj, st) : validate_namespace(a, obj, st);
}

const struct admission_plugin admit_pod_security = {
    .name = "PodSecurity",
    .optional = true,
    .group = "*",
    .resource = "*",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .validate = validate,
};
