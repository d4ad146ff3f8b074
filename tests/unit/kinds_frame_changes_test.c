/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "unit/kinds_fixture.h"

/* What a kube-apiserver 1.35.4 says of the same changes, of objects and of their status, word for
 * word. */

static const struct {
    const char *group, *plural, *subresource, *was, *now, *faults;
} changes[] = {
    { "policy", "poddisruptionbudgets", "status", "{'spec':{}}",
      "{'spec':{},'status':{'conditions':[{'type':'a "
      "b','status':'x','reason':'','lastTransitionTime':null,'message':''}]}}",
      "status.conditions[0].type: Invalid value: \"a b\": name part must consist of "
      "alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
      "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); "
      "status.conditions[0].status: Unsupported value: \"x\": supported values: \"False\", "
      "\"True\", \"Unknown\"; status.conditions[0].lastTransitionTime: Required value; "
      "status.conditions[0].reason: Required value" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies", "status",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],'apiVersions':['v1']"
      ",'operations':['CREATE'],'resources':['pods']}]},'validations':[{'expression':'true'"
      "}]}}",
      "{'status':{'typeChecking':{'expressionWarnings':[{'fieldRef':' "
      "'}]},'conditions':[{'type':'a "
      "b','status':'x','reason':'','lastTransitionTime':null,'message':''}]}}",
      "status.typeChecking.expressionWarnings[0].warning: Required value; "
      "status.typeChecking.expressionWarnings[0].fieldRef: Required value; "
      "status.conditions[0].type: Invalid value: \"a b\": name part must consist of "
      "alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
      "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); "
      "status.conditions[0].status: Unsupported value: \"x\": supported values: \"False\", "
      "\"True\", \"Unknown\"; status.conditions[0].lastTransitionTime: Required value; "
      "status.conditions[0].reason: Required value" },
    { "apps", "daemonsets", "status",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"
      "'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}},'status':{'collisionCount':"
      "2}}",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"
      "'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}},'status':{}}",
      "status.collisionCount: Invalid value: 0: cannot be decremented" },
    { "apps", "deployments", "status",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"
      "'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}},'status':{'collisionCount':"
      "2}}",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"
      "'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}},'status':{'collisionCount':"
      "1}}",
      "status.collisionCount: Invalid value: 1: cannot be decremented" },
    { "networking.k8s.io", "servicecidrs", "", "{'spec':{'cidrs':['192.168.0.0/24']}}",
      "{'spec':{'cidrs':['192.168.1.0/24']}}",
      "spec.cidrs[0]: Invalid value: \"192.168.1.0/24\": field is immutable" },
    { "networking.k8s.io", "servicecidrs", "", "{'spec':{'cidrs':['192.168.0.0/24']}}",
      "{'spec':{'cidrs':['192.168.0.0/24','192.168.1.0/24']}}",
      "spec.cidrs: Invalid value: [\"192.168.0.0/24\",\"192.168.1.0/24\"]: may specify no "
      "more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64" },
    // CANNOT 409 object is being deleted: persistentvolumes "rowx" already exists
    { "flowcontrol.apiserver.k8s.io", "flowschemas", "status",
      "{'spec':{'priorityLevelConfiguration':{'name':'x'},'matchingPrecedence':1000}}",
      "{'spec':{'priorityLevelConfiguration':{'name':'x'},'matchingPrecedence':1000},'statu"
      "s':{'conditions':[{},{}]}}",
      "status.conditions[0].type: Required value; status.conditions[1].type: Duplicate "
      "value: \"\"; status.conditions[1].type: Required value" },
    { "storage.k8s.io", "csidrivers", "",
      "{'metadata':{'name':'d'},'spec':{'attachRequired':true}}",
      "{'metadata':{'name':'d'},'spec':{'attachRequired':false}}",
      "spec.attachedRequired: Invalid value: false: field is immutable" },
    { "storage.k8s.io", "csistoragecapacities", "", "{'storageClassName':'s','nodeTopology':{}}",
      "{'storageClassName':'s','nodeTopology':{'matchExpressions':[{'key':'a','operator':'E"
      "xists'}],'matchLabels':{'a':'b'}}}",
      "nodeTopology: Invalid value: "
      "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}],\"matchLabels\":{\"a\":"
      "\"b\"}}: field is immutable" },
};

TEST(changes_as_kubernetes_judges_them)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        struct fixture f = fixture_new(changes[i].group, "v1", changes[i].plural);

        f.c.subresource = str_of(changes[i].subresource);
        CHECK_STR(fixture_update_faults(&f, changes[i].was, changes[i].now), changes[i].faults);
        fixture_release(&f);
    }
}
