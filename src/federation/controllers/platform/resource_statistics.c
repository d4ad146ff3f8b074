/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What an instance has: its members with their nodes and resources, its objects, policies and
 * workloads, as status.summary of the Instance.
 *
 * Anything that is counted wakes its instance a little later, and later the more there is of it, so
 * that a burst is counted once.
 * Counting asks the API for numbers, not for objects, except of what has to be looked at.
 */

#include "base/banned.h"
#include "base/clock.h"
#include "base/pace.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"
#include "federation/controllers/propagation/silence.h"
#include "federation/controllers/propagation/splitter.h"
#include "federation/interp/interp.h"
#include "object/meta/amounts.h"
#include "object/meta/condition.h"

/* A count looks at each Deployment that the instance has, so it must not come with each change. */
enum { WAIT_MS = 200, WAIT_EACH_MS = 10, WAIT_MAX_MS = 4000, PAGE = 500 };

/* Where the count of a resource stands. */
static const struct {
    const char *group, *version, *resource, *under;
} counted[] = {
    { "", "v1", "services", "resourceTotalNum" },
    { "", "v1", "secrets", "resourceTotalNum" },
    { "", "v1", "configmaps", "resourceTotalNum" },
    { "", "v1", "persistentvolumeclaims", "resourceTotalNum" },
    { "policy.karmada.io", "v1alpha1", "propagationpolicies", "policyTotalNum" },
    { "policy.karmada.io", "v1alpha1", "overridepolicies", "policyTotalNum" },
};
enum { COUNTED = sizeof(counted) / sizeof(*counted) };

struct numbers {
    int64_t total, ready, unknown;
    str since; /* when the first of the unknown became so */
};

struct sum {
    struct client *client;
    struct arena *arena;
    str instance;
    struct numbers clusters, nodes, deployments;
    struct amounts allocatable, allocated;
};

/* ---- what is there ---- */

/* All are asked at once: for each wait alone two switches of threads would be the most of it. */
static void count_all(const struct sum *s, struct client_item *items)
{
    struct client_query one = { .limit = 1 };

    for (size_t i = 0; i < COUNTED; i++) {
        struct client_ref ref = { .instance = s->instance,
                                  .group = str_of(counted[i].group),
                                  .version = str_of(counted[i].version),
                                  .resource = str_of(counted[i].resource) };

        items[i].req = client_request_list(s->arena, &ref, &one);
    }
    client_do_all(s->client, s->arena, items, COUNTED);
}

/* Of these, whatever else clusters may have. */
static bool is_summed(str name)
{
    static const char *const names[] = { "cpu", "memory", "storage", "ephemeral-storage", "pods" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

static void add(struct sum *s, struct amounts *to, const struct json *list)
{
    struct amounts some = amounts_of(s->arena, list);
    size_t n = 0;

    for (size_t i = 0; i < some.n; i++)
        if (is_summed(some.at[i].name))
            some.at[n++] = some.at[i];
    some.n = n;
    *to = amounts_add(s->arena, to, 1, &some);
}

static void add_unknown(struct numbers *n, int64_t number, str since)
{
    n->unknown += number;
    if (number && since.n && (!n->since.n || str_cmp(since, n->since) < 0))
        n->since = since;
}

/* Of the nodes of a silent cluster it is not known how they are. */
static void add_nodes(struct sum *s, const struct json *c)
{
    int64_t total = json_int(json_path(c, "status.nodeSummary.totalNum"), 0);
    str since = silence_since(c);

    s->nodes.total += total;
    if (since.n)
        add_unknown(&s->nodes, total, since);
    else
        s->nodes.ready += json_int(json_path(c, "status.nodeSummary.readyNum"), 0);
}

static void add_cluster(struct sum *s, const struct json *c, const struct json *room)
{
    s->clusters.total++;
    s->clusters.ready += object_is_ready(c);
    add_nodes(s, c);
    add(s, &s->allocatable, json_get(room, STR("allocatable")));
    add(s, &s->allocated, json_get(room, STR("allocated")));
}

static void add_karmada_cluster(struct sum *s, const struct json *c)
{
    add_cluster(s, c, json_path(c, "status.resourceSummary"));
}

static void add_kcp_cluster(struct sum *s, const struct json *c)
{
    add_cluster(s, c, json_get(c, STR("status")));
}

/* Of a template, whose conditions are those of many, the replicas tell. */
static bool is_available(const struct json *d)
{
    return condition_holds(json_path(d, "status.conditions"), "Available") ||
           (json_path(d, "status.observedGeneration") &&
            json_int(json_path(d, "status.availableReplicas"), 0) >=
                json_int(json_path(d, "spec.replicas"), 1));
}

/* A shard is a part of one that is counted. */
static void add_deployment(struct sum *s, const struct json *d)
{
    const struct json *unknown =
        condition_find(json_path(d, "status.conditions"), INTERP_STATUS_UNKNOWN);

    if (json_get(json_path(d, "metadata.labels"), STR(SPLITTER_OWNED)))
        return;
    if (unknown)
        add_unknown(&s->deployments, 1, json_get_str(unknown, "lastTransitionTime"));
    s->deployments.total++;
    s->deployments.ready += is_available(d);
}

/* All of them, a page at a time; a type that the instance does not serve has none. */
static int each(struct sum *s, struct client_ref ref, void (*fn)(struct sum *, const struct json *),
                struct status *st)
{
    struct client_query page = { .limit = PAGE };

    ref.instance = s->instance;
    do {
        const struct json *list;

        if (client_list(s->client, s->arena, &ref, &page, &list, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
        json_for_each (o, json_get(list, STR("items")))
            fn(s, o);
        page.continue_token = json_get_str(list, "metadata.continue");
    } while (page.continue_token.n);
    return 0;
}

/* ---- what is said of it ---- */

static struct json of_numbers(struct arena *a, const struct numbers *n)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("totalNum"), json_of_int(n->total));
    json_add(&o, STR("readyNum"), json_of_int(n->ready));
    if (n->unknown)
        json_add(&o, STR("unknownNum"), json_of_int(n->unknown));
    if (n->since.n)
        json_add(&o, STR("unknownSince"), json_of_str(n->since));
    return json_object_value(&o);
}

/* What is not served is not named. */
static int add_counts(const struct sum *s, const struct client_item *items,
                      struct json_object *summary, const char *under, struct status *st)
{
    struct json_object o = json_object_new(s->arena);

    for (size_t i = 0; i < COUNTED; i++) {
        const struct json *list = items[i].object;

        if (strcmp(counted[i].under, under) != 0)
            continue;
        if (items[i].rc < 0 && !status_is(&items[i].st, REASON_NOT_FOUND)) {
            status_copy(st, &items[i].st);
            return -1;
        }
        if (items[i].rc == 0)
            json_add(&o, str_of(counted[i].resource),
                     json_of_int((int64_t)json_len(json_get(list, STR("items"))) +
                                 json_int(json_path(list, "metadata.remainingItemCount"), 0)));
    }
    json_add(summary, str_of(under), json_object_value(&o));
    return 0;
}

static int summarize(struct sum *s, const struct json **out, struct status *st)
{
    static const struct client_ref clusters = { .group = STR_INIT("cluster.karmada.io"),
                                                .version = STR_INIT("v1alpha1"),
                                                .resource = STR_INIT("clusters") };
    static const struct client_ref kcp_clusters = { .group = STR_INIT("workload.kcp.dev"),
                                                    .version = STR_INIT("v1alpha1"),
                                                    .resource = STR_INIT("clusters") };
    static const struct client_ref deployments = { .group = STR_INIT("apps"),
                                                   .version = STR_INIT("v1"),
                                                   .resource = STR_INIT("deployments") };
    struct arena *a = s->arena;
    struct client_item items[COUNTED] = { 0 };
    struct json_object summary = json_object_new(a), resources = json_object_new(a),
                       workloads = json_object_new(a);

    if (each(s, clusters, add_karmada_cluster, st) < 0 ||
        each(s, kcp_clusters, add_kcp_cluster, st) < 0 ||
        each(s, deployments, add_deployment, st) < 0)
        return -1;
    status_reset(st);
    json_add(&summary, STR("clusterSummary"), of_numbers(a, &s->clusters));
    json_add(&summary, STR("nodeSummary"), of_numbers(a, &s->nodes));
    json_add(&resources, STR("allocatable"), *amounts_json(a, &s->allocatable));
    json_add(&resources, STR("allocated"), *amounts_json(a, &s->allocated));
    json_add(&summary, STR("resourceSummary"), json_object_value(&resources));
    json_add(&workloads, STR("deployments"), of_numbers(a, &s->deployments));
    json_add(&summary, STR("workLoadSummary"), json_object_value(&workloads));
    count_all(s, items);
    if (add_counts(s, items, &summary, "resourceTotalNum", st) < 0 ||
        add_counts(s, items, &summary, "policyTotalNum", st) < 0)
        return -1;
    *out = json_object_done(&summary);
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct sum s = { .client = client, .arena = a, .instance = k->name };
    struct client_ref ref = instance_ref(k->name);
    const struct json *instance, *summary;

    (void)arg;
    if (client_get(client, a, &ref, &instance, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    /* It is the attached one's to count; and of what goes nobody asks how much is left. */
    if (json_path(instance, "spec.attach") || is_deleting(instance))
        return 0;
    if (summarize(&s, &summary, st) < 0)
        return -1;
    if (json_equal(summary, json_path(instance, "status.summary")))
        return 0;
    ref.subresource = STR("status");
    if (client_update(client, a, &ref, json_set(a, instance, "status.summary", summary), NULL, st) <
        0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    return 0;
}

static void wake_instance(void *arg, struct controller *c, const struct informer_key *k,
                          const struct json *object, bool deleted)
{
    struct informer_key key = { .name = k->instance };
    int64_t now = clock_now_ms(clock_real());
    struct pace *told = arg;

    (void)object;
    (void)deleted;
    pace_count(told, now);
    controller_wake_after(c, &key, pace_gather_ms(told, now, WAIT_EACH_MS, WAIT_MS, WAIT_MAX_MS));
}

#define EVERYWHERE(g, v, r)                 \
    {                                       \
        .ref = { .instance = STR_INIT("*"), \
                 .group = STR_INIT(g),      \
                 .version = STR_INIT(v),    \
                 .resource = STR_INIT(r) }, \
        .map = wake_instance                \
    }

static const struct controller_source also[] = {
    EVERYWHERE("cluster.karmada.io", "v1alpha1", "clusters"),
    EVERYWHERE("workload.kcp.dev", "v1alpha1", "clusters"),
    EVERYWHERE("apps", "v1", "deployments"),
    EVERYWHERE("", "v1", "services"),
    EVERYWHERE("", "v1", "secrets"),
    EVERYWHERE("", "v1", "configmaps"),
    EVERYWHERE("", "v1", "persistentvolumeclaims"),
    EVERYWHERE("policy.karmada.io", "v1alpha1", "propagationpolicies"),
    EVERYWHERE("policy.karmada.io", "v1alpha1", "overridepolicies"),
};

const struct controller_spec resource_statistics_controller = {
    .name = "resource-statistics",
    .ref = INSTANCE_REF,
    .finalizer = "",
    .spec_only = true,
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .workers = 4,
    .reconcile = reconcile,
};
