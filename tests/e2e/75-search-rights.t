#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Search shows what a person may list, by a role or RBAC in an instance that the cluster has joined, and no more.
. "$(dirname "$0")/lib.sh"

start_members() {
	"$KAIRSHIP" simulate --data-dir members --members 2 --nodes 1,1 --delay 20 >members.out 2>>server.log &
	members_pid=$!
	for _ in $(seq 100); do
		! greeted members.out || return 0
		kill -0 "$members_pid" 2>/dev/null || break
		sleep 0.1
	done
	echo "Bail out! the members do not start"
	cat members.out server.log | diag
	exit 1
}

P=/apis/clusterpedia.io/v1beta1

in_demo() { # KUBECTL-ARG…
	k --server "$server/clusters/demo" "$@"
}

in_m() { # MEMBER KUBECTL-ARG…
	m=$1
	shift
	k --kubeconfig "members/$m.kubeconfig" "$@"
}

search() { # over all clusters, as the kubeconfig's user or with --as
	k --server "$server$P/resources" "$@"
}

as_asker() {
	k --as system:serviceaccount:default:asker get --raw "$P/$1"
}

as_jane() {
	k --as jane get --raw "$P/$1"
}

as_rob() { # with a certificate of the instance, at its door
	k --kubeconfig rob.kubeconfig get --raw "$(raw_in demo)$P/$1"
}

# Whatever a person gets of the other cluster, namespace or type says one of these.
leaks() { # FILE
	grep -E "secret-of|(web|others)-m2|\"m2\"|k-other|of-others" "$1"
}

refused() { # COMMAND…
	test_must_fail "$@" >out 2>err
	grep -v "^+" err >>out # the trace of the shell names what was asked for
	cat out
	test_must_fail leaks out
}

ready() { # CLUSTER…: without a warning
	for c in "$@"; do
		k get --raw "$P/resources/clusters/$c/api/v1/configmaps" >/dev/null 2>err || return 1
		test_must_fail grep -q "not ready" err || return 1
	done
}

start_members
start_server
use_newest_kubectl

test_expect_success 'two instances with a member each, and what is in them' '
	for i in demo other; do
		printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: $i}\n" | k create -f -
	done
	for m in m1 m2; do
		in_m $m create namespace team
		in_m $m create namespace of-others
		in_m $m -n team create deployment web-$m --image=w:1
		in_m $m -n of-others create deployment of-others-$m --image=w:1
		in_m $m -n team create secret generic secret-of-$m
	done
	"$KAIRSHIP" join m1 --instance demo --cluster-kubeconfig members/m1.kubeconfig --wait 20
	"$KAIRSHIP" join m2 --instance other --cluster-kubeconfig members/m2.kubeconfig --wait 20
	k get clusters.fleet.kairship.io -o "jsonpath={range .items[*]}{.metadata.name} {.status.instances}{\"\n\"}{end}"
	for m in m1 m2; do
		eventually sh -c "\"$kubectl\" get --raw \"$P/resources/clusters/$m/api/v1/namespaces/team/secrets\" | grep secret-of-$m"
		eventually sh -c "\"$kubectl\" get --raw \"$P/resources/clusters/$m/api/v1/pods\" | grep web-$m"
	done
	eventually ready m1 m2 k-demo k-other
	in_demo create namespace team
	in_demo -n team create secret generic secret-of-demo
'

test_expect_success 'whoever may only ask sees nothing' '
	k create serviceaccount asker
	refused as_asker resources/api/v1/pods
	printf "%s\n" "apiVersion: rbac.authorization.k8s.io/v1" "kind: ClusterRole" "metadata: {name: asker}" \
		"rules: [{apiGroups: [clusterpedia.io], resources: [resources], verbs: [get]}]" | k create -f -
	k create clusterrolebinding asker --clusterrole=asker --serviceaccount=default:asker
	eventually as_asker resources/api/v1/pods
	for path in resources/api/v1/pods resources/api/v1/secrets resources/api/v1/events resources/apis/apps/v1/deployments \
		collectionresources/workloads collectionresources/kuberesources; do
		as_asker "$path?showVirtualCluster&withRemainingCount&withContinue&limit=1&injectEvents" >out
		grep "\"items\":\[\]" out
		grep "\"remainingItemCount\":0" out
		test_must_fail leaks out
	done
	as_asker "resources/api/v1/pods?clusters=m1&ownerName=web-m1&ownerGR=deployments.apps&ownerSeniority=1&withRemainingCount" >out
	grep "\"items\":\[\],\"metadata\":{\"remainingItemCount\":0}" out
	search --as system:serviceaccount:default:asker get pods -A >out 2>&1
	grep "No resources found" out
	for c in m1 k-demo none; do
		refused as_asker resources/clusters/$c/api/v1/pods
		sed "s/$c/NAME/g" out >out.$c
		cmp out.$c out.m1
	done
'

test_expect_success 'a Viewer sees the instance and its members, but no Secrets' '
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: User" "metadata: {name: jane}" | k create -f -
	eventually k get gproductresources kairship.demo
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: Workspace" "metadata: {name: w}" \
		"spec:" "  members: [{kind: User, name: jane, role: Viewer}]" \
		"  resources: [{resourceType: Kairship, resourceName: demo}]" | k create -f -
	eventually as_jane resources/clusters/m1/api/v1/pods
	search --as jane get deployments -A >out
	grep -E "team +m1 +web-m1" out
	grep of-others-m1 out
	test_must_fail grep -E " m2 |(web|others)-m2" out
	for path in resources resources/clusters/m1 resources/clusters/k-demo; do
		as_jane "$path/api/v1/secrets?showVirtualCluster&withRemainingCount&limit=1" >out
		grep "\"items\":\[\],\"metadata\":{\"remainingItemCount\":0}" out
	done
	for name in secret-of-m1 secret-of-none; do
		test_must_fail as_jane resources/clusters/m1/api/v1/namespaces/team/secrets/$name 2>err
		grep "NotFound" err
	done
	as_jane "collectionresources/any?groups=*&showVirtualCluster" >out
	grep web-m1 out
	test_must_fail grep -E "\"m2\"|(web|others)-m2|secret-of" out
	refused as_jane resources/clusters/m2/api/v1/pods
'

test_expect_success 'RBAC in the instance adds to the role, in one namespace, there and in its members' '
	in_demo -n team create role keys --verb=list --resource=secrets
	in_demo -n team create rolebinding keys --role=keys --user=jane
	as_jane "resources/api/v1/secrets?withRemainingCount&limit=1" >out
	grep "\"secret-of-m1\"" out
	grep "\"remainingItemCount\":0" out
	as_jane "resources/clusters/k-demo/api/v1/secrets" >out
	grep "\"secret-of-demo\"" out
	test_must_fail grep kube-system out
	as_jane "resources/clusters/m1/api/v1/namespaces/team/secrets/secret-of-m1" >out
	refused as_jane resources/clusters/m2/api/v1/secrets
	in_demo -n team delete rolebinding keys
	as_jane "resources/api/v1/secrets?withRemainingCount" >out
	grep "\"items\":\[\],\"metadata\":{\"remainingItemCount\":0}" out
'

test_expect_success 'a person of the instance with RBAC for pods in one namespace, at its door' '
	"$KAIRSHIP" kubeconfig demo --user rob >rob.kubeconfig
	refused as_rob resources/api/v1/pods
	in_demo -n team create role pods --verb=list --resource=pods
	in_demo -n team create rolebinding pods --role=pods --user=rob
	in_demo create clusterrole one --verb=list,get --resource=secrets --resource-name=secret-of-demo
	in_demo create clusterrolebinding one --clusterrole=one --user=rob
	k --kubeconfig rob.kubeconfig --server "$server/clusters/demo$P/resources" get pods -A >out
	grep -E "team +m1 +web-m1" out
	test_must_fail grep -E "of-others| m2 |(web|others)-m2" out
	as_rob "resources/api/v1/pods?withRemainingCount&limit=1&injectEvents&showVirtualCluster" >out
	grep "\"remainingItemCount\":0" out
	grep "shadow.clusterpedia.io/events\":\"\[\]\"" out
	for path in resources/api/v1/secrets resources/apis/apps/v1/deployments resources/api/v1/events \
		resources/api/v1/namespaces resources/clusters/m1/apis/apps/v1/replicasets; do
		as_rob "$path?withRemainingCount" >out
		grep "\"items\":\[\],\"metadata\":{\"remainingItemCount\":0}" out
	done
	as_rob "resources/api/v1/pods?clusters=m1&ownerName=web-m1&ownerGR=deployments.apps&ownerSeniority=1" >out
	grep "\"items\":\[\]" out
	as_rob "collectionresources/any?groups=*&showVirtualCluster" >out
	test_must_fail grep -E "\"m2\"|(web|others)-m2|of-others|\"kind\":\"(Secret|Deployment|ReplicaSet|Event)\",\"apiVersion\"" out
	refused as_rob resources/clusters/m2/api/v1/pods
	refused k --kubeconfig rob.kubeconfig --server "$server" get --raw "$P/resources/api/v1/pods"
	refused k --kubeconfig rob.kubeconfig --server "$server/clusters/other" get --raw "$(raw_in other)$P/resources/api/v1/pods"
'

test_expect_success 'the admin of an instance sees it and its members, and is no admin of the platform' '
	"$KAIRSHIP" kubeconfig demo >demo.kubeconfig
	k --kubeconfig demo.kubeconfig get --raw "$(raw_in demo)$P/resources/api/v1/secrets?showVirtualCluster" >out
	grep "\"secret-of-m1\"" out
	grep "\"secret-of-demo\"" out
	test_must_fail grep -E "\"m2\"|(web|others)-m2|k-other" out
	refused k --kubeconfig demo.kubeconfig get --raw "$(raw_in demo)$P/resources/clusters/m2/api/v1/pods"
'

recorded() { # TEXT…: one line has all of them
	cat kairship-data/audit/audit.log* | grep clusterpedia.io >lines
	for text in "$@"; do
		grep -F -e "$text" lines >left
		mv left lines
	done
}

test_expect_success 'who looks for Secrets stands in the audit log' '
	eventually recorded "\"verb\":\"list\"" "\"resource\":\"secrets\"" "\"username\":\"jane\"" "\"code\":200"
	eventually recorded "\"verb\":\"get\"" "\"resource\":\"secrets\"" "\"name\":\"secret-of-m1\"" "\"username\":\"jane\"" "\"code\":404"
	eventually recorded "\"resource\":\"collectionresources\"" "\"name\":\"any\"" "\"username\":\"rob\"" "\"kairship.io/instance\":\"demo\""
	eventually recorded "\"resource\":\"secrets\"" "\"username\":\"admin\"" "\"kairship.io/instance\":\"demo\""
'

test_expect_success 'without a credential there is nothing, whether the instance is there or not' '
	for how in GET POST; do
		for i in demo none; do
			curl -sk -X $how "$server/clusters/$i$P/resources/api/v1/pods?x=1" >out.$i
			grep "\"code\": *403" out.$i
		done
		cmp out.demo out.none
	done
	curl -sk "$server$P/resources/api/v1/pods" | grep "\"code\": *403"
'

test_expect_success 'a member that is away is told of in lists over all clusters, to those who may see it' '
	search get pods -A 2>err >out
	test_must_fail grep "not ready" err
'
kill "$members_pid"
wait "$members_pid" 2>/dev/null
test_expect_success 'when the members are gone' '
	eventually sh -c "\"$kubectl\" --server \"$server$P/resources\" get pods -A 2>&1 | grep \"m1, m2 are not ready\|m2, m1 are not ready\""
	search --as jane get pods -A 2>err >out
	grep web-m1 out
	grep "m1 is not ready" err
	test_must_fail grep -E "m2 (is|are)|, m2|m2," err
	k --as system:serviceaccount:default:asker --server "$server$P/resources" get pods -A 2>err >out || { cat err; false; }
	test_must_fail grep "not ready" err
	k --as jane get --raw "$P/collectionresources/workloads" 2>err >out
	grep "m1 is not ready" err
'
stop_server
start_server
test_expect_success 'after a restart instances are up to date, and members that are away are not' '
	eventually ready k-demo k-other
	test_must_fail ready m1
	search get pods -A 2>err >out
	grep web-m2 out
	grep -E "m1, m2 are|m2, m1 are" err
'
test_done
