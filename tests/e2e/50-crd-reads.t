#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# What a custom resource is when it is read: with the status that its schema begins with, and in
# another version than that in which it is stored, whose defaults are the ones that count.
. "$(dirname "$0")/lib.sh"
serve=apiserver start_server
use_newest_kubectl

cat >crd.yaml <<EOF
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tins.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: tins, kind: Tin}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Phase, type: string, jsonPath: .status.phase}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer, default: 3}
          lid: {type: string, default: tight}
          status: {type: object, default: {phase: Pending}, properties: {phase: {type: string}}}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer, default: 5}
          lid: {type: string}
          label: {type: string, default: none}
EOF

tin() { # VERSION NAME
	printf 'apiVersion: example.com/%s\nkind: Tin\nmetadata: {name: %s}\n' "$@"
}

served() { # PATH
	k get --raw "$1" >/dev/null
}

test_expect_success 'a status with a default is there from the beginning, in a dry run too' '
	k create -f crd.yaml
	k wait --for condition=established --timeout=10s crd/tins.example.com
	eventually served /apis/example.com/v2/tins
	for dry in server none; do
		tin v1 a | k create -f - --dry-run=$dry -o "jsonpath={.status.phase}" >out
		test "$(cat out)" = Pending
	done
	test "$(k get tins.v1.example.com a -o "jsonpath={.status.phase}")" = Pending
	k get tins.v1.example.com | grep "^a *Pending"
	k get --raw /apis/example.com/v1/tins/a >out
	test_must_fail grep f:status out
'
test_expect_success 'a version has defaults for what is sent in it, the stored one for what is read' '
	test "$(k get tins.v2.example.com a -o "jsonpath={.size}{.lid}{.label}")" = 3tight
	for dry in server none; do
		tin v2 b | k create -f - --dry-run=$dry -o "jsonpath={.size}{.lid}{.label}" >out
		test "$(cat out)" = 5tight
	done
	test "$(k get tins.v1.example.com b -o "jsonpath={.size}{.lid}{.status.phase}")" = 5tightPending
'
test_expect_success 'a patch may not take the version away' '
	test_must_fail k patch tins.v1.example.com a --type merge -p "{\"apiVersion\":null}" 2>err
	grep "Object .apiVersion. is missing" err
	test_must_fail k patch tins.v2.example.com a --type json \
		-p "[{\"op\":\"remove\",\"path\":\"/apiVersion\"}]"
	k get tins.v1.example.com a
'
test_expect_success 'a name that is missing is one fault of several' '
	printf "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Tin\",\"size\":\"x\"}" >tin.json
	test_must_fail k create --raw /apis/example.com/v1/tins -f tin.json 2>err
	grep "metadata.name: Required value: name or generateName is required" err
	grep "size in body must be of type integer" err
'
test_expect_success 'what was stored in a version stays readable in it when all of them change' '
	k patch tins.v1.example.com a --type merge -p "{\"lid\":\"loose\"}"
	sed -e "s/storage: true/storage: was/; s/storage: false/storage: true/; s/storage: was/storage: false/" \
		-e "s/lid: {type: string}/hue: {type: string, default: red}/" \
		-e "s/default: 3/default: 7/" crd.yaml | k replace -f -
	hue() {
		k get tins.v2.example.com a -o "jsonpath={.hue}" | grep red
	}
	eventually hue
	test "$(k get tins.v1.example.com a -o "jsonpath={.size}{.lid}{.status.phase}")" = 3loosePending
'
test_done
