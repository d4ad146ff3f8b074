/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/syncer_types.h"
#include "syncer_rig.h"

/* The feed of labelled objects, and how types are chosen. */

#define CONFS   PLANE "/api/v1/namespaces/d/configmaps"
#define DEPLOYS PLANE "/apis/apps/v1/namespaces/d/deployments"

static const struct syncer_type types[] = {
    { STR_INIT(""), STR_INIT("v1"), STR_INIT("configmaps") },
    { STR_INIT("apps"), STR_INIT("v1"), STR_INIT("deployments") },
};

static void labels_open(struct pair *p)
{
    pair_open(p);
    p->options.feeds = SYNCER_LABELS;
    p->options.types = types;
    p->options.ntypes = 2;
}

/* The namespace of the member that stands for "d". */
static str space(struct pair *p, str installation)
{
    const struct syncer_origin d = { installation, STR("plane"), STR("d") };

    return syncer_namespace(p->rig.arena, &d);
}

/* A path in the member, in the namespace that stands for "d". */
static const char *copy(struct pair *p, const char *group, const char *what)
{
    str ns = space(p, p->options.owner.installation);

    return arena_printf(p->rig.arena, MEMBER "%s/namespaces/%.*s/%s", group, STR_ARG(ns), what);
}

static const char *conf(struct pair *p, const char *name, const char *cluster, const char *value)
{
    return arena_printf(p->rig.arena,
                        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"workloads.kcp.dev/cluster\":"
                        "\"%s\"},\"finalizers\":[]},\"data\":{\"k\":\"%s\"}}",
                        name, cluster, value);
}

static void patch(struct pair *p, const char *path, const char *body)
{
    int code = ask_api(&p->rig, "PATCH", path, body, NULL);

    if (!CHECK(code == 200))
        printf("# PATCH %s: %.*s\n", path, STR_ARG(p->rig.st.message));
}

TEST(namespaces_are_named_as_kcp_named_them_and_by_installation)
{
    const struct syncer_origin kcp = { STR_NONE, STR("admin"), STR("demo") };
    const struct syncer_origin ours = { STR("0011223344556677"), STR("admin"), STR("demo") };
    struct syncer_origin read;
    scoped_arena a = arena_new();

    CHECK_STR(str_z(a, syncer_namespace(a, &kcp)),
              "kcp63f9a91903e5a33e78aa7b8c492b9c274af651a29bf8f60d99506fde");
    CHECK_STR(str_z(a, syncer_locator(a, &kcp)),
              "{\"logical-cluster\":\"admin\",\"namespace\":\"demo\"}");
    CHECK(!str_eq(syncer_namespace(a, &kcp), syncer_namespace(a, &ours)));
    REQUIRE(syncer_origin_read(a, syncer_locator(a, &ours), &read));
    CHECK(str_eq(read.installation, ours.installation) && str_eq(read.namespace, ours.namespace));
    CHECK(!syncer_origin_read(a, STR("{\"namespace\":\"demo\"}"), &read));
    CHECK(!syncer_origin_read(a, STR("x"), &read));
}

TEST(what_is_labelled_for_the_cluster_has_a_copy_there)
{
    struct pair p;
    const char *there;

    labels_open(&p);
    there = copy(&p, "/api/v1", "configmaps/conf");
    pair_do(&p, pair_start);
    pair_make(&p, CONFS, conf(&p, "conf", "m1", "v"));
    pair_make(&p, CONFS, conf(&p, "other", "m2", "v"));
    CHECK(pair_comes(&p, there, "data.k", "v"));
    CHECK_STR(pair_at(&p, there, "metadata.labels"), "{\"workloads.kcp.dev/cluster\":\"m1\"}");
    CHECK_STR(pair_at(&p, copy(&p, "/api/v1", "configmaps/other"), "kind"), "-");
    patch(&p, CONFS "/conf", "{\"data\":{\"k\":\"v2\"}}");
    CHECK(pair_comes(&p, there, "data.k", "v2"));
    patch(&p, there, "{\"data\":{\"k\":\"edited\"}}");
    CHECK(pair_comes(&p, there, "data.k", "v2"));
    CHECK(ask_api(&p.rig, "DELETE", there, "", NULL) == 200);
    CHECK(pair_comes(&p, there, "data.k", "v2"));
    CHECK(ask_api(&p.rig, "DELETE", CONFS "/conf", "", NULL) == 200);
    CHECK(pair_comes(&p, there, "kind", "-"));
    pair_close(&p);
}

TEST(an_object_that_moves_elsewhere_leaves)
{
    struct pair p;
    const char *there;

    labels_open(&p);
    there = copy(&p, "/api/v1", "configmaps/conf");
    pair_do(&p, pair_start);
    pair_make(&p, CONFS, conf(&p, "conf", "m1", "v"));
    CHECK(pair_comes(&p, there, "data.k", "v"));
    patch(&p, CONFS "/conf", "{\"metadata\":{\"labels\":{\"workloads.kcp.dev/cluster\":\"m2\"}}}");
    CHECK(pair_comes(&p, there, "kind", "-"));
    CHECK_STR(pair_at(&p, CONFS "/conf", "data.k"), "v");
    pair_close(&p);
}

TEST(status_goes_back_and_the_rest_does_not)
{
    struct pair p;
    const char *there;

    labels_open(&p);
    there = copy(&p, "/apis/apps/v1", "deployments/web");
    pair_do(&p, pair_start);
    pair_make(&p, DEPLOYS,
              "{\"metadata\":{\"name\":\"web\",\"labels\":{\"workloads.kcp.dev/cluster\":\"m1\"}},"
              "\"spec\":{\"replicas\":3,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":"
              "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
              "\"image\":\"i\"}]}}}}");
    CHECK(pair_comes(&p, there, "spec.replicas", "3"));
    patch(&p, arena_printf(p.rig.arena, "%s/status", there),
          "{\"status\":{\"replicas\":3,\"readyReplicas\":2}}");
    CHECK(pair_comes(&p, DEPLOYS "/web", "status.readyReplicas", "2"));
    patch(&p, arena_printf(p.rig.arena, "%s/status", there),
          "{\"status\":{\"readyReplicas\":null}}");
    CHECK(pair_comes(&p, DEPLOYS "/web", "status.readyReplicas", "-"));
    CHECK_STR(pair_at(&p, DEPLOYS "/web", "status.replicas"), "3");
    CHECK_STR(pair_at(&p, there, "metadata.generation"), "1");
    CHECK_STR(pair_at(&p, DEPLOYS "/web", "metadata.generation"), "1");
    pair_close(&p);
}

TEST(a_copy_whose_object_went_while_nobody_looked_is_found)
{
    struct pair p;
    const char *there;

    labels_open(&p);
    there = copy(&p, "/api/v1", "configmaps/conf");
    pair_do(&p, pair_start);
    pair_make(&p, CONFS, conf(&p, "conf", "m1", "v"));
    CHECK(pair_comes(&p, there, "data.k", "v"));
    pair_do(&p, pair_stop);
    CHECK(ask_api(&p.rig, "DELETE", CONFS "/conf", "", NULL) == 200);
    pair_make(&p, MEMBER "/api/v1/namespaces/d/configmaps", conf(&p, "foreign", "m1", "v"));
    pair_do(&p, pair_start);
    CHECK(pair_comes(&p, there, "kind", "-"));
    CHECK_STR(pair_at(&p, MEMBER "/api/v1/namespaces/d/configmaps/foreign", "data.k"), "v");
    pair_close(&p);
}

/* A 404 of everything says nothing of an object: an instance that is not served deletes nothing. */
TEST(copies_stay_when_the_instance_is_not_served)
{
    struct pair p;
    const char *there;

    labels_open(&p);
    there = copy(&p, "/api/v1", "configmaps/conf");
    pair_do(&p, pair_start);
    pair_make(&p, CONFS, conf(&p, "conf", "m1", "v"));
    CHECK(pair_comes(&p, there, "data.k", "v"));
    pair_do(&p, pair_stop);
    CHECK(ask_api(&p.rig, "DELETE", "/apis/tenancy.kairship.io/v1alpha1/instances/plane", "",
                  NULL) == 200);
    CHECK(pair_comes(&p, CONFS "/conf", "kind", "-"));
    pair_do(&p, pair_start);
    (void)usleep(300000);
    CHECK_STR(pair_at(&p, there, "data.k"), "v");
    pair_close(&p);
}

TEST(a_namespace_of_somebody_else_is_not_used)
{
    struct pair p;
    str ns;

    labels_open(&p);
    ns = space(&p, p.options.owner.installation);
    pair_make(&p, MEMBER "/api/v1/namespaces",
              arena_printf(p.rig.arena, "{\"metadata\":{\"name\":\"%.*s\"}}", STR_ARG(ns)));
    pair_do(&p, pair_start);
    pair_make(&p, CONFS, conf(&p, "conf", "m1", "v"));
    (void)usleep(200000);
    CHECK_STR(pair_at(&p, copy(&p, "/api/v1", "configmaps/conf"), "kind"), "-");
    CHECK(pair_stats(&p).failures > 0);
    pair_close(&p);
}

/* As a program before this one left them: no installation, and the copy applied by "syncer". */
static const char *old_copy(struct pair *p, const char *owner)
{
    const struct syncer_origin from = { STR_NONE, STR("plane"), STR("d") };
    struct arena *a = p->rig.arena;
    str ns = space(p, STR_NONE);
    const char *path =
        arena_printf(a, MEMBER "/api/v1/namespaces/%.*s/configmaps/conf", STR_ARG(ns));
    str locator = json_text(a, json_box(a, json_of_str(syncer_locator(a, &from))));
    struct client_ref ref = {
        .version = STR("v1"), .resource = STR("configmaps"), .namespace = ns, .name = STR("conf")
    };
    const struct json *object = NULL;

    pair_make(p, arena_printf(a, MEMBER "/api/v1/namespaces?fieldManager=%s", owner),
              arena_printf(a,
                           "{\"metadata\":{\"name\":\"%.*s\",\"annotations\":{"
                           "\"kcp.dev/namespace-locator\":%.*s}}}",
                           STR_ARG(ns), STR_ARG(locator)));
    CHECK(
        json_parse(a,
                   str_printf(a,
                              "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                              "\"name\":\"conf\",\"labels\":{\"workloads.kcp.dev/cluster\":\"m1\"},"
                              "\"annotations\":{\"kcp.dev/namespace-locator\":%.*s}},"
                              "\"data\":{\"k\":\"v\",\"gone\":\"since\"}}",
                              STR_ARG(locator)),
                   NULL, &object, &p->rig.st) == 0);
    CHECK(client_apply(p->target, a, &ref, STR("syncer"), object, NULL, &p->rig.st) == 0);
    return path;
}

TEST(an_older_namespace_keeps_its_name_where_it_is_ours)
{
    static const struct {
        const char *owner;
        enum installation_origin origin;
        bool kept;
    } rows[] = {
        { "kairship", INSTALLATION_UPGRADED, true },
        { "kairship", INSTALLATION_NEW, false },
        { "kairship", INSTALLATION_COPIED, false },
        { "kairship:ffeeddccbbaa9988:plane:01234567", INSTALLATION_UPGRADED, false },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *old;
        struct pair p;

        labels_open(&p);
        p.options.owner.origin = rows[i].origin;
        old = old_copy(&p, rows[i].owner);
        pair_do(&p, pair_start);
        pair_make(&p, CONFS, conf(&p, "conf", "m1", "new"));
        CHECK(pair_comes(&p, rows[i].kept ? old : copy(&p, "/api/v1", "configmaps/conf"), "data.k",
                         "new"));
        CHECK_STR(pair_at(&p, old, "data.gone"), rows[i].kept ? "-" : "since");
        CHECK_STR(
            pair_at(&p, rows[i].kept ? copy(&p, "/api/v1", "configmaps/conf") : old, "data.k"),
            rows[i].kept ? "-" : "v");
        CHECK(!strstr(pair_at(&p, old, "metadata.managedFields"), "\"syncer\"") == rows[i].kept);
        pair_close(&p);
    }
}

static void drop_types(struct pair *p)
{
    syncer_set_types(p->syncer, &types[1], 1);
}

static void all_types(struct pair *p)
{
    syncer_set_types(p->syncer, types, 2);
}

TEST(types_come_and_go)
{
    struct pair p;
    const char *there;

    labels_open(&p);
    there = copy(&p, "/api/v1", "configmaps/conf");
    pair_do(&p, pair_start);
    pair_make(&p, CONFS, conf(&p, "conf", "m1", "v"));
    CHECK(pair_comes(&p, there, "data.k", "v"));
    pair_do(&p, drop_types);
    patch(&p, CONFS "/conf", "{\"data\":{\"k\":\"v2\"}}");
    (void)usleep(50000);
    CHECK_STR(pair_at(&p, there, "data.k"), "v");
    pair_do(&p, all_types);
    CHECK(pair_comes(&p, there, "data.k", "v2"));
    pair_close(&p);
}

TEST(a_member_away_and_killed_syncers_end_in_the_same_state)
{
    struct rand_seq r = { 7 };
    struct pair p;
    char value[8] = { 0 };

    labels_open(&p);
    pair_do(&p, pair_start);
    for (int i = 0; i < 120; i++) {
        uint32_t n = rand_seq_below(&r, 8);
        const char *name = arena_printf(p.rig.arena, "c%u", n);
        const char *path = arena_printf(p.rig.arena, CONFS "/%s", name);
        char text[2] = { (char)('a' + rand_seq_below(&r, 20)), 0 };

        if (rand_seq_below(&r, 6) == 0) {
            pair_do(&p, pair_stop);
            p.road->cut = rand_seq_below(&r, 3) == 0;
            pair_do(&p, pair_start);
        } else if (!value[n]) {
            pair_make(&p, CONFS, conf(&p, name, "m1", text));
            value[n] = text[0];
        } else if (rand_seq_below(&r, 3) == 0) {
            CHECK(ask_api(&p.rig, "DELETE", path, "", NULL) == 200);
            value[n] = 0;
        } else {
            patch(&p, path, arena_printf(p.rig.arena, "{\"data\":{\"k\":\"%s\"}}", text));
            value[n] = text[0];
        }
    }
    p.road->cut = false;
    for (uint32_t n = 0; n < 8; n++) {
        char want[2] = { value[n] ? value[n] : '-', 0 };

        CHECK(pair_comes(&p, copy(&p, "/api/v1", arena_printf(p.rig.arena, "configmaps/c%u", n)),
                         "data.k", want));
    }
    pair_close(&p);
}

TEST(the_cluster_is_told_that_the_syncer_lives_and_what_it_sees)
{
    static const char path[] = PLANE "/apis/workload.kcp.dev/v1alpha1/clusters/m1";
    struct pair p;
    const struct json *v = NULL;

    labels_open(&p);
    p.options.beat_ms = 20000;
    p.road->cut = true;
    pair_make(
        &p, PLANE "/apis/workload.kcp.dev/v1alpha1/clusters",
        "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"kubeconfig\":\"{current-context: c, clusters: "
        "[{name: c, cluster: {server: 'https://m1.example'}}], contexts: [{name: c, context: "
        "{cluster: c, user: c}}], users: [{name: c, user: {token: t}}]}\"}}");
    pair_do(&p, pair_start);
    for (int i = 0; i < 500 && !json_path(v, "status.lastSyncerHeartbeatTime"); i++) {
        (void)usleep(10000);
        CHECK(ask_api(&p.rig, "GET", path, "", &v) == 200);
    }
    v = json_at(json_path(v, "status.conditions"), 0);
    CHECK_STR(str_z(p.rig.arena, json_get_str(v, "type")), "SyncerReady");
    CHECK_STR(str_z(p.rig.arena, json_get_str(v, "status")), "False");
    CHECK_STR(str_z(p.rig.arena, json_get_str(v, "message")), "the road is cut");
    pair_do(&p, pair_stop);
    p.road->cut = false;
    pair_do(&p, pair_start);
    for (int i = 0; i < 500 && !str_is(json_get_str(v, "status"), "True"); i++) {
        (void)usleep(10000);
        CHECK(ask_api(&p.rig, "GET", path, "", &v) == 200);
        v = json_at(json_path(v, "status.conditions"), 0);
    }
    CHECK_STR(str_z(p.rig.arena, json_get_str(v, "status")), "True");
    pair_close(&p);
}

TEST(the_types_are_those_that_were_negotiated)
{
    scoped_arena a = arena_new();
    const struct json *imports;
    struct syncer_types t;
    struct status st;

    status_init(&st, a);
#define IMPORT(plural, group, where, scope, compatible, available)                               \
    "{\"spec\":{\"location\":\"" where "\",\"plural\":\"" plural "\",\"scope\":\"" scope "\","   \
    "\"groupVersion\":{\"group\":\"" group "\",\"version\":\"v1\"}},\"status\":{\"conditions\":" \
    "[{\"type\":\"Compatible\",\"status\":\"" compatible "\"},{\"type\":\"Available\","          \
    "\"status\":\"" available "\"}]}}"
    REQUIRE(
        json_parse(
            a,
            STR("{\"items\":[" IMPORT("deployments", "apps", "m1", "Namespaced", "True", "True") "," IMPORT(
                "configmaps", "", "m1", "Namespaced", "True",
                "True") "," IMPORT("jobs", "batch", "m1", "Namespaced", "False",
                                   "True") "," IMPORT("pods", "", "m1", "Namespaced", "True",
                                                      "False") "," IMPORT("nodes", "", "m1",
                                                                          "Cluster", "True",
                                                                          "True") "," IMPORT("secre"
                                                                                             "ts",
                                                                                             "",
                                                                                             "m2",
                                                                                             "Names"
                                                                                             "pace"
                                                                                             "d",
                                                                                             "True",
                                                                                             "True") "]}"),
            NULL, &imports, &st) == 0);
    t = syncer_types_of(a, imports, STR("m1"));
    CHECK_STR(str_z(a, json_text(a, syncer_types_json(a, &t))),
              "[\"configmaps\",\"deployments.apps\"]");
    CHECK(syncer_types_equal(&t, &t));
}
