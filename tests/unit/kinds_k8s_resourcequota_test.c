/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture quotas(void)
{
    return fixture_new("", "v1", "resourcequotas");
}

#define HARD(entries) "{\"spec\":{\"hard\":{" entries "}}}"

TEST(resources_can_be_limited)
{
    struct fixture f = quotas();

    CHECK_STR(fixture_create_faults(&f, HARD("\"pods\":\"10\",\"requests.cpu\":\"1500m\","
                                             "\"count/deployments.apps\":\"2\","
                                             "\"requests.hugepages-2Mi\":\"4Mi\"")),
              "");
    CHECK_STR(fixture_create_faults(&f, HARD("\"storage\":\"1\"")),
              "spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for "
              "quota");
    CHECK_STR(fixture_create_faults(&f, HARD("\"bananas\":\"1\"")),
              "spec.hard[bananas]: Invalid value: \"bananas\": must be a standard resource type or "
              "fully qualified; spec.hard[bananas]: Invalid value: \"bananas\": must be a standard "
              "resource for quota");
    fixture_release(&f);
}

TEST(counts_are_whole_and_nothing_is_negative)
{
    struct fixture f = quotas();

    CHECK_STR(fixture_create_faults(&f, HARD("\"pods\":\"-1\"")),
              "spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0");
    CHECK_STR(fixture_create_faults(&f, HARD("\"pods\":\"1500m\"")),
              "spec.hard[pods]: Invalid value: \"1500m\": must be an integer");
    CHECK_STR(fixture_create_faults(&f, HARD("\"cpu\":\"1500m\"")), "");
    CHECK_STR(fixture_create_faults(&f, HARD("\"example.com/gpu\":\"1500m\"")),
              "spec.hard[example.com/gpu]: Invalid value: \"1500m\": must be an integer");
    fixture_release(&f);
}

#define SCOPES(list, hard) "{\"spec\":{\"scopes\":[" list "],\"hard\":{" hard "}}}"

TEST(scopes_fit_the_resources)
{
    struct fixture f = quotas();

    CHECK_STR(fixture_create_faults(&f, SCOPES("\"BestEffort\"", "\"pods\":\"1\"")), "");
    CHECK_STR(
        fixture_create_faults(&f, SCOPES("\"BestEffort\"", "\"cpu\":\"1\"")),
        "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource");
    CHECK_STR(fixture_create_faults(&f, SCOPES("\"Odd\"", "\"pods\":\"1\"")),
              "spec.scopes: Invalid value: [\"Odd\"]: unsupported scope");
    CHECK_STR(fixture_create_faults(&f, SCOPES("\"Terminating\",\"NotTerminating\"", "")),
              "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting "
              "scopes");
    fixture_release(&f);
}

#define EXPRESSION(scope, op, values)                                             \
    "{\"spec\":{\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"" scope \
    "\",\"operator\":\"" op "\",\"values\":[" values "]}]}}}"
#define AT "spec.scopeSelector.matchExpressions"

TEST(selectors_of_scopes_have_operators)
{
    struct fixture f = quotas();

    CHECK_STR(fixture_create_faults(&f, EXPRESSION("PriorityClass", "In", "\"high\"")), "");
    CHECK_STR(fixture_create_faults(&f, EXPRESSION("BestEffort", "Exists", "")), "");
    CHECK_STR(fixture_create_faults(&f, EXPRESSION("PriorityClass", "In", "")),
              AT ".values: Required value: must be at least one value when `operator` is 'In' or "
                 "'NotIn' for scope selector");
    CHECK_STR(fixture_create_faults(&f, EXPRESSION("PriorityClass", "Exists", "\"a\"")),
              AT ".values: Invalid value: [\"a\"]: must be no value when `operator` is 'Exist' or "
                 "'DoesNotExist' for scope selector");
    CHECK_STR(fixture_create_faults(&f, EXPRESSION("PriorityClass", "Is", "")),
              AT ".operator: Invalid value: \"Is\": not a valid selector operator");
    CHECK_STR(fixture_create_faults(&f, EXPRESSION("Odd", "Exists", "")),
              AT ".scopeName: Invalid value: \"Odd\": unsupported scope");
    CHECK(strstr(fixture_create_faults(&f, EXPRESSION("BestEffort", "In", "\"a\"")),
                 AT ".operator: Invalid value: \"In\": must be 'Exists' when scope is any of "));
    fixture_release(&f);
}

TEST(scopes_cannot_change)
{
    struct fixture f = quotas();
    const struct json *one = fixture_read(&f, SCOPES("\"BestEffort\"", "\"pods\":\"1\""));
    const struct json *two =
        fixture_read(&f, SCOPES("\"BestEffort\",\"Terminating\"", "\"pods\":\"2\""));
    const struct json *turned =
        fixture_read(&f, SCOPES("\"Terminating\",\"BestEffort\"", "\"pods\":\"1\""));

    CHECK_STR(fixture_faults(&f, turned, two), "");
    CHECK_STR(fixture_faults(&f, one, two),
              "spec.scopes: Invalid value: [\"BestEffort\"]: field is immutable");
    fixture_release(&f);
}

TEST(each_endpoint_changes_its_own_part)
{
    struct fixture f = quotas();
    const struct json *old =
        fixture_read(&f, "{\"spec\":{\"hard\":{\"pods\":\"1\"}},\"status\":{\"used\":{\"pods\":"
                         "\"1\"}}}");
    const struct json *obj =
        fixture_read(&f, "{\"spec\":{\"hard\":{\"pods\":\"2\"}},\"status\":{\"used\":{\"pods\":"
                         "\"2\"}}}");

    CHECK_STR(fixture_print(&f, f.kind->ops->prepare_create(&f.c, obj)),
              "{\"metadata\":{},\"spec\":{\"hard\":{\"pods\":\"2\"}},\"status\":{}}");
    CHECK_STR(
        fixture_print(&f, f.kind->ops->prepare_update(&f.c, obj, old)),
        "{\"metadata\":{},\"spec\":{\"hard\":{\"pods\":\"2\"}},\"status\":{\"used\":{\"pods\":"
        "\"1\"}}}");
    f.c.subresource = STR("status");
    CHECK_STR(
        fixture_print(&f, f.kind->ops->prepare_update(&f.c, obj, old)),
        "{\"metadata\":{},\"spec\":{\"hard\":{\"pods\":\"1\"}},\"status\":{\"used\":{\"pods\":"
        "\"2\"}}}");
    fixture_release(&f);
}

TEST(status_is_checked_too)
{
    struct fixture f = quotas();

    f.c.subresource = STR("status");
    CHECK_STR(fixture_create_faults(&f, "{\"spec\":{\"hard\":{\"bananas\":\"1\"}},\"status\":"
                                        "{\"used\":{\"pods\":\"-1\"}}}"),
              "status.used[pods]: Invalid value: \"-1\": must be greater than or equal to 0");
    fixture_release(&f);
}

TEST(cells_show_used_and_allowed)
{
    struct fixture f = quotas();

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"q\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:00Z\"},\"status\":{\"hard\":{\"limits.cpu\":"
                                "\"4\",\"pods\":\"10\",\"secrets\":\"3\"},\"used\":{\"pods\":\"1\","
                                "\"limits.cpu\":\"500m\"}}}"),
              "[\"q\",\"pods: 1/10, secrets: 0/3\",\"limits.cpu: 500m/4\",\"5s\"]");
    fixture_release(&f);
}
