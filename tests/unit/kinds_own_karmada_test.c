/* SPDX-License-Identifier: Apache-2.0 */

/* Karmada's kinds.  What is refused, and in which words, was recorded from a real Karmada. */

#include "unit/kinds_refusal.h"

#define POLICY "policy.karmada.io"

static struct fixture policies(void)
{
    return fixture_new(POLICY, "v1alpha1", "propagationpolicies");
}

struct row {
    const char *more, *text;
};

/* Each row is a part of the spec of a policy with one selector. */
static void check_rows(struct fixture *f, const char *hook, const struct row *rows, size_t n)
{
    str prefix = str_printf(f->c.arena, "admission webhook \"%s\" denied the request: ", hook);

    for (size_t i = 0; i < n; i++) {
        str manifest = str_printf(f->c.arena,
                                  "{'spec':{'resourceSelectors':[{'apiVersion':'apps/v1','kind':"
                                  "'Deployment'}]%s%s}}",
                                  *rows[i].more ? "," : "", rows[i].more);
        const char *got = create(f, str_z(f->c.arena, manifest));

        if (*rows[i].text && *rows[i].text != '!') {
            CHECK(str_starts(str_of(got), prefix));
            if (strlen(got) > prefix.n)
                got += prefix.n;
        }
        CHECK_STR(got, *rows[i].text == '!' ? rows[i].text + 1 : rows[i].text);
    }
}
#define ROWS(f, hook, rows) check_rows((f), (hook), (rows), sizeof(rows) / sizeof(*(rows)))

/* The manifests and texts of tests/recorded/karmada: admission-propagation; ! is the schema's. */
static const struct row recorded[] = {
    { "'placement':{'clusterAffinity':{'clusterNames':['m1']},'clusterAffinities':[{'affinityName':"
      "'x','clusterNames':['m1']}]}",
      "spec.placement: Invalid value: {\"clusterAffinity\":{\"clusterNames\":[\"m1\"]},"
      "\"clusterAffinities\":[{\"affinityName\":\"x\",\"clusterNames\":[\"m1\"]}]}: "
      "clusterAffinities cannot co-exist with clusterAffinity" },
    { "'placement':{'clusterAffinities':[{'affinityName':'x'},{'affinityName':'x'}]}",
      "spec.placement.clusterAffinities: Invalid value: [{\"affinityName\":\"x\"},"
      "{\"affinityName\":\"x\"}]: each affinity term in a policy must have a unique name" },
    { "'placement':{'spreadConstraints':[{'spreadByField':'cluster','minGroups':3,'maxGroups':2}]}",
      "spec.placement.spreadConstraints[0]: Invalid value: {\"spreadByField\":\"cluster\","
      "\"maxGroups\":2,\"minGroups\":3}: maxGroups lower than minGroups is not allowed" },
    { "'placement':{'spreadConstraints':[{'spreadByField':'region','minGroups':1,'maxGroups':2}]}",
      "spec.placement.spreadConstraints: Invalid value: [{\"spreadByField\":\"region\","
      "\"maxGroups\":2,\"minGroups\":1}]: the cluster spread constraint must be enabled in one of "
      "the constraints in case of SpreadByField is enabled" },
    { "'placement':{'spreadConstraints':[{'spreadByField':'cluster','spreadByLabel':'x',"
      "'minGroups':1}]}",
      "spec.placement.spreadConstraints[0]: Invalid value: {\"spreadByField\":\"cluster\","
      "\"spreadByLabel\":\"x\",\"minGroups\":1}: spreadByLabel should not co-exist with "
      "spreadByField" },
    { "'placement':{'clusterAffinity':{'fieldSelector':{'matchExpressions':[{'key':'region',"
      "'operator':'Exists'}]}}}",
      "spec.placement.clusterAffinity.fieldSelector: Invalid value: {\"matchExpressions\":[{"
      "\"key\":\"region\",\"operator\":\"Exists\"}]}: unsupported operator \"Exists\", must be In "
      "or NotIn" },
    { "'placement':{'clusterAffinity':{'fieldSelector':{'matchExpressions':[{'key':'planet',"
      "'operator':'In','values':['x']}]}}}",
      "spec.placement.clusterAffinity.fieldSelector: Invalid value: {\"matchExpressions\":[{"
      "\"key\":\"planet\",\"operator\":\"In\",\"values\":[\"x\"]}]}: unsupported key \"planet\", "
      "must be provider, region, or zone" },
    { "'preemption':'Always'",
      "spec.resourceSelectors[0].name: Invalid value: \"\": name cannot be empty if preemption is "
      "Always, the empty name may cause unexpected resources preemption" },
    { "'suspension':{'dispatching':true,'dispatchingOnClusters':{'clusterNames':['m1']}}",
      "spec.suspension.suspension: Invalid value: {\"dispatching\":true,\"dispatchingOnClusters\":"
      "{\"clusterNames\":[\"m1\"]}}: suspension dispatching cannot co-exist with "
      "dispatchingOnClusters.clusterNames" },
    { "'placement':{'spreadConstraints':[{'spreadByField':'cluster','minGroups':-1}]}",
      "spec.placement.spreadConstraints[0]: Invalid value: {\"spreadByField\":\"cluster\","
      "\"minGroups\":-1}: minGroups lower than 0 is not allowed" },
    { "'failover':{'application':{'decisionConditions':{'tolerationSeconds':10}}}",
      "spec.propagateDeps: Invalid value: false: application failover is set, propagateDeps must "
      "be true" },
    { "'placement':{'replicaScheduling':{'replicaSchedulingType':'Sometimes'}}",
      "!spec.placement.replicaScheduling.replicaSchedulingType: Unsupported value: \"Sometimes\": "
      "supported values: \"Duplicated\", \"Divided\"" },
    { "'placement':{'replicaScheduling':{'weightPreference':{'staticWeightList':[{'targetCluster':{"
      "'clusterNames':['m1']},'weight':0}]}}}",
      "!spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight: Invalid "
      "value: 0: spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight in "
      "body should be greater than or equal to 1" },
    { "'placement':{'clusterTolerations':[{'key':'a','operator':'Equal','value':'b','effect':"
      "'Never'}]}",
      "" },
    { "'placement':{'clusterAffinity':{'labelSelector':{'matchExpressions':[{'key':'x','operator':"
      "'Like','values':['y']}]}}}",
      "" },
};

TEST(bad_policies_are_refused_in_karmadas_words)
{
    struct fixture f = policies();

    ROWS(&f, "propagationpolicy.karmada.io", recorded);
    CHECK_STR(
        create(&f, "{'spec':{'resourceSelectors':[{'apiVersion':'apps/v1','kind':"
                   "'Deployment','namespace':'other'}]}}"),
        "admission webhook \"propagationpolicy.karmada.io\" denied the request: "
        "spec.resourceSelectors[0].namespace: Invalid value: \"other\": namespace of resource "
        "selector must be the same as the namespace of the policy");
    CHECK_STR(
        create(&f, "{'spec':{'resourceSelectors':[]}}"),
        "spec.resourceSelectors: Invalid value: 0: spec.resourceSelectors in body should have "
        "at least 1 items");
    fixture_release(&f);
}

static const struct row others[] = {
    { "", "" },
    { "'placement':{'clusterAffinities':[{'affinityName':'x!'}]}",
      "spec.placement.clusterAffinities[0]: Invalid value: \"x!\": name part must consist of "
      "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
      "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')" },
    { "'placement':{'clusterAffinities':[{'affinityName':'123456789012345678901234567890123'}]}",
      "!spec.placement.clusterAffinities[0].affinityName: Too long: may not be more than 32 "
      "bytes" },
    { "'placement':{'clusterAffinities':[{}]}",
      "!spec.placement.clusterAffinities[0].affinityName: Required value" },
    { "'placement':{'clusterAffinities':[{'affinityName':'x','overflowAffinities':[{'affinityName':"
      "'x','clusterNames':['a']}]}]}",
      "[spec.placement.clusterAffinities[0].overflowAffinities: Invalid value: [{\"affinityName\":"
      "\"x\",\"clusterNames\":[\"a\"]}]: overflowAffinities can only be used together with dynamic "
      "weight or aggregated scheduling, spec.placement.clusterAffinities[0].overflowAffinities: "
      "Invalid value: [{\"affinityName\":\"x\",\"clusterNames\":[\"a\"]}]: overflowAffinities can "
      "only be used together with the inline ClusterAffinity, "
      "spec.placement.clusterAffinities[0].overflowAffinities[0].affinityName: Invalid value: "
      "\"x\": overflow affinity name must be unique and must not duplicate the primary group's "
      "affinityName]" },
    { "'placement':{'replicaScheduling':{'replicaDivisionPreference':'Aggregated'},"
      "'clusterAffinities':[{'affinityName':'x','clusterNames':['b'],'overflowAffinities':[{"
      "'affinityName':'y','clusterNames':['a']}]}]}",
      "" },
    { "'placement':{'spreadConstraints':[{'spreadByField':'cluster'},{'spreadByField':'cluster'},{"
      "'spreadByField':'cluster'}]}",
      "spec.placement.spreadConstraints: Invalid value: [{\"spreadByField\":\"cluster\","
      "\"minGroups\":1},{\"spreadByField\":\"cluster\",\"minGroups\":1},{\"spreadByField\":"
      "\"cluster\",\"minGroups\":1}]: multiple cluster spread constraints are not allowed" },
    { "'placement':{'spreadConstraints':[{'maxGroups':-1}]}",
      "spec.placement.spreadConstraints[0]: Invalid value: {\"spreadByField\":\"cluster\","
      "\"maxGroups\":-1,\"minGroups\":1}: maxGroups lower than 0 is not allowed" },
    { "'placement':{'workloadAffinity':{'affinity':{'groupByLabelKey':'a'},'antiAffinity':{"
      "'groupByLabelKey':'a'}}}",
      "spec.placement.workloadAffinity: Invalid value: {\"affinity\":{\"groupByLabelKey\":\"a\"},"
      "\"antiAffinity\":{\"groupByLabelKey\":\"a\"}}: affinity and antiAffinity must not use the "
      "same groupByLabelKey" },
    { "'placement':{'clusterTolerations':[{'key':'a','operator':'Gt','value':'1'}]}",
      "spec.placement.clusterTolerations[0].operator: Unsupported value: \"Gt\": supported values: "
      "\"\", \"Exists\", \"Equal\"" },
    { "'propagateDeps':true,'failover':{'application':{'purgeMode':'Never','gracePeriodSeconds':0,"
      "'decisionConditions':{'tolerationSeconds':-1},'statePreservation':{'rules':[{"
      "'aliasLabelName':'a b','jsonPath':'{.x}'}]}}}",
      "[spec.failover.application.decisionConditions.tolerationSeconds: Invalid value: -1: must be "
      "greater than or equal to 0, spec.failover.application.gracePeriodSeconds: Invalid value: 0: "
      "only takes effect when purgeMode is gracefully, "
      "spec.failover.application.gracePeriodSeconds: Invalid value: 0: must be greater than 0, "
      "spec.failover.application.statePreservation.rules[0].aliasLabelName: Invalid value: \"a "
      "b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
      "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
      "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]" },
    { "'conflictResolution':'Maybe','activationPreference':'Eager','preemption':'No'",
      "!spec.activationPreference: Unsupported value: \"Eager\": supported values: \"Lazy\"; "
      "spec.conflictResolution: Unsupported value: \"Maybe\": supported values: \"Abort\", "
      "\"Overwrite\"; spec.preemption: Unsupported value: \"No\": supported values: \"Always\", "
      "\"Never\"" },
    { "'schedulePriority':{'priorityClassName':'x'}",
      "!spec.schedulePriority.priorityClassSource: Required value" },
};

TEST(all_that_is_wrong_with_a_policy_is_said_at_once)
{
    struct fixture f = policies();

    ROWS(&f, "propagationpolicy.karmada.io", others);
    CHECK_STR(create(&f, "{}"), "spec: Required value");
    CHECK_STR(create(&f, "{'spec':{'resourceSelectors':[{}]}}"),
              "spec.resourceSelectors[0].apiVersion: Required value; "
              "spec.resourceSelectors[0].kind: Required value");
    fixture_release(&f);
}

TEST(an_empty_policy_gets_the_defaults_that_were_recorded)
{
    struct fixture f = policies();
    const struct json *obj = fixture_read(
        &f, fixture_quotes(&f, "{'spec':{'resourceSelectors':[{'apiVersion':'v1','kind':"
                               "'ConfigMap','name':'none'}]}}"));

    CHECK_STR(fixture_print(&f, json_get(obj, STR("spec"))),
              "{\"conflictResolution\":\"Abort\",\"placement\":{},\"preemption\":\"Never\","
              "\"priority\":0,\"resourceSelectors\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
              "\"name\":\"none\",\"namespace\":\"ns\"}],\"schedulerName\":\"default-scheduler\"}");
    obj = f.kind->ops->prepare_create(&f.c, obj);
    CHECK(json_str(json_get(json_path(obj, "metadata.labels"),
                            STR("propagationpolicy.karmada.io/permanent-id")))
              .n == 36);
    fixture_release(&f);
}

TEST(parts_of_a_policy_that_are_said_get_defaults)
{
    struct fixture f = fixture_new(POLICY, "v1alpha1", "clusterpropagationpolicies");
    const struct json *obj = fixture_read(
        &f, fixture_quotes(
                &f, "{'spec':{'resourceSelectors':[{'apiVersion':'multicluster.x-k8s.io/v1alpha1',"
                    "'kind':'ServiceImport'}],'placement':{'spreadConstraints':[{'maxGroups':2},{"
                    "'spreadByLabel':'a','minGroups':2}],'replicaScheduling':{}},'failover':{"
                    "'application':{'decisionConditions':{}},'cluster':{}}}}"));

    CHECK_STR(fixture_print(&f, json_path(obj, "spec.placement")),
              "{\"replicaScheduling\":{\"replicaDivisionPreference\":\"Weighted\","
              "\"replicaSchedulingType\":\"Divided\"},\"spreadConstraints\":[{\"maxGroups\":2,"
              "\"minGroups\":1,\"spreadByField\":\"cluster\"},{\"minGroups\":2,\"spreadByLabel\":"
              "\"a\"}]}");
    CHECK_STR(fixture_print(&f, json_path(obj, "spec.failover")),
              "{\"application\":{\"decisionConditions\":{\"tolerationSeconds\":300},"
              "\"gracePeriodSeconds\":600,\"purgeMode\":\"Gracefully\"},\"cluster\":{\"purgeMode\":"
              "\"Gracefully\"}}");
    CHECK_STR(fixture_print(&f, json_path(obj, "spec.propagateDeps")), "true");
    CHECK(!json_get(json_at(json_path(obj, "spec.resourceSelectors"), 0), STR("namespace")));
    fixture_release(&f);
}

TEST(a_policys_scheduler_and_id_cannot_change)
{
    struct fixture f = policies();
    const char *old = "{'metadata':{'labels':{'propagationpolicy.karmada.io/permanent-id':'1'}},"
                      "'spec':{'resourceSelectors':[{'apiVersion':'v1','kind':'Secret'}]}}";

    CHECK_STR(update(&f, old, old), "");
    CHECK_STR(update(&f, old,
                     "{'metadata':{'labels':{'propagationpolicy.karmada.io/permanent-id':'1'}},"
                     "'spec':{'schedulerName':'other','resourceSelectors':[{'apiVersion':'v1',"
                     "'kind':'Secret'}]}}"),
              "admission webhook \"propagationpolicy.karmada.io\" denied the request: the "
              "schedulerName should not be updated");
    CHECK_STR(update(&f, old,
                     "{'metadata':{'labels':{'propagationpolicy.karmada.io/permanent-id':'x'}},"
                     "'spec':{'resourceSelectors':[{'apiVersion':'v1','kind':'Secret'}]}}"),
              "admission webhook \"propagationpolicy.karmada.io\" denied the request: label "
              "propagationpolicy.karmada.io/permanent-id is immutable, it can only be set by the "
              "system during creation");
    fixture_release(&f);
}

static const struct row overrides[] = {
    { "'overrideRules':[{'overriders':{'labelsOverrider':[{'operator':'add','value':{'a':'b'}}]}}]",
      "" },
    { "'overrideRules':[{'overriders':{'labelsOverrider':[{'operator':'put','value':{'a':'b'}}],"
      "'plaintext':[{'operator':'add'}],'imageOverrider':[{'component':'Name','operator':'add'}],"
      "'commandOverrider':[{'operator':'replace','containerName':'x'}]}}]",
      "!spec.overrideRules[0].overriders.commandOverrider[0].operator: Unsupported value: "
      "\"replace\": supported values: \"add\", \"remove\"; "
      "spec.overrideRules[0].overriders.imageOverrider[0].component: Unsupported value: \"Name\": "
      "supported values: \"Registry\", \"Repository\", \"Tag\"; "
      "spec.overrideRules[0].overriders.labelsOverrider[0].operator: Unsupported value: \"put\": "
      "supported values: \"add\", \"remove\", \"replace\"; "
      "spec.overrideRules[0].overriders.plaintext[0].path: Required value" },
    { "'targetCluster':{},'overriders':{'plaintext':[{'path':'/a','operator':'remove'}]},"
      "'overrideRules':[]",
      "" },
    { "'targetCluster':{},'overriders':{'plaintext':[{'path':'/a','operator':'remove'}]},"
      "'overrideRules':[{'overriders':{}}]",
      "[spec.targetCluster: Invalid value: {}: overrideRules and targetCluster can't co-exist, "
      "spec.overriders: Invalid value: "
      "{\"plaintext\":[{\"path\":\"/a\",\"operator\":\"remove\"}]}: overrideRules and overriders "
      "can't co-exist]" },
    { "'overrideRules':[{'overriders':{'imageOverrider':[{'predicate':{'path':'a'},'component':"
      "'Tag','operator':'add','value':'x'}],'fieldOverrider':[{'fieldPath':'/data/x'},{"
      "'fieldPath':'data','json':[{'subPath':'/a','operator':'add'},{'subPath':'b','operator':"
      "'remove','value':1}]}]}}]",
      "[spec.overrideRules[0].overriders.imageOverrider[0].predicate.path: Invalid value: \"a\": "
      "JSON pointer must be empty or start with a \"/\nJSON pointer error, "
      "spec.overrideRules[0].overriders.fieldOverrider[0]: Required value: FieldOverrider must "
      "have either JSON or YAML set, "
      "spec.overrideRules[0].overriders.fieldOverrider[1].fieldPath: Invalid value: \"data\": JSON "
      "pointer must be empty or start with a \"/\nJSON pointer error, "
      "spec.overrideRules[0].overriders.fieldOverrider[1].json[0].value: Invalid value: null: "
      "value is required for add or replace operation, "
      "spec.overrideRules[0].overriders.fieldOverrider[1].json[1].subPath: Invalid value: \"b\": "
      "JSON pointer must be empty or start with a \"/\nJSON pointer error, "
      "spec.overrideRules[0].overriders.fieldOverrider[1].json[1].value: Invalid value: 1: value "
      "is not allowed for remove operation]" },
};

TEST(override_policies_are_checked)
{
    struct fixture f = fixture_new(POLICY, "v1alpha1", "overridepolicies");

    ROWS(&f, "overridepolicy.karmada.io", overrides);
    fixture_release(&f);
}

TEST(taint_policies_have_each_taint_once)
{
    struct fixture f = fixture_new(POLICY, "v1alpha1", "clustertaintpolicies");

    CHECK_STR(create(&f, "{'spec':{'taints':[{'key':'a','effect':'NoSchedule'},{'key':'a','effect':"
                         "'NoSchedule'}]}}"),
              "admission webhook \"clustertaintpolicy.karmada.io\" denied the request: "
              "spec.taints[0]: Duplicate value: \"Duplicate taint with the same key(a) and "
              "effect(NoSchedule) is not allowed\"");
    CHECK_STR(create(&f, "{'spec':{'taints':[{'key':'a','effect':'NoExecute'}],'addOnConditions':[{"
                         "'conditionType':'Ready','operator':'In','statusValues':['False']}]}}"),
              "");
    CHECK_STR(create(&f, "{'spec':{'taints':[],'addOnConditions':[{'conditionType':'Ready',"
                         "'operator':'Is','statusValues':['Never']}]}}"),
              "spec.addOnConditions[0].operator: Unsupported value: \"Is\": supported values: "
              "\"In\", \"NotIn\"; spec.addOnConditions[0].statusValues[0]: Unsupported value: "
              "\"Never\": supported values: \"True\", \"False\", \"Unknown\"; spec.taints: Invalid "
              "value: 0: spec.taints in body should have at least 1 items");
    fixture_release(&f);
}

TEST(a_quota_covers_what_it_gives_to_clusters)
{
    struct fixture f = fixture_new(POLICY, "v1alpha1", "federatedresourcequotas");

    CHECK_STR(create(&f, "{'spec':{'overall':{'cpu':'1'},'staticAssignments':[{'clusterName':'m1',"
                         "'hard':{'cpu':'2'}}]}}"),
              "admission webhook \"federatedresourcequota.karmada.io\" denied the request: "
              "spec.overall[cpu]: Invalid value: \"1\": overall is less than assignments");
    CHECK_STR(create(&f, "{'spec':{'overall':{'cpu':'3'},'staticAssignments':[{'clusterName':'m1',"
                         "'hard':{'cpu':'2'}},{'clusterName':'m2','hard':{'cpu':'1'}}]}}"),
              "");
    CHECK_STR(create(&f, "{'spec':{'overall':{'cpu':'1'},'staticAssignments':[{'clusterName':'M',"
                         "'hard':{'memory':'1'}}]}}"),
              "admission webhook \"federatedresourcequota.karmada.io\" denied the request: "
              "[spec.staticAssignments[0].clusterName: Invalid value: \"M\": a lowercase RFC 1123 "
              "label must consist of lower case alphanumeric characters or '-', and must start and "
              "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
              "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), "
              "spec.staticAssignments[0].hard[memory]: Invalid value: \"memory\": assignment "
              "resourceName is not exist in overall]");
    fixture_release(&f);
}
