/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/upkeep/upkeep.h"
#include "server_rig.h"

/* Quotas in a whole server, through the API. */

static void rig_init(struct rig *r)
{
    rig_open(r);
    upkeep_start(r->host->server->upkeep, r->host->loop);
}

static void rig_free(struct rig *r)
{
    upkeep_stop(r->host->server->upkeep);
    rig_close(r);
}

/* "ok", or the message of the refusal. */
static const char *ask_text(struct rig *r, const char *method, const char *path, const char *body,
                            const struct json **out)
{
    return ask_api(r, method, path, body, out) == 200 ? "ok" : str_z(r->arena, r->st.message);
}

#define NS "/api/v1/namespaces/default/"

static const char *create(struct rig *r, const char *resource, const char *name, const char *more)
{
    return ask_text(r, "POST", arena_printf(r->arena, NS "%s", resource),
                    arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"}%s}", name, more), NULL);
}

static const char *drop(struct rig *r, const char *resource, const char *name)
{
    return ask_text(r, "DELETE", arena_printf(r->arena, NS "%s/%s", resource, name),
                    "{\"gracePeriodSeconds\":0}", NULL);
}

static const char *pod(struct rig *r, const char *name, const char *spec, const char *resources)
{
    return create(r, "pods", name,
                  arena_printf(r->arena,
                               ",\"spec\":{%s\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                               "\"resources\":{%s}}]}",
                               spec, resources));
}

static const char *used(struct rig *r, const char *quota)
{
    const struct json *v = NULL, *u;

    if (strcmp(ask_text(r, "GET", arena_printf(r->arena, NS "resourcequotas/%s", quota), "", &v),
               "ok") != 0)
        return "gone";
    u = json_path(v, "status.used");
    return u ? str_z(r->arena, json_text(r->arena, u)) : "nothing";
}

static const char *comes_to(struct rig *r, const char *quota, const char *want)
{
    const char *is = "";

    for (int i = 0; i < 1000; i++) {
        is = used(r, quota);
        if (strcmp(is, want) == 0)
            break;
        (void)usleep(5000);
    }
    return is;
}

/* And waits until it is counted. */
static void make_quota(struct rig *r, const char *name, const char *spec, const char *want)
{
    CHECK_STR(create(r, "resourcequotas", name, arena_printf(r->arena, ",\"spec\":{%s}", spec)),
              "ok");
    CHECK_STR(comes_to(r, name, want), want);
}

TEST(beyond_the_quota_nothing_is_made)
{
    struct rig r;

    rig_init(&r);
    make_quota(&r, "q", "\"hard\":{\"secrets\":\"2\"}", "{\"secrets\":\"0\"}");
    CHECK_STR(create(&r, "secrets", "a", ""), "ok");
    CHECK_STR(create(&r, "secrets", "b", ""), "ok");
    CHECK_STR(create(&r, "secrets", "c", ""),
              "secrets \"c\" is forbidden: exceeded quota: q, requested: secrets=1, used: "
              "secrets=2, limited: secrets=2");
    CHECK_STR(comes_to(&r, "q", "{\"secrets\":\"2\"}"), "{\"secrets\":\"2\"}");
    CHECK_STR(ask_text(&r, "PATCH", NS "secrets/a", "{\"stringData\":{\"x\":\"y\"}}", NULL), "ok");
    /* What is deleted is free at once. */
    CHECK_STR(drop(&r, "secrets", "a"), "ok");
    CHECK_STR(create(&r, "secrets", "c", ""), "ok");
    CHECK_STR(comes_to(&r, "q", "{\"secrets\":\"2\"}"), "{\"secrets\":\"2\"}");
    CHECK_STR(create(&r, "configmaps", "others-do-not-count", ""), "ok");
    rig_free(&r);
}

TEST(what_is_there_already_counts_and_a_collection_gives_back)
{
    struct rig r;

    rig_init(&r);
    for (int i = 0; i < 5; i++)
        CHECK_STR(create(&r, "secrets", arena_printf(r.arena, "s%d", i), ""), "ok");
    make_quota(&r, "q", "\"hard\":{\"count/secrets\":\"5\"}", "{\"count/secrets\":\"5\"}");
    CHECK(strncmp(create(&r, "secrets", "more", ""), "secrets \"more\" is forbidden", 27) == 0);
    CHECK_STR(ask_text(&r, "PATCH", NS "resourcequotas/q",
                       "{\"spec\":{\"hard\":{\"count/secrets\":\"6\"}}}", NULL),
              "ok");
    CHECK_STR(create(&r, "secrets", "more", ""), "ok");
    CHECK_STR(ask_text(&r, "DELETE", NS "secrets", "", NULL), "ok");
    CHECK_STR(comes_to(&r, "q", "{\"count/secrets\":\"0\"}"), "{\"count/secrets\":\"0\"}");
    CHECK_STR(ask_text(&r, "PATCH", NS "resourcequotas/q", "{\"spec\":{\"hard\":{\"pods\":\"6\"}}}",
                       NULL),
              "ok");
    CHECK_STR(comes_to(&r, "q", "{\"count/secrets\":\"0\",\"pods\":\"0\"}"),
              "{\"count/secrets\":\"0\",\"pods\":\"0\"}");
    CHECK_STR(drop(&r, "resourcequotas", "q"), "ok");
    for (int i = 0; i < 9; i++)
        CHECK_STR(create(&r, "secrets", arena_printf(r.arena, "t%d", i), ""), "ok");
    rig_free(&r);
}

#define RES(cpu, memory) \
    "\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"},\"limits\":{\"cpu\":\"2\"}"

TEST(pods_are_measured)
{
    struct rig r;

    rig_init(&r);
    make_quota(&r, "q",
               "\"hard\":{\"requests.cpu\":\"1\",\"memory\":\"1Gi\",\"limits.cpu\":\"10\","
               "\"pods\":\"9\",\"requests.example.com/gpu\":\"3\"}",
               "{\"limits.cpu\":\"0\",\"memory\":\"0\",\"pods\":\"0\",\"requests.cpu\":\"0\","
               "\"requests.example.com/gpu\":\"0\"}");
    CHECK_STR(pod(&r, "bare", "", ""),
              "pods \"bare\" is forbidden: failed quota: q: must specify limits.cpu for: c; memory "
              "for: c; requests.cpu for: c");
    CHECK_STR(pod(&r, "a", "", RES("600m", "512Mi")), "ok");
    CHECK_STR(pod(&r, "b", "", RES("600m", "600Mi")),
              "pods \"b\" is forbidden: exceeded quota: q, requested: memory=600Mi,"
              "requests.cpu=600m, used: memory=512Mi,requests.cpu=600m, limited: "
              "memory=1Gi,requests.cpu=1");
    CHECK_STR(pod(&r, "c", "", RES("400m", "1Mi")), "ok");
    CHECK_STR(comes_to(&r, "q",
                       "{\"limits.cpu\":\"4\",\"memory\":\"513Mi\",\"pods\":\"2\","
                       "\"requests.cpu\":\"1\",\"requests.example.com/gpu\":\"0\"}"),
              "{\"limits.cpu\":\"4\",\"memory\":\"513Mi\",\"pods\":\"2\",\"requests.cpu\":\"1\","
              "\"requests.example.com/gpu\":\"0\"}");
    /* One that has ended uses nothing any more. */
    CHECK_STR(
        ask_text(&r, "PATCH", NS "pods/a/status", "{\"status\":{\"phase\":\"Succeeded\"}}", NULL),
        "ok");
    CHECK_STR(pod(&r, "d", "", RES("600m", "512Mi")), "ok");
    rig_free(&r);
}

TEST(scopes_choose_pods)
{
    static const struct {
        const char *name, *spec;
    } quotas[] = {
        { "best", "\"scopes\":[\"BestEffort\"]" },
        { "not-best", "\"scopes\":[\"NotBestEffort\"]" },
        { "ending", "\"scopes\":[\"Terminating\"]" },
        { "lasting", "\"scopes\":[\"NotTerminating\"]" },
        { "cross", "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":"
                   "\"CrossNamespacePodAffinity\",\"operator\":\"Exists\"}]}" },
        { "system", "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\","
                    "\"operator\":\"In\",\"values\":[\"system-node-critical\"]}]}" },
        { "no-system", "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\","
                       "\"operator\":\"NotIn\",\"values\":[\"system-node-critical\"]}]}" },
    };
    static const char *const want[] = { "2", "1", "1", "2", "1", "0", "3" };
    struct rig r;

    rig_init(&r);
    for (size_t i = 0; i < sizeof(quotas) / sizeof(*quotas); i++)
        make_quota(&r, quotas[i].name,
                   arena_printf(r.arena, "\"hard\":{\"pods\":\"5\"},%s", quotas[i].spec),
                   "{\"pods\":\"0\"}");
    CHECK_STR(pod(&r, "a", "", ""), "ok");
    CHECK_STR(pod(&r, "b", "\"activeDeadlineSeconds\":5,", RES("1", "1")), "ok");
    CHECK_STR(pod(&r, "c",
                  "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
                  "Execution\":[{\"topologyKey\":\"x\",\"namespaces\":[\"y\"]}]}},",
                  ""),
              "ok");
    for (size_t i = 0; i < sizeof(quotas) / sizeof(*quotas); i++) {
        const char *all = arena_printf(r.arena, "{\"pods\":\"%s\"}", want[i]);

        CHECK_STR(comes_to(&r, quotas[i].name, all), all);
    }
    rig_free(&r);
}

TEST(services_and_claims_are_measured)
{
    struct rig r;
    const char *all = "{\"gold.storageclass.storage.k8s.io/requests.storage\":\"3Gi\","
                      "\"persistentvolumeclaims\":\"2\",\"requests.storage\":\"5Gi\","
                      "\"services\":\"2\",\"services.loadbalancers\":\"0\","
                      "\"services.nodeports\":\"1\"}";

    rig_init(&r);
    make_quota(&r, "q",
               "\"hard\":{\"requests.storage\":\"6Gi\",\"persistentvolumeclaims\":\"9\","
               "\"gold.storageclass.storage.k8s.io/requests.storage\":\"4Gi\","
               "\"services\":\"9\",\"services.nodeports\":\"1\",\"services.loadbalancers\":\"0\"}",
               "{\"gold.storageclass.storage.k8s.io/requests.storage\":\"0\","
               "\"persistentvolumeclaims\":\"0\",\"requests.storage\":\"0\",\"services\":\"1\","
               "\"services.loadbalancers\":\"0\",\"services.nodeports\":\"0\"}");
#define CLAIM(class, size)                                                                         \
    ",\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":\"" class "\","           \
                                                                                   "\"resources\"" \
                                                                                   ":{"            \
                                                                                   "\"requests\":" \
                                                                                   "{\"storage\":" \
                                                                                   "\"" size       \
                                                                                   "\"}}}"
#define SERVICE(type) ",\"spec\":{\"type\":\"" type "\",\"ports\":[{\"port\":80}]}"
    CHECK_STR(create(&r, "persistentvolumeclaims", "a", CLAIM("gold", "3Gi")), "ok");
    CHECK_STR(create(&r, "persistentvolumeclaims", "b", CLAIM("gold", "2Gi")),
              "persistentvolumeclaims \"b\" is forbidden: exceeded quota: q, requested: "
              "gold.storageclass.storage.k8s.io/requests.storage=2Gi, used: "
              "gold.storageclass.storage.k8s.io/requests.storage=3Gi, limited: "
              "gold.storageclass.storage.k8s.io/requests.storage=4Gi");
    CHECK_STR(create(&r, "persistentvolumeclaims", "b", CLAIM("iron", "2Gi")), "ok");
    CHECK_STR(create(&r, "services", "n", SERVICE("NodePort")), "ok");
    CHECK_STR(create(&r, "services", "m", SERVICE("NodePort")),
              "services \"m\" is forbidden: exceeded quota: q, requested: services.nodeports=1, "
              "used: services.nodeports=1, limited: services.nodeports=1");
    CHECK_STR(create(&r, "services", "l", SERVICE("LoadBalancer")),
              "services \"l\" is forbidden: exceeded quota: q, requested: "
              "services.loadbalancers=1,services.nodeports=1, used: "
              "services.loadbalancers=0,services.nodeports=1, limited: "
              "services.loadbalancers=0,services.nodeports=1");
    CHECK_STR(comes_to(&r, "q", all), all);
    rig_free(&r);
}

TEST(claims_are_chosen_by_the_class_of_their_attributes)
{
#define CLASSES(op, values)                                                                  \
    "\"hard\":{\"persistentvolumeclaims\":\"5\"},\"scopeSelector\":{\"matchExpressions\":[{" \
    "\"scopeName\":\"VolumeAttributesClass\",\"operator\":\"" op "\"" values "}]}"
#define WITH(class)                                                                         \
    ",\"spec\":{\"accessModes\":[\"ReadWriteOnce\"]," class "\"resources\":{\"requests\":{" \
                                                            "\"storage\":\"1Gi\"}}}"
    static const struct {
        const char *name, *spec, *want;
    } quotas[] = {
        { "fast", CLASSES("In", ",\"values\":[\"fast\"]"), "1" },
        { "other", CLASSES("NotIn", ",\"values\":[\"fast\"]"), "2" },
        { "any", CLASSES("Exists", ""), "2" },
        { "none", CLASSES("DoesNotExist", ""), "1" },
    };
    struct rig r;

    rig_init(&r);
    for (size_t i = 0; i < sizeof(quotas) / sizeof(*quotas); i++)
        make_quota(&r, quotas[i].name, quotas[i].spec, "{\"persistentvolumeclaims\":\"0\"}");
    CHECK_STR(create(&r, "persistentvolumeclaims", "a", WITH("")), "ok");
    CHECK_STR(
        create(&r, "persistentvolumeclaims", "b", WITH("\"volumeAttributesClassName\":\"fast\",")),
        "ok");
    CHECK_STR(
        create(&r, "persistentvolumeclaims", "c", WITH("\"volumeAttributesClassName\":\"slow\",")),
        "ok");
    for (size_t i = 0; i < sizeof(quotas) / sizeof(*quotas); i++) {
        const char *all =
            arena_printf(r.arena, "{\"persistentvolumeclaims\":\"%s\"}", quotas[i].want);

        CHECK_STR(comes_to(&r, quotas[i].name, all), all);
    }
    rig_free(&r);
}

#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
#define GPUS   "gpu.deviceclass.resource.k8s.io/devices"

static const char *claim_devices(struct rig *r, const char *name, const char *requests)
{
    return ask_text(r, "POST", CLAIMS,
                    arena_printf(r->arena,
                                 "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"devices\":"
                                 "{\"requests\":[%s]}}}",
                                 name, requests),
                    NULL);
}

TEST(devices_are_counted_by_class)
{
    struct rig r;

    rig_init(&r);
    make_quota(&r, "q",
               "\"hard\":{\"" GPUS "\":\"40\",\"count/resourceclaims.resource.k8s.io\":\"9\"}",
               "{\"count/resourceclaims.resource.k8s.io\":\"0\",\"" GPUS "\":\"0\"}");
    CHECK_STR(claim_devices(&r, "a",
                            "{\"name\":\"x\",\"exactly\":{\"deviceClassName\":\"gpu\"}},"
                            "{\"name\":\"y\",\"exactly\":{\"deviceClassName\":\"nic\"}}"),
              "ok");
    CHECK_STR(claim_devices(&r, "b",
                            "{\"name\":\"x\",\"firstAvailable\":["
                            "{\"name\":\"one\",\"deviceClassName\":\"gpu\",\"count\":2},"
                            "{\"name\":\"two\",\"deviceClassName\":\"gpu\",\"count\":5},"
                            "{\"name\":\"three\",\"deviceClassName\":\"nic\",\"count\":7}]}"),
              "ok");
    CHECK_STR(
        comes_to(&r, "q", "{\"count/resourceclaims.resource.k8s.io\":\"2\",\"" GPUS "\":\"6\"}"),
        "{\"count/resourceclaims.resource.k8s.io\":\"2\",\"" GPUS "\":\"6\"}");
    CHECK_STR(claim_devices(&r, "c",
                            "{\"name\":\"x\",\"exactly\":{\"deviceClassName\":\"gpu\","
                            "\"allocationMode\":\"All\"}},{\"name\":\"y\",\"exactly\":"
                            "{\"deviceClassName\":\"gpu\",\"count\":3}}"),
              "resourceclaims.resource.k8s.io \"c\" is forbidden: exceeded quota: q, requested: "
              "" GPUS "=35, used: " GPUS "=6, limited: " GPUS "=40");
    rig_free(&r);
}

TEST(all_quotas_of_a_namespace_hold_and_no_others)
{
    struct rig r;

    rig_init(&r);
    CHECK_STR(ask_text(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                       "{\"metadata\":{\"name\":\"one\"}}", NULL),
              "ok");
    make_quota(&r, "a", "\"hard\":{\"secrets\":\"9\"}", "{\"secrets\":\"0\"}");
    make_quota(&r, "b", "\"hard\":{\"count/secrets\":\"1\"}", "{\"count/secrets\":\"0\"}");
    CHECK_STR(create(&r, "secrets", "x", ""), "ok");
    CHECK_STR(create(&r, "secrets", "y", ""),
              "secrets \"y\" is forbidden: exceeded quota: b, requested: count/secrets=1, used: "
              "count/secrets=1, limited: count/secrets=1");
    CHECK_STR(comes_to(&r, "a", "{\"secrets\":\"1\"}"), "{\"secrets\":\"1\"}");
    CHECK_STR(comes_to(&r, "b", "{\"count/secrets\":\"1\"}"), "{\"count/secrets\":\"1\"}");
    for (int i = 0; i < 3; i++) {
        const char *body = arena_printf(r.arena, "{\"metadata\":{\"name\":\"s%d\"}}", i);

        CHECK_STR(ask_text(&r, "POST", "/clusters/one" NS "secrets", body, NULL), "ok");
        CHECK_STR(ask_text(&r, "POST", "/api/v1/namespaces/kube-system/secrets", body, NULL), "ok");
    }
    rig_free(&r);
}

TEST(what_nobody_has_counted_yet_is_not_given)
{
    struct rig r;

    rig_init(&r);
    upkeep_stop(r.host->server->upkeep);
    CHECK_STR(create(&r, "resourcequotas", "q", ",\"spec\":{\"hard\":{\"secrets\":\"2\"}}"), "ok");
    CHECK_STR(create(&r, "secrets", "a", ""),
              "secrets \"a\" is forbidden: status unknown for quota: q, resources: secrets");
    CHECK_STR(create(&r, "configmaps", "a", ""), "ok");
    /* A new process knows nothing but what is stored. */
    epoch_enter();
    upkeep_free(r.host->server->upkeep);
    epoch_exit();
    r.host->server->upkeep = upkeep_new(r.host->server, &(struct upkeep_options){ 0 });
    upkeep_start(r.host->server->upkeep, r.host->loop);
    CHECK_STR(comes_to(&r, "q", "{\"secrets\":\"0\"}"), "{\"secrets\":\"0\"}");
    CHECK_STR(create(&r, "secrets", "a", ""), "ok");
    rig_free(&r);
}

/* ---- at the same moment ---- */

enum { RACERS = 24, PLACES = 7 };

struct racer {
    pthread_t thread;
    struct rig rig; /* its own arena and status */
    int n;
    bool won;
};

static void *race(void *arg)
{
    struct racer *c = arg;

    c->won =
        strcmp(create(&c->rig, "secrets", arena_printf(c->rig.arena, "s%d", c->n), ""), "ok") == 0;
    return NULL;
}

TEST(of_many_at_once_exactly_as_many_as_fit_succeed)
{
    struct rig r;
    static struct racer racers[RACERS];
    int won = 0;

    rig_init(&r);
    make_quota(&r, "q", "\"hard\":{\"secrets\":\"7\"}", "{\"secrets\":\"0\"}");
    wrap_hold(r.host->wrap); /* so that all have come before the first is done */
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){ .rig = r, .n = i };
        racers[i].rig.arena = arena_new();
        status_init(&racers[i].rig.st, racers[i].rig.arena);
        if (pthread_create(&racers[i].thread, NULL, race, &racers[i]) != 0)
            exit(1);
    }
    while (atomic_load(&r.host->server->writes) < RACERS)
        (void)usleep(1000);
    CHECK(wrap_held(r.host->wrap) >= 1);
    wrap_unhold(r.host->wrap);
    for (int i = 0; i < RACERS; i++) {
        (void)pthread_join(racers[i].thread, NULL);
        won += racers[i].won;
        arena_free(racers[i].rig.arena);
    }
    CHECK(won == PLACES);
    CHECK_STR(comes_to(&r, "q", "{\"secrets\":\"7\"}"), "{\"secrets\":\"7\"}");
    rig_free(&r);
}

/* Somebody else charges the ledger just before a write does: another program on the same store. */
static void charge_first(struct wrap *w, struct store_txn *txn)
{
    static char text[256];
    struct store_op op = { .kind = STORE_PUT };
    struct store_row row;
    struct status st;
    scoped_arena a = arena_new();
    char *n;

    if (txn->nops < 2 || txn->ops[1].key.type != TYPE_QUOTAS)
        return;
    w->before = NULL;
    status_init(&st, a);
    op.key = txn->ops[1].key;
    if (store_get(w->inner, a, op.key, 0, &row, &st) != 1)
        return;
    (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(row.value));
    n = strstr(text, "\"secrets\":\"");
    if (n)
        n[sizeof("\"secrets\":\"") - 1]++;
    op.value = str_of(text);
    wrap_write(w, op);
}

TEST(who_was_quicker_is_counted)
{
    struct host *h = host_new(0, 0);
    static const char *const want[] = { "201", "201", "403 Forbidden" };

    /* Counted by hand, since no upkeep runs here. */
    CHECK_STR(code_of(ask_body(ask(h, "POST", NS "resourcequotas"),
                               "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{"
                               "\"secrets\":\"4\"}}}")),
              "201");
    {
        struct ask *q = ask(h, "GET", NS "resourcequotas/q");
        struct store_op op = { .kind = STORE_PUT,
                               .key = { TYPE_QUOTAS, INSTANCE_ROOT, STR("default") } };

        CHECK_STR(answer(q), "200");
        op.value = str_of(arena_printf(h->arena,
                                       "{\"q\":{\"uid\":\"%s\",\"used\":{"
                                       "\"secrets\":\"0\"}}}",
                                       answer_field(q, "metadata.uid")));
        wrap_write(h->wrap, op);
        ask_free(q);
    }
    for (size_t i = 0; i < 3; i++) {
        struct ask *a = ask(h, "POST", NS "secrets");
        const char *body = arena_printf(h->arena, "{\"metadata\":{\"name\":\"s%zu\"}}", i);

        h->wrap->before = charge_first;
        CHECK_STR(code_of(ask_body(a, body)), want[i]);
    }
    host_free(h);
}

TEST(a_name_that_is_taken_is_refused_by_the_quota_first)
{
    struct rig r;

    rig_init(&r);
    make_quota(&r, "q", "\"hard\":{\"secrets\":\"1\"}", "{\"secrets\":\"0\"}");
    CHECK_STR(create(&r, "secrets", "a", ""), "ok");
    CHECK_STR(create(&r, "secrets", "a", ""),
              "secrets \"a\" is forbidden: exceeded quota: q, requested: secrets=1, used: "
              "secrets=1, limited: secrets=1");
    CHECK_STR(ask_text(&r, "PATCH", NS "resourcequotas/q",
                       "{\"spec\":{\"hard\":{\"secrets\":\"2\"}}}", NULL),
              "ok");
    CHECK_STR(create(&r, "secrets", "a", ""), "secrets \"a\" already exists");
    CHECK_STR(create(&r, "secrets", "b", ""), "ok");
    rig_free(&r);
}

static void limit(struct rig *r, const char *text)
{
    CHECK(json_parse(r->arena, str_of(text), NULL, &r->host->server->limited, &r->st) == 0);
}

TEST(what_is_limited_needs_a_quota)
{
    struct rig r;

    rig_init(&r);
    limit(&r, "[{\"resource\":\"services\",\"matchContains\":[\"loadbalancers\"]},"
              "{\"resource\":\"pods\",\"matchContains\":[\"memory\"]}]");
    CHECK_STR(create(&r, "services", "a", SERVICE("LoadBalancer")),
              "services \"a\" is forbidden: insufficient quota to consume: "
              "services.loadbalancers");
    CHECK_STR(create(&r, "services", "a", SERVICE("ClusterIP")), "ok");
    CHECK_STR(
        ask_text(&r, "PATCH", NS "services/a", "{\"spec\":{\"type\":\"LoadBalancer\"}}", NULL),
        "services \"a\" is forbidden: insufficient quota to consume: "
        "services.loadbalancers");
    CHECK_STR(
        ask_text(&r, "PATCH", NS "services/a", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL),
        "ok");
    CHECK_STR(pod(&r, "p", "", "\"requests\":{\"cpu\":\"1\"}"), "ok");
    CHECK_STR(pod(&r, "m", "", "\"requests\":{\"memory\":\"1\"}"),
              "pods \"m\" is forbidden: insufficient quota to consume: memory,requests.memory");
    make_quota(&r, "q",
               "\"hard\":{\"services.loadbalancers\":\"1\",\"memory\":\"9\","
               "\"requests.memory\":\"9\"}",
               "{\"memory\":\"0\",\"requests.memory\":\"0\",\"services.loadbalancers\":\"0\"}");
    CHECK_STR(create(&r, "services", "b", SERVICE("LoadBalancer")), "ok");
    CHECK_STR(pod(&r, "m", "", "\"requests\":{\"memory\":\"1\"}"), "ok");
    rig_free(&r);
}

TEST(a_scope_that_is_limited_needs_a_quota_of_that_scope)
{
    struct rig r;

    rig_init(&r);
    limit(&r, "[{\"resource\":\"pods\",\"matchScopes\":[{\"scopeName\":\"Terminating\","
              "\"operator\":\"Exists\"}]}]");
    CHECK_STR(pod(&r, "a", "", ""), "ok");
    CHECK_STR(pod(&r, "b", "\"activeDeadlineSeconds\":5,", ""),
              "insufficient quota to match these scopes: Terminating");
    make_quota(&r, "q", "\"hard\":{\"pods\":\"5\"},\"scopes\":[\"Terminating\"]",
               "{\"pods\":\"0\"}");
    CHECK_STR(pod(&r, "b", "\"activeDeadlineSeconds\":5,", ""), "ok");
    rig_free(&r);
}
