/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/autoscaler.h"

#include "unit/kinds_fixture.h"

static struct fixture fixture(const char *version)
{
    return fixture_new("autoscaling", version, "horizontalpodautoscalers");
}

#define SPEC(rest) \
    "{'spec':{'scaleTargetRef':{'kind':'Deployment','name':'d'},'maxReplicas':3" rest "}}"

static const char *text_of(struct fixture *f, const struct json *v)
{
    char *z = str_z(f->c.arena, json_text(f->c.arena, v));

    for (char *p = z; *p; p++)
        if (*p == '"')
            *p = '\'';
    return z;
}

TEST(without_metrics_it_goes_by_the_load_of_processors)
{
    struct fixture f = fixture("v2");
    const struct json *obj = fixture_read(&f, fixture_quotes(&f, SPEC("")));

    CHECK(json_int(json_path(obj, "spec.minReplicas"), 0) == 1);
    CHECK_STR(text_of(&f, json_path(obj, "spec.metrics")),
              "[{'type':'Resource','resource':{'name':'cpu','target':{'type':'Utilization',"
              "'averageUtilization':80}}}]");
    CHECK(!json_path(obj, "spec.behavior"));
    fixture_release(&f);
}

TEST(what_behavior_does_not_say_is_filled_in)
{
    struct fixture f = fixture("v2");
    const struct json *obj = fixture_read(
        &f, fixture_quotes(&f, SPEC(",'behavior':{'scaleUp':{'selectPolicy':'Min'}}")));

    CHECK_STR(text_of(&f, json_path(obj, "spec.behavior.scaleUp.selectPolicy")), "'Min'");
    CHECK(json_len(json_path(obj, "spec.behavior.scaleUp.policies")) == 2);
    CHECK(json_len(json_path(obj, "spec.behavior.scaleDown.policies")) == 1);
    fixture_release(&f);
}

TEST(version_1_has_a_field_for_the_load_and_notes_for_the_rest)
{
    struct fixture f = fixture("v2"), one = fixture("v1");
    const struct json *obj = fixture_read(
        &f, fixture_quotes(
                &f, SPEC(",'metrics':[{'type':'Pods','pods':{'metric':{'name':'rps'},'target':"
                         "{'type':'AverageValue','averageValue':'5'}}},"
                         "{'type':'Resource','resource':{'name':'cpu','target':{'type':"
                         "'Utilization','averageUtilization':70}}}],'behavior':{}")));
    const struct json *v1 = one.kind->ops->from_stored(f.c.arena, obj), *back;
    const struct json *notes = json_path(v1, "metadata.annotations");

    CHECK(json_int(json_path(v1, "spec.targetCPUUtilizationPercentage"), 0) == 70);
    CHECK(!json_path(v1, "spec.metrics"));
    CHECK_STR(text_of(&f, json_get(notes, STR("autoscaling.alpha.kubernetes.io/metrics"))),
              "'[{\\'type\\':\\'Pods\\',\\'pods\\':{\\'metricName\\':\\'rps\\',"
              "\\'targetAverageValue\\':\\'5\\'}}]'");
    back = one.kind->ops->to_stored(f.c.arena, v1);
    CHECK(json_len(json_path(back, "spec.metrics")) == 2);
    CHECK(json_equal(json_path(back, "spec.behavior"), json_path(obj, "spec.behavior")));
    CHECK(json_equal(json_at(json_path(back, "spec.metrics"), 1),
                     json_at(json_path(obj, "spec.metrics"), 0)));
    CHECK(!json_path(back, "metadata.annotations"));
    fixture_release(&f);
    fixture_release(&one);
}

TEST(notes_that_make_no_sense_are_as_if_not_there)
{
    struct fixture f = fixture("v1");
    const struct json *obj = fixture_read(
        &f, fixture_quotes(&f, "{'metadata':{'annotations':{"
                               "'autoscaling.alpha.kubernetes.io/metrics':'[{\\'type\\':5}]',"
                               "'autoscaling.alpha.kubernetes.io/conditions':'7'}},"
                               "'spec':{'scaleTargetRef':{'kind':'D','name':'d'},"
                               "'maxReplicas':3}}"));
    const struct json *v2 = f.kind->ops->to_stored(f.c.arena, obj);

    CHECK(json_len(json_path(v2, "spec.metrics")) == 1);
    CHECK(!json_path(v2, "status.conditions"));
    fixture_release(&f);
}

#define TARGET "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'D','name':'d'}"
#define CPU    "'type':'Resource','resource':{'name':'cpu','target':"

TEST(rules)
{
    static const struct fixture_row rows[] = {
        { TARGET ",'maxReplicas':2", "" },
        { TARGET ",'maxReplicas':2,'minReplicas':3",
          "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`" },
        { "'scaleTargetRef':{'apiVersion':'a/v1','kind':'D'},'maxReplicas':2",
          "spec.scaleTargetRef.name: Required value" },
        { TARGET ",'maxReplicas':2,'metrics':[{'type':'Pods'}]",
          "spec.metrics[0].pods: Required value: must populate information for the given metric "
          "source" },
        { TARGET ",'maxReplicas':2,'behavior':{'scaleUp':"
                 "{'stabilizationWindowSeconds':3601}}",
          "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less "
          "than or equal to 3600" },
        { "'scaleTargetRef':{'kind':'D','name':'d'},'maxReplicas':2",
          "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API "
          "group" },
        { "'scaleTargetRef':{'apiVersion':'v1','kind':'ReplicationController','name':'d'},"
          "'maxReplicas':2",
          "" },
        { TARGET ",'maxReplicas':2,'metrics':[{" CPU "{'type':'Utilization',"
                 "'averageUtilization':5,'averageValue':'1'}}}]",
          "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw "
          "value and a target utilization" },
        { TARGET ",'maxReplicas':2,'metrics':[{" CPU "{'type':'x','averageUtilization':5}}}]",
          "spec.metrics[0].resource.target.type: Invalid value: \"x\": must be either "
          "Utilization, Value, or AverageValue" },
        { TARGET ",'maxReplicas':2,'behavior':{'scaleDown':{'tolerance':'-1'}}",
          "spec.behavior.scaleDown.tolerance: Invalid value: \"-1\": must be greater than or "
          "equal to 0" },
    };
    struct fixture two = fixture("v2");

    fixture_rows(&two, "{'spec':{%s}}", rows, sizeof(rows) / sizeof(*rows));
    fixture_release(&two);
}
