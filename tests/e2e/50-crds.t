#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kinds that users bring: CRDs as kubectl knows them, in two instances that mean different things by
# the same name; and what goes with its owner.
. "$(dirname "$0")/lib.sh"
start_server

make_crd() { # GROUP KIND FIELD-TYPE
	cat <<-EOF
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata:
		  name: boats.$1
		spec:
		  group: $1
		  scope: Namespaced
		  names: {plural: boats, singular: boat, kind: $2, shortNames: [bt], categories: [all]}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    subresources: {status: {}}
		    additionalPrinterColumns:
		    - {name: Crew, type: integer, jsonPath: .spec.crew}
		    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
		    schema:
		      openAPIV3Schema:
		        type: object
		        properties:
		          spec:
		            type: object
		            description: What the boat is to be.
		            required: [crew]
		            properties:
		              crew: {type: $3, description: How many sail it.}
		              flag: {type: string, default: none, enum: [none, red, blue]}
		          status:
		            type: object
		            x-kubernetes-preserve-unknown-fields: true
	EOF
}

boat() { # GROUP KIND NAME CREW [MORE]
	printf 'apiVersion: %s/v1\nkind: %s\nmetadata: {name: %s}\nspec: {crew: %s%s}\n' "$@"
}

served() { # PATH
	k get --raw "$1" >/dev/null
}

has_sails() {
	k get --raw "/openapi/v3/apis/$group/v1" | grep sails
}

scenario() {
	group=sea$kubectl_minor.example.com
	test_expect_success 'a CRD is accepted, and what it describes is served' '
		make_crd $group Boat integer >crd.yaml
		k create -f crd.yaml
		k wait --for condition=established --timeout=10s crd/boats.$group
		eventually served /apis/$group/v1
		k api-resources --api-group $group >out
		grep -E "^boats +bt +" out
	'
	test_expect_success 'objects of it are made, defaulted and shown' '
		boat $group Boat one 3 "" | k apply -n $ns -f -
		boat $group Boat one 3 "" | k apply -n $ns -f - >out
		grep unchanged out
		test "$(k get -n $ns boat one -o "jsonpath={.spec.flag}")" = none
		k get -n $ns boats.$group >out
		grep -E "^NAME +CREW +READY" out
		grep -E "^one +3" out
	'
	test_expect_success 'explain knows it' '
		k explain boats.spec.crew --api-version $group/v1 >out
		grep "How many sail it" out
	'
	test_expect_success 'what does not fit is refused, all of it at once' '
		boat $group Boat bad \"many\" ", flag: green" >bad.yaml
		test_must_fail k create -n $ns --validate=false -f bad.yaml 2>err
		grep "spec.crew: Invalid value: \"string\"" err
		grep "spec.flag: Unsupported value: \"green\": supported values: \"none\", \"red\", \"blue\"" err
		test_must_fail k get -n $ns boats.$group bad
	'
	test_expect_success 'patch, label, edit' '
		k patch -n $ns boats.$group one --type merge -p "{\"spec\":{\"crew\":5}}"
		k label -n $ns boats.$group one port=left
		test "$(k get -n $ns boats.$group -l port=left -o "jsonpath={.items[0].spec.crew}")" = 5
		printf "#!/bin/sh\nsed -i s/crew:.5/crew:\\\\ 6/ \$1\n" >edit && chmod +x edit
		KUBE_EDITOR=./edit k edit -n $ns boats.$group one
		test "$(k get -n $ns boats.$group one -o "jsonpath={.spec.crew}")" = 6
		test "$(k get -n $ns boats.$group one -o "jsonpath={.metadata.generation}")" = 3
	'
	test_expect_success 'with a CRD that changes the watches of its objects end' '
		api "/apis/$group/v1/namespaces/$ns/boats?watch=1&timeoutSeconds=60" --no-buffer >watch 2>/dev/null &
		pid=$!
		eventually grep "\"name\":\"one\"" watch
		k patch crd boats.$group --type json -p "[{\"op\":\"add\",
			\"path\":\"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/sails\",
			\"value\":{\"type\":\"integer\"}}]"
		eventually has_sails
		k patch -n $ns boats.$group one --type merge -p "{\"spec\":{\"sails\":2}}"
		wait $pid
		test_must_fail grep sails watch
	'
	test_expect_success 'what belongs to a boat goes with it' '
		uid=$(k get -n $ns boats.$group one -o "jsonpath={.metadata.uid}")
		k create -n $ns -f - <<-EOF
			apiVersion: v1
			kind: ConfigMap
			metadata:
			  name: sail
			  ownerReferences: [{apiVersion: $group/v1, kind: Boat, name: one, uid: $uid}]
		EOF
		k delete -n $ns boats.$group one
		eventually test_must_fail k get -n $ns configmap sail
	'
	test_expect_success 'a deleted CRD takes its objects with it' '
		boat $group Boat two 1 "" | k create -n $ns -f -
		k delete crd boats.$group --timeout=20s
		test_must_fail k get -n $ns boats.$group two
	'
}
with_each_kubectl scenario

use_newest_kubectl
test_expect_success 'the same name in two instances: two kinds' '
	for i in one two; do
		printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: $i}\n---\n"
	done | k create -f -
	make_crd sea.example.com Boat integer | k --server $server/clusters/one create -f -
	make_crd sea.example.com Ship string | k --server $server/clusters/two create -f -
	for i in one two; do
		eventually served /clusters/$i/apis/sea.example.com/v1
	done
	boat sea.example.com Boat a 3 "" | k --server $server/clusters/one create -f -
	boat sea.example.com Ship a \"some\" "" | k --server $server/clusters/two create -f -
	test_must_fail served /apis/sea.example.com/v1
	k get --raw "/clusters/*/apis/sea.example.com/v1/boats" >out
	grep -o "\"kind\":\"[BS]...\"" out | sort >kinds
	printf "%s\n" "\"kind\":\"Boat\"" "\"kind\":\"Ship\"" | diff - kinds
'
stop_server
start_server
test_expect_success 'all of it is there after a restart' '
	test "$(k --server $server/clusters/two get boat a -o "jsonpath={.kind}:{.spec.crew}")" = Ship:some
'
test_done
