#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Logical clusters: made by an object, apart from each other, seen together by the platform admin.
. "$(dirname "$0")/lib.sh"
start_server

in_instance() { # NAME ARG…: kubectl inside of an instance
	instance=$1
	shift
	k --server "$server/clusters/$instance" "$@"
}

scenario() {
	one=one-$kubectl_minor two=two-$kubectl_minor
	for name in $one $two; do
		printf 'apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: %s}\n---\n' "$name"
	done >instances.yaml

	test_expect_success 'an instance that is not there' '
		test_must_fail in_instance nowhere-$ns get ns
		test_must_fail k get --raw /clusters/nowhere-$ns/api/v1/namespaces 2>err
		grep "(NotFound): instances.tenancy.kairship.io \"nowhere-$ns\" not found" err
	'
	test_expect_success 'making the object makes the instance' '
		k apply -f instances.yaml >out
		test "$(grep -c created out)" = 2
		in_instance $one get namespaces -o name >out
		for n in default kube-system kube-public kube-node-lease; do
			grep -x namespace/$n out
		done
		test "$(wc -l <out)" = 4
	'
	test_expect_success 'it takes what kubectl does' '
		in_instance $one create cm mine --from-literal=x=1
		printf "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {x: z}\n" >cm.yaml
		in_instance $one apply -f cm.yaml
		in_instance $one apply -f cm.yaml >out
		grep unchanged out
		in_instance $one get cm >out
		grep -E "^mine +1 +" out
		in_instance $one explain configmap.data >out
		grep "map\[string\]string" out
		in_instance $one create namespace own
		in_instance $one delete namespace own --timeout=30s
	'
	test_expect_success 'instances do not see each other' '
		test_must_fail in_instance $two get cm mine
		test_must_fail k get cm mine
		in_instance $two create cm mine --from-literal=x=2
		test "$(in_instance $one get cm mine -o "jsonpath={.data.x}")" = 1
		in_instance $two delete cm mine
		in_instance $one get cm mine
	'
	test_expect_success 'the same default has an identity of its own in each' '
		in_instance $one get ns default -o "jsonpath={.metadata.uid}" >uid1
		in_instance $two get ns default -o "jsonpath={.metadata.uid}" >uid2
		k get ns default -o "jsonpath={.metadata.uid}" >uid0
		test_must_fail cmp uid1 uid2
		test_must_fail cmp uid1 uid0
		in_instance $one get ns default -o "jsonpath={.metadata.uid}" | cmp - uid1
	'
	test_expect_success 'the wildcard shows all, each with its instance' '
		in_instance "*" get cm -A -l "!no" -o json >out
		grep "\"kairship.io/instance\": \"$one\"" out
		in_instance "*" get cm -A --field-selector metadata.name=mine -o name >out
		test "$(grep -c configmap/mine out)" = 1
	'
	test_expect_success 'a wildcard watch hears every instance' '
		k_background out --server "$server/clusters/*" get cm -A --watch-only -o name
		sleep 0.5
		in_instance $one create cm heard-one
		in_instance $two create cm heard-two
		eventually grep heard-one out
		eventually grep heard-two out
		k_background_stop
	'
	test_expect_success 'deleting the object removes the instance and all in it' '
		k delete instance $one --timeout=30s
		eventually test_must_fail in_instance $one get cm mine
		in_instance "*" get cm -A --field-selector metadata.name=mine -o name >out
		test ! -s out
		in_instance $two get cm heard-two
	'
	test_expect_success 'a new one of that name begins empty' '
		k apply -f instances.yaml
		test_must_fail in_instance $one get cm mine
		in_instance $one get ns default -o "jsonpath={.metadata.uid}" >uid3
		test_must_fail cmp uid1 uid3
		k delete -f instances.yaml --timeout=30s
	'
}

with_each_kubectl scenario
test_done
