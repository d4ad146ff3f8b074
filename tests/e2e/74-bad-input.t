#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is wrong is said with field and reason, by REST, gRPC and kubectl alike, and nothing is half
# done: python/bad.py has the tests of the management API.
. "$(dirname "$0")/lib.sh"

python=${PYTHON:-/usr/bin/python3}
need_python grpc python3-grpcio

bad() { # TEST
	timeout 60 "$python" "$top/tests/e2e/python/bad.py" "$1" "${server#https://}"
}

d() { # kubectl in demo
	k --kubeconfig kairship-data/demo.kubeconfig "$@"
}

kubeconfig() { # SERVER USER
	printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: c' \
		'contexts: [{name: c, context: {cluster: c, user: u}}]' \
		"clusters: [{name: c, cluster: {server: \"$1\"}}]" "users: [{name: u, user: {$2}}]"
}

registered() { # NAME: as Container Management knows it, its kubeconfig in a Secret
	[ ! -f "$1.kubeconfig" ] || k create secret generic "$1" --from-file=kubeconfig="$1.kubeconfig"
	printf '%s\n' 'apiVersion: fleet.kairship.io/v1alpha1' 'kind: Cluster' "metadata: {name: $1}" \
		"spec: {type: Member, secretRef: {namespace: default, name: $1}}" | k create -f -
}

refused() { # WORDS: the manifest on stdin is not taken in demo, and this is said
	test_must_fail d create -f - 2>err
	cat err
	grep -F -e "$1" err
}

start_server --demo
eventually greeted
use_newest_kubectl

test_expect_success 'clusters that cannot join' '
	api /version
	echo "{a: [" >broken.kubeconfig
	kubeconfig https://m.example "exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}" >command.kubeconfig
	kubeconfig https://127.0.0.1:1 "token: t" >away.kubeconfig
	kubeconfig "$(sed -n "s/^ *server: *\"\{0,1\}\([^\"]*\).*/\1/p" kairship-data/members/m1.kubeconfig)" \
		"token: t" >liar.kubeconfig
	for name in nosecret broken command away liar; do registered $name; done
	bad clusters
	d get clusters -o name >out
	test "$(wc -l <out)" = 3
	test_must_fail "$KAIRSHIP" join away --instance demo --cluster-kubeconfig away.kubeconfig 2>err
	grep "connect to 127.0.0.1:1: Connection refused" err
	test_must_fail "$KAIRSHIP" join liar --instance demo --cluster-kubeconfig liar.kubeconfig 2>err
	grep -i certificate err
'

# Members on this machine are allowed here, the server itself is not one: by no door.
test_expect_success 'the server is no cluster of its own' '
	kubeconfig "$server" "token: t" >self.kubeconfig
	registered self
	api /apis/kairship.io/v1alpha1/instances/demo/clusters/self -X POST -d "{}" >out || true
	grep "address of this server itself" out
	printf "%s\n" "apiVersion: cluster.clusterpedia.io/v1alpha2" "kind: PediaCluster" "metadata: {name: pedia}" \
		"spec: {apiserver: \"$server\", syncResources: []}" | k create -f -
	itself() { k get pediacluster pedia -o yaml | grep "address of this server itself"; }
	eventually itself
'

test_expect_success 'by kubectl: a wrong kubeconfig, a name too long, a policy that is none' '
	refused "spec.kubeconfig: Invalid value: is not YAML" <<-Y
	apiVersion: workload.kcp.dev/v1alpha1
	kind: Cluster
	metadata: {name: x}
	spec: {kubeconfig: "{a: ["}
	Y
	refused "metadata.name: Invalid value: \"x1234567890123456789012345678901234567890123456789\": must be no more than 48" <<-Y
	apiVersion: cluster.karmada.io/v1alpha1
	kind: Cluster
	metadata: {name: x1234567890123456789012345678901234567890123456789}
	spec: {syncMode: Push}
	Y
	refused "spec.placement.replicaScheduling.replicaSchedulingType: Unsupported value: \"Wrong\"" <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: bad, namespace: default}
	spec:
	  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
	  placement: {replicaScheduling: {replicaSchedulingType: Wrong}}
	Y
	d get propagationpolicies -A -o name >out
	test_must_fail grep bad out
'

test_expect_success 'a cluster that nobody knows: the binding, explain and the proxy say it' '
	printf "%s\n" "apiVersion: policy.karmada.io/v1alpha1" "kind: PropagationPolicy" \
		"metadata: {name: lost, namespace: default}" "spec:" \
		"  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: lost}]" \
		"  placement: {clusterAffinity: {clusterNames: [nowhere]}}" | d create -f -
	d create deployment lost --image=nginx
	says() { d get rb lost-deployment -o "jsonpath={.status.conditions[0].message}" | grep "0/3 clusters are available"; }
	eventually says
	"$KAIRSHIP" explain deployment/lost --kubeconfig kairship-data/demo.kubeconfig >out
	grep "affinity" out
	test_must_fail d get --raw "$(raw_in demo)/apis/cluster.karmada.io/v1alpha1/clusters/nowhere/proxy/api" 2>err
	grep "clusters.cluster.karmada.io \"nowhere\" not found" err
'

for name in policies names large; do
	test_expect_success "by gRPC and REST: $name" "bad $name"
done

test_expect_success 'a body too large by kubectl and curl' '
	head -c 4000000 /dev/zero | tr "\0" a >big
	(printf "{\"metadata\":{\"name\":\"big\"},\"data\":{\"a\":\""; cat big; printf "\"}}") >big.json
	api /clusters/demo/api/v1/namespaces/default/configmaps --http1.1 -X POST \
		-H "content-type: application/json" -d @big.json -w "%{http_code}" >out
	grep "Request entity too large: limit is 3145728" out
	grep "413$" out
	test_must_fail d create configmap big --from-file=big 2>err
	grep "Request entity too large" err
	test_must_fail d get configmap big
'

test_expect_success 'a token of another instance opens nothing' '
	token_of default /clusters/demo >token
	for path in /api/v1/namespaces /clusters/other/api/v1/namespaces /apis/kairship.io/v1alpha1/instances \
		/apis/clusterpedia.io/v1beta1/resources/api/v1/pods; do
		test "$(curl -sk -o out -w "%{http_code}" -H "authorization: Bearer $(cat token)" "$server$path")" = 401
		grep Unauthorized out
	done
	bad token
	test_must_fail k --kubeconfig /dev/null --token "$(cat token)" --insecure-skip-tls-verify \
		--server "$server" get namespaces 2>err
	grep -i unauthorized err
'
test_done
