#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clusters become members of an instance, are looked at, reached through the proxy, and leave.
. "$(dirname "$0")/lib.sh"

start_members() {
	"$KAIRSHIP" simulate --data-dir members --members 2 --nodes 2,1 --cpu 4 --memory 16Gi --delay 20 \
		>members.out 2>>server.log &
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

d() { # kubectl in demo
	k -s "$server/clusters/demo" "$@"
}

via() { # MEMBER WORD…: kubectl in a member, through the proxy
	member=$1
	shift
	k -s "$server/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters/$member/proxy" "$@"
}

ship() { # kairship WORD…, in demo
	"$KAIRSHIP" "$@" --instance demo
}

ready() { # MEMBER STATUS
	[ "$(d get cluster "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = "$2" ]
}

m1_has_nothing() {
	k --kubeconfig members/m1.kubeconfig get clusterroles,clusterrolebindings,namespaces -o name >out
	test_must_fail grep karmada out
}

tainted() { # MEMBER EFFECT
	d get cluster "$1" -o 'jsonpath={.spec.taints[*].effect}' | grep -q "$2"
}

start_members
start_server
use_newest_kubectl

test_expect_success 'an instance with quick failover' '
	k apply -f - <<-Y
	apiVersion: tenancy.kairship.io/v1alpha1
	kind: Instance
	metadata: {name: demo}
	spec: {settings: {failover: {enabled: true, clusterFailureThreshold: 1,
	  clusterSuccessThreshold: 1, failoverEvictionTimeout: 1}}}
	Y
'

test_expect_success 'two clusters join and are Ready' '
	ship join m1 --cluster-kubeconfig members/m1.kubeconfig --provider p1 --region r1 --zones z1,z2 \
		--labels env=prod --wait 10 >out
	grep "cluster(m1) is joined successfully" out
	ship join m2 --cluster-kubeconfig members/m2.kubeconfig --wait 10
	d get clusters -o wide >out
	grep -E "^m1 +v1\..* Push +True .* z1,z2 +r1 +p1 +https://" out
	d get cluster m1 -o "jsonpath={.metadata.finalizers} {.status.nodeSummary.readyNum}" >out
	[ "$(cat out)" = "[\"karmada.io/cluster-controller\"] 2" ]
	[ "$(d get cluster m1 -o "jsonpath={.status.resourceSummary.allocatable.cpu}")" = 8 ]
	d get cluster m1 -o "jsonpath={.status.apiEnablements[*].resources[*].kind}" | grep -w Deployment
	d get namespace karmada-es-m1
'

test_expect_success 'joining again changes nothing, under another name it is refused' '
	ship join m1 --cluster-kubeconfig members/m1.kubeconfig --wait 10
	test_must_fail ship join other --cluster-kubeconfig members/m1.kubeconfig 2>err
	grep "has joined already, as \"m1\"" err
	test_must_fail ship join x --cluster-kubeconfig nowhere 2>err
	grep "cluster-kubeconfig: kubeconfig: nowhere: No such file" err
	test_must_fail ship join NAME --cluster-kubeconfig members/m1.kubeconfig 2>err
	grep "is no name of a cluster" err
'

test_expect_success 'a member is reached through the proxy' '
	via m1 get nodes -o name >out
	[ "$(wc -l <out)" = 2 ]
	via m1 create configmap a --from-literal=x=1
	k --kubeconfig members/m1.kubeconfig get configmap a
	via m1 delete configmap a
	test_must_fail via nobody get nodes 2>err
	test_must_fail via m1 --as alice get nodes 2>err
	grep "cannot get resource \"clusters/proxy\"" err
'

test_expect_success 'a user is himself in the member' '
	d create clusterrole proxy --verb=get,list --resource=clusters.cluster.karmada.io/proxy
	d create clusterrolebinding proxy --clusterrole=proxy --user=alice
	test_must_fail via m1 --as alice get nodes 2>err
	grep "User \"alice\" cannot list resource \"nodes\"" err
	via m1 create clusterrolebinding alice --clusterrole=view --user=alice
	via m1 --as alice get configmaps
	test_must_fail via m1 --as alice create configmap b 2>err
	grep "cannot create resource \"clusters/proxy\"" err
'

quota() { # VALUE JSONPATH: what the quota of both says
	[ "$(d -n team get federatedresourcequota q -o "jsonpath={$2}")" = "$1" ]
}

test_expect_success 'a quota over two members is shared out and summed up, and goes' '
	d create namespace team
	d apply -f - <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: FederatedResourceQuota
	metadata: {name: q, namespace: team}
	spec:
	  overall: {configmaps: "10"}
	  staticAssignments:
	  - {clusterName: m1, hard: {configmaps: "3"}}
	  - {clusterName: m2, hard: {configmaps: "4"}}
	Y
	eventually quota "m1 3 m2 4 " "range .status.aggregatedStatus[*]}{.clusterName} {.hard.configmaps} {end"
	via m1 -n team create configmap extra
	eventually quota 3 .status.overallUsed.configmaps # with kube-root-ca.crt of each
	d -n team delete federatedresourcequota q
	eventually test_must_fail via m1 -n team get resourcequota q
	d delete namespace team --timeout=30s
'

test_expect_success 'cordon and uncordon' '
	ship cordon m2
	tainted m2 NoSchedule
	ship uncordon m2
	test_must_fail tainted m2 NoSchedule
'

test_expect_success 'a member that hangs is tainted, the other is not; it comes back' '
	"$KAIRSHIP" simulate --data-dir members stop m2
	eventually ready m2 False
	eventually tainted m2 NoExecute
	ready m1 True
	"$KAIRSHIP" simulate --data-dir members start m2
	eventually ready m2 True
	eventually test_must_fail tainted m2 No
'

test_expect_success 'a changed token is used, a wrong one is told' '
	d -n karmada-cluster get secret m2 -o "jsonpath={.data.token}" >token
	d -n karmada-cluster patch secret m2 --type merge -p "{\"data\":{\"token\":\"YmFk\"}}"
	eventually ready m2 False
	d -n karmada-cluster patch secret m2 --type merge -p "{\"data\":{\"token\":\"$(cat token)\"}}"
	eventually ready m2 True
'

test_expect_success 'unjoin leaves nothing' '
	ship unjoin m1 >out
	grep "cluster(m1) is unjoined successfully" out
	test_must_fail d get cluster m1
	test_must_fail d get namespace karmada-es-m1
	eventually test_must_fail d -n karmada-cluster get secret m1
	eventually m1_has_nothing
'

test_expect_success 'a Cluster that is deleted can be put back with its Secrets' '
	ship join m1 --cluster-kubeconfig members/m1.kubeconfig --wait 10
	d get cluster m1 -o json >cluster.json
	d -n karmada-cluster get secret m1 m1-impersonator -o json >secrets.json
	d delete cluster m1 --timeout=30s
	eventually test_must_fail d -n karmada-cluster get secret m1
	python3 - <<-E >again.json
	import json
	items = json.load(open("secrets.json"))["items"] + [json.load(open("cluster.json"))]
	for i in items:
	    for m in ("uid", "resourceVersion", "creationTimestamp", "ownerReferences", "finalizers", "managedFields"):
	        i["metadata"].pop(m, None)
	    i.pop("status", None)
	print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
	E
	k --kubeconfig members/m1.kubeconfig delete clusterrole,clusterrolebinding karmada-impersonator
	d create -f again.json
	eventually ready m1 True
	# It gets its rights here where who joined the cluster has not given them, as karmadactl.
	eventually via m1 --as alice get configmaps
	ship unjoin m1
	eventually m1_has_nothing
'

test_expect_success 'of two instances that a member has joined one goes, the other stays; then it goes, too' '
	for i in one two; do
		printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: $i}\n" | k apply -f -
		"$KAIRSHIP" join m1 --instance $i --cluster-kubeconfig members/m1.kubeconfig --wait 10
	done
	test_must_fail k delete instance one 2>err
	grep "has 1 member cluster (m1) and 0 workloads" err
	grep "kubectl annotate instance one kairship.io/release=Orphan" err
	k annotate instance one kairship.io/release=Destroy
	k delete instance one --dry-run=server 2>err
	grep "deletes the instance with its 1 member cluster" err
	k delete instance one --timeout=60s
	k --kubeconfig members/m1.kubeconfig -n karmada-cluster get serviceaccount karmada-m1
	sleep 2
	k --server "$server/clusters/two" get cluster m1 | grep True
	test_must_fail k annotate instance two kairship.io/release=Maybe
	k patch instance two --type=merge -p "{\"spec\":{\"release\":\"Destroy\"}}"
	k delete instance two --timeout=60s
	eventually m1_has_nothing
'

left() { # JSONPATH: of what is left behind in m2
	k get clusters.fleet.kairship.io m2 -o "jsonpath={.status.leftBehind[*].$1}"
}

test_expect_success 'a member that is dead can be removed at once (karmada-io/karmada#3740)' '
	for name in goes stays freed; do
		d create configmap $name
		d create -f - <<-Y
		apiVersion: policy.karmada.io/v1alpha1
		kind: PropagationPolicy
		metadata: {name: $name, namespace: default}
		spec:
		  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: $name}]
		  placement: {clusterAffinity: {clusterNames: [m2]}}
		Y
		eventually via m2 get configmap $name
	done
	"$KAIRSHIP" simulate --data-dir members kill m2
	eventually ready m2 False
	d delete cluster m2 --dry-run=server 2>err
	grep "is deleted there: .*ConfigMap default/goes" err
	timeout 5 "$KAIRSHIP" unjoin m2 --instance demo
'

test_expect_success 'what it still runs is listed, and cleaned up when it joins again' '
	left name | grep -w goes
	left name | grep -w stays
	d get events -A -o "jsonpath={.items[?(@.reason==\"LeftBehind\")].message}" >out
	grep "stay there until it joins again: .*ConfigMap default/goes" out
	"$KAIRSHIP" simulate --data-dir members start m2
	m2() { k --kubeconfig members/m2.kubeconfig "$@"; }
	m2 get configmap goes stays
	uid=$(m2 get configmap stays -o "jsonpath={.metadata.uid}")
	d delete configmap goes freed
	m2 label configmap freed work.karmada.io/permanent-id- # it is nobody'"'"'s copy any more
	ship join m2 --cluster-kubeconfig members/m2.kubeconfig --wait 20
	eventually test_must_fail m2 get configmap goes
	nothing_left() { [ -z "$(left name)" ]; }
	eventually nothing_left
	m2 get configmap freed
	[ "$(m2 get configmap stays -o "jsonpath={.metadata.uid}")" = "$uid" ]
	d delete configmap stays
	ship unjoin m2
'

kill "$members_pid"
wait "$members_pid"
test_done
