/* SPDX-License-Identifier: Apache-2.0 */

/* Karmada's clusters, works, bindings and smaller kinds. */

#include "unit/kinds_refusal.h"

/* ---- clusters ---- */

static struct fixture clusters(void)
{
    return fixture_new("cluster.karmada.io", "v1alpha1", "clusters");
}

TEST(bad_clusters_are_refused_in_karmadas_words)
{
    struct fixture f = clusters();

    CHECK_STR(create(&f, "{'spec':{'syncMode':'Drag','apiEndpoint':'not a url'}}"),
              "spec.syncMode: Unsupported value: \"Drag\": supported values: \"Pull\", \"Push\"; "
              "spec.apiEndpoint: Invalid value: \"\": host must be provided; desired format: "
              "hostname, hostname:port, IP or IP:port");
    CHECK(str_starts(str_of(create(&f, "{'spec':{'syncMode':'Push','zones':['a','b c']}}")),
                     STR("spec.Zones: Invalid value: \"b c\": a valid label must be")));
    CHECK_STR(create(&f, "{'spec':{'syncMode':'Push','apiEndpoint':'https://192.0.2.9','taints':[{"
                         "'key':'a','effect':'Perhaps'}]}}"),
              "spec.taints[0].effect: Unsupported value: \"Perhaps\": supported values: "
              "\"NoSchedule\", \"NoExecute\"");
    CHECK_STR(
        create(&f, "{'spec':{'syncMode':'Push','apiEndpoint':'https://u:p@h/x?q=1#f'}}"),
        "spec.apiEndpoint: Invalid value: \"u:p\": user information is not permitted in the "
        "URL; spec.apiEndpoint: Invalid value: \"f\": fragments are not permitted in the URL; "
        "spec.apiEndpoint: Invalid value: \"q=1\": query parameters are not permitted in the "
        "URL");
    CHECK_STR(
        create(&f, "{'spec':{'syncMode':'Push','proxyURL':'ftp://x','secretRef':{},'taints':[{"
                   "'key':'a','effect':'NoExecute'},{'key':'a','effect':'NoExecute'}]}}"),
        "spec.secretRef.namespace: Required value; spec.secretRef.name: Required value; "
        "spec.proxyURL: Invalid value: \"ftp://x\": unsupported scheme \"ftp\", must be http, "
        "https, or socks5; spec.taints[1]: Duplicate value: {\"key\":\"a\",\"effect\":"
        "\"NoExecute\",\"timeAdded\":\"2020-01-02T03:04:05Z\"}: taints must be unique by key "
        "and effect pair");
    f.c.name = STR("a2345678901234567890123456789012345678901234567890");
    CHECK_STR(
        create(&f, "{'spec':{'syncMode':'Pull'}}"),
        "metadata.name: Invalid value: \"a2345678901234567890123456789012345678901234567890\":"
        " must be no more than 48 characters");
    fixture_release(&f);
}

TEST(a_cluster_gets_zones_times_and_models)
{
    struct fixture f = clusters();
    const struct json *obj = fixture_read(
        &f, fixture_quotes(&f, "{'spec':{'syncMode':'Push','zone':'z','taints':[{'key':"
                               "'a','effect':'NoExecute'},{'key':'b','effect':"
                               "'NoSchedule'}]},'status':{'kubernetesVersion':'x'}}"));

    obj = f.kind->ops->prepare_create(&f.c, obj);
    CHECK_STR(fixture_faults(&f, obj, NULL), "");
    CHECK_STR(fixture_print(&f, json_path(obj, "spec.zones")), "[\"z\"]");
    CHECK(!json_path(obj, "spec.zone"));
    CHECK_STR(fixture_print(&f, json_path(obj, "spec.taints")),
              "[{\"effect\":\"NoExecute\",\"key\":\"a\",\"timeAdded\":\"2020-01-02T03:04:05Z\"},{"
              "\"effect\":\"NoSchedule\",\"key\":\"b\"}]");
    CHECK_STR(fixture_print(&f, json_path(obj, "status")), "{}");
    CHECK(json_len(json_path(obj, "spec.resourceModels")) == 9);
    CHECK_STR(fixture_print(&f, json_at(json_path(obj, "spec.resourceModels"), 8)),
              "{\"grade\":8,\"ranges\":[{\"max\":\"9223372036854775807\",\"min\":\"128\",\"name\":"
              "\"cpu\"},{\"max\":\"9223372036854775807\",\"min\":\"1Ti\",\"name\":\"memory\"}]}");
    fixture_release(&f);
}

#define MODELS(a, b, c, d)                                                                      \
    "{'spec':{'syncMode':'Push','resourceModels':[{'grade':2,'ranges':[{'name':'cpu','min':'" c \
    "','max':'" d "'}]},{'grade':1,'ranges':[{'name':'cpu','min':'" a "','max':'" b "'}]}]}}"

TEST(models_join_without_gaps)
{
    struct fixture f = clusters();
    const char *gap = create(&f, MODELS("7", "1", "2", "3"));

    CHECK_STR(create(&f, MODELS("7", "1", "1", "3")), "");
    CHECK(strstr(gap, "Model intervals for resources must be contiguous and non-overlapping"));
    CHECK_STR(gap, "spec.resourceModels: Invalid value: [{\"grade\":1,\"ranges\":[{\"name\":"
                   "\"cpu\",\"min\":\"0\",\"max\":\"1\"}]},{\"grade\":2,\"ranges\":[{\"name\":"
                   "\"cpu\",\"min\":\"2\",\"max\":\"9223372036854775807\"}]}]: Model intervals for "
                   "resources must be contiguous and non-overlapping");
    fixture_release(&f);
}

TEST(a_cluster_shows_where_it_is)
{
    struct fixture f = clusters();

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"m1\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:00Z\"},\"spec\":{\"syncMode\":\"Push\","
                                "\"zones\":[\"a\",\"b\"],\"region\":\"r1\",\"apiEndpoint\":"
                                "\"https://x\"},\"status\":{\"kubernetesVersion\":\"v1\","
                                "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"),
              "[\"m1\",\"v1\",\"Push\",\"True\",\"5s\",\"a,b\",\"r1\",\"<none>\",\"https://x\","
              "\"<none>\"]");
    fixture_release(&f);
}

/* ---- works and bindings ---- */

TEST(a_work_has_an_id_for_life)
{
    struct fixture f = fixture_new("work.karmada.io", "v1alpha1", "works");
    const struct json *obj = fixture_read(
        &f, fixture_quotes(&f, "{'metadata':{'labels':{'a':'b'}},'spec':{'workload':{'manifests':[{"
                               "'kind':'X','free':{'n':null}}]}},'status':{'conditions':[]}}"));
    const struct json *made = f.kind->ops->prepare_create(&f.c, obj);
    const struct json *id =
        json_get(json_path(made, "metadata.labels"), STR("work.karmada.io/permanent-id"));

    CHECK(json_str(id).n == 36);
    CHECK(json_get_str(made, "metadata.labels.a").n == 1);
    CHECK(!json_get(made, STR("status")));
    CHECK_STR(fixture_print(&f, json_path(made, "spec.workload")),
              "{\"manifests\":[{\"free\":{\"n\":null},\"kind\":\"X\"}]}");
    made = f.kind->ops->prepare_update(&f.c, obj, made);
    CHECK(json_equal(
        id, json_get(json_path(made, "metadata.labels"), STR("work.karmada.io/permanent-id"))));
    fixture_release(&f);
}

TEST(bindings_are_checked_and_shown)
{
    struct fixture f = fixture_new("work.karmada.io", "v1alpha2", "resourcebindings");

    CHECK_STR(create(&f, "{'spec':{'resource':{'apiVersion':'v1','kind':'ConfigMap','name':'x'},"
                         "'clusters':[{'name':'m1','replicas':2}],'placement':{'clusterAffinities':"
                         "[{'affinityName':'g'}]},'gracefulEvictionTasks':[{'fromCluster':'m2',"
                         "'reason':'TaintUntolerated','producer':'TaintManager'}]}}"),
              "");
    CHECK_STR(create(&f, "{'spec':{'resource':{},'clusters':[{}],'gracefulEvictionTasks':[{"
                         "'purgeMode':'Soon'}]}}"),
              "spec.clusters[0].name: Required value; spec.gracefulEvictionTasks[0].fromCluster: "
              "Required value; spec.gracefulEvictionTasks[0].producer: Required value; "
              "spec.gracefulEvictionTasks[0].purgeMode: Unsupported value: \"Soon\": supported "
              "values: \"Directly\", \"Gracefully\", \"Never\"; "
              "spec.gracefulEvictionTasks[0].reason: Required value; spec.resource.apiVersion: "
              "Required value; spec.resource.kind: Required value; spec.resource.name: Required "
              "value");
    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"b\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:00Z\"},\"status\":{\"conditions\":[{\"type\":"
                                "\"Scheduled\",\"status\":\"True\"}]}}"),
              "[\"b\",\"True\",null,\"5s\"]");
    fixture_release(&f);
}

TEST(bindings_can_be_read_in_their_old_form)
{
    struct fixture f = fixture_new("work.karmada.io", "v1alpha1", "resourcebindings");
    struct fixture now = fixture_new("work.karmada.io", "v1alpha2", "resourcebindings");
    const struct json *stored = fixture_read(
        &now, fixture_quotes(
                  &now, "{'kind':'ResourceBinding','spec':{'resource':{'apiVersion':'apps/v1',"
                        "'kind':'Deployment','name':'x','uid':'u'},'replicas':3,'replicaRequire"
                        "ments':{'resourceRequest':{'cpu':'1'}},'clusters':[{'name':'m1',"
                        "'replicas':3}],'placement':{}},'status':{'schedulerObservedGeneration'"
                        ":1,'aggregatedStatus':[{'clusterName':'m1','health':'Healthy'}]}}"));

    CHECK(f.kind->storage == now.kind);
    CHECK_STR(fixture_print(&f, f.kind->ops->from_stored(f.c.arena, stored)),
              "{\"kind\":\"ResourceBinding\",\"apiVersion\":\"work.karmada.io/v1alpha1\","
              "\"metadata\":{},\"spec\":{\"clusters\":[{\"name\":\"m1\",\"replicas\":3}],"
              "\"resource\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
              "\"x\",\"replicas\":3,\"resourcePerReplicas\":{\"cpu\":\"1\"}}},\"status\":{"
              "\"aggregatedStatus\":[{\"clusterName\":\"m1\"}]}}");
    fixture_release(&f);
    fixture_release(&now);
}

/* ---- the smaller groups ---- */

TEST(a_rebalancer_needs_workloads)
{
    struct fixture f = fixture_new("apps.karmada.io", "v1alpha1", "workloadrebalancers");

    CHECK_STR(create(&f, "{'spec':{'workloads':[]}}"),
              "spec.workloads: Invalid value: 0: spec.workloads in body should have at least 1 "
              "items");
    CHECK_STR(create(&f, "{'spec':{'workloads':[{'apiVersion':'apps/v1','kind':'Deployment','name':"
                         "'x'}]}}"),
              "");
    fixture_release(&f);
}

#define TARGET "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'web'}"

TEST(autoscalers_of_all_clusters_are_checked)
{
    struct fixture f = fixture_new("autoscaling.karmada.io", "v1alpha1", "federatedhpas");

    CHECK_STR(create(&f, "{'spec':{" TARGET ",'minReplicas':5,'maxReplicas':2}}"),
              "admission webhook \"federatedhpa.karmada.io\" denied the request: spec.maxReplicas: "
              "Invalid value: 2: must be greater than or equal to `minReplicas`");
    CHECK_STR(
        fixture_print(&f, json_path(fixture_read(&f, fixture_quotes(&f, "{'spec':{" TARGET
                                                                        ",'maxReplicas':2}}")),
                                    "spec")),
        "{\"maxReplicas\":2,\"metrics\":[{\"resource\":{\"name\":\"cpu\",\"target\":{"
        "\"averageUtilization\":80,\"type\":\"Utilization\"}},\"type\":\"Resource\"}],"
        "\"minReplicas\":1,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":"
        "\"Deployment\",\"name\":\"web\"}}");
    fixture_release(&f);
}

TEST(rules_by_the_clock_are_checked)
{
    struct fixture f = fixture_new("autoscaling.karmada.io", "v1alpha1", "cronfederatedhpas");

    CHECK_STR(create(&f, "{'spec':{" TARGET ",'rules':[{'name':'a','schedule':'often',"
                         "'targetReplicas':1}]}}"),
              "admission webhook \"cronfederatedhpa.karmada.io\" denied the request: "
              "spec.rules[0].schedule: Invalid value: \"often\": invalid cron format");
    CHECK_STR(create(&f, "{'spec':{" TARGET ",'rules':[{'name':'a','schedule':'* * * * *'},{'name':"
                         "'a','schedule':'* * * * *','targetReplicas':1}]}}"),
              "admission webhook \"cronfederatedhpa.karmada.io\" denied the request: "
              "[spec.rules[0].targetReplicas: Invalid value: \"\": targetReplicas cannot be nil if "
              "you want to scale Deployment, spec.rules[1].name: Duplicate value: \"a\"]");
    CHECK_STR(create(&f,
                     "{'spec':{" TARGET ",'rules':[{'name':'a','schedule':'* * * * *',"
                     "'targetReplicas':1,'successfulHistoryLimit':0,'failedHistoryLimit':33}]}}"),
              "spec.rules[0].failedHistoryLimit: Invalid value: 33: "
              "spec.rules[0].failedHistoryLimit in body should be less than or equal to 32; "
              "spec.rules[0].successfulHistoryLimit: Invalid value: 0: "
              "spec.rules[0].successfulHistoryLimit in body should be greater than or equal to 1");
    fixture_release(&f);
}

TEST(a_service_of_several_clusters_has_one_type)
{
    struct fixture f = fixture_new("networking.karmada.io", "v1alpha1", "multiclusterservices");

    CHECK_STR(create(&f, "{'spec':{'types':['Neither']}}"),
              "admission webhook \"multiclusterservice.karmada.io\" denied the request: "
              "spec.types[0]: Invalid value: \"Neither\": ExposureType Error");
    CHECK_STR(create(&f, "{'spec':{'types':['CrossCluster'],'ports':[{'port':80}]}}"), "");
    CHECK_STR(
        update(&f, "{'spec':{'types':['CrossCluster']}}", "{'spec':{'types':['LoadBalancer']}}"),
        "admission webhook \"multiclusterservice.karmada.io\" denied the request: spec.types: "
        "Invalid value: [\"CrossCluster\"]: MultiClusterService types are immutable");
    fixture_release(&f);
}

TEST(scripts_are_required_where_they_are_said)
{
    struct fixture f =
        fixture_new("config.karmada.io", "v1alpha1", "resourceinterpretercustomizations");

    CHECK_STR(create(&f, "{'spec':{'target':{'apiVersion':'a/v1','kind':'B'},'customizations':{"
                         "'retention':{}}}}"),
              "spec.customizations.retention.luaScript: Required value");
    fixture_release(&f);
}

TEST(faults_of_numbers_and_clusters_are_worded_as_recorded)
{
    struct fixture f = fixture_new("autoscaling.karmada.io", "v1alpha1", "cronfederatedhpas");

    CHECK_STR(create(&f, "{'spec':{'scaleTargetRef':{'apiVersion':'autoscaling.karmada.io/v1alpha1'"
                         ",'kind':'FederatedHPA','name':'f'},'rules':[{'name':'c','schedule':"
                         "'* * * * *','targetMinReplicas':4,'targetMaxReplicas':2}]}}"),
              "admission webhook \"cronfederatedhpa.karmada.io\" denied the request: "
              "spec.rules[0].targetMinReplicas: Invalid value: \"\": targetMaxReplicas should be "
              "larger than or equal to targetMinReplicas");
    fixture_release(&f);
    f = fixture_new("networking.karmada.io", "v1alpha1", "multiclusterservices");
    CHECK(strstr(
        create(&f, "{'spec':{'types':['CrossCluster'],'providerClusters':[{'name':'M_1'}]}}"),
        "denied the request: spec.range.providerClusters[0]: Invalid value: \"M_1\": "));
    fixture_release(&f);
}
