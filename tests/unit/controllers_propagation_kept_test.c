/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nothing that runs goes without an order: random placements, fleets and histories with faults,
 * against a whole server.  Members are Cluster objects; the test plays their syncers.
 *
 * After each step a copy (a Work) that is no longer there must have a reason: its cluster was
 * unjoined, nothing is wanted, or a decision that was made places the object elsewhere.
 * KEPT_SEED=n runs that history alone.
 */

#include "base/rand.h"
#include "federation/controllers/members/clusters.h"
#include "federation/controllers/propagation/propagator.h"
#include "federation/controllers/propagation/scheduler.h"
#include "object/meta/karmada.h"
#include "server_rig.h"

#define I           "/clusters/one"
#define CLUSTERS    I "/apis/cluster.karmada.io/v1alpha1/clusters"
#define BINDINGS    I "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
#define DEPLOYMENTS I "/apis/apps/v1/namespaces/default/deployments"
#define POLICIES    I "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
#define WORKS       I "/apis/work.karmada.io/v1alpha1/works"
#define WORKS_OF_M0 I "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m0/works"

enum { MEMBERS = 4, APPS = 3, STEPS = 40, CONTROLLERS = 6 };

/* One millisecond of grace: evictions end as soon as they may. */
static const struct failover at_once = { .enabled = true, .graceful_ms = 1 };

struct history {
    struct rig rig;
    struct rand_seq rand;
    struct propagator propagation;
    struct scheduler *scheduler;
    struct clusters clusters;
    struct controller_group *group;
    struct client *clients[CONTROLLERS];
    char had[APPS][MEMBERS][64]; /* uid of the Work there, or empty */
    int64_t seen;                /* the revision of the last look */
    const char *step;
};

static uint32_t below(struct history *h, uint32_t n)
{
    return rand_seq_below(&h->rand, n);
}

/* Bodies have ' for ".  Answers of objects that are not there are fine. */
static const struct json *request(struct history *h, const char *method, const char *path,
                                  const char *body)
{
    const struct json *v = &json_null;
    char *text = arena_printf(h->rig.arena, "%s", body);

    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    return ask_api(&h->rig, method, path, text, &v) == 200 ? v : &json_null;
}

/* ---- the controllers ---- */

static void start(struct history *h)
{
    static const struct controller_spec *const specs[CONTROLLERS] = {
        &detector_controller,       &binding_controller,           &scheduler_controller,
        &taint_eviction_controller, &graceful_eviction_controller, &crd_controller,
    };

    propagator_init(&h->propagation);
    h->propagation.preemption = true;
    h->scheduler = scheduler_new(NULL, NULL);
    h->clusters = (struct clusters){ .failover = &at_once };
    h->group = controller_group_new(3);
    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct controller_spec spec = *specs[i];

        spec.arg = i < 2    ? (void *)&h->propagation
                   : i == 2 ? (void *)h->scheduler
                   : i < 5  ? (void *)&h->clusters
                            : NULL;
        h->clients[i] = client_new(
            server_local_transport(h->rig.host->server, h->rig.host->loop,
                                   str_printf(h->rig.arena, "system:kairship:%s", spec.name)));
        (void)controller_group_start(h->group, &spec, h->clients[i]);
    }
}

static void free_clients(void *arg)
{
    struct history *h = arg;

    for (size_t i = 0; i < CONTROLLERS; i++)
        client_free(h->clients[i]);
}

static void stop(struct history *h)
{
    controller_group_free(h->group);
    scheduler_free(h->scheduler);
    loop_call_wait(h->rig.host->loop, free_clients, h);
    propagator_release(&h->propagation);
}

/* ---- steps ---- */

static const char *member(struct history *h, uint32_t m)
{
    return arena_printf(h->rig.arena, CLUSTERS "/m%u", m);
}

static void join(struct history *h, uint32_t m)
{
    (void)request(
        h, "POST", CLUSTERS,
        arena_printf(h->rig.arena,
                     "{'metadata':{'name':'m%u','labels':{'env':'%s'}},'spec':{'syncMode':"
                     "'Push','region':'r%u'}}",
                     m, m % 2 ? "prod" : "dev", m / 2));
    (void)request(
        h, "PATCH", arena_printf(h->rig.arena, "%s/status", member(h, m)),
        "{'status':{'apiEnablements':[{'groupVersion':'apps/v1','resources':[{'name':"
        "'deployments','kind':'Deployment'}]}],'resourceSummary':{'allocatable':{'cpu':'8',"
        "'pods':'100'}}}}");
}

static void place(struct history *h)
{
#define NO_GROUPS "'clusterAffinities':null,"
#define BEAR_NONE "'clusterTolerations':null,"
    static const char *const where[] = {
        "'clusterAffinity':null," NO_GROUPS BEAR_NONE,
        "'clusterAffinity':{'clusterNames':['m0','m1'],'labelSelector':null}," NO_GROUPS BEAR_NONE,
        "'clusterAffinity':{'clusterNames':['m3'],'labelSelector':null}," NO_GROUPS BEAR_NONE,
        "'clusterAffinity':{'clusterNames':['nope'],'labelSelector':null}," NO_GROUPS BEAR_NONE,
        "'clusterAffinity':{'clusterNames':null,'labelSelector':{'matchLabels':{'env':'prod'}}}"
        "," NO_GROUPS BEAR_NONE,
        "'clusterAffinity':null,'clusterAffinities':[{'affinityName':'a','clusterNames':['nope']},{"
        "'affinityName':'b','clusterNames':['m2']}]," BEAR_NONE,
        "'clusterAffinity':null,'clusterTolerations':[{'operator':'Exists'}]," NO_GROUPS,
    };
    static const char *const spread[] = {
        "null",
        "null",
        "[{'spreadByField':'cluster','minGroups':2}]",
        "[{'spreadByField':'cluster','minGroups':1,'maxGroups':2}]",
        "[{'spreadByField':'cluster','minGroups':9,'maxGroups':9}]",
        "[{'spreadByField':'region','minGroups':1,'maxGroups':1},{'spreadByField':'cluster',"
        "'minGroups':1,'maxGroups':3}]",
        "[{'spreadByField':'zone','minGroups':1,'maxGroups':1}]",
    };
    static const char *const how[] = {
        "'Duplicated','replicaDivisionPreference':null,'weightPreference':null",
        "'Divided','replicaDivisionPreference':'Aggregated','weightPreference':null",
        "'Divided','replicaDivisionPreference':'Weighted','weightPreference':{'dynamicWeight':"
        "'AvailableReplicas'}",
        "'Divided','replicaDivisionPreference':'Weighted','weightPreference':null",
    };

    h->step = "a placement";
    (void)request(h, "PATCH", arena_printf(h->rig.arena, POLICIES "/p%u", below(h, APPS)),
                  arena_printf(h->rig.arena,
                               "{'spec':{'placement':{%s'spreadConstraints':%s,"
                               "'replicaScheduling':{'replicaSchedulingType':%s}}}}",
                               where[below(h, 7)], spread[below(h, 7)], how[below(h, 4)]));
}

static void scale(struct history *h)
{
    static const int sizes[] = { 1, 2, 5, 9, 30, 0 };

    h->step = "a scale";
    (void)request(h, "PATCH", arena_printf(h->rig.arena, DEPLOYMENTS "/a%u", below(h, APPS)),
                  arena_printf(h->rig.arena, "{'spec':{'replicas':%d}}", sizes[below(h, 6)]));
}

static void taint(struct history *h)
{
    static const char *const taints[] = { "null", "null",
                                          "[{'key':'t','effect':'NoExecute','timeAdded':"
                                          "'2020-01-01T00:00:00Z'}]",
                                          "[{'key':'t','effect':'NoSchedule'}]" };

    h->step = "a taint";
    (void)request(h, "PATCH", member(h, below(h, MEMBERS)),
                  arena_printf(h->rig.arena, "{'spec':{'taints':%s}}", taints[below(h, 4)]));
}

/* What a member that is ill tells, or what is found when it is looked at badly. */
static void fault(struct history *h)
{
    static const char *const faults[] = {
        "{'status':{'apiEnablements':null}}",
        "{'status':{'resourceSummary':{'allocatable':{'cpu':'0','pods':'0'}}}}",
        "{'status':{'resourceSummary':null}}",
        "{'status':{'conditions':[{'type':'Ready','status':'Unknown','reason':'X','message':'',"
        "'lastTransitionTime':'2020-01-01T00:00:00Z'}]}}",
        "{'status':{'apiEnablements':[{'groupVersion':'apps/v1','resources':[{'name':'deployments',"
        "'kind':'Deployment'}]}],'conditions':null,'resourceSummary':{'allocatable':{'cpu':'8',"
        "'pods':'100'}}}}",
    };

    h->step = "a fault of a member";
    (void)request(h, "PATCH", arena_printf(h->rig.arena, "%s/status", member(h, below(h, MEMBERS))),
                  faults[below(h, 5)]);
}

static void change_fleet(struct history *h)
{
    uint32_t m = below(h, MEMBERS);

    h->step = "a cluster comes or goes";
    if (below(h, 3))
        join(h, m);
    else
        (void)request(h, "DELETE", member(h, m), "");
}

static void change_label(struct history *h)
{
    h->step = "a label of a cluster";
    (void)request(h, "PATCH", member(h, below(h, MEMBERS)),
                  arena_printf(h->rig.arena, "{'metadata':{'labels':{'env':'%s'}}}",
                               below(h, 2) ? "prod" : "dev"));
}

static void restart(struct history *h)
{
    h->step = "a restart";
    stop(h);
    start(h);
}

static void make_policy(struct history *h, uint32_t i)
{
    (void)request(
        h, "POST", POLICIES,
        arena_printf(h->rig.arena,
                     "{'metadata':{'name':'p%u'},'spec':{'resourceSelectors':[{'apiVersion':"
                     "'apps/v1','kind':'Deployment','name':'a%u'}],'placement':{}}}",
                     i, i));
}

static void change_policy(struct history *h)
{
    uint32_t i = below(h, APPS);

    h->step = "a policy comes or goes";
    if (below(h, 2))
        (void)request(h, "DELETE", arena_printf(h->rig.arena, POLICIES "/p%u", i), "");
    else
        make_policy(h, i);
}

/* ---- what is there ---- */

/* The syncers: what is deleted in a member is gone. */
static size_t finish_deletions(struct history *h)
{
    size_t n = 0;

    json_for_each (w, json_get(request(h, "GET", WORKS, ""), STR("items"))) {
        if (!json_path(w, "metadata.deletionTimestamp"))
            continue;
        n++;
        (void)request(h, "PATCH",
                      arena_printf(h->rig.arena,
                                   I "/apis/work.karmada.io/v1alpha1/namespaces/%.*s/works/%.*s",
                                   STR_ARG(json_get_str(w, "metadata.namespace")),
                                   STR_ARG(json_get_str(w, "metadata.name"))),
                      "{'metadata':{'finalizers':null}}");
    }
    return n;
}

static str versions(struct history *h)
{
    return str_printf(h->rig.arena, "%.*s %.*s",
                      STR_ARG(json_text(h->rig.arena, request(h, "GET", BINDINGS, ""))),
                      STR_ARG(json_text(h->rig.arena, request(h, "GET", WORKS, ""))));
}

static str content(str text)
{
    ptrdiff_t at = str_find(text, '[', 0); /* behind the revision of the list */

    return at < 0 ? text : str_from(text, (size_t)at);
}

/* Until nothing has changed for a while. */
static void settle(struct history *h)
{
    str before = STR("");

    for (int quiet = 0, i = 0; quiet < 4 && i < 400; i++) {
        size_t ended = finish_deletions(h);
        str now = content(versions(h));

        quiet = ended == 0 && str_eq(before, now) ? quiet + 1 : 0;
        before = now;
        (void)usleep(15000);
    }
}

static bool names(const struct json *list, const char *member, str name)
{
    json_for_each (t, list)
        if (str_eq(json_get_str(t, member), name))
            return true;
    return false;
}

static bool was_decided(const struct json *binding)
{
    json_for_each (c, json_path(binding, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Scheduled"))
            return str_is(json_get_str(c, "status"), "True");
    return false;
}

/* Why the copy of an application in a member may go, as things were at one revision; or NULL. */
static const char *reason_at(struct history *h, uint32_t app, uint32_t m, int64_t rev)
{
    struct arena *a = h->rig.arena;
    str name = str_printf(a, "m%u", m), binding = str_printf(a, "a%u-deployment", app);
    const char *at =
        arena_printf(a, "?resourceVersion=%lld&resourceVersionMatch=Exact", (long long)rev);
    const struct json *clusters = request(h, "GET", arena_printf(a, CLUSTERS "%s", at), "");
    const struct json *bindings = request(h, "GET", arena_printf(a, BINDINGS "%s", at), "");

    if (!names(json_get(clusters, STR("items")), "metadata.name", name))
        return "its cluster was unjoined";
    json_for_each (b, json_get(bindings, STR("items"))) {
        const struct json *targets = json_path(b, "spec.clusters");

        if (!str_eq(json_get_str(b, "metadata.name"), binding))
            continue;
        if (json_int(json_path(b, "spec.replicas"), 0) == 0)
            return "nothing is wanted";
        if (json_len(targets) && !names(targets, "name", name) && was_decided(b))
            return "it was placed elsewhere";
    }
    return NULL;
}

/* Since the last look. */
static const char *reason(struct history *h, uint32_t app, uint32_t m, int64_t now)
{
    const char *why = NULL;

    for (int64_t rev = h->seen ? h->seen : 1; !why && rev <= now; rev++)
        why = reason_at(h, app, m, rev);
    return why;
}

static void look(struct history *h)
{
    const struct json *list = request(h, "GET", WORKS, ""), *works = json_get(list, STR("items"));
    int64_t now = 0;

    CHECK(str_to_i64(json_get_str(list, "metadata.resourceVersion"), &now));
    for (uint32_t app = 0; app < APPS; app++)
        for (uint32_t m = 0; m < MEMBERS; m++) {
            str ns = str_printf(h->rig.arena, "karmada-es-m%u", m), uid = STR_NONE;
            str binding = str_printf(h->rig.arena, "a%u-deployment", app);

            json_for_each (w, works)
                if (str_eq(json_get_str(w, "metadata.namespace"), ns) &&
                    str_eq(karmada_annotation(w, KARMADA_RB_NAME), binding))
                    uid = json_get_str(w, "metadata.uid");
            if (h->had[app][m][0] && !str_is(uid, h->had[app][m]) &&
                !CHECK(reason(h, app, m, now) != NULL))
                printf("# after %s the copy of a%u in m%u went\n", h->step, app, m);
            (void)snprintf(h->had[app][m], sizeof(h->had[app][m]), "%.*s", STR_ARG(uid));
        }
    h->seen = now;
}

static void prepare(struct history *h)
{
    (void)request(h, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{'metadata':{'name':'one'}}");
    for (uint32_t m = 0; m < MEMBERS; m++) {
        join(h, m);
        (void)request(h, "POST", I "/api/v1/namespaces",
                      arena_printf(h->rig.arena, "{'metadata':{'name':'karmada-es-m%u'}}", m));
    }
    for (uint32_t i = 0; i < APPS; i++) {
        make_policy(h, i);
        (void)request(
            h, "POST", DEPLOYMENTS,
            arena_printf(h->rig.arena,
                         "{'metadata':{'name':'a%u'},'spec':{'replicas':3,'selector':{"
                         "'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{'app':"
                         "'x'}},'spec':{'containers':[{'name':'c','image':'i','resources':{"
                         "'requests':{'cpu':'1'}}}]}}}}",
                         i));
    }
}

static void play(uint64_t seed)
{
    static void (*const steps[])(struct history *) = {
        place, place, place,        scale,        taint,   taint,
        fault, fault, change_fleet, change_label, restart, change_policy,
    };
    struct history h = { .rand = { seed } };
    size_t copies = 0;

    printf("# KEPT_SEED=%llu\n", (unsigned long long)seed);
    rig_open(&h.rig);
    prepare(&h);
    start(&h);
    for (int i = 0; i < STEPS; i++) {
        settle(&h);
        look(&h);
        steps[below(&h, sizeof(steps) / sizeof(*steps))](&h);
    }
    settle(&h);
    look(&h);
    for (size_t i = 0; i < APPS * MEMBERS; i++)
        copies += h.had[i / MEMBERS][i % MEMBERS][0] != '\0';
    CHECK(copies > 0); /* else nothing was tested */
    stop(&h);
    rig_close(&h.rig);
}

TEST(nothing_that_runs_goes_without_an_order)
{
    const char *one = getenv("KEPT_SEED");
    uint64_t runs = getenv("SOAK") ? 100 : 2;

    if (one) {
        play(strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t i = 0; i < runs; i++)
        play(rand_u64());
}

/* ---- stories of others ---- */

#define WIDGETS I "/apis/ex.io/v1/namespaces/default/widgets"

static const char *uids(struct history *h, const char *path)
{
    struct arena *a = h->rig.arena;
    str all = STR("");

    json_for_each (o, json_get(request(h, "GET", path, ""), STR("items")))
        all = str_printf(a, "%.*s%.*s%s ", STR_ARG(all), STR_ARG(json_get_str(o, "metadata.uid")),
                         json_path(o, "metadata.deletionTimestamp") ? " is deleted" : "");
    return all.p;
}

static void ail(struct history *h, uint32_t m, const char *status)
{
    (void)request(h, "PATCH", arena_printf(h->rig.arena, "%s/status", member(h, m)), status);
}

/*
 * karmada-io/karmada#5406: an agent that was away finds its Works deleted when it comes back, and
 * deletes everything.  Without failover nobody deletes the Works of a cluster that is silent.
 */
TEST(karmada_5406_a_silent_cluster_keeps_its_works)
{
    static const char *const silence[] = {
        "{'status':{'conditions':[{'type':'Ready','status':'Unknown','reason':'X','message':'',"
        "'lastTransitionTime':'2020-01-01T00:00:00Z'}]}}",
        "{'status':{'apiEnablements':null,'resourceSummary':null}}",
    };
    struct history h = { .rand = { 1 } };
    const char *before;

    rig_open(&h.rig);
    prepare(&h);
    start(&h);
    settle(&h);
    before = uids(&h, WORKS);
    CHECK(*before);
    for (uint32_t m = 0; m < MEMBERS; m++)
        for (size_t i = 0; i < sizeof(silence) / sizeof(*silence); i++)
            ail(&h, m, silence[i]);
    (void)request(&h, "PATCH", member(&h, 0),
                  "{'spec':{'taints':[{'key':'cluster.karmada.io/not-ready','effect':"
                  "'NoSchedule'}]}}");
    (void)request(&h, "PATCH", DEPLOYMENTS "/a0", "{'spec':{'replicas':4}}");
    settle(&h);
    stop(&h);
    start(&h);
    settle(&h);
    CHECK_STR(uids(&h, WORKS), before);
    stop(&h);
    rig_close(&h.rig);
}

static const char *works_of_a0(struct history *h)
{
    str all = STR("");

    json_for_each (w, json_get(request(h, "GET", WORKS, ""), STR("items")))
        if (str_is(karmada_annotation(w, KARMADA_RB_NAME), "a0-deployment") &&
            str_is(json_get_str(w, "metadata.namespace"), "karmada-es-m0"))
            all = str_printf(
                h->rig.arena, "%.*s%.*s=%lld ", STR_ARG(all),
                STR_ARG(json_get_str(w, "metadata.name")),
                (long long)json_int(
                    json_path(json_at(json_path(w, "spec.workload.manifests"), 0), "spec.replicas"),
                    -1));
    return all.p;
}

/* A second Work for one object would be refused by the syncer, as somebody else's. */
TEST(works_keep_the_names_that_older_programs_gave_them)
{
    struct history h = { .rand = { 1 } };
    const struct json *work = NULL;
    struct json older = json_of_str(STR("older"));
    struct arena *a;

    rig_open(&h.rig);
    a = h.rig.arena;
    prepare(&h);
    start(&h);
    settle(&h);
    stop(&h);
    json_for_each (w, json_get(request(&h, "GET", WORKS, ""), STR("items")))
        if (str_is(karmada_annotation(w, KARMADA_RB_NAME), "a0-deployment") &&
            str_is(json_get_str(w, "metadata.namespace"), "karmada-es-m0"))
            work = w;
    REQUIRE(work);
    (void)request(
        &h, "DELETE",
        arena_printf(a, WORKS_OF_M0 "/%.*s", STR_ARG(json_get_str(work, "metadata.name"))), "");
    (void)finish_deletions(&h);
    work = json_set(a, work, "metadata.name", &older);
    work = json_set(a, work, "metadata.uid", NULL);
    work = json_set(a, work, "metadata.resourceVersion", NULL);
    (void)request(&h, "POST", WORKS_OF_M0, str_z(a, json_text(a, work)));
    start(&h);
    (void)request(&h, "PATCH", DEPLOYMENTS "/a0", "{'spec':{'replicas':7}}");
    settle(&h);
    CHECK_STR(works_of_a0(&h), "older=7 ");
    stop(&h);
    rig_close(&h.rig);
}

/*
 * karmada-io/karmada#6098: controllers crash in an upgrade while the credentials of members are out
 * of date, and custom resources are gone when all is well again.
 */
TEST(karmada_6098_custom_resources_outlive_an_upgrade)
{
    struct history h = { .rand = { 1 } };
    const char *widgets, *works;

    rig_open(&h.rig);
    prepare(&h);
    (void)request(&h, "POST", I "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                  "{'metadata':{'name':'widgets.ex.io'},'spec':{'group':'ex.io','scope':"
                  "'Namespaced','names':{'plural':'widgets','kind':'Widget'},'versions':[{'name':"
                  "'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object',"
                  "'x-kubernetes-preserve-unknown-fields':true}}}]}}");
    (void)request(&h, "POST", POLICIES,
                  "{'metadata':{'name':'w'},'spec':{'resourceSelectors':[{'apiVersion':'ex.io/v1',"
                  "'kind':'Widget'}],'placement':{}}}");
    for (uint32_t m = 0; m < MEMBERS; m++)
        ail(&h, m,
            "{'status':{'apiEnablements':[{'groupVersion':'apps/v1','resources':[{'name':"
            "'deployments','kind':'Deployment'}]},{'groupVersion':'ex.io/v1','resources':[{'name':"
            "'widgets','kind':'Widget'}]}]}}");
    start(&h);
    for (int i = 0; i < 500 && !*uids(&h, WIDGETS); i++) {
        (void)request(&h, "POST", WIDGETS,
                      "{'apiVersion':'ex.io/v1','kind':'Widget','metadata':{"
                      "'name':'w'}}");
        (void)usleep(10000);
    }
    settle(&h);
    widgets = uids(&h, WIDGETS);
    works = uids(&h, WORKS);
    CHECK(*widgets && strlen(works) == (size_t)(APPS + 1) * MEMBERS * (36 + 1)); /* uids */
    for (int crash = 0; crash < 4; crash++) {
        stop(&h);
        for (uint32_t m = 0; m < MEMBERS; m++)
            ail(&h, m,
                "{'status':{'apiEnablements':null,'conditions':[{'type':'Ready','status':"
                "'False','reason':'Unauthorized','message':'','lastTransitionTime':"
                "'2020-01-01T00:00:00Z'}]}}");
        start(&h);
        (void)usleep(crash * 10000U);
    }
    settle(&h);
    CHECK_STR(uids(&h, WIDGETS), widgets);
    CHECK_STR(uids(&h, WORKS), works);
    stop(&h);
    rig_close(&h.rig);
}
