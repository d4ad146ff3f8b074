/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture leases(void)
{
    return fixture_new("coordination.k8s.io", "v1", "leases");
}

TEST(durations_are_positive_and_transitions_not_negative)
{
    struct fixture f = leases();

    CHECK_STR(fixture_create_faults(&f,
                                    "{\"spec\":{\"leaseDurationSeconds\":1,\"leaseTransitions\":"
                                    "0}}"),
              "");
    CHECK_STR(fixture_create_faults(&f, "{}"), "");
    CHECK_STR(fixture_create_faults(&f, "{\"spec\":{\"leaseDurationSeconds\":0}}"),
              "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0");
    CHECK_STR(fixture_create_faults(&f, "{\"spec\":{\"leaseTransitions\":-1}}"),
              "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0");
    fixture_release(&f);
}

TEST(coordinated_election_is_not_offered)
{
    struct fixture f = leases();
    const struct json *obj = fixture_read(
        &f, "{\"spec\":{\"holderIdentity\":\"me\",\"strategy\":\"x\",\"preferredHolder\":\"y\"}}");
    const char *want = "{\"metadata\":{},\"spec\":{\"holderIdentity\":\"me\"}}";

    CHECK_STR(fixture_print(&f, f.kind->ops->prepare_create(&f.c, obj)), want);
    CHECK_STR(fixture_print(&f, f.kind->ops->prepare_update(&f.c, obj, obj)), want);
    fixture_release(&f);
}

TEST(zero_and_empty_are_kept_as_sent)
{
    struct fixture f = leases();

    CHECK_STR(fixture_print(&f, fixture_read(&f, "{\"spec\":{\"holderIdentity\":\"\","
                                                 "\"leaseTransitions\":0,\"renewTime\":"
                                                 "\"2020-01-02T05:04:05.000001+02:00\"}}")),
              "{\"metadata\":{},\"spec\":{\"holderIdentity\":\"\",\"leaseTransitions\":0,"
              "\"renewTime\":\"2020-01-02T03:04:05.000001Z\"}}");
    CHECK_STR(fixture_print(&f, fixture_read(&f, "{}")), "{\"metadata\":{},\"spec\":{}}");
    fixture_release(&f);
}

TEST(cells_are_name_holder_age)
{
    struct fixture f = leases();

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":"
                                "\"me\"}}"),
              "[\"l\",\"me\",\"<unknown>\"]");
    CHECK(!f.kind->unconditional_update);
    fixture_release(&f);
}
