/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds_fixture.h"

#define REQUESTS                                                                      \
    "'spec':{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'c'}},{" \
    "'name':'f','firstAvailable':[{'name':'a','deviceClassName':'c'}]}]}}"
#define NO_REQUEST(name)                                                                        \
    "Invalid value: \"" name "\": must be the name of a request in the claim or the name of a " \
    "request and a subrequest separated by '/'"
#define RESULT(request) "{'request':'" request "','driver':'d','pool':'p','device':'x'}"

static const char *status_faults(struct fixture *f, const char *status)
{
    f->c.subresource = STR("status");
    return fixture_update_faults(f, "{" REQUESTS "}",
                                 arena_printf(f->c.arena, "{" REQUESTS ",'status':{%s}}", status));
}

TEST(what_a_claim_is_given_is_checked)
{
    static const struct fixture_row rows[] = {
        { "'allocation':{'devices':{'results':[" RESULT("r") "," RESULT(
              "f/a") "]}},"
                     "'reservedFor':[{'resource':'pods','name':'n','uid':'u'}],'devices':[{'driver'"
                     ":'d',"
                     "'pool':'p','device':'x'}]",
          "" },
        { "'allocation':{'devices':{'results':[" RESULT("f/b") "]}}",
          "status.allocation.devices.results[0].request: " NO_REQUEST("f/b") },
        { "'allocation':{'devices':{'results':[" RESULT("a/b/c") "]}}",
          "status.allocation.devices.results[0].request: " NO_REQUEST("a/b/c") },
        { "'reservedFor':[{'resource':'pods'}]",
          "status.reservedFor[0].name: Required value; status.reservedFor[0].uid: Required value; "
          "status.reservedFor: Forbidden: may not be specified when `allocated` is not set" },
        { "'devices':[{'driver':'d','pool':'p','device':'x','networkData':{'ips':['x']},"
          "'conditions':[{'type':'T','status':'Maybe','lastTransitionTime':"
          "'2020-01-02T03:04:05Z','reason':'R','message':''}]}]",
          "status.devices[0]: Invalid value: {\"Driver\":\"d\",\"Pool\":\"p\",\"Device\":\"x\","
          "\"ShareID\":\"\"}: must be an allocated device in the claim; "
          "status.devices[0].conditions[0].status: Unsupported value: \"Maybe\": supported values: "
          "\"False\", \"True\", \"Unknown\"; status.devices[0].networkData.ips[0]: Invalid value: "
          "\"x\": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)" },
        { "'allocation':{'devices':{'results':[" RESULT(
              "r") "],'config':[{'source':'FromClaim',"
                   "'requests':['r','r'],'opaque':{'driver':'d'}}]}}",
          "status.allocation.devices.config[0].requests[1]: Duplicate value: \"r\"; "
          "status.allocation.devices.config[0].opaque.parameters: Required value" },
        { "'allocation':{'devices':{'results':[" RESULT(
              "r") "]}},'devices':[{'driver':'d','pool':"
                   "'p','device':'x','conditions':[{'type':'T','status':'True','lastTransitionTime'"
                   ":"
                   "'2020-01-02T03:04:05Z','reason':'A:B,c_1','message':'','observedGeneration':-1}"
                   "]}]",
          "status.devices[0].conditions[0].observedGeneration: Invalid value: -1: must be greater "
          "than or equal to zero" },
        { "'allocation':{'devices':{'results':[" RESULT(
              "r") "]}},'devices':[{'driver':'d','pool':"
                   "'p','device':'x','conditions':[{'type':'T','status':'True','lastTransitionTime'"
                   ":"
                   "'2020-01-02T03:04:05Z','reason':'a/b','message':''}]}]",
          "status.devices[0].conditions[0].reason: Invalid value: \"a/b\": a condition reason "
          "must start with alphabetic character, optionally followed by a string of alphanumeric "
          "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
          "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', "
          "regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')" },
    };
    struct fixture f = fixture_new("resource.k8s.io", "v1", "resourceclaims");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(status_faults(&f, rows[i].manifest), rows[i].faults);
    fixture_release(&f);
}

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

TEST(an_attribute_has_one_value)
{
    static const struct fixture_row rows[] = {
        { "'string':'x'", "" },
        { "", "spec.devices[0].attributes[a]: Invalid value: \"\": exactly one value must be "
              "specified" },
        { "'version':'1.0.0-a.1+b'", "" },
        { "'version':'1.02.0'", "spec.devices[0].attributes[a].version: Invalid value: \"1.02.0\": "
                                "must be a string compatible with semver.org spec 2.0.0" },
        { "'version':'a b'",
          "spec.devices[0].attributes[a].version: Invalid value: \"a b\": must be "
          "a string compatible with semver.org spec 2.0.0" },
        { "'string':'x'},'d/':{'int':1", "spec.devices[0].attributes[d/]: Invalid value: \"\": the "
                                         "name must not be empty" },
        { "'string':'x'},'/n':{'int':1", "spec.devices[0].attributes[/n]: Invalid value: \"\": the "
                                         "domain must not be empty" },
        { "'string':'x','int':1",
          "spec.devices[0].attributes[a]: Invalid value: {\"IntValue\":1,\"BoolValue\":null,"
          "\"StringValue\":\"x\",\"VersionValue\":null}: exactly one value must be specified" },
    };
    struct fixture f = fixture_new("resource.k8s.io", "v1", "resourceslices");

    FIXTURE_ROWS(&f,
                 "{'spec':{'driver':'d','nodeName':'n','pool':{'name':'p','resourceSliceCount':1},"
                 "'devices':[{'name':'d','attributes':{'a':{%s}}}]}}",
                 rows);
    fixture_release(&f);
}

/* What a kube-apiserver 1.35.4 says of the same claims. */
TEST(claims_have_rules)
{
    static const struct fixture_row rows[] = {
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c','selectors':[{'cel':{"
          "'expression':'device.driver == \\\"d\\\" && device.attributes[\\\"d\\\"].x'}}]}}]",
          "" },
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c','selectors':[{'cel':{"
          "'expression':'x'}}]}}]",
          "spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: \"x\": "
          "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n "
          "| x\n | ^" },
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c','selectors':[{'cel':{"
          "'expression':'1'}}]}}]",
          "spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: \"1\": "
          "must evaluate to bool or the unknown type, not int" },
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c'},'firstAvailable':[{'name':"
          "'Bad_','deviceClassName':'c'}]}]",
          "spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or "
          "`firstAvailable` is required, but multiple fields are set" },
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c'}},{'name':'f','firstAvailable':"
          "["
          "{'name':'a','deviceClassName':'c'},{'name':'a','deviceClassName':'c'}]}],'config':[{"
          "'requests':['r','r'],'opaque':{'driver':'d','parameters':{}}}]",
          "spec.devices.requests[1].firstAvailable[1]: Duplicate value: \"a\"; "
          "spec.devices.config[0].requests[1]: Duplicate value: \"r\"" },
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c'}}],'config':[{'opaque':{"
          "'driver':'d','parameters':'x'}}]",
          "spec.devices.config[0].opaque.parameters: Invalid value: \"<value omitted>\": must be a "
          "valid JSON object" },
        { "'requests':[{'name':'r','exactly':{'deviceClassName':'c'}}],'constraints':[{"
          "'matchAttribute':'x'}]",
          "spec.devices.constraints[0].matchAttribute: Invalid value: \"x\": a fully qualified "
          "name "
          "must be a domain and a name separated by a slash" },
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
