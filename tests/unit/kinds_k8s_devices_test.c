/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds_fixture.h"

TEST(what_may_not_change_is_shown_as_go_has_it)
{
    struct fixture f = fixture_new("networking.k8s.io", "v1", "ipaddresses");

    CHECK_STR(
        fixture_update_faults(&f,
                              "{'metadata':{'name':'192.168.1.2'},'spec':{'parentRef':{'resource':"
                              "'services','name':'a'}}}",
                              "{'metadata':{'name':'192.168.1.2'},'spec':{'parentRef':{'resource':"
                              "'services','name':'b'}}}"),
        "spec.parentRef: Invalid value: {\"resource\":\"services\",\"name\":\"b\"}: field is "
        "immutable");
    fixture_release(&f);

    f = fixture_new("rbac.authorization.k8s.io", "v1", "rolebindings");
    CHECK_STR(fixture_update_faults(
                  &f,
                  "{'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'Role','name':'a'}}",
                  "{'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'Role','name':'b'}}"),
              "roleRef: Invalid value: "
              "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"b\"}: "
              "cannot change roleRef");
    fixture_release(&f);

    f = fixture_new("resource.k8s.io", "v1", "resourceclaimtemplates");
    CHECK_STR(fixture_update_faults(&f, "{'spec':{'metadata':{'labels':{'a':'b'}},'spec':{}}}",
                                    "{'spec':{'metadata':{'labels':{'a':'c'}},'spec':{}}}"),
              "spec: Invalid value: "
              "{\"metadata\":{\"labels\":{\"a\":\"c\"}},\"spec\":{\"devices\":{\"requests\":null}}}"
              ": field is immutable");
    fixture_release(&f);
}

/* What a kube-apiserver 1.35.4 says of the same claims. */
TEST(claims_have_rules)
{
    static const struct fixture_row rows[] = {
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c','selectors':[{'cel':{"
          "'expression':'device.driver == \\\"d\\\"'}}]}}]",
          "" },
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c','count':-1}}]",
          "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero" },
        { "'requests':[{'name':'r','firstAvailable':[{'name':'a','allocationMode':'Some'}]}]",
          "spec.devices.requests[0].firstAvailable[0].deviceClassName: Required value; "
          "spec.devices.requests[0].firstAvailable[0].allocationMode: Unsupported value: \"Some\": "
          "supported values: \"All\", \"ExactCount\"" },
        { "'config':[{'requests':['r']}]", "spec.devices.config[0].opaque: Required value" },
    };
    struct fixture f = fixture_new("resource.k8s.io", "v1", "resourceclaims");

    FIXTURE_ROWS(&f, "{'spec':{'devices':{%s}}}", rows);
    fixture_release(&f);
}

TEST(a_claim_that_changes_is_told_only_so)
{
    struct fixture f = fixture_new("resource.k8s.io", "v1", "resourceclaims");

    CHECK_STR(fixture_update_faults(
                  &f, "{'spec':{'devices':{}}}",
                  "{'spec':{'devices':{'config':[{'requests':['r'],'opaque':{'driver':'d',"
                  "'parameters':{}}}]}}}"),
              "spec: Invalid value: "
              "{\"devices\":{\"config\":[{\"requests\":[\"r\"],\"opaque\":{\"driver\":\"d\","
              "\"parameters\":{}}}],\"requests\":null}}: field is immutable");
    fixture_release(&f);
}

TEST(tokens_in_secrets_are_asked_for)
{
    struct fixture f = fixture_new("storage.k8s.io", "v1", "csidrivers");

    CHECK_STR(
        fixture_create_faults(&f, fixture_quotes(&f, "{'metadata':{'name':'d'},'spec':{"
                                                     "'serviceAccountTokenInSecrets':true}}")),
        "spec.serviceAccountTokenInSecrets: Invalid value: true: "
        "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
    fixture_release(&f);
}
