/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reports objects that ask for something that is not served (object/meta/unserved.h): an Event for
 * each sentence, and Served=False on those whose kind is not served and has conditions.  What it
 * says follows from the object alone, so it can be told again after a restart, and is.
 */

#include "base/banned.h"
#include "base/clock.h"
#include "client/recorder.h"
#include "federation/controllers/frame/controller.h"
#include "object/meta/condition.h"
#include "object/meta/unserved.h"

/*
 * The kinds that rows of the table are about.  X(id, instance, group, version, resource, kind): in
 * all instances ("*"), or in root.
 */
#define WATCHED(X)                                                                               \
    X(federated_hpa, "*", "autoscaling.karmada.io", "v1alpha1", "federatedhpas", "FederatedHPA") \
    X(cron_hpa, "*", "autoscaling.karmada.io", "v1alpha1", "cronfederatedhpas",                  \
      "CronFederatedHPA")                                                                        \
    X(service, "*", "networking.karmada.io", "v1alpha1", "multiclusterservices",                 \
      "MultiClusterService")                                                                     \
    X(ingress, "*", "networking.karmada.io", "v1alpha1", "multiclusteringresses",                \
      "MultiClusterIngress")                                                                     \
    X(remedy, "*", "remedy.karmada.io", "v1alpha1", "remedies", "Remedy")                        \
    X(webhook, "*", "config.karmada.io", "v1alpha1", "resourceinterpreterwebhookconfigurations", \
      "ResourceInterpreterWebhookConfiguration")                                                 \
    X(customization, "*", "config.karmada.io", "v1alpha1", "resourceinterpretercustomizations",  \
      "ResourceInterpreterCustomization")                                                        \
    X(policy, "*", "policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy")  \
    X(cluster_policy, "*", "policy.karmada.io", "v1alpha1", "clusterpropagationpolicies",        \
      "ClusterPropagationPolicy")                                                                \
    X(cluster, "*", "cluster.karmada.io", "v1alpha1", "clusters", "Cluster")                     \
    X(pedia, "", "cluster.clusterpedia.io", "v1alpha2", "pediaclusters", "PediaCluster")         \
    X(instance, "", "tenancy.kairship.io", "v1alpha1", "instances", "Instance")

enum watched {
#define X(id, ...) WATCHED_##id,
    WATCHED(X)
#undef X
        NWATCHED
};

#define REF(in, g, v, r)                                                        \
    {                                                                           \
        .instance = STR_INIT(in), .group = STR_INIT(g), .version = STR_INIT(v), \
        .resource = STR_INIT(r)                                                 \
    }

static const struct {
    struct client_ref ref;
    str kind;
} kinds[NWATCHED] = {
#define X(id, in, g, v, r, k) [WATCHED_##id] = { REF(in, g, v, r), STR_INIT(k) },
    WATCHED(X)
#undef X
};

/* ---- what is said ---- */

struct speech {
    struct arena *arena;
    struct recorder *recorder;
    struct recorder_object on;
    const struct json *conditions; /* of the status, with ours */
};

static void say(void *arg, const struct unserved *row, str sentence)
{
    struct speech *s = arg;
    struct condition c = {
        .type = "Served", .status = "False", .reason = UNSERVED_REASON, .message = sentence
    };

    recorder_tell(s->recorder, &s->on, RECORDER_WARNING, UNSERVED_REASON, "%.*s",
                  STR_ARG(sentence));
    if (row->conditions)
        s->conditions = condition_set(s->arena, s->conditions, &c, clock_wall_s(clock_real()));
}

/* "3 web": the kind's place, and the name. */
static bool parse(str text, enum watched *kind, str *name)
{
    str word, rest = text;
    int64_t n;

    if (!str_split(&rest, ' ', &word) || !str_to_i64(word, &n) || n < 0 || n >= NWATCHED)
        return false;
    *kind = (enum watched)n;
    *name = rest;
    return true;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct speech s = { .arena = a, .recorder = arg };
    const struct json *object, *was;
    struct client_ref ref;
    enum watched kind;
    str name;

    if (!parse(k->name, &kind, &name))
        return 0;
    ref = kinds[kind].ref;
    ref.instance = str_is(k->instance, "root") ? STR_NONE : k->instance;
    ref.namespace = k->namespace;
    ref.name = name;
    if (client_get(client, a, &ref, &object, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    s.on = recorder_object_of(ref.instance, object);
    was = s.conditions = json_path(object, "status.conditions");
    unserved_each(a, ref.group, kinds[kind].kind, object, say, &s);
    if (s.conditions == was)
        return 0;
    ref.subresource = STR("status");
    if (client_update(client, a, &ref, json_set(a, object, "status.conditions", s.conditions), NULL,
                      st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    return 0;
}

/* ---- what is heard ---- */

static void count(void *arg, const struct unserved *row, str sentence)
{
    (void)row;
    (void)sentence;
    *(bool *)arg = true;
}

static void hear(struct controller *c, const struct informer_key *k, enum watched kind,
                 const struct json *object)
{
    scoped_arena a = arena_new();
    struct informer_key key = { .instance = k->instance, .namespace = k->namespace };
    bool asks = false;

    unserved_each(a, kinds[kind].ref.group, kinds[kind].kind, object, count, &asks);
    if (!asks)
        return;
    key.name = str_printf(a, "%d %.*s", (int)kind, STR_ARG(k->name));
    controller_wake(c, &key);
}

#define X(id, ...)                                                                     \
    static void on_##id(void *arg, struct controller *c, const struct informer_key *k, \
                        const struct json *object, bool deleted)                       \
    {                                                                                  \
        (void)arg;                                                                     \
        if (!deleted)                                                                  \
            hear(c, k, WATCHED_##id, object);                                          \
    }
WATCHED(X)
#undef X

/* The first of them is the controller's own. */
static const struct controller_source sources[] = {
#define X(id, in, g, v, r, k) { .ref = REF(in, g, v, r), .spec_only = true, .map = on_##id },
    WATCHED(X)
#undef X
};

const struct controller_spec unserved_kinds_controller = {
    .name = "unserved-kinds",
    .ref = REF("*", "autoscaling.karmada.io", "v1alpha1", "federatedhpas"),
    .spec_only = true,
    .map = on_federated_hpa,
    .also = sources + 1,
    .nalso = NWATCHED - 1,
    .reconcile = reconcile,
};
