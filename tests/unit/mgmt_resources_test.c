/* SPDX-License-Identifier: Apache-2.0 */

/* Apps, Core, Policy and Aggregation over an instance that no controller looks after. */

#include "mgmt_rig.h"
#include "tap.h"

#define DEMO     "/clusters/demo"
#define IN       "\"namespace\":\"default\","
#define AT(name) "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"" name "\"}"

#define DEPLOYMENT(name)                                                              \
    "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"app\":\"" name "\"}},"        \
    "\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"" name "\"}}," \
    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"" name "\"}},"                 \
    "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"nginx\"}]}}}}"
#define POLICY(name, kind, target)                                                            \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"resourceSelectors\":[{\"apiVersion\":" \
    "\"apps/v1\",\"kind\":\"" kind "\",\"name\":\"" target "\"}],\"placement\":{}}}"

static str path(const struct json *v, const char *at)
{
    return json_get_str(v, at);
}

static void create(struct bed *b, const char *method, const char *object)
{
    (void)bed_ok(b, &bed_admin, method, bed_data(b, IN, object));
}

/* ---- one ---- */

TEST(what_was_written_is_read_at_once)
{
    const struct json *v;
    struct bed b;

    bed_open(&b);
    v = bed_ok(&b, &bed_admin, "Apps/CreateDeployment", bed_data(&b, IN, DEPLOYMENT("web")));
    CHECK(str_contains(path(v, "data"), STR("\"kind\":\"Deployment\"")));
    v = bed_ok(&b, &bed_admin, "Apps/GetDeployment", AT("web"));
    CHECK(str_is(path(v, "metadata.name"), "web") && !b.warning.n);
    CHECK(str_is(path(v, "status.state"), "WORKLOAD_STATE_WAITING"));
    CHECK(str_is(path(v, "spec.strategy.rollingUpdate.maxSurge"), "25%"));
    CHECK(!json_get(json_path(v, "metadata.annotations"),
                    STR("shadow.clusterpedia.io/cluster-name")));
    v = bed_ok(&b, &bed_admin, "Apps/PatchDeployment",
               bed_data(&b, IN "\"name\":\"web\",", "{\"spec\":{\"replicas\":0}}"));
    v = bed_ok(&b, &bed_admin, "Apps/GetDeployment", AT("web"));
    CHECK(str_is(path(v, "status.state"), "WORKLOAD_STATE_STOPPED"));
    v = bed_ok(&b, &bed_admin, "Apps/PauseDeployment", AT("web"));
    CHECK(json_bool(json_path(v, "deployment.spec.paused")));
    v = bed_ok(&b, &bed_admin, "Apps/ResumeDeployment", AT("web"));
    CHECK(!json_bool(json_path(v, "deployment.spec.paused")));
    v = bed_ok(&b, &bed_admin, "Apps/RestartDeployment", AT("web"));
    CHECK(json_get(json_path(v, "deployment.spec.template.metadata.annotations"),
                   STR("kubectl.kubernetes.io/restartedAt")));
    (void)bed_ok(&b, &bed_admin, "Apps/DeleteDeployment", AT("web"));
    bed_refused(&b, &bed_admin, "Apps/GetDeployment", AT("web"), REASON_NOT_FOUND);
    bed_close(&b);
}

TEST(what_was_read_can_be_written_back)
{
    const struct json *v;
    const char *object;
    struct bed b;

    bed_open(&b);
    create(&b, "Apps/CreateDeployment", DEPLOYMENT("web"));
    v = bed_ok(&b, &bed_admin, "Apps/GetDeploymentJSON", AT("web"));
    object = str_z(b.rig.arena, path(v, "data"));
    (void)bed_ok(&b, &bed_admin, "Apps/PatchDeployment",
                 bed_data(&b, IN "\"name\":\"web\",", "{\"spec\":{\"replicas\":1}}"));
    bed_refused(&b, &bed_admin, "Apps/UpdateDeployment",
                bed_data(&b, IN "\"name\":\"web\",", object), REASON_CONFLICT);
    v = bed_ok(&b, &bed_admin, "Apps/GetDeploymentJSON", AT("web"));
    object = str_z(b.rig.arena, path(v, "data"));
    (void)bed_ok(&b, &bed_admin, "Apps/UpdateDeployment",
                 bed_data(&b, IN "\"name\":\"web\",", object));
    bed_close(&b);
}

TEST(what_is_wrong_is_told_with_its_field)
{
    static const struct {
        const char *method, *more, *object, *field;
    } cases[] = {
        { "Apps/CreateDeployment", IN, "{\"kind\":\"Service\"}", "data.kind" },
        { "Apps/CreateDeployment", IN, "{\"metadata\":{\"namespace\":\"other\"}}",
          "data.metadata.namespace" },
        { "Apps/CreateDeployment", IN, "{\"metadata\":[]}", "data.metadata" },
        { "Apps/CreateDeployment", IN, "{\"apiVersion\":7}", "data.apiVersion" },
        { "Apps/UpdateDeployment", IN "\"name\":\"web\",", "{\"metadata\":{\"name\":\"wob\"}}",
          "data.metadata.name" },
        { "Apps/CreateDeployment", IN,
          "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"replicas\":-1,\"selector\":{\"matchLabels\":{"
          "\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{"
          "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
          "spec.replicas" },
        { "Apps/UpdateDeployment", IN, "{}", "name" },
        { "Apps/CreateDeployment", "", "{}", "namespace" },
    };
    struct bed b;

    bed_open(&b);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bed_refused(&b, &bed_admin, cases[i].method, bed_data(&b, cases[i].more, cases[i].object),
                    REASON_INVALID);
        CHECK(b.rig.st.causes && str_is(b.rig.st.causes->field, cases[i].field));
    }
    bed_refused(&b, &bed_admin, "Apps/CreateDeployment", bed_data(&b, IN, "{"), REASON_BAD_REQUEST);
    bed_refused(&b, &bed_admin, "Apps/CreateDeployment", bed_data(&b, IN, "[]"),
                REASON_BAD_REQUEST);
    bed_refused(&b, &bed_admin, "Core/ListConfigMaps",
                "{\"instance\":\"demo\",\"namespace\":\"default\",\"labelSelector\":\"===\"}",
                REASON_BAD_REQUEST);
    bed_refused(&b, &bed_admin, "Core/ListEvents",
                "{\"instance\":\"demo\",\"namespace\":\"default\",\"kind\":\"a,b\"}",
                REASON_INVALID);
    bed_close(&b);
}

/* ---- where it goes ---- */

TEST(bindings_say_where_it_goes)
{
    static const char binding[] =
        "{\"metadata\":{\"name\":\"web-deployment\",\"namespace\":\"default\"},\"spec\":{"
        "\"resource\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"namespace\":"
        "\"default\",\"name\":\"web\"},\"clusters\":[{\"name\":\"m1\",\"replicas\":2},{\"name\":"
        "\"m2\",\"replicas\":1}]}}";
    static const char rbs[] =
        DEMO "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings";
    const struct json *v, *clusters;
    struct bed b;

    bed_open(&b);
    bed_post(&b, DEMO "/apis/cluster.karmada.io/v1alpha1/clusters",
             "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"syncMode\":\"Push\",\"provider\":"
             "\"aws_eks\"}}");
    create(&b, "Apps/CreateDeployment", DEPLOYMENT("web"));
    bed_post(&b, rbs, binding);
    CHECK(ask_api(&b.rig, "PATCH", arena_printf(b.rig.arena, "%s/web-deployment/status", rbs),
                  "{\"status\":{\"aggregatedStatus\":[{\"clusterName\":\"m1\",\"applied\":true,"
                  "\"health\":\"Unknown\",\"unknownSince\":\"2026-01-01T00:00:00Z\"}]}}",
                  NULL) == 200);
    v = bed_ok(&b, &bed_admin, "Apps/ListInstanceDeployments", "{\"instance\":\"demo\"}");
    clusters = json_path(json_at(json_get(v, STR("items")), 0), "status.clusters");
    CHECK(json_len(clusters) == 2);
    CHECK(str_is(path(json_at(clusters, 0), "name"), "m1"));
    CHECK(str_is(path(json_at(clusters, 0), "provider"), "AWS_EKS"));
    CHECK(json_bool(json_path(json_at(clusters, 0), "applied")));
    CHECK(str_is(json_get_str(json_at(clusters, 0), "unknownSince"), "2026-01-01T00:00:00Z"));
    CHECK(str_is(path(json_at(clusters, 1), "provider"), "GENERIC"));
    CHECK(!json_bool(json_path(json_at(clusters, 1), "applied")));
    bed_close(&b);
}

/* ---- lists ---- */

TEST(lists_are_filtered_sorted_and_paged)
{
    static const struct {
        const char *ask, *names;
        int64_t total, pages;
    } cases[] = {
        { "", "a ab b.c d", 4, 1 },
        { "\"sortBy\":\"field_name\"", "d b.c ab a", 4, 1 },
        { "\"sortBy\":\"field_name\",\"sortDir\":\"asc\",\"pageSize\":3", "a ab b.c", 4, 2 },
        { "\"sortBy\":\"field_name\",\"sortDir\":\"asc\",\"pageSize\":3,\"page\":2", "d", 4, 2 },
        { "\"pageSize\":3,\"page\":9", "", 4, 2 },
        { "\"name\":\"b\"", "ab b.c", 2, 1 },
        { "\"name\":\".\"", "b.c", 1, 1 },
        { "\"labelSelector\":\"app in (a,d)\"", "a d", 2, 1 },
        { "\"labelSelector\":\"app=a\",\"name\":\"d\"", "", 0, 0 },
        { "\"fieldSelector\":\"data.x=1\"", "a", 1, 1 },
    };
    struct bed b;

    bed_open(&b);
    create(&b, "Core/CreateConfigMap",
           "{\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"a\"}},"
           "\"data\":{\"x\":\"1\"}}");
    create(&b, "Core/CreateConfigMap", "{\"metadata\":{\"name\":\"ab\"}}");
    create(&b, "Core/CreateConfigMap",
           "{\"metadata\":{\"name\":\"d\",\"labels\":{\"app\":\"d\"}}}");
    create(&b, "Core/CreateConfigMap", "{\"metadata\":{\"name\":\"b.c\"}}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct json *v = bed_ok(
            &b, &bed_admin, "Core/ListConfigMaps",
            arena_printf(b.rig.arena, "{\"instance\":\"demo\",\"namespace\":\"default\"%s%s}",
                         *cases[i].ask ? "," : "", cases[i].ask));

        CHECK_STR(bed_names(&b, v), cases[i].names);
        CHECK(json_int(json_path(v, "pagination.total"), -1) == cases[i].total);
        CHECK(json_int(json_path(v, "pagination.pages"), -1) == cases[i].pages);
    }
    bed_close(&b);
}

/* What the index cannot find by itself is looked at one by one, over more than one chunk. */
TEST(lists_are_also_filtered_by_state)
{
    enum { MANY = 620 };
    const struct json *v;
    struct bed b;

    bed_open(&b);
    for (int i = 0; i < MANY; i++)
        bed_post(&b, DEMO "/apis/apps/v1/namespaces/default/deployments",
                 arena_printf(b.rig.arena,
                              "{\"metadata\":{\"name\":\"d-%03d\"},\"spec\":{\"replicas\":%d,"
                              "\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"
                              "\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{"
                              "\"name\":\"c\",\"image\":\"i\"}]}}}}",
                              i, i % 2));
    (void)search_wait(b.search, 20000);
    v = bed_ok(&b, &bed_admin, "Apps/ListDeployments",
               "{\"instance\":\"demo\",\"namespace\":\"default\",\"phase\":\"stopped\","
               "\"sortBy\":\"field_name\",\"sortDir\":\"asc\",\"pageSize\":2,\"page\":151}");
    CHECK_STR(bed_names(&b, v), "d-600 d-602");
    CHECK(json_int(json_path(v, "pagination.total"), 0) == MANY / 2);
    v = bed_ok(&b, &bed_admin, "Apps/ListInstanceDeployments",
               "{\"instance\":\"demo\",\"phase\":\"WORKLOAD_STATE_RUNNING\"}");
    CHECK(json_int(json_path(v, "pagination.total"), -1) == 0);
    bed_close(&b);
}

TEST(policies_are_found_by_what_they_are_about)
{
    static const struct {
        const char *ask, *names;
    } cases[] = {
        { "\"kind\":\"Deployment\",\"kindName\":\"web\"", "p1" },
        { "\"kind\":\"Deployment\"", "p1 p2" },
        { "\"kind\":\"DaemonSet\",\"apiVersion\":\"apps/v1\"", "p3" },
        { "\"kind\":\"DaemonSet\",\"apiVersion\":\"batch/v1\"", "" },
        { "\"name\":\"3\"", "p3" },
    };
    const struct json *v;
    struct bed b;

    bed_open(&b);
    create(&b, "Policy/CreatePropagationPolicy", POLICY("p1", "Deployment", "web"));
    create(&b, "Policy/CreatePropagationPolicy", POLICY("p2", "Deployment", "other"));
    create(&b, "Policy/CreatePropagationPolicy", POLICY("p3", "DaemonSet", "web"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        v = bed_ok(&b, &bed_admin, "Policy/ListPropagationPolicies",
                   arena_printf(b.rig.arena, "{\"instance\":\"demo\",\"namespace\":\"default\",%s}",
                                cases[i].ask));
        CHECK_STR(bed_names(&b, v), cases[i].names);
    }
    v = bed_ok(&b, &bed_admin, "Policy/GetPropagationPolicy", AT("p1"));
    CHECK(str_is(path(v, "propagationPolicy.metadata.name"), "p1"));
    bed_close(&b);
}

/* ---- what must not go ---- */

TEST(what_is_in_use_stays)
{
    const struct json *v;
    const char *id;
    struct bed b;

    bed_open(&b);
    create(&b, "Policy/CreatePropagationPolicy", POLICY("p1", "Deployment", "web"));
    v = bed_ok(&b, &bed_admin, "Policy/GetPropagationPolicy", AT("p1"));
    id = str_z(b.rig.arena, json_str(json_get(json_path(v, "propagationPolicy.metadata.labels"),
                                              STR("propagationpolicy.karmada.io/permanent-id"))));
    CHECK(*id);
    bed_post(&b, DEMO "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings",
             arena_printf(b.rig.arena,
                          "{\"metadata\":{\"name\":\"web-deployment\",\"labels\":{"
                          "\"propagationpolicy.karmada.io/permanent-id\":\"%s\"}},\"spec\":{"
                          "\"resource\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
                          "\"namespace\":\"default\",\"name\":\"web\"}}}",
                          id));
    bed_refused(&b, &bed_admin, "Policy/DeletePropagationPolicy", AT("p1"), REASON_CONFLICT);
    CHECK(str_contains(b.rig.st.message, STR("used by 1 resource (Deployment default/web);")));
    (void)bed_ok(
        &b, &bed_admin, "Policy/DeletePropagationPolicy",
        "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"p1\",\"confirm\":true}");

    (void)bed_ok(&b, &bed_admin, "Core/CreateNamespace",
                 bed_data(&b, "", "{\"metadata\":{\"name\":\"full\"}}"));
    (void)bed_ok(&b, &bed_admin, "Apps/CreateDeployment",
                 bed_data(&b, "\"namespace\":\"full\",", DEPLOYMENT("web")));
    bed_refused(&b, &bed_admin, "Core/DeleteNamespace", "{\"instance\":\"demo\",\"name\":\"full\"}",
                REASON_CONFLICT);
    CHECK(str_contains(b.rig.st.message, STR("1 deployments")));
    bed_close(&b);
}

TEST(a_cluster_with_the_only_copies_stays)
{
    static const char *const placed[] = { "{\"name\":\"m1\"}",
                                          "{\"name\":\"m1\"},{\"name\":\"m2\"}" };
    struct bed b;

    bed_open(&b);
    bed_post(&b, DEMO "/apis/cluster.karmada.io/v1alpha1/clusters",
             "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"syncMode\":\"Push\"}}");
    for (size_t i = 0; i < 2; i++)
        bed_post(&b, DEMO "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings",
                 arena_printf(b.rig.arena,
                              "{\"metadata\":{\"name\":\"w%zu\"},\"spec\":{\"clusters\":[%s],"
                              "\"resource\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
                              "\"namespace\":\"default\",\"name\":\"w%zu\"}}}",
                              i, placed[i], i));
    bed_refused(&b, &bed_admin, "Cluster/RemoveJoinedCluster",
                "{\"instance\":\"demo\",\"name\":\"m1\"}", REASON_CONFLICT);
    CHECK(str_contains(b.rig.st.message, STR("only copies of 1 resource (Deployment default/w0)")));
    (void)bed_ok(&b, &bed_admin, "Cluster/RemoveJoinedCluster",
                 "{\"instance\":\"demo\",\"name\":\"m1\",\"confirm\":true}");
    bed_close(&b);
}

TEST(namespaces_are_there_from_the_beginning)
{
    const struct json *v;
    struct bed b;

    bed_open(&b);
    (void)bed_ok(&b, &bed_admin, "Core/CreateNamespace",
                 bed_data(&b, "", "{\"metadata\":{\"name\":\"a\"}}"));
    (void)bed_ok(
        &b, &bed_admin, "Core/PatchNamespace",
        bed_data(&b, "\"name\":\"default\",", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}"));
    v = bed_ok(&b, &bed_admin, "Core/ListNamespaces", "{\"instance\":\"demo\",\"pageSize\":3}");
    CHECK_STR(bed_names(&b, v), "a default kube-node-lease");
    CHECK(json_int(json_path(v, "pagination.total"), 0) == 5);
    v = bed_ok(&b, &bed_admin, "Core/GetNamespace", "{\"instance\":\"demo\",\"name\":\"default\"}");
    CHECK(str_is(path(v, "namespace.metadata.labels.x"), "y"));
    v = bed_ok(&b, &bed_admin, "Core/GetNamespace",
               "{\"instance\":\"demo\",\"name\":\"kube-public\"}");
    CHECK(str_is(path(v, "namespace.metadata.name"), "kube-public"));
    v = bed_ok(&b, &bed_admin, "Core/ListNamespaceSummary", "{\"instance\":\"demo\"}");
    CHECK(json_len(json_get(v, STR("data"))) == 5 && str_is(path(v, "accessScope"), "Instance"));
    bed_close(&b);
}

TEST(one_secret_shows_its_values_and_keeps_those_that_are_not_sent)
{
    const struct json *v;
    const char *object;
    struct bed b;

    bed_open(&b);
    create(&b, "Core/CreateSecret",
           "{\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"b2xk\",\"b\":\"b2xk\"}}");
    v = bed_ok(&b, &bed_admin, "Core/ListSecrets", AT(""));
    CHECK(!str_contains(json_text(b.rig.arena, v), STR("b2xk")));
    v = bed_ok(&b, &bed_admin, "Core/GetSecret", AT("s"));
    CHECK(str_is(path(v, "data.a"), "b2xk"));
    (void)bed_ok(&b, &bed_admin, "Core/UpdateSecret",
                 bed_data(&b, IN "\"name\":\"s\",", "{\"metadata\":{\"name\":\"s\"}}"));
    v = bed_ok(&b, &bed_admin, "Core/GetSecret", AT("s"));
    CHECK(str_is(path(v, "data.a"), "b2xk") && str_is(path(v, "data.b"), "b2xk"));
    object = "{\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"\",\"b\":\"bmV3\"}}";
    (void)bed_ok(&b, &bed_admin, "Core/UpdateSecret", bed_data(&b, IN "\"name\":\"s\",", object));
    (void)bed_ok(&b, &bed_admin, "Core/PatchSecret",
                 "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"s\",\"data\":{"
                 "\"c\":\"bmV3\"}}");
    CHECK(ask_api(&b.rig, "GET", DEMO "/api/v1/namespaces/default/secrets/s", "", &v) == 200);
    CHECK(str_is(path(v, "data.a"), "b2xk") && str_is(path(v, "data.b"), "bmV3") &&
          str_is(path(v, "data.c"), "bmV3"));
    bed_close(&b);
}

/* ---- several at once ---- */

static const char *aggregate(struct bed *b, const char *resources, const char *overrides,
                             const char *policies, const char *gvr)
{
    return arena_printf(
        b->rig.arena,
        "{\"instance\":\"demo\",\"namespace\":\"default\",\"data\":{\"resources\":"
        "[%s],\"overridepolicies\":[%s],\"popagrationpolicies\":[%s]},\"gvr\":[%s]}",
        resources, overrides, policies, gvr);
}

static const char *quoted(struct bed *b, const char *kind, const char *object)
{
    const char *typed = arena_printf(b->rig.arena, "{%s,%s", kind, object + 1);
    struct json text = json_of_str(str_of(typed));

    return str_z(b->rig.arena, json_text(b->rig.arena, &text));
}

#define KIND_DEPLOYMENT "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\""
#define KIND_OVERRIDE   "\"apiVersion\":\"policy.karmada.io/v1alpha1\",\"kind\":\"OverridePolicy\""
#define OVERRIDE        "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"overrideRules\":[]}}"
#define KIND_POLICY     "\"apiVersion\":\"policy.karmada.io/v1alpha1\",\"kind\":\"PropagationPolicy\""
#define GVR             "{\"group\":\"apps\",\"version\":\"v1\",\"resource\":\"deployments\"}"

static int64_t count(struct bed *b, const char *method)
{
    return json_int(
        json_path(bed_ok(b, &bed_admin, method, "{\"instance\":\"demo\"}"), "pagination.total"),
        -1);
}

TEST(all_or_nothing_is_created)
{
    static const char create_all[] = "Aggregation/CreateAggregationResource";
    const char *web, *bad, *override, *policy;
    const struct json *v;
    struct bed b;

    bed_open(&b);
    web = quoted(&b, KIND_DEPLOYMENT, DEPLOYMENT("web"));
    bad = quoted(&b, KIND_DEPLOYMENT, "{\"spec\":{}}");
    override = quoted(&b, KIND_OVERRIDE, OVERRIDE);
    policy = quoted(&b, KIND_POLICY, POLICY("web", "Deployment", "web"));
    bed_refused(&b, &bed_admin, create_all,
                aggregate(&b, arena_printf(b.rig.arena, "%s,%s", web, bad), override, policy, GVR),
                REASON_INVALID);
    CHECK(str_starts(b.rig.st.message, STR("data.resources[1]: nothing was created")));
    /* Each is fine, but not both: what was made is taken back. */
    bed_refused(&b, &bed_admin, create_all,
                aggregate(&b, arena_printf(b.rig.arena, "%s,%s", web, web), override, "", GVR),
                REASON_ALREADY_EXISTS);
    CHECK(str_starts(b.rig.st.message, STR("data.resources[1]: nothing was kept")));
    bed_refused(&b, &bed_admin, create_all, aggregate(&b, web, override, policy, ""),
                REASON_INVALID);
    CHECK(b.rig.st.causes && str_is(b.rig.st.causes->field, "gvr"));
    bed_refused(&b, &bed_admin, create_all, aggregate(&b, "", "", "", ""), REASON_BAD_REQUEST);
    bed_refused(&b, &bed_admin, create_all, aggregate(&b, "\"rubbish\"", override, policy, GVR),
                REASON_BAD_REQUEST);
    CHECK(count(&b, "Apps/ListInstanceDeployments") == 0);
    CHECK(count(&b, "Policy/ListInstanceOverridePolicies") == 0);
    CHECK(count(&b, "Policy/ListInstancePropagationPolicies") == 0);

    v = bed_ok(&b, &bed_admin, create_all, aggregate(&b, web, override, policy, GVR));
    CHECK(json_len(json_get(v, STR("resources"))) == 1 &&
          json_len(json_get(v, STR("popagrationpolicies"))) == 1);
    CHECK(count(&b, "Apps/ListInstanceDeployments") == 1);
    CHECK(count(&b, "Policy/ListInstanceOverridePolicies") == 1);
    CHECK(count(&b, "Policy/ListInstancePropagationPolicies") == 1);
    bed_close(&b);
}

TEST(a_service_goes_where_its_workload_goes)
{
    static const char request[] =
        "\"namespace\":\"default\",\"kind\":\"Deployment\",\"kindName\":\"web\",";
    static const char service[] =
        "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"selector\":{\"app\":"
        "\"web\"},\"ports\":[{\"port\":80}]}}";
    const struct json *v;
    struct bed b;

    bed_open(&b);
    create(&b, "Apps/CreateDeployment", DEPLOYMENT("web"));
    bed_refused(&b, &bed_admin, "Core/CreateWorkloadService", bed_data(&b, request, service),
                REASON_INVALID);
    CHECK(b.rig.st.causes && str_is(b.rig.st.causes->field, "kindName"));
    create(&b, "Policy/CreatePropagationPolicy",
           "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"resourceSelectors\":[{\"apiVersion\":"
           "\"apps/v1\",\"kind\":\"Deployment\"}],\"placement\":{\"clusterAffinity\":{"
           "\"clusterNames\":[\"m1\"]}}}}");
    (void)bed_ok(&b, &bed_admin, "Apps/PatchDeployment",
                 bed_data(&b, IN "\"name\":\"web\",",
                          "{\"metadata\":{\"annotations\":{\"propagationpolicy.karmada.io/name\":"
                          "\"p\",\"propagationpolicy.karmada.io/namespace\":\"default\"}}}"));
    (void)bed_ok(&b, &bed_admin, "Core/CreateWorkloadService", bed_data(&b, request, service));
    v = bed_ok(&b, &bed_admin, "Policy/ListPropagationPolicies",
               "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"service-web-\"}");
    v = json_at(json_get(v, STR("items")), 0);
    CHECK(str_is(json_str(json_at(json_path(v, "spec.placement.clusterAffinity.clusterNames"), 0)),
                 "m1"));
    v = bed_ok(&b, &bed_admin, "Core/ListServices",
               "{\"instance\":\"demo\",\"namespace\":\"default\",\"kind\":\"Deployment\","
               "\"kindName\":\"web\",\"type\":[\"ClusterIP\",\"NodePort\"]}");
    CHECK_STR(bed_names(&b, v), "web");
    v = bed_ok(&b, &bed_admin, "Core/ListServices",
               "{\"instance\":\"demo\",\"namespace\":\"default\",\"kind\":\"Deployment\","
               "\"kindName\":\"none\"}");
    CHECK_STR(bed_names(&b, v), "");
    v = bed_ok(&b, &bed_admin, "Core/ListInstanceServices",
               "{\"instance\":\"demo\",\"type\":[\"NodePort\"]}");
    CHECK_STR(bed_names(&b, v), "");
    bed_close(&b);
}

TEST(events_are_of_what_they_are_about)
{
    static const char events[] = DEMO "/api/v1/namespaces/default/events";
    static const struct {
        const char *ask;
        int64_t total;
    } cases[] = {
        { "", 2 },
        { ",\"kind\":\"Pod\"", 1 },
        { ",\"type\":[\"Warning\"]", 1 },
        { ",\"type\":[\"Warning\",\"Normal\"]", 2 },
        { ",\"name\":\"eb\"", 1 },
        { ",\"name\":\"event\"", 0 }, /* its own name */
    };
    const struct json *v;
    struct bed b;

    bed_open(&b);
    bed_post(&b, events,
             "{\"metadata\":{\"name\":\"event1\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":"
             "\"web\",\"namespace\":\"default\"},\"type\":\"Warning\",\"reason\":\"Why\","
             "\"lastTimestamp\":\"2020-01-02T03:04:05Z\",\"source\":{\"component\":\"x\"}}");
    bed_post(&b, events,
             "{\"metadata\":{\"name\":\"event2\"},\"involvedObject\":{\"kind\":\"Node\",\"name\":"
             "\"n\",\"namespace\":\"default\"},\"type\":\"Normal\",\"eventTime\":"
             "\"2020-01-02T03:04:06.000000Z\",\"reportingComponent\":\"y\",\"reportingInstance\":"
             "\"z\",\"action\":\"a\",\"reason\":\"r\"}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        v = bed_ok(&b, &bed_admin, "Core/ListInstanceEvents",
                   arena_printf(b.rig.arena, "{\"instance\":\"demo\"%s}", cases[i].ask));
        CHECK(json_int(json_path(v, "pagination.total"), -1) == cases[i].total);
    }
    v = bed_ok(&b, &bed_admin, "Core/ListEvents",
               "{\"instance\":\"demo\",\"namespace\":\"default\",\"kind\":\"Node\",\"kindName\":"
               "\"n\"}");
    v = json_at(json_get(v, STR("items")), 0);
    CHECK(str_is(path(v, "lastTimestamp"), "1577934246"));
    CHECK(str_is(path(v, "source.component"), "y"));
    v = bed_ok(&b, &bed_admin, "Core/ListInstanceEventKinds", "{\"instance\":\"demo\"}");
    CHECK(json_len(json_get(v, STR("data"))) == 2);
    bed_close(&b);
}
