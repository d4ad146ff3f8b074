/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture instances(void)
{
    return fixture_new("tenancy.kairship.io", "v1alpha1", "instances");
}

TEST(an_empty_instance_has_a_profile_and_says_nothing_of_its_release)
{
    struct fixture f = instances();

    CHECK_STR(fixture_print(&f, fixture_read(&f, "{\"metadata\":{\"name\":\"x\"}}")),
              "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"profile\":\"karmada\"},"
              "\"status\":{}}");
    fixture_release(&f);
}

TEST(settings_that_are_said_have_defaults)
{
    struct fixture f = instances();
    const struct json *obj =
        fixture_read(&f, "{\"spec\":{\"settings\":{\"failover\":{\"enabled\":true,"
                         "\"clusterMonitorPeriod\":7},\"descheduler\":{}}}}");

    CHECK_STR(fixture_print(&f, json_path(obj, "spec.settings")),
              "{\"descheduler\":{\"deschedulingInterval\":120,\"enabled\":false,"
              "\"unschedulableThreshold\":300},\"failover\":{\"clusterFailureThreshold\":30,"
              "\"clusterMonitorGracePeriod\":40,\"clusterMonitorPeriod\":7,"
              "\"clusterStartupGracePeriod\":60,\"clusterSuccessThreshold\":30,\"enabled\":true,"
              "\"failoverEvictionTimeout\":30,\"gracefulEvictionTimeout\":600}}");
    CHECK_STR(fixture_faults(&f, obj, NULL), "");
    fixture_release(&f);
}

TEST(words_and_numbers_are_checked)
{
    struct fixture f = instances();

    CHECK_STR(
        fixture_create_faults(&f, "{\"spec\":{\"profile\":\"big\"}}"),
        "spec.profile: Unsupported value: \"big\": supported values: \"karmada\", \"kubernetes\", "
        "\"minimal\"");
    CHECK_STR(fixture_create_faults(
                  &f, "{\"metadata\":{\"annotations\":{\"kairship.io/release\":\"Maybe\"}}}"),
              "metadata.annotations[kairship.io/release]: Unsupported value: \"Maybe\": supported "
              "values: \"Destroy\", \"Orphan\"");
    CHECK_STR(fixture_create_faults(&f, "{\"spec\":{\"release\":\"Keep\"}}"),
              "spec.release: Unsupported value: \"Keep\": supported values: \"Destroy\", "
              "\"Orphan\"");
    CHECK_STR(fixture_create_faults(
                  &f, "{\"spec\":{\"settings\":{\"descheduler\":{\"deschedulingInterval\":-1}}}}"),
              "spec.settings.descheduler.deschedulingInterval: Invalid value: -1: must be greater "
              "than 0");
    CHECK_STR(
        fixture_create_faults(
            &f, "{\"spec\":{\"settings\":{\"failover\":{\"failoverEvictionTimeout\":86401}}}}"),
        "spec.settings.failover.failoverEvictionTimeout: Invalid value: 86401: must be at "
        "most 86400, a day");
    CHECK_STR(fixture_create_faults(&f, "{\"spec\":{\"attach\":{}}}"),
              "spec.attach.kubeconfigSecretRef.name: Required value; "
              "spec.attach.kubeconfigSecretRef.namespace: Required value");
    CHECK_STR(fixture_create_faults(&f, "{\"status\":{\"state\":\"ODD\"}}"),
              "status.state: Unsupported value: \"ODD\": supported values: \"INPROCESS\", "
              "\"RUNNING\", \"TERMINAL\", \"UNAVAILABLE\", \"UNKNOWN\"");
    fixture_release(&f);
}

TEST(profile_and_attach_cannot_change)
{
    struct fixture f = instances();
    const struct json *old = fixture_read(&f, "{\"spec\":{\"alias\":\"a\"}}");

    CHECK_STR(fixture_faults(&f,
                             fixture_read(&f, "{\"spec\":{\"alias\":\"b\",\"suspended\":true,"
                                              "\"release\":\"Orphan\"}}"),
                             old),
              "");
    CHECK_STR(fixture_faults(&f, fixture_read(&f, "{\"spec\":{\"profile\":\"minimal\"}}"), old),
              "spec.profile: Invalid value: \"minimal\": field is immutable");
    CHECK_STR(fixture_faults(&f, old,
                             fixture_read(&f, "{\"spec\":{\"attach\":{\"kubeconfigSecretRef\":"
                                              "{\"name\":\"n\",\"namespace\":\"s\"}}}}")),
              "spec.attach: Invalid value: null: field is immutable");
    fixture_release(&f);
}

TEST(status_is_written_through_its_own_endpoint_only)
{
    struct fixture f = instances();
    const struct json *old = fixture_read(
        &f, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"5\",\"labels\":{\"a\":\"1\"}},"
            "\"status\":{\"state\":\"RUNNING\"}}");
    const struct json *obj = fixture_read(
        &f, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"4\",\"labels\":{\"a\":\"2\"}},"
            "\"spec\":{\"alias\":\"b\"},\"status\":{\"state\":\"TERMINAL\"}}");
    const struct json *out = f.kind->ops->prepare_update(&f.c, obj, old);

    CHECK(str_is(json_get_str(out, "status.state"), "RUNNING"));
    CHECK(str_is(json_get_str(out, "spec.alias"), "b"));
    f.c.subresource = STR("status");
    out = f.kind->ops->prepare_update(&f.c, obj, old);
    CHECK_STR(fixture_print(&f, out),
              "{\"metadata\":{\"labels\":{\"a\":\"1\"},\"name\":\"x\",\"resourceVersion\":\"4\"},"
              "\"spec\":{\"profile\":\"karmada\"},\"status\":{\"state\":"
              "\"TERMINAL\"}}");
    fixture_release(&f);
}

TEST(a_hosted_instance_runs_from_its_first_moment)
{
    struct fixture f = instances();
    const struct json *hosted =
        fixture_read(&f, "{\"metadata\":{\"generation\":1},\"status\":{\"state\":\"TERMINAL\"}}");
    const struct json *attached = fixture_read(
        &f, "{\"spec\":{\"attach\":{\"kubeconfigSecretRef\":{\"name\":\"n\",\"namespace\":"
            "\"s\"}}}}");
    const struct json *out = f.kind->ops->prepare_create(&f.c, hosted);

    CHECK_STR(fixture_print(&f, json_get(out, STR("status"))),
              "{\"observedGeneration\":1,\"state\":\"RUNNING\"}");
    out = f.kind->ops->held(&f.c, out);
    CHECK(str_is(json_get_str(out, "status.state"), "TERMINAL"));
    out = f.kind->ops->prepare_create(&f.c, attached);
    CHECK_STR(fixture_print(&f, json_get(out, STR("status"))), "{\"state\":\"INPROCESS\"}");
    fixture_release(&f);
}

#define SPEC(alias, seconds)        \
    "{\"spec\":{\"alias\":\"" alias \
    "\",\"settings\":{\"failover\":{\"clusterMonitorPeriod\":" seconds "}}}}"
#define LONG           \
    "\xc3\xa4\xc3\xa4" \
    "34567890123456789012345678901234567890123456789012345678901234"

TEST(a_limit_that_came_later_holds_for_new_values)
{
    struct fixture f = instances();
    const struct json *old = fixture_read(&f, SPEC(LONG "5", "90000"));

    CHECK_STR(fixture_create_faults(&f, SPEC(LONG "5", "5")),
              "spec.alias: Too long: may not be more than 64 characters");
    CHECK_STR(fixture_create_faults(&f, SPEC(LONG, "86400")), "");
    CHECK_STR(fixture_faults(&f, old, old), "");
    CHECK_STR(fixture_faults(&f, fixture_read(&f, SPEC(LONG "6", "90001")), old),
              "spec.alias: Too long: may not be more than 64 characters; "
              "spec.settings.failover.clusterMonitorPeriod: Invalid value: 90001: must be at most "
              "86400, a day");
    fixture_release(&f);
}

#undef LONG
#undef SPEC

TEST(some_names_are_reserved)
{
    struct fixture f = instances();
    const struct json *obj = fixture_read(&f, "{}");

    f.c.name = STR("root");
    CHECK_STR(fixture_faults(&f, obj, NULL), "metadata.name: Invalid value: \"root\": is reserved");
    f.c.name = STR("template");
    CHECK_STR(fixture_faults(&f, obj, NULL),
              "metadata.name: Invalid value: \"template\": is reserved");
    f.c.name = STR("config");
    CHECK_STR(fixture_faults(&f, obj, NULL),
              "metadata.name: Invalid value: \"config\": is reserved");
    f.c.name = STR("roots");
    CHECK_STR(fixture_faults(&f, obj, NULL), "");
    fixture_release(&f);
}

TEST(cells_tell_how_it_is)
{
    struct fixture f = instances();

    CHECK_STR(fixture_cells(&f,
                            "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":"
                            "\"2020-01-02T03:04:00Z\"},\"spec\":{\"alias\":\"Team X\"},"
                            "\"status\":{\"state\":\"RUNNING\",\"karmadaVersion\":\"v1.18.0\","
                            "\"summary\":{\"clusterSummary\":{\"totalNum\":3,\"readyNum\":2}}}}"),
              "[\"x\",\"karmada\",\"RUNNING\",\"2/3\",\"5s\",\"Team X\",\"v1.18.0\"]");
    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:00Z\"},\"spec\":{\"suspended\":true},"
                                "\"status\":{\"state\":\"RUNNING\"}}"),
              "[\"x\",\"karmada\",\"RUNNING,Suspended\",\"0/0\",\"5s\",\"\",\"\"]");
    CHECK(f.kind->generation && f.kind->name_rule == NAME_LABEL && !f.kind->namespaced);
    fixture_release(&f);
}
