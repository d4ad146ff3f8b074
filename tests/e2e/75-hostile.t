#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A tenant with an instance of his own, evil, and all rights in it, goes for what is not his: the
# members of demo, the other instance, the server.
. "$(dirname "$0")/lib.sh"

P=/apis/kairship.io/v1alpha1

e() { # kubectl in evil, as its admin
	k --kubeconfig evil.kubeconfig "$@"
}

jane() { # at the bare paths, as the person who is Admin of evil
	k --as jane "$@"
}

refused() { # WORDS COMMAND…: with such an answer
	words=$1
	shift
	test_must_fail "$@" >err 2>&1
	cat err
	grep -q -e "$words" err
}

member() { # NAME ID ADDRESS SECRET: a Cluster as anybody may write it in his own instance
	printf '%s\n' 'apiVersion: cluster.karmada.io/v1alpha1' 'kind: Cluster' "metadata: {name: $1}" \
		"spec: {syncMode: Push, id: \"$2\", apiEndpoint: \"$3\", secretRef: {namespace: default, name: $4}}"
}

of_registry() { # JSONPATH NAME
	k get clusters.fleet.kairship.io "$2" -o "jsonpath={$1}"
}

start_server --demo
eventually greeted
use_newest_kubectl

test_expect_success 'jane gets an instance, and everything in it' '
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" "metadata: {name: evil}" \
		--- "apiVersion: iam.kairship.io/v1alpha1" "kind: User" "metadata: {name: jane}" | k create -f -
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: Workspace" "metadata: {name: w}" \
		"spec:" "  resources: [{resourceType: Kairship, resourceName: evil}]" \
		"  members: [{kind: User, name: jane, role: Admin}]" >w.yaml
	eventually k create -f w.yaml
	"$KAIRSHIP" kubeconfig evil --output evil.kubeconfig
	eventually jane get --raw $P/instances/evil
	eventually of_registry .status.instances m1
	echo "{}" >empty
'

test_expect_success 'she joins no cluster that is not hers, and hears of none' '
	for name in m1 nowhere; do
		refused "Forbidden" jane create --raw $P/instances/evil/clusters/$name -f empty
	done
	k get --raw "$P/kpanda-clusters?instance=evil&allCluster=true" | grep "\"name\":\"m1\""
	jane get --raw "$P/kpanda-clusters?instance=evil&allCluster=true" >out
	grep "\"items\":\[\]" out
'

test_expect_success 'a claimed id makes no member of demo hers' '
	id=$(of_registry ".metadata.labels.fleet\.kairship\.io/id" m1) at=$(of_registry .spec.apiEndpoint m1)
	e create secret generic lie --from-literal=token=t --from-literal=caBundle="$(
		k -n kairship-system get secret m1 -o "jsonpath={.data.caBundle}" | base64 -d)"
	for address in "$at" "$server" https://127.0.0.1:1; do
		member m1 "$id" "$address" lie | e apply -f -
		moved() { test "$(of_registry .spec.apiEndpoint m1-evil)" = "$address"; }
		eventually moved
		test "$(of_registry .status.instances m1)" = "[\"demo\"]"
		test "$(of_registry .spec.apiEndpoint m1)" = "$at"
		jane get --raw "$P/instances/evil/clusters/m1/namespaces/kube-system/secrets" >out
		grep "\"items\":\[\]" out
		refused Forbidden jane create --raw $P/instances/evil/clusters/m1 -f empty
	done
	e delete cluster m1
'

test_expect_success 'nor does the name of a PediaCluster' '
	printf "%s\n" "apiVersion: cluster.clusterpedia.io/v1alpha2" "kind: PediaCluster" "metadata: {name: prod}" \
		"spec:" "  kubeconfig: $(base64 -w0 <kairship-data/members/m2.kubeconfig)" \
		"  syncResources: [{group: \"\", resources: [namespaces]}]" | k create -f -
	rows=/apis/clusterpedia.io/v1beta1/resources/clusters/prod/api/v1/namespaces
	eventually k get --raw $rows
	member prod some-id https://127.0.0.1:1 lie | e create -f -
	eventually of_registry .status.instances prod-evil
	refused "could not find the requested cluster" jane get --raw $rows
	e delete cluster prod
'

test_expect_success 'an admin of evil is nobody elsewhere' '
	search=/apis/clusterpedia.io/v1beta1/resources
	for path in $P/instances $P/instances/demo $P/instances/demo/deployments; do
		refused "NotFound" e get --raw "$(raw_in evil)$path"
		refused "Forbidden\|opens the instance evil only" e --server "$server" get --raw "$path"
	done
	refused "Forbidden\|opens the instance evil only" e --server "$server" get --raw "$search/api/v1/secrets"
	e create secret generic hers
	has_hers() { e get --raw "$(raw_in evil)$search/api/v1/secrets?showVirtualCluster" | grep "\"hers\""; }
	eventually has_hers
	e get --raw "$(raw_in evil)$search/api/v1/secrets?showVirtualCluster" >out
	test_must_fail grep -E "cluster-name\":\"(m[12]|prod|k-demo)\"" out
	for cluster in m1 k-demo prod; do
		refused "could not find the requested cluster" \
			e get --raw "$(raw_in evil)$search/clusters/$cluster/api/v1/secrets"
	done
	refused NotFound e create --raw "$(raw_in evil)$P/instances/demo/kubeconfig" -f empty
	refused Forbidden jane create --raw $P/instances/demo/kubeconfig -f empty
	refused "could not find the requested cluster" \
		jane get --raw /apis/clusterpedia.io/v1beta1/resources/clusters/m1/api/v1/secrets
'

test_expect_success 'nor is she by another name' '
	refused "cannot list" e --as system:kairship:namespace-controller get namespaces
	refused "cannot create\|cannot patch\|cannot get" jane patch workspace w --type merge \
		-p "{\"spec\":{\"resources\":[{\"resourceType\":\"Cluster\",\"resourceName\":\"m1\"}]}}"
'

test_expect_success 'her webhooks and clusters do not lead to the server or its machine' '
	for url in "$server/x" https://169.254.169.254/x https://100.100.100.200/x https://0.0.0.0/x \
		"https://[::ffff:169.254.169.254]/x"; do
		printf "%s\n" "apiVersion: admissionregistration.k8s.io/v1" "kind: ValidatingWebhookConfiguration" \
			"metadata: {name: w}" "webhooks:" "- name: w.example.com" "  clientConfig: {url: \"$url\"}" \
			"  rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]" \
			"  sideEffects: None" "  admissionReviewVersions: [v1]" | e apply -f -
		refused "not allowed" e create configmap x
	done
	e delete validatingwebhookconfiguration w
	member self x "$server" lie | e create -f -
	refused "address of this server itself" \
		e get --raw "$(raw_in evil)/apis/cluster.karmada.io/v1alpha1/clusters/self/proxy/api"
'

test_expect_success 'what was refused is written down' '
	grep "\"username\":\"jane\"" kairship-data/audit/audit.log | grep "evil/clusters/m1" | grep "\"code\":403"
'

test_done
