/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

#define TEMPLATE                                                                                   \
    "'template':{'metadata':{'labels':{'app':'x'}},'spec':{'containers':[{'name':'a','image':'i'}" \
    "]}}"
#define SELECTOR "'selector':{'matchLabels':{'app':'x'}}"

TEST(deployments_are_completed)
{
    struct fixture f = fixture_new("apps", "v1", "deployments");
    const struct json *obj =
        fixture_read(&f, fixture_quotes(&f, "{'spec':{" SELECTOR "," TEMPLATE "}}"));
    const struct json *spec = json_set(f.c.arena, json_get(obj, STR("spec")), "template", NULL);

    CHECK_STR(fixture_print(&f, spec),
              "{\"progressDeadlineSeconds\":600,\"replicas\":1,\"revisionHistoryLimit\":10,"
              "\"selector\":{\"matchLabels\":{\"app\":\"x\"}},\"strategy\":{\"rollingUpdate\":"
              "{\"maxSurge\":\"25%\",\"maxUnavailable\":\"25%\"},\"type\":\"RollingUpdate\"}}");
    CHECK_STR(fixture_faults(&f, obj, NULL), "");
    fixture_release(&f);
}

TEST(deployments)
{
    static const struct fixture_row rows[] = {
        { SELECTOR "," TEMPLATE, "" },
        { "'selector':{'matchLabels':{'app':'y'}}," TEMPLATE,
          "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not "
          "match template `labels`" },
        { "'selector':{}," TEMPLATE,
          "spec.selector: Invalid value: {}: empty selector is invalid for deployment" },
        { SELECTOR ",'replicas':-1," TEMPLATE,
          "spec.replicas: Invalid value: -1: must be greater than or equal to 0" },
        { SELECTOR ",'strategy':{'type':'Foo'}," TEMPLATE,
          "spec.strategy: Unsupported value: {\"type\":\"Foo\"}: supported values: \"Recreate\", "
          "\"RollingUpdate\"" },
        { SELECTOR ",'strategy':{'type':'Recreate','rollingUpdate':{'maxSurge':1}}," TEMPLATE,
          "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is "
          "'Recreate'" },
        { SELECTOR ",'strategy':{'rollingUpdate':{'maxSurge':0,'maxUnavailable':'0%'}}," TEMPLATE,
          "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when "
          "`maxSurge` is 0" },
        { SELECTOR ",'strategy':{'rollingUpdate':{'maxUnavailable':'101%'}}," TEMPLATE,
          "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be "
          "greater than 100%" },
        { SELECTOR ",'minReadySeconds':600," TEMPLATE,
          "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than "
          "minReadySeconds" },
        { SELECTOR ",'template':{'metadata':{'labels':{'app':'x'}},'spec':{'restartPolicy':"
                   "'Never','containers':[{'name':'a','image':'i'}]}}",
          "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: "
          "\"Always\"" },
    };
    struct fixture f = fixture_new("apps", "v1", "deployments");

    FIXTURE_ROWS(&f, "{'spec':{%s}}", rows);
    CHECK_STR(fixture_create_faults(&f, "{\"spec\":{}}"),
              "spec.selector: Required value; spec.template.metadata.labels: Invalid value: \"\": "
              "`selector` does not match template `labels`; spec.template.spec.containers: "
              "Required value");
    fixture_release(&f);
}

TEST(selectors_stay)
{
    static const char *const plurals[] = { "deployments", "replicasets", "daemonsets" };

    for (size_t i = 0; i < 3; i++) {
        struct fixture f = fixture_new("apps", "v1", plurals[i]);

        CHECK_STR(fixture_update_faults(&f, "{'spec':{'selector':{'matchLabels':{'a':'b'}}}}",
                                        "{'spec':{" SELECTOR "," TEMPLATE "}}"),
                  "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"x\"}}: field is "
                  "immutable");
        fixture_release(&f);
    }
}

TEST(daemon_sets_count_their_templates)
{
    static const char note[] = "metadata.annotations";
    struct fixture f = fixture_new("apps", "v1", "daemonsets");
    const struct json *obj =
        fixture_read(&f, fixture_quotes(&f, "{'spec':{" SELECTOR "," TEMPLATE "}}"));
    const struct json *made = f.kind->ops->prepare_create(&f.c, obj), *next;
    struct json image = json_of_str(STR("host"));

    CHECK_STR(fixture_print(&f, json_path(made, note)),
              "{\"deprecated.daemonset.template.generation\":\"1\"}");
    next = f.kind->ops->prepare_update(&f.c, obj, made);
    CHECK_STR(fixture_print(&f, json_path(next, note)),
              "{\"deprecated.daemonset.template.generation\":\"1\"}");
    obj = json_set(f.c.arena, obj, "spec.template.spec.hostname", &image);
    next = f.kind->ops->prepare_update(&f.c, obj, made);
    CHECK_STR(fixture_print(&f, json_path(next, note)),
              "{\"deprecated.daemonset.template.generation\":\"2\"}");
    fixture_release(&f);
}

TEST(fields_behind_closed_gates_are_not_kept)
{
    struct fixture f = fixture_new("apps", "v1", "statefulsets");
    const struct json *obj = fixture_read(
        &f, fixture_quotes(&f, "{'spec':{'updateStrategy':{'type':'RollingUpdate','rollingUpdate':"
                               "{'maxUnavailable':2,'partition':1}},'template':{'spec':"
                               "{'workloadRef':{'name':'w'}}}}}"));

    CHECK_STR(fixture_print(&f, json_path(obj, "spec.updateStrategy.rollingUpdate")),
              "{\"partition\":1}");
    CHECK(!json_path(obj, "spec.template.spec.workloadRef"));
    fixture_release(&f);
}

TEST(annotations_count_as_a_change_of_a_deployment)
{
    struct fixture f = fixture_new("apps", "v1", "deployments");
    const struct json *old = fixture_read(&f, "{\"metadata\":{\"generation\":3}}");
    const struct json *now =
        fixture_read(&f, "{\"metadata\":{\"generation\":3,\"annotations\":{\"a\":\"b\"}}}");

    now = f.kind->ops->prepare_update(&f.c, now, old);
    CHECK(json_int(json_path(now, "metadata.generation"), 0) == 4);
    fixture_release(&f);
}

TEST(a_status_counts_no_more_than_there_are)
{
    struct fixture f = fixture_new("apps", "v1", "deployments");

    f.c.subresource = STR("status");
    CHECK_STR(fixture_create_faults(&f, "{\"status\":{\"replicas\":1,\"readyReplicas\":2,"
                                        "\"availableReplicas\":-1}}"),
              "status.availableReplicas: Invalid value: -1: must be greater than or equal to 0; "
              "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas");
    fixture_release(&f);
}

TEST(new_objects_have_no_status)
{
    struct fixture f = fixture_new("apps", "v1", "daemonsets");
    const struct json *obj = fixture_read(&f, "{\"status\":{\"numberReady\":5}}");

    obj = f.kind->ops->prepare_create(&f.c, obj);
    CHECK_STR(fixture_print(&f, json_get(obj, STR("status"))),
              "{\"currentNumberScheduled\":0,\"desiredNumberScheduled\":0,\"numberMisscheduled\":0,"
              "\"numberReady\":0}");
    fixture_release(&f);
}

TEST(daemon_sets)
{
    static const struct fixture_row rows[] = {
        { "'updateStrategy':{'type':'OnDelete'}", "" },
        { "'updateStrategy':{'rollingUpdate':{'maxSurge':1}}",
          "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when "
          "maxUnavailable is non-zero" },
        { "'updateStrategy':{'rollingUpdate':{'maxUnavailable':0}}",
          "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when "
          "maxSurge is 0" },
    };
    struct fixture f = fixture_new("apps", "v1", "daemonsets");

    FIXTURE_ROWS(&f, "{'spec':{" SELECTOR "," TEMPLATE ",%s}}", rows);
    fixture_release(&f);
}

#define CLAIM                                                                      \
    "'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':"   \
    "['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}],"             \
    "'template':{'metadata':{'labels':{'app':'x'}},'spec':{'containers':[{'name':" \
    "'a','image':'i','volumeMounts':[{'name':'data','mountPath':'/d'}]}]}}"

TEST(stateful_sets)
{
    static const struct fixture_row rows[] = {
        { CLAIM, "" },
        { TEMPLATE ",'podManagementPolicy':'Nope'",
          "spec.podManagementPolicy: Invalid value: \"Nope\": must be 'OrderedReady' or "
          "'Parallel'" },
        { TEMPLATE ",'updateStrategy':{'rollingUpdate':{'partition':-1}}",
          "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or "
          "equal to 0" },
        { TEMPLATE ",'revisionHistoryLimit':-1", "" },
        { TEMPLATE ",'volumeClaimTemplates':[{'metadata':{'name':'v'},'spec':{'accessModes':"
                   "['ReadWriteOnce'],'dataSource':{'kind':'Pod','name':'p'}}}]",
          "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value; "
          "spec.volumeClaimTemplates[0].spec.dataSource: Invalid value: \"Pod\": must be "
          "'PersistentVolumeClaim' when referencing the default apiGroup" },
    };
    struct fixture f = fixture_new("apps", "v1", "statefulsets");
    const struct json *obj;

    FIXTURE_ROWS(&f, "{'spec':{" SELECTOR ",%s}}", rows);
    obj = fixture_read(&f, fixture_quotes(&f, "{'spec':{" SELECTOR "," CLAIM "}}"));
    CHECK(str_is(json_get_str(json_at(json_path(obj, "spec.volumeClaimTemplates"), 0), "kind"),
                 "PersistentVolumeClaim"));
    CHECK_STR(fixture_print(&f, json_path(obj, "spec.updateStrategy")),
              "{\"rollingUpdate\":{\"partition\":0},\"type\":\"RollingUpdate\"}");
    CHECK(str_starts(
        str_of(fixture_update_faults(&f, "{'spec':{" SELECTOR "," TEMPLATE "}}",
                                     "{'spec':{" SELECTOR "," TEMPLATE ",'serviceName':'s'}}")),
        STR("spec: Forbidden: updates to statefulset spec for fields other than")));
    fixture_release(&f);
}

TEST(controllers_take_labels_from_their_template)
{
    struct fixture f = fixture_new("", "v1", "replicationcontrollers");
    const struct json *obj = fixture_read(&f, fixture_quotes(&f, "{'spec':{" TEMPLATE "}}"));

    CHECK_STR(fixture_print(&f, json_path(obj, "spec.selector")), "{\"app\":\"x\"}");
    CHECK_STR(fixture_print(&f, json_path(obj, "metadata.labels")), "{\"app\":\"x\"}");
    CHECK_STR(fixture_faults(&f, obj, NULL), "");
    CHECK_STR(fixture_create_faults(&f, "{}"),
              "spec.selector: Required value; spec.template: Required value");
    fixture_release(&f);
}

TEST(wide_cells)
{
    struct fixture f = fixture_new("apps", "v1", "deployments");

    CHECK_STR(fixture_cells(&f, fixture_quotes(
                                    &f, "{'metadata':{'name':'d','creationTimestamp':"
                                        "'2020-01-02T03:04:00Z'},'spec':{'replicas':3,'selector':"
                                        "{'matchLabels':{'app':'x'},'matchExpressions':[{'key':'k',"
                                        "'operator':'In','values':['a','b']}]}," TEMPLATE
                                        "},'status':{'readyReplicas':1}}")),
              "[\"d\",\"1/3\",0,0,\"5s\",\"a\",\"i\",\"app=x,k in (a,b)\"]");
    fixture_release(&f);
}

/* They get an owner before they are dropped: what is decoded for that has them. */
TEST(fields_that_are_off_are_seen_by_managers_only)
{
    struct fixture f = fixture_new("apps", "v1", "deployments");
    struct schema_faults faults = { 0 };
    const struct json *in, *out = NULL, *all = NULL;
    struct status st;

    status_init(&st, f.c.arena);
    CHECK(json_parse(f.c.arena,
                     str_of(fixture_quotes(&f, "{'spec':{'template':{'spec':{'containers':[],"
                                               "'workloadRef':{'name':'w','podGroup':'g'}}}}}")),
                     NULL, &in, &st) == 0);
    CHECK(schema_decode(f.c.arena, f.kind->schema, in, &faults, &out, &st) == 0);
    CHECK(faults.gated && !faults.n && !json_path(out, "spec.template.spec.workloadRef"));
    CHECK(schema_decode_gated(f.c.arena, f.kind->schema, in, &all, &st) == 0);
    CHECK_STR(fixture_print(&f, json_path(all, "spec.template.spec.workloadRef")),
              "{\"name\":\"w\",\"podGroup\":\"g\"}");
    fixture_release(&f);
}
