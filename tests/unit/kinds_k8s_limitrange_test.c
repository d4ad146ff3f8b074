/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture limitranges(void)
{
    return fixture_new("", "v1", "limitranges");
}

#define LIMITS(items) "{\"spec\":{\"limits\":[" items "]}}"

TEST(defaults_of_containers_come_from_the_bounds)
{
    struct fixture f = limitranges();
    const struct json *obj = fixture_read(
        &f, LIMITS("{\"type\":\"Container\",\"max\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"min\":"
                   "{\"cpu\":\"100m\",\"ephemeral-storage\":\"1Mi\"},\"default\":{\"cpu\":\"1\"}},"
                   "{\"type\":\"Pod\",\"max\":{\"cpu\":\"4\"}}"));

    CHECK_STR(fixture_print(&f, json_path(obj, "spec.limits")),
              "[{\"default\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"defaultRequest\":{\"cpu\":\"1\","
              "\"ephemeral-storage\":\"1Mi\",\"memory\":\"1Gi\"},\"max\":{\"cpu\":\"2\",\"memory\":"
              "\"1Gi\"},\"min\":{\"cpu\":\"100m\",\"ephemeral-storage\":\"1Mi\"},\"type\":"
              "\"Container\"},{\"max\":{\"cpu\":\"4\"},\"type\":\"Pod\"}]");
    CHECK_STR(fixture_faults(&f, obj, NULL), "");
    fixture_release(&f);
}

TEST(types_are_known_and_stand_once)
{
    struct fixture f = limitranges();

    CHECK_STR(fixture_create_faults(&f, LIMITS("{\"type\":\"Pod\"},{\"type\":\"example.com/x\"}")),
              "");
    CHECK_STR(fixture_create_faults(&f, LIMITS("{\"type\":\"Pods\"}")),
              "spec.limits[0].type: Invalid value: \"Pods\": must be a standard limit type or "
              "fully qualified");
    CHECK_STR(fixture_create_faults(&f, LIMITS("{\"type\":\"Pod\"},{\"type\":\"Pod\"}")),
              "spec.limits[1].type: Duplicate value: \"Pod\"");
    fixture_release(&f);
}

TEST(resources_are_those_of_containers)
{
    struct fixture f = limitranges();

    CHECK_STR(fixture_create_faults(&f, LIMITS("{\"type\":\"Pod\",\"max\":{\"cpu\":\"1\","
                                               "\"hugepages-2Mi\":\"4Mi\",\"example.com/gpu\":"
                                               "\"1\"}}")),
              "");
    CHECK_STR(fixture_create_faults(&f, LIMITS("{\"type\":\"Pod\",\"max\":{\"pods\":\"1\"}}")),
              "spec.limits[0].max[pods]: Invalid value: \"pods\": must be a standard resource for "
              "containers");
    CHECK_STR(
        fixture_create_faults(&f, LIMITS("{\"type\":\"Pod\",\"max\":{\"bananas\":\"1\"}}")),
        "spec.limits[0].max[bananas]: Invalid value: \"bananas\": must be a standard resource "
        "type or fully qualified; spec.limits[0].max[bananas]: Invalid value: \"bananas\": "
        "must be a standard resource for containers");
    CHECK_STR(fixture_create_faults(
                  &f, LIMITS("{\"type\":\"Pod\",\"max\":{\"requests.example.com/a\":\"1\"}}")),
              "spec.limits[0].max[requests.example.com/a]: Invalid value: "
              "\"requests.example.com/a\": doesn't follow extended resource name standard");
    fixture_release(&f);
}

TEST(bounds_must_be_in_order)
{
    struct fixture f = limitranges();

    CHECK_STR(
        fixture_create_faults(
            &f, LIMITS("{\"type\":\"Pod\",\"min\":{\"cpu\":\"2\"},\"max\":{\"cpu\":\"1500m\"}}")),
        "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value "
        "1500m");
    CHECK_STR(
        fixture_create_faults(
            &f, LIMITS("{\"type\":\"Container\",\"default\":{\"cpu\":\"1\"},\"defaultRequest\":"
                       "{\"cpu\":\"3\"},\"max\":{\"cpu\":\"2\"}}")),
        "spec.limits[0].defaultRequest[cpu]: Invalid value: \"3\": default request value 3 is "
        "greater than max value 2; spec.limits[0].defaultRequest[cpu]: Invalid value: \"3\": "
        "default request value 3 is greater than default limit value 1");
    CHECK_STR(
        fixture_create_faults(
            &f, LIMITS("{\"type\":\"Container\",\"min\":{\"cpu\":\"2\"},\"default\":{\"cpu\":"
                       "\"1\"},\"defaultRequest\":{\"cpu\":\"1\"}}")),
        "spec.limits[0].defaultRequest[cpu]: Invalid value: \"1\": min value 2 is greater than "
        "default request value 1; spec.limits[0].default[cpu]: Invalid value: \"2\": min value "
        "2 is greater than default value 1");
    fixture_release(&f);
}

TEST(ratios_are_possible)
{
    struct fixture f = limitranges();

    CHECK_STR(fixture_create_faults(
                  &f, LIMITS("{\"type\":\"Pod\",\"maxLimitRequestRatio\":{\"cpu\":\"500m\"}}")),
              "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is "
              "less than 1");
    CHECK_STR(fixture_create_faults(
                  &f, LIMITS("{\"type\":\"Pod\",\"min\":{\"cpu\":\"1\"},\"max\":{\"cpu\":\"2\"},"
                             "\"maxLimitRequestRatio\":{\"cpu\":\"3\"}}")),
              "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"3\": ratio 3 is greater "
              "than max/min = 2.000000");
    fixture_release(&f);
}

TEST(each_type_has_its_own_rules)
{
    struct fixture f = limitranges();

    CHECK_STR(
        fixture_create_faults(
            &f, LIMITS("{\"type\":\"Pod\",\"default\":{\"cpu\":\"1\"},\"defaultRequest\":"
                       "{\"cpu\":\"1\"}}")),
        "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'; "
        "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'");
    CHECK_STR(fixture_create_faults(&f, LIMITS("{\"type\":\"PersistentVolumeClaim\"}")),
              "spec.limits[0].limits: Required value: either minimum or maximum storage value is "
              "required, but neither was provided");
    CHECK_STR(fixture_create_faults(&f, LIMITS("{\"type\":\"PersistentVolumeClaim\",\"max\":"
                                               "{\"storage\":\"1Gi\"}}")),
              "");
    CHECK_STR(
        fixture_create_faults(
            &f, LIMITS("{\"type\":\"Container\",\"default\":{\"example.com/gpu\":\"2\"},"
                       "\"defaultRequest\":{\"example.com/gpu\":\"1\"}}")),
        "spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: \"1\": default value 2 "
        "must equal to defaultRequest value 1 in example.com/gpu");
    fixture_release(&f);
}
