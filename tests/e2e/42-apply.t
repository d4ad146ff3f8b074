#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Server-side apply: who owns which field, as kubectl shows and uses it.
. "$(dirname "$0")/lib.sh"
start_server

cat >a.yaml <<'Y'
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  color: red
  size: "3"
Y
sed '/size/d' a.yaml >less.yaml
sed 's/red/blue/' a.yaml >blue.yaml
cat >d.yaml <<'Y'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - name: main
        image: example.com/app:1
        env:
        - {name: A, value: "1"}
Y
cat >side.yaml <<'Y'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
spec:
  template:
    spec:
      containers:
      - name: side
        image: example.com/side:1
      - name: main
        env:
        - {name: B, value: "2"}
Y

managers() { # KIND NAME: manager/operation of each entry
	api "$1" | tr -d ' \n' | grep -oE '"manager":"[^"]*","operation":"[A-Za-z]*"' |
		sed 's/"manager":"\(.*\)","operation":"\(.*\)"/\1 \2/' | sort
}

scenario() {
	cm=/api/v1/namespaces/$ns/configmaps/a
	test_expect_success 'apply makes an object and owns what it says' '
		k -n $ns apply --server-side -f a.yaml >out
		grep "configmap/a serverside-applied" out
		test "$(managers $cm)" = "kubectl Apply"
		api $cm | tr -d " \n" >out
		grep -F "\"fieldsV1\":{\"f:data\":{\"f:color\":{},\"f:size\":{}}}" out
	'
	test_expect_success 'applied again it stays as it is' '
		before=$(k -n $ns get cm a -o "jsonpath={.metadata.resourceVersion}")
		sleep 1.1
		k -n $ns apply --server-side -f a.yaml
		test "$(k -n $ns get cm a -o "jsonpath={.metadata.resourceVersion}")" = "$before"
	'
	test_expect_success 'another owner is a conflict, until forced' '
		test_must_fail k -n $ns apply --server-side --field-manager=other -f blue.yaml 2>err
		grep "Apply failed with 1 conflict: conflict with \"kubectl\": .data.color" err
		k -n $ns apply --server-side --field-manager=other --force-conflicts -f blue.yaml
		test "$(k -n $ns get cm a -o "jsonpath={.data.color}")" = blue
		test "$(managers $cm)" = "kubectl Apply
other Apply"
	'
	test_expect_success 'what two own stays until the second lets go' '
		k -n $ns apply --server-side --field-manager=other -f less.yaml --force-conflicts
		test "$(k -n $ns get cm a -o "jsonpath={.data.size}")" = 3
		k -n $ns apply --server-side -f less.yaml
		test -z "$(k -n $ns get cm a -o "jsonpath={.data.size}")"
	'
	test_expect_success 'a plain patch takes what it changes' '
		k -n $ns patch cm a --type=merge -p "{\"data\":{\"color\":\"green\"}}"
		managers $cm | grep "Update$"
		test_must_fail k -n $ns apply --server-side -f less.yaml 2>err
		grep "conflict" err
	'
	test_expect_success 'diff by the server' '
		rc=0
		k -n $ns diff --server-side --force-conflicts -f blue.yaml >out || rc=$?
		test $rc = 1
		grep -E "^\+  color: blue" out
		test "$(k -n $ns get cm a -o "jsonpath={.data.color}")" = green
	'
	test_expect_success 'managers can be reset' '
		k -n $ns patch cm a --type=merge -p "{\"metadata\":{\"managedFields\":[{}]}}"
		test -z "$(managers $cm)"
	'
	test_expect_success 'from client-side apply to server-side apply' '
		k -n $ns delete cm a
		k -n $ns apply -f a.yaml
		managers $cm | grep "kubectl-client-side-apply Update"
		k -n $ns apply --server-side -f blue.yaml
		test "$(k -n $ns get cm a -o "jsonpath={.data.color}")" = blue
		k -n $ns apply --server-side -f less.yaml
		test "$(k -n $ns get cm a -o "jsonpath={.data.color}")" = red
	'
	test_expect_success 'lists are merged by their keys' '
		k -n $ns apply --server-side -f d.yaml
		k -n $ns apply --server-side --field-manager=side --validate=false -f side.yaml
		k -n $ns get deployment d \
			-o "jsonpath={.spec.template.spec.containers[*].name}" >out
		test "$(cat out)" = "side main"
		k -n $ns get deployment d \
			-o "jsonpath={.spec.template.spec.containers[1].env[*].name}" >out
		test "$(cat out)" = "A B"
		test "$(k -n $ns get deployment d -o "jsonpath={.spec.replicas}")" = 1
	'
	test_expect_success 'making an object by apply needs the right to create' '
		k -n $ns create role patcher --verb=get,patch --resource=configmaps
		k -n $ns create rolebinding patcher --role=patcher --user=bob
		sed "s/name: a/name: bobs/" a.yaml >bobs.yaml
		test_must_fail k -n $ns apply --server-side --as bob -f bobs.yaml 2>err
		grep "User \"bob\" cannot create resource \"configmaps\"" err
		k -n $ns apply --server-side -f bobs.yaml
		k -n $ns apply --server-side --as bob -f bobs.yaml
	'
	test_expect_success 'what the schema has not cannot be applied' '
		sed "s/^data:/nope: 1\ndata:/" a.yaml >bad.yaml
		test_must_fail k -n $ns apply --server-side --validate=false -f bad.yaml 2>err
		grep "field not declared in schema" err
	'
}

with_each_kubectl scenario
test_done
