/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "unit/kinds_fixture.h"

/* What a kube-apiserver 1.35.4 says of the same objects, word for word. */

static const struct {
    const char *group, *plural, *manifest, *faults;
} rules[] = {
    { "resource.k8s.io", "resourceslices",
      "{'spec':{'driver':'d.e','pool':{'name':'p','generation':1,'resourceSliceCount':1},"
      "'nodeName':'n'}}",
      "" },
    { "resource.k8s.io", "resourceslices",
      "{'spec':{'driver':'d.e','pool':{'name':'p','generation':-1,"
      "'resourceSliceCount':0},'nodeName':'n'}}",
      "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero; "
      "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero" },
    { "resource.k8s.io", "deviceclasses", "{'spec':{'config':[{}]}}",
      "spec.config[0].opaque: Required value" },
    { "storage.k8s.io", "storageclasses", "{'provisioner':'p.q','allowedTopologies':[{}]}",
      "allowedTopologies[0].matchLabelExpressions: Duplicate value: \"\"" },
    { "storage.k8s.io", "storageclasses",
      "{'provisioner':'p.q','allowedTopologies':[{'matchLabelExpressions':[{'key':'a',"
      "'values':['b','b']}]}]}",
      "allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: \"b\"" },
    { "storage.k8s.io", "storageclasses",
      "{'provisioner':'p.q','allowedTopologies':[{'matchLabelExpressions':[{'key':'a',"
      "'values':['b']},{'key':'a','values':['c']}]}]}",
      "allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: \"a\"" },
    { "storage.k8s.io", "storageclasses",
      "{'provisioner':'p.q','allowedTopologies':[{'matchLabelExpressions':[{'key':'a',"
      "'values':['b']}]},{'matchLabelExpressions':[{'key':'a','values':['b']}]}]}",
      "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"" },
    { "storage.k8s.io", "storageclasses",
      "{'provisioner':'p.q','allowedTopologies':[{'matchLabelExpressions':[{'key':'a b',"
      "'values':[]}]}]}",
      "allowedTopologies[0].matchLabelExpressions[0].values: Required value; "
      "allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: \"a b\": name "
      "part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
      "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
      "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')" },
    { "storage.k8s.io", "csistoragecapacities", "{'storageClassName':'s','maximumVolumeSize':'-1'}",
      "" },
    { "storage.k8s.io", "csistoragecapacities", "{'storageClassName':'s','capacity':'-1'}",
      "capacity: Invalid value: \"-1\": must be greater than or equal to 0" },
    { "storage.k8s.io", "csistoragecapacities", "{'storageClassName':''}",
      "storageClassName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist "
      "of lower case alphanumeric characters, '-' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')" },
    { "storage.k8s.io", "csidrivers",
      "{'spec':{'tokenRequests':[{'audience':'x','expirationSeconds':600},{'audience':'x',"
      "'expirationSeconds':1}]},'metadata':{'name':'x'}}",
      "spec.tokenRequests[1].audience: Duplicate value: \"x\"" },
    { "storage.k8s.io", "csidrivers",
      "{'spec':{'tokenRequests':[{'audience':'x','expirationSeconds':1}]},"
      "'metadata':{'name':'x'}}",
      "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a "
      "duration less than 10 minutes" },
    { "storage.k8s.io", "volumeattachments",
      "{'spec':{'attacher':'a','nodeName':'n','source':{'persistentVolumeName':'p'}}}", "" },
    { "storage.k8s.io", "volumeattachments", "{'spec':{'attacher':'a','nodeName':'n','source':{}}}",
      "spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
      "persistentVolumeName" },
    { "storage.k8s.io", "volumeattachments",
      "{'spec':{'attacher':'a','nodeName':'n','source':{'persistentVolumeName':''}}}",
      "spec.source.persistentVolumeName: Required value: must specify non empty "
      "persistentVolumeName; spec.source.persistentVolumeName: Invalid value: \"\": a "
      "lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
      "'-' or '.', and must start and end with an alphanumeric character (e.g. "
      "'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')" },
    { "storage.k8s.io", "volumeattachments",
      "{'spec':{'attacher':'a b','nodeName':'n','source':{'persistentVolumeName':'p'}}}",
      "spec.attacher: Invalid value: \"a b\": a lowercase RFC 1123 subdomain must consist "
      "of lower case alphanumeric characters, '-' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')" },
    { "node.k8s.io", "runtimeclasses", "{'handler':'h','overhead':{'podFixed':{'cpu':'-1'}}}",
      "overhead.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0" },
    { "node.k8s.io", "runtimeclasses", "{'handler':'h','overhead':{'podFixed':{'a/b/c':'1'}}}",
      "overhead.limits[a/b/c]: Invalid value: \"a/b/c\": a valid label key must consist of "
      "alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
      "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
      "subdomain prefix and '/' (e.g. 'example.com/MyName'); overhead.limits[a/b/c]: "
      "Invalid value: \"a/b/c\": doesn't follow extended resource name standard" },
    { "node.k8s.io", "runtimeclasses",
      "{'handler':'h','scheduling':{'tolerations':[{'key':'a','operator':'Exists'},"
      "{'key':'a','operator':'Exists'}]}}",
      "scheduling.tolerations[1]: Duplicate value: {\"key\":\"a\",\"operator\":\"Exists\"}" },
    { "node.k8s.io", "runtimeclasses",
      "{'handler':'h','scheduling':{'tolerations':[{'key':'a','operator':'Exists'},"
      "{'key':'a','operator':'Exists','effect':'NoExecute'}]}}",
      "" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true'}]},'metadata':{'name':'x'}}",
      "" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{}]},'metadata':{'name':'x'}}",
      "spec.validations[0].expression: Required value: expression is not specified" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':' '}]},'metadata':{'name':'x'}}",
      "spec.validations[0].expression: Required value: expression is not specified" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true','message':' '}]},'metadata':{'name':'x'}}",
      "spec.validations[0].message: Invalid value: \" \": must be non-empty if specified" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true','message':'a\\nb'}]},'metadata':{'name':'x'}}",
      "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true','messageExpression':' '}]},"
      "'metadata':{'name':'x'}}",
      "spec.validations[0].messageExpression: Invalid value: \" \": must be non-empty if "
      "specified" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true'}],'auditAnnotations':[{}]},"
      "'metadata':{'name':'x'}}",
      "spec.auditAnnotations[0].key: Invalid value: \"x/\": name part must be non-empty; "
      "spec.auditAnnotations[0].key: Invalid value: \"x/\": name part must consist of "
      "alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
      "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); "
      "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not "
      "specified" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true'}],'variables':[{}]},'metadata':{'name':'x'}}",
      "spec.variables[0].name: Required value: name is not specified; "
      "spec.variables[0].expression: Required value: expression is not specified" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true'}],'variables':[{'name':'a-b',"
      "'expression':'1'}]},'metadata':{'name':'x'}}",
      "spec.variables[0].name: Invalid value: \"a-b\": must be a valid CEL identifier" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true'}],'paramKind':{'apiVersion':'a/b/c',"
      "'kind':'K'}},'metadata':{'name':'x'}}",
      "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion "
      "string: a/b/c" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true'}],'paramKind':{'apiVersion':'A/v1',"
      "'kind':'1.2'}},'metadata':{'name':'x'}}",
      "spec.paramKind.apiVersion: Invalid value: \"A\": a lowercase RFC 1123 subdomain "
      "must consist of lower case alphanumeric characters, '-' or '.', and must start and "
      "end with an alphanumeric character (e.g. 'example.com', regex used for validation "
      "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); "
      "spec.paramKind.kind: Invalid value: \"1.2\": may have mixed case, but should "
      "otherwise match: a DNS-1035 label must consist of lower case alphanumeric "
      "characters or '-', start with an alphabetic character, and end with an alphanumeric "
      "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
      "'[a-z]([-a-z0-9]*[a-z0-9])?')" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true'}],'paramKind':{'apiVersion':'a/','kind':'Foo'}},"
      "'metadata':{'name':'x'}}",
      "spec.paramKind.apiVersion: Invalid value: \"a/\": version must be specified" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods']}]},"
      "'validations':[{'expression':'true'}],'paramKind':{}},'metadata':{'name':'x'}}",
      "spec.paramKind.apiVersion: Required value; spec.paramKind.kind: Required value" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods'],"
      "'resourceNames':['..','a/b']}]},'validations':[{'expression':'true'}]},"
      "'metadata':{'name':'x'}}",
      "spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: \"..\": may "
      "not be '..'; spec.matchConstraints.resourceRules[0].resourceNames[1]: Invalid "
      "value: \"a/b\": may not contain '/'" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods'],"
      "'resourceNames':['a','a']}]},'validations':[{'expression':'true'}]},"
      "'metadata':{'name':'x'}}",
      "spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: \"a\"" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicybindings",
      "{'spec':{'policyName':'p','validationActions':['Deny'],'paramRef':{'name':'a',"
      "'parameterNotFoundAction':''}}}",
      "spec.paramRef.parameterNotFoundAction: Required value" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicybindings",
      "{'spec':{'policyName':'p','validationActions':['Deny'],'paramRef':{'name':'a',"
      "'parameterNotFoundAction':'Maybe'}}}",
      "spec.paramRef.parameterNotFoundAction: Unsupported value: \"Maybe\": supported "
      "values: \"Deny\", \"Allow\"" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicybindings",
      "{'spec':{'policyName':'p','validationActions':[]}}",
      "spec.validationActions: Required value: at least one validation action is required" },
    { "networking.k8s.io", "ingressclasses",
      "{'spec':{'controller':'a.b/c','parameters':{'kind':'K','name':'n',"
      "'scope':'Namespace','namespace':''}}}",
      "spec.parameters.namespace: Invalid value: \"\": a lowercase RFC 1123 label must "
      "consist of lower case alphanumeric characters or '-', and must start and end with "
      "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation "
      "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')" },
    { "networking.k8s.io", "ingressclasses",
      "{'spec':{'controller':'a.b/c','parameters':{'kind':'K','name':'n',"
      "'scope':'Namespace'}}}",
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'" },
    { "networking.k8s.io", "ingressclasses",
      "{'spec':{'controller':'a.b/c','parameters':{'kind':'K','name':'n','scope':'Cluster',"
      "'namespace':'n'}}}",
      "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'" },
    { "", "persistentvolumes",
      "{'spec':{'accessModes':['ReadWriteOnce'],'capacity':{'storage':'1Gi'},"
      "'hostPath':{'path':'/x'},'volumeAttributesClassName':'a b'}}",
      "spec.volumeAttributesClassName: Invalid value: \"a b\": a lowercase RFC 1123 "
      "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
      "start and end with an alphanumeric character (e.g. 'example.com', regex used for "
      "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); "
      "spec.csi: Required value: has to be specified when using volumeAttributesClassName" },
    { "", "persistentvolumes",
      "{'spec':{'accessModes':['ReadWriteOnce'],'capacity':{'storage':'1Gi','a/b/c':'1Gi'},"
      "'hostPath':{'path':'/x'}}}",
      "spec.capacity: Unsupported value: {\"storage\":\"1Gi\",\"a/b/c\":\"1Gi\"}: supported "
      "values: \"storage\"" },
    { "", "persistentvolumeclaims",
      "{'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
      "'dataSource':{'kind':'PersistentVolumeClaim','name':'a'},"
      "'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'b'}}}",
      "spec: Invalid value: {}: must match dataSourceRef" },
    { "", "nodes", "{'spec':{'podCIDRs':['10.1.0.0/24','10.2.0.0/24']}}",
      "spec.podCIDRs: Invalid value: [\"10.1.0.0/24\",\"10.2.0.0/24\"]: may specify no "
      "more than one CIDR for each IP family" },
    { "", "nodes", "{'spec':{'podCIDRs':['10.1.0.0/24','fd00::/64']}}", "" },
    { "", "endpoints", "{'subsets':[{'addresses':[{'ip':'01.2.3.4'}]}]}", "" },
    { "", "endpoints", "{'subsets':[{'addresses':[{'ip':'127.0.0.01'}]}]}",
      "subsets[0].addresses[0].ip: Invalid value: \"127.0.0.01\": may not be in the "
      "loopback range (127.0.0.0/8, ::1/128)" },
    { "batch", "jobs",
      "{'spec':{'manualSelector':true,'selector':{'matchLabels':{'a':'b'}},"
      "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'restartPolicy':'Never',"
      "'containers':[{'name':'a','image':'i','imagePullPolicy':'Always'}]}},"
      "'completionMode':'Bogus','backoffLimitPerIndex':1,'maxFailedIndexes':2,"
      "'successPolicy':{'rules':[{'succeededIndexes':'0-2'}]}}}",
      "spec.completionMode: Unsupported value: \"Bogus\": supported values: \"NonIndexed\", "
      "\"Indexed\"; spec.successPolicy: Invalid value: "
      "{\"rules\":[{\"succeededIndexes\":\"0-2\"}]}: requires indexed completion mode" },
    { "batch", "jobs",
      "{'spec':{'manualSelector':true,'selector':{'matchLabels':{'a':'b'}},"
      "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'restartPolicy':'Never',"
      "'containers':[{'name':'a','image':'i','imagePullPolicy':'Always'}]}},"
      "'completionMode':'NonIndexed','backoffLimitPerIndex':1}}",
      "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode" },
    { "batch", "jobs",
      "{'spec':{'manualSelector':true,'selector':{'matchLabels':{'a':'b'}},"
      "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'restartPolicy':'Never',"
      "'containers':[{'name':'a','image':'i','imagePullPolicy':'Always'}]}},"
      "'successPolicy':{}}}",
      "spec.successPolicy: Invalid value: {\"rules\":null}: requires indexed completion mode" },
    { "batch", "cronjobs",
      "{'spec':{'schedule':'@daily',"
      "'jobTemplate':{'spec':{'selector':{'matchExpressions':[{'operator':'Exists',"
      "'key':'a'}],'matchLabels':{'x':'y'}},'template':{'metadata':{},"
      "'spec':{'restartPolicy':'Never','containers':[{'name':'a','image':'i',"
      "'imagePullPolicy':'Always'}]}}}}}}",
      "spec.jobTemplate.spec.selector: Invalid value: "
      "{\"matchExpressions\":[{\"operator\":\"Exists\",\"key\":\"a\"}],\"matchLabels\":{\"x\":"
      "\"y\"}}: `selector` will be auto-generated" },
    { "networking.k8s.io", "networkpolicies",
      "{'spec':{'podSelector':{},'ingress':[{'ports':[{'port':80,'endPort':0}]}]}}",
      "spec.ingress[0].ports[0].endPort: Invalid value: 0: must be greater than or equal to "
      "`port`; spec.ingress[0].ports[0].endPort: Invalid value: 0: must be between 1 and 65535, "
      "inclusive" },
    { "networking.k8s.io", "networkpolicies",
      "{'spec':{'podSelector':{},'ingress':[{'ports':[{'endPort':1}]}]}}",
      "spec.ingress[0].ports[0].endPort: Invalid value: 1: may not be specified when "
      "`port` is not specified" },
    { "networking.k8s.io", "ingresses", "{'spec':{'rules':[{'host':'01.2.3.4'}]}}",
      "spec.rules[0].host: Invalid value: \"01.2.3.4\": must be a DNS name, not an IP "
      "address" },
    { "networking.k8s.io", "ingresses",
      "{'spec':{'rules':[{'http':{'paths':[{'path':'a//b/..','pathType':'Exact',"
      "'backend':{'resource':{'kind':'k','name':'n'}}},{'path':'/a','backend':{}}]}}]}}",
      "spec.rules[0].http.paths[0].path: Invalid value: \"a//b/..\": must be an absolute "
      "path; spec.rules[0].http.paths[0].path: Invalid value: \"a//b/..\": must not "
      "contain '//'; spec.rules[0].http.paths[0].path: Invalid value: \"a//b/..\": cannot "
      "end with '/..'; spec.rules[0].http.paths[1].pathType: Required value: pathType must "
      "be specified" },
    { "networking.k8s.io", "ingresses",
      "{'spec':{'rules':[{'http':{'paths':[{'path':'/a','pathType':'Nope',"
      "'backend':{'resource':{'apiGroup':'','kind':'k','name':'n'}}}]}}]}}",
      "spec.rules[0].http.paths[0].pathType: Unsupported value: \"Nope\": supported "
      "values: \"Exact\", \"ImplementationSpecific\", \"Prefix\"; "
      "spec.rules[0].http.paths[0].backend.resource.apiGroup: Invalid value: \"\": a "
      "lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
      "'-' or '.', and must start and end with an alphanumeric character (e.g. "
      "'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i',"
      "'securityContext':{'appArmorProfile':{'type':'Localhost'}}}]}}",
      "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Required "
      "value: must be set when AppArmor type is Localhost" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i',"
      "'securityContext':{'appArmorProfile':{'type':'Localhost','localhostProfile':' "
      "x'}}}]}}",
      "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: "
      "\" x\": must not be padded with whitespace" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i',"
      "'securityContext':{'appArmorProfile':{'type':'Localhost',"
      "'localhostProfile':'../x'}}}]}}",
      "" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i',"
      "'securityContext':{'appArmorProfile':{'type':'RuntimeDefault',"
      "'localhostProfile':'x'}}}]}}",
      "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: "
      "\"x\": can only be set when AppArmor type is Localhost" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i',"
      "'securityContext':{'appArmorProfile':{'localhostProfile':'x'}}}]}}",
      "spec.containers[0].securityContext.appArmorProfile.type: Required value: type is "
      "required when appArmorProfile is set" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],"
      "'apiVersions':['v1'],'operations':['CREATE'],'resources':['pods','pods']}]},"
      "'validations':[{'expression':'true'}]},'metadata':{'name':'x'}}",
      "" },
    { "", "persistentvolumes",
      "{'spec':{'accessModes':['ReadWriteOnce'],'capacity':{'storage':'1Gi'},"
      "'hostPath':{'path':'/x'},'csi':{'driver':'d.e','volumeHandle':'h'},"
      "'local':{'path':'/x'},"
      "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'"
      "a','operator':'Exists'}]}]}}}}",
      "spec.local: Forbidden: may not specify more than 1 volume type; spec.csi: "
      "Forbidden: may not specify more than 1 volume type" },
    { "apps", "replicasets",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},"
      "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c',"
      "'image':'i'}],'ephemeralContainers':[{'name':'c','image':'i',"
      "'targetContainerName':'z','lifecycle':{'preStop':{'exec':{'command':['x']}}},"
      "'ports':[{'containerPort':1}]}]}}}}",
      "spec.template.spec.ephemeralContainers[0].name: Duplicate value: \"c\"; "
      "spec.template.spec.ephemeralContainers[0].targetContainerName: Not found: \"z\"; "
      "spec.template.spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an "
      "Ephemeral Container; spec.template.spec.ephemeralContainers[0].lifecycle: "
      "Forbidden: cannot be set for an Ephemeral Container; "
      "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed "
      "in pod template" },
    { "", "services", "{'spec':{'ports':[{'port':80}],'ipFamilies':['','']}}",
      "spec.ipFamilies[0]: Unsupported value: \"\": supported values: \"IPv4\", \"IPv6\"; "
      "spec.ipFamilies[1]: Unsupported value: \"\": supported values: \"IPv4\", \"IPv6\"; "
      "spec.ipFamilies[1]: Duplicate value: \"\"" },
    { "", "services", "{'spec':{'ports':[{'port':80}],'clusterIP':'::1','clusterIPs':['::1']}}",
      "spec.clusterIPs[0]: Invalid value: [\"::1\"]: IPv6 is not configured on this cluster" },
    { "", "services", "{'spec':{'ports':[{'port':80}],'externalIPs':['01.2.3.4']}}", "" },
    { "", "services", "{'spec':{'ports':[{'port':80}],'healthCheckNodePort':-1}}",
      "spec.healthCheckNodePort: Invalid value: -1: may only be set when `type` is "
      "'LoadBalancer' and `externalTrafficPolicy` is 'Local'" },
    { "", "services", "{'spec':{'ports':[{'port':80}],'ipFamilyPolicy':''}}",
      "spec.ipFamilyPolicy: Unsupported value: \"\": supported values: \"PreferDualStack\","
      " \"RequireDualStack\", \"SingleStack\"" },
    { "", "services", "{'spec':{'ports':[{'port':80}],'ipFamilies':['IPv4','IPv4']}}",
      "spec.ipFamilies[1]: Duplicate value: \"IPv4\"" },
    { "", "services", "{'spec':{'ports':[{'port':80}],'ipFamilies':['']}}",
      "spec.ipFamilies[0]: Unsupported value: \"\": supported values: \"IPv4\", \"IPv6\"" },
    { "", "services", "{'spec':{'ports':[{'name':'a','port':1},{'name':'a','port':1}]}}",
      "spec.ports[1].name: Duplicate value: \"a\"; spec.ports[1]: Duplicate value: "
      "{\"name\":\"a\",\"port\":1,\"protocol\":\"TCP\",\"targetPort\":1}" },
    { "", "services",
      "{'spec':{'ports':[{'port':80}],'type':'ExternalName','externalName':'a.b',"
      "'internalTrafficPolicy':'Bogus'}}",
      "spec.internalTrafficPolicy: Unsupported value: \"Bogus\": supported values: "
      "\"Cluster\", \"Local\"" },
    { "", "services",
      "{'spec':{'ports':[{'port':80}],'type':'ClusterIP',"
      "'allocateLoadBalancerNodePorts':true,'loadBalancerClass':'a/b',"
      "'externalTrafficPolicy':'Local','healthCheckNodePort':30000}}",
      "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is "
      "'LoadBalancer'; spec.loadBalancerClass: Forbidden: may only be used when `type` is "
      "'LoadBalancer'; spec.externalTrafficPolicy: Invalid value: \"Local\": may only be "
      "set for externally-accessible services; spec.healthCheckNodePort: Invalid value: "
      "30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
      "'Local'" },
    { "", "services",
      "{'spec':{'ports':[{'name':'a','port':1,'nodePort':1},{'name':'b','port':2,"
      "'nodePort':1}]}}",
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'; "
      "spec.ports[1].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'; "
      "spec.ports[1].nodePort: Duplicate value: 1" },
    { "storage.k8s.io", "volumeattachments",
      "{'spec':{'attacher':'a','nodeName':'n','source':{'inlineVolumeSpec':{'accessModes':["
      "'ReadWriteOnce'],'csi':{'driver':'d','volumeHandle':'h'}}}}}",
      "" },
    { "storage.k8s.io", "volumeattachments",
      "{'spec':{'attacher':'a','nodeName':'n','source':{'inlineVolumeSpec':{'capacity':{'st"
      "orage':'1'},'claimRef':{'name':'x'},'storageClassName':'s','volumeMode':'Block','per"
      "sistentVolumeReclaimPolicy':'Delete','nodeAffinity':{},'local':{'path':'/a'}}}}}",
      "spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the "
      "context of inline volumes; spec.source.inlineVolumeSpec.capacity: Forbidden: may "
      "not be specified in the context of inline volumes; "
      "spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the "
      "context of inline volumes; spec.source.inlineVolumeSpec.accessModes: Required "
      "value; spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may "
      "only be Retain in the context of inline volumes; "
      "spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the "
      "context of inline volumes; spec.source.inlineVolumeSpec.nodeAffinity: Required "
      "value: Local volume requires node affinity; "
      "spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in "
      "the context of inline volumes; spec.source.inlineVolumeSpec.volumeMode: Forbidden: "
      "may not specify volumeMode other than Filesystem in the context of inline volumes" },
    { "", "persistentvolumes",
      "{'spec':{'capacity':{'storage':'1'},'accessModes':['ReadWriteOnce'],'persistentVolum"
      "eReclaimPolicy':'Recycle','hostPath':{'path':'/./'}}}",
      "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath "
      "mount of '/'" },
    { "", "persistentvolumes",
      "{'spec':{'capacity':{'storage':'1'},'accessModes':['ReadWriteOnce'],'csi':{'driver':"
      "'d','volumeHandle':'h'},'volumeAttributesClassName':''}}",
      "spec.volumeAttributesClassName: Required value: an empty string is disallowed" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i'}],'dnsConfig':{'searches':['.','a.b.'"
      ",'_tcp.a','a_b','','-a','a..b','A']}}}",
      "spec.dnsConfig.searches[4]: Invalid value: \"\": a lowercase RFC 1123 subdomain "
      "must consist of lower case alphanumeric characters, '_', '-' or '.', and must start "
      "and end with an alphanumeric character (e.g. 'example.com', regex used for "
      "validation is "
      "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*'); "
      "spec.dnsConfig.searches[5]: Invalid value: \"-a\": a lowercase RFC 1123 subdomain "
      "must consist of lower case alphanumeric characters, '_', '-' or '.', and must start "
      "and end with an alphanumeric character (e.g. 'example.com', regex used for "
      "validation is "
      "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*'); "
      "spec.dnsConfig.searches[6]: Invalid value: \"a..b\": a lowercase RFC 1123 subdomain "
      "must consist of lower case alphanumeric characters, '_', '-' or '.', and must start "
      "and end with an alphanumeric character (e.g. 'example.com', regex used for "
      "validation is "
      "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*'); "
      "spec.dnsConfig.searches[7]: Invalid value: \"A\": a lowercase RFC 1123 subdomain "
      "must consist of lower case alphanumeric characters, '_', '-' or '.', and must start "
      "and end with an alphanumeric character (e.g. 'example.com', regex used for "
      "validation is "
      "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i'}],'dnsPolicy':'None','dnsConfig':{'se"
      "arches':['-']}}}",
      "spec.dnsConfig.nameservers: Required value: must provide at least one DNS "
      "nameserver when `dnsPolicy` is None" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i'}],'initContainers':[{'name':'i','imag"
      "e':'i','restartPolicyRules':[{'action':'x'}]},{'name':'j','image':'i','restartPolicy"
      "':'Always','restartPolicyRules':[{'action':'x'}]}]}}",
      "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy "
      "when restart rules are used; spec.initContainers[1].restartPolicyRules: Forbidden: "
      "restartPolicyRules are not allowed for init containers with restart policy Always" },
    { "networking.k8s.io", "servicecidrs",
      "{'spec':{'cidrs':['192.168.0.0/24','192.168.1.0/24','x']}}",
      "spec.cidrs: Invalid value: [\"192.168.0.0/24\",\"192.168.1.0/24\",\"x\"]: may only hold up "
      "to 2 values" },
    { "networking.k8s.io", "servicecidrs", "{'spec':{'cidrs':['192.168.0.0/24','192.168.1.0/24']}}",
      "spec.cidrs: Invalid value: [\"192.168.0.0/24\",\"192.168.1.0/24\"]: may specify no "
      "more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64" },
    { "networking.k8s.io", "ingresses",
      "{'spec':{'ingressClassName':'a b','tls':[{'hosts':['-']}]}}",
      "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified; "
      "spec.tls[0].hosts[0]: Invalid value: \"-\": a lowercase RFC 1123 subdomain must "
      "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
      "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); "
      "spec.ingressClassName: Invalid value: \"a b\": a lowercase RFC 1123 subdomain must "
      "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
      "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')" },
    { "apps", "daemonsets",
      "{'spec':{'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'"
      "c','image':'i'}]}}}}",
      "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not "
      "match template `labels`" },
    { "apps", "daemonsets",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},'updateStrategy':{'rollingUpdate':{'ma"
      "xSurge':'1','maxUnavailable':1}},'template':{'metadata':{'labels':{'a':'b'}},'spec':"
      "{'containers':[{'name':'c','image':'i'}]}}}}",
      "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: \"1\": a valid percent "
      "string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
      "regex used for validation is '[0-9]+%'); "
      "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: \"1\": may not be set "
      "when maxUnavailable is non-zero" },
    { "apps", "statefulsets",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},'volumeClaimTemplates':[{'spec':{'acce"
      "ssModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1'}}}}],'template':{'"
      "metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}",
      "spec.template.spec.volumes[0].persistentVolumeClaim.claimName: Required value; "
      "spec.template.spec.volumes[0].name: Required value" },
    { "apps", "statefulsets",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},'updateStrategy':{'type':'x','rollingU"
      "pdate':{'partition':1}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'contain"
      "ers':[{'name':'c','image':'i'}]}}}}",
      "spec.updateStrategy: Invalid value: {\"type\":\"x\",\"rollingUpdate\":{\"partition\":1}}: "
      "must be 'RollingUpdate' or 'OnDelete'" },
    { "apps", "deployments",
      "{'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'x'}]},'template':{}}"
      "}",
      "spec.selector.matchExpressions[0].operator: Invalid value: \"x\": not a valid "
      "selector operator; spec.selector: Invalid value: "
      "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"x\"}]}: invalid label selector" },
    { "batch", "cronjobs",
      "{'spec':{'schedule':'* * * * "
      "*','jobTemplate':{'spec':{'manualSelector':true,'template':{'spec':{'restartPolicy':"
      "'Never','containers':[{'name':'c','image':'i'}]}}}}}}",
      "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "
      "\"nil\", \"false\"" },
    { "discovery.k8s.io", "endpointslices",
      "{'addressType':'FQDN','endpoints':[{'addresses':['a.b','a.b.','x','','-.b']}],'ports"
      "':[{'port':1},{'port':2}]}",
      "ports[1].name: Duplicate value: \"\"; endpoints[0].addresses[2]: Invalid value: "
      "\"x\": should be a domain with at least two segments separated by dots; "
      "endpoints[0].addresses[3]: Required value; endpoints[0].addresses[4]: Invalid "
      "value: \"-.b\": a lowercase RFC 1123 subdomain must consist of lower case "
      "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
      "character (e.g. 'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies",
      "{'spec':{'matchConstraints':{'resourceRules':[{'apiGroups':[''],'apiVersions':['v1']"
      ",'operations':['CREATE'],'resources':['pods']}]}}}",
      "spec.validations: Required value: validations or auditAnnotations must contain at "
      "least one item; spec.auditAnnotations: Required value: validations or "
      "auditAnnotations must contain at least one item" },
    { "resource.k8s.io", "resourceclaimtemplates",
      "{'spec':{'metadata':{'generation':1,'uid':'u','creationTimestamp':'2024-01-01T00:00:"
      "00Z','name':'n'},'spec':{}}}",
      "spec.metadata.name: Forbidden: cannot be set; spec.metadata.uID: Forbidden: cannot "
      "be set; spec.metadata.generation: Forbidden: cannot be set; "
      "spec.metadata.creationTimestamp: Forbidden: cannot be set" },
    { "node.k8s.io", "runtimeclasses", "{'handler':'h','overhead':{'podFixed':{'a.b/c':'1500m'}}}",
      "overhead.limits[a.b/c]: Invalid value: \"1500m\": must be an integer" },
    { "", "nodes", "{'status':{'allocatable':{'a.b/c':'1500m','cpu':'1500m'}}}",
      "status.allocatable.a.b/c: Invalid value: \"1500m\": must be an integer" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i','resources':{'limits':{'cpu':'1','hug"
      "epages-2Mi':'3Mi','hugepages-1Gi':'2Gi'}}}]}}",
      "spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is "
      "not positive integer multiple of hugepages-2Mi; "
      "spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi "
      "is not positive integer multiple of hugepages-2Mi" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i','resources':{'limits':{'cpu':'1','hug"
      "epages-2Mi':'4Mi'}}}]}}",
      "" },
    { "", "pods",
      "{'spec':{'containers':[{'name':'c','image':'i','resources':{'limits':{'cpu':'1','hug"
      "epages-x':'4Mi'}}}]}}",
      "spec.containers[0].resources.limits[hugepages-x]: Invalid value: \"4Mi\": 4Mi is "
      "not positive integer multiple of hugepages-x; "
      "spec.containers[0].resources.requests[hugepages-x]: Invalid value: \"4Mi\": 4Mi is "
      "not positive integer multiple of hugepages-x" },
    { "networking.k8s.io", "ipaddresses",
      "{'metadata':{'name':'x'},'spec':{'parentRef':{'resource':'a','name':'b'}}}",
      "metadata.name: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or "
      "2001:db8::ffff)" },
    { "resource.k8s.io", "resourceslices",
      "{'spec':{'driver':'d.e','pool':{'name':'p','generation':1,'resourceSliceCount':1},'n"
      "odeName':'n','devices':[{}]}}",
      "spec.devices[0].name: Invalid value: \"\": a lowercase RFC 1123 label must consist "
      "of lower case alphanumeric characters or '-', and must start and end with an "
      "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')" },
    { "", "nodes",
      "{'spec':{'taints':[{'key':'a','effect':'NoSchedule'},{'key':'a','effect':'NoSchedule"
      "'}]}}",
      "metadata.taints[1]: Duplicate value: {\"key\":\"a\",\"effect\":\"NoSchedule\"}: taints must "
      "be unique by key and effect pair" },
    { "apps", "replicasets",
      "{'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"
      "'b'}},'spec':{'containers':[{'name':'c','image':'i'}],'ephemeralContainers':[{'image"
      "':'i','lifecycle':{}},{'image':'i'}]}}}}",
      "spec.template.spec.ephemeralContainers[0].name: Required value; "
      "spec.template.spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for "
      "an Ephemeral Container; spec.template.spec.ephemeralContainers[1].name: Required "
      "value; spec.template.spec.ephemeralContainers[1].name: Duplicate value: \"\"; "
      "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed "
      "in pod template" },
};

TEST(rules_as_kubernetes_tells_them)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        struct fixture f = fixture_new(rules[i].group, "v1", rules[i].plural);

        CHECK_STR(fixture_create_faults(&f, fixture_quotes(&f, rules[i].manifest)),
                  rules[i].faults);
        fixture_release(&f);
    }
}
