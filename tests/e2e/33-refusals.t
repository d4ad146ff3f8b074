#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Requests that are refused, in words that people know from Kubernetes.

. "$(dirname "$0")/lib.sh"
serve=apiserver start_server
use_newest_kubectl

cms=/api/v1/namespaces/default/configmaps

send() { # METHOD PATH BODY [CURL-OPTION…]
	method=$1 path_=$2 body=$3
	shift 3
	api "$path_" -X "$method" -H "Content-Type: application/json" -d "$body" "$@"
}

test_expect_success 'fields of a wrong type' '
	send POST $cms "{\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":1}}" >out
	grep -F "ConfigMap in version \\\"v1\\\" cannot be handled as a ConfigMap: data.x: must be a string, not a number" out
	send POST $cms "{" >out
	grep -F "the object provided is unrecognized (must be of type ConfigMap): couldn'"'"'t get version/kind; json parse error: unexpected end of JSON input" out
	send POST $cms "{\"kind\":\"Secret\",\"apiVersion\":\"v1\"}" >out
	grep -F "Secret in version \\\"v1\\\" cannot be handled as a ConfigMap" out
'

test_expect_success 'an empty dryRun is none that is known' '
	send POST "$cms?dryRun=" "{\"metadata\":{\"name\":\"a\"}}" >out
	grep -F "dryRun: Unsupported value: [\\\"\\\"]: supported values: \\\"All\\\"" out
	test_must_fail k get configmap a
'

test_expect_success 'a delete with preconditions, in its query or its body' '
	k create configmap a
	send DELETE $cms/a "{\"preconditions\":{\"uid\":\"x\"}}" >out
	grep -F "Operation cannot be fulfilled on ConfigMap \\\"a\\\": the UID in the precondition (x) does not match the UID in record" out
	api "$cms/a?resourceVersion=1" -X DELETE >out
	grep -F "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record" out
	k get configmap a
'

test_expect_success 'what a body says counts, the query of a delete then does not' '
	send DELETE "$cms/a?dryRun=All" "{}" >out
	grep "\"status\": *\"Success\"" out
	test_must_fail k get configmap a
'

test_expect_success 'an owner that is named twice is an owner once' '
	owner="{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u\"}"
	send POST "$cms?dryRun=All" "{\"metadata\":{\"name\":\"b\",\"ownerReferences\":[$owner,$owner]}}" -i >out
	grep -i "^warning: 299 - \".metadata.ownerReferences contains duplicate entries; .* observed: u\"" out
	[ "$(grep -o "\"uid\": *\"u\"" out | wc -l)" = 1 ]
'

test_expect_success 'rules in CEL that do not compile' '
	cat >crd.yaml <<-\Y
	apiVersion: apiextensions.k8s.io/v1
	kind: CustomResourceDefinition
	metadata: {name: foos.x.example.com}
	spec:
	  group: x.example.com
	  scope: Namespaced
	  names: {plural: foos, kind: Foo}
	  versions:
	  - name: v1
	    served: true
	    storage: true
	    schema:
	      openAPIV3Schema:
	        type: object
	        properties:
	          s: {type: string, x-kubernetes-validations: [{rule: "size(self) > nope(1)"}]}
	Y
	test_must_fail k create -f crd.yaml 2>err
	grep -F "spec.validation.openAPIV3Schema.properties[s].x-kubernetes-validations[0].rule: Invalid value: \"size(self) > nope(1)\": compilation failed: ERROR: <input>:1:18: undeclared reference to '"'nope'"'" err
	grep -F " | .................^" err
	sed "s/> nope(1)/> 1 2 + )/" crd.yaml >syntax.yaml
	test_must_fail k create -f syntax.yaml 2>err
	grep -F "compilation failed: ERROR: <input>:1:16: Syntax error: expected an operator or the end but found '"'2'"'" err
	sed "s/> nope(1)/> (1 2) + @)/" crd.yaml >syntax.yaml
	test_must_fail k create -f syntax.yaml 2>err
	grep -F "ERROR: <input>:1:17: Syntax error: expected '"')' but found '2'"'" err
	sed "s/nope(1)/1/" crd.yaml >good.yaml
	k create -f good.yaml
	k wait --for condition=established crd/foos.x.example.com
'

gear_warns() {
	k label gear a "x=$(date +%s)" --overwrite 2>err &&
		grep -F "Warning: spec: Invalid value: failed rule: self.size > 1" err
}
test_expect_success 'what a rule did not forbid before is told, and may stay' '
	sed -e "s/foos/gears/; s/foos/gears/; s/Foo/Gear/" -e "s/          s: .*/          spec: {type: object, properties: {size: {type: integer}, weight: {type: integer}}}/" \
		crd.yaml >gears.yaml
	k create -f gears.yaml
	k wait --for condition=established crd/gears.x.example.com
	echo "{\"apiVersion\":\"x.example.com/v1\",\"kind\":\"Gear\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":1,\"weight\":1}}" | k create -f -
	sed "s/spec: {type: object, properties: {size: {type: integer}/spec: {type: object, x-kubernetes-validations: [{rule: \"self.size > 1\"}], properties: {size: {type: integer, x-kubernetes-validations: [{rule: \"self > 2\", reason: FieldValueForbidden, message: no way}]}/" \
		gears.yaml >strict.yaml
	k apply -f strict.yaml
	eventually gear_warns
	grep -F "Warning: spec.size: Forbidden: no way" err
	test_must_fail k patch gear a --type merge -p "{\"spec\":{\"weight\":2}}" 2>err
	grep -F "Warning: spec.size: Forbidden: no way" err
	grep -F "is invalid: spec: Invalid value: failed rule: self.size > 1" err
'

test_expect_success 'custom resources say what they are' '
	foos=/apis/x.example.com/v1/namespaces/default/foos
	send POST $foos "{\"metadata\":{\"name\":\"a\"}}" >out
	grep -F "Object '"'Kind'"' is missing" out
	send POST $foos "{\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\"}}" >out
	grep -F "the API version in the data () does not match the expected API version (x.example.com/v1)" out
	send POST $foos "{\"kind\":\"Bar\",\"apiVersion\":\"x.example.com/v1\",\"metadata\":{\"name\":\"a\"}}" >out
	grep -F "Bar.x.example.com \\\"a\\\" is invalid: kind: Invalid value: \\\"Bar\\\": must be Foo" out
'

test_expect_success 'what is applied with a wrong type' '
	printf "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {x: 1}\n" >cm.yaml
	test_must_fail k apply --server-side --validate=false -f cm.yaml 2>err
	grep -F "failed to create typed patch object (default/b; /v1, Kind=ConfigMap): .data.x: expected string, got a number" err
'

test_done
