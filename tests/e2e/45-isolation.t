#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later

# Two instances side by side, as their own admins see them: nothing of one shows in the other, and
# what happens in one stays there.
. "$(dirname "$0")/lib.sh"

start_server
use_newest_kubectl

instance() { # NAME
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" "metadata: {name: $1}"
}

a() { # kubectl as an admin of aardwolf
	k --kubeconfig aardwolf.kubeconfig "$@"
}

b() {
	k --kubeconfig babirusa.kubeconfig "$@"
}

raw() { # WORD PATH
	k --kubeconfig "$1.kubeconfig" get --raw "$(raw_in "$1")$2"
}

crd() { # WORD
	cat <<-EOF
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: things.$1.example.com}
		spec:
		  group: $1.example.com
		  scope: Namespaced
		  names: {plural: things, singular: thing, kind: Thing$1}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    schema:
		      openAPIV3Schema:
		        type: object
		        description: What $1 has.
		        x-kubernetes-preserve-unknown-fields: true
	EOF
}

owned() { # NAME UID
	printf "%s\n" "apiVersion: v1" "kind: ConfigMap" "metadata:" "  name: $1" \
		"  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: $2}]"
}

fill() { # WORD: as the admin of the instance of that name
	k --kubeconfig "$1.kubeconfig" create namespace "$1"
	k --kubeconfig "$1.kubeconfig" create configmap "$1" --from-literal="$1=$1"
	k --kubeconfig "$1.kubeconfig" -n "$1" create secret generic "$1" --from-literal="$1=$1"
	k --kubeconfig "$1.kubeconfig" create serviceaccount "$1"
	k --kubeconfig "$1.kubeconfig" create clusterrole "$1" --verb=get --resource=pods
	k --kubeconfig "$1.kubeconfig" create deployment "$1" --image="$1"
	crd "$1" | k --kubeconfig "$1.kubeconfig" create -f -
	k --kubeconfig "$1.kubeconfig" wait --for condition=established --timeout=10s \
		"crd/things.$1.example.com"
	eventually raw "$1" "/apis/$1.example.com/v1/things"
	printf 'apiVersion: %s.example.com/v1\nkind: Thing%s\nmetadata: {name: %s}\n' "$1" "$1" "$1" |
		k --kubeconfig "$1.kubeconfig" create -f -
}

test_expect_success 'two instances, each with an admin and things of its own' '
	for i in aardwolf babirusa; do
		instance $i | k create -f -
		"$KAIRSHIP" kubeconfig $i >$i.kubeconfig
		fill $i
	done
'

# All that can be read without knowing a name: documents, then every resource of every group.
read_all() { # WORD
	for p in / /api /api/v1 /apis /version /metrics /openapi/v2 /openapi/v3 /readyz?verbose \
		/openid/v1/jwks /.well-known/openid-configuration; do
		echo "== $p"
		raw "$1" "$p"
	done
	raw "$1" /openapi/v3 | tr '"' '\n' |
		sed -n 's|^\(/clusters/[^/]*\)*\(/openapi/v3/.*\)|\2|p' >paths
	[ -s paths ]
	while read -r p; do
		echo "== $p"
		raw "$1" "$p"
	done <paths
	k --kubeconfig "$1.kubeconfig" api-resources --verbs=list -o name >resources
	k --kubeconfig "$1.kubeconfig" get "$(paste -sd, resources)" -A -o json
	k --kubeconfig "$1.kubeconfig" get "$(paste -sd, resources)" -A -o wide
}

test_expect_success 'neither shows anything of the other' '
	read_all aardwolf >all-a 2>&1
	read_all babirusa >all-b 2>&1
	[ "$(grep -c aardwolf all-a)" -gt 20 ]
	[ "$(grep -c babirusa all-b)" -gt 20 ]
	test_must_fail grep babirusa all-a
	test_must_fail grep aardwolf all-b
'

test_expect_success 'a kubeconfig opens its own door' '
	for p in /clusters/babirusa/api /api /clusters/nowhere/api "/clusters/*/api/v1/configmaps" \
		/clusters/aardwolf/../babirusa/api /clusters/babirusa/metrics; do
		test_must_fail a --server "$server" get --raw "$p"
	done
	a --server "$server" get --raw /clusters/aardwolf/api
	test_must_fail a get instances.tenancy.kairship.io
	test_must_fail a get things.babirusa.example.com
'

# An admin of an instance is of system:masters there, but not for what answers over all instances.
test_expect_success 'what answers over all instances is at the bare paths only' '
	for p in /apis/kairship.io/v1alpha1/instances /apis/kairship.io/v1alpha1/instances/babirusa \
		/apis/clusterpedia.io/v1beta1/resources/clusters/k-babirusa/api/v1/configmaps; do
		eventually k get --raw "$p" >/dev/null
		test_must_fail raw aardwolf "$p" 2>err
		grep -i "not found\|could not find" err
	done
	echo "{}" >empty
	for p in kubeconfig deployments; do
		test_must_fail a create --raw "$(raw_in aardwolf)/apis/kairship.io/v1alpha1/instances/babirusa/$p" \
			-f empty 2>err
		grep -i "not found\|could not find" err
	done
'

test_expect_success 'what one names in the other does not count there' '
	a create configmap owner
	b create configmap owner
	owned stray "$(a get configmap owner -o "jsonpath={.metadata.uid}")" | b create -f -
	owned own "$(b get configmap owner -o "jsonpath={.metadata.uid}")" | b create -f -
	eventually test_must_fail b get configmap stray # that owner is not here, though it exists
	a get configmap owner
	a delete configmap owner
	sleep 2
	b get configmap owner own
	a create clusterrolebinding wide --clusterrole=cluster-admin --user=admin \
		--serviceaccount=default:babirusa --group=system:authenticated
	test "$(b auth can-i list secrets --as someone 2>/dev/null)" = no
'

test_expect_success 'what is deleted in one is deleted there' '
	a delete crd things.aardwolf.example.com
	a delete namespace aardwolf
	eventually test_must_fail a get namespace aardwolf
	b get things.babirusa.example.com babirusa
	b -n babirusa get secret babirusa
	k_background watched --kubeconfig babirusa.kubeconfig get configmaps -w
	sleep 1
	k delete instances.tenancy.kairship.io aardwolf
	test_must_fail a get namespaces
	b create configmap after
	eventually grep after watched
	k_background_stop
	test_must_fail grep aardwolf watched
	read_all babirusa >all-after 2>&1
	test_must_fail grep aardwolf all-after
	[ "$(grep -c babirusa all-after)" -gt 20 ]
'

test_expect_success 'an instance of the same name begins empty and knows no old credential' '
	instance aardwolf | k create -f -
	test_must_fail a get namespaces
	k --server "$server/clusters/aardwolf" get clusterroles,crds,configmaps -A -o name >out
	test_must_fail grep aardwolf out
'

test_done
