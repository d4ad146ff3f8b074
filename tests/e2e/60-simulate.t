#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Simulated member clusters: each is a cluster to kubectl, runs workloads, and can be in trouble.
. "$(dirname "$0")/lib.sh"

members() { # WORD…: kairship simulate WORD…, in this test's folder
	"$KAIRSHIP" simulate --data-dir members "$@"
}

start_members() {
	rm -f members.out
	"$KAIRSHIP" simulate --data-dir members --members 4 --nodes 2,2,1,0 --delay 20 --job-delay 20 \
		>members.out 2>>server.log &
	server_pid=$!
	for _ in $(seq 100); do
		! greeted members.out || return 0
		kill -0 "$server_pid" 2>/dev/null || break
		sleep 0.1
	done
	echo "Bail out! the members do not start"
	cat members.out server.log | diag
	exit 1
}

on() { # MEMBER WORD…: kubectl there
	member=$1
	shift
	k --kubeconfig "$tmp/members/$member.kubeconfig" "$@"
}

in_ns() { # kubectl in m1, in this test's namespace
	k -n "$ns" "$@"
}

field() { # OBJECT JSONPATH
	in_ns get "$1" -o "jsonpath={$2}"
}

is() { # OBJECT JSONPATH VALUE
	[ "$(field "$1" "$2")" = "$3" ]
}

test_expect_success 'there are as many members as names' '
	"$KAIRSHIP" simulate --data-dir members --names north,south >two.out 2>>server.log &
	eventually greeted two.out
	kill $!
	wait $!
	grep "^2 simulated member clusters" two.out
	for names in north,south,east north; do
		test_must_fail members --members 2 --names $names 2>err
		grep "as many names as there are members, not $names" err
	done
	rm -r members
'

start_members
export KUBECONFIG="$tmp/members/m1.kubeconfig"
use_newest_kubectl

test_expect_success 'members are separate clusters' '
	for m in m1 m2 m3 m4; do
		on $m get namespace kube-system -o "jsonpath={.metadata.uid}{\"\\n\"}" >>uids
		on $m get nodes -o name >nodes-$m
	done
	[ "$(sort -u uids | wc -l)" = 4 ]
	[ "$(wc -l <nodes-m1)" = 2 ] && [ "$(wc -l <nodes-m3)" = 1 ] && [ "$(wc -l <nodes-m4)" = 0 ]
	[ "$(sed -n "s/.*\"server\": \"\(.*\)\".*/\1/p" members/members.json | sort -u | wc -l)" = 4 ]
	on m1 api-resources -o name >out
	test_must_fail grep -e karmada -e kairship out
'

test_expect_success 'nodes are ready and say where they are' '
	eventually on m2 wait --for=condition=Ready nodes --all --timeout=5s
	on m2 get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone >out
	grep south-1 out
'

test_expect_success 'what opens one member does not open another' '
	sed "s|server: .*|$(grep server: members/m2.kubeconfig | sed "s/^ *//")|" \
		members/m1.kubeconfig >mixed.kubeconfig
	test_must_fail k --kubeconfig mixed.kubeconfig get nodes >out 2>&1
	grep -i -e unauthorized -e "logged in" out
'

workloads() {
	test_expect_success 'a deployment rolls out, is updated, undone and scaled' '
		in_ns create deployment web --image=example.com/web:1 --replicas=3
		in_ns rollout status deployment/web --timeout=10s
		[ "$(in_ns get pods --field-selector=status.phase=Running -o name | wc -l)" = 3 ]
		in_ns set image deployment/web "*=example.com/web:2"
		in_ns rollout status deployment/web --timeout=10s
		in_ns rollout history deployment/web >out
		grep "^1 " out && grep "^2 " out
		in_ns rollout undo deployment/web
		in_ns rollout status deployment/web --timeout=10s
		is deployment/web ".spec.template.spec.containers[0].image" example.com/web:1
		in_ns scale deployment/web --replicas=5
		in_ns rollout status deployment/web --timeout=10s
		is deployment/web .status.readyReplicas 5
		is deployment/web ".status.conditions[?(@.type==\"Available\")].status" True
	'

	test_expect_success 'a service finds its pods, and a balancer its address' '
		in_ns expose deployment web --port=80 --type=LoadBalancer
		five() { [ "$(in_ns get endpoints web -o "jsonpath={.subsets[*].addresses[*].ip}" | wc -w)" = 5 ]; }
		eventually five
		in_ns get endpointslices -l kubernetes.io/service-name=web -o name | grep web
		in_ns get service web -o "jsonpath={.status.loadBalancer.ingress[0].ip}" | grep 192.168
		in_ns scale deployment/web --replicas=0
		none() { [ "$(in_ns get endpoints web -o "jsonpath={.subsets[*].addresses[*].ip}" | wc -w)" = 0 ]; }
		eventually none
	'

	test_expect_success 'a job completes' '
		in_ns create job once --image=example.com/x
		in_ns wait --for=condition=complete job/once --timeout=10s
		is job/once .status.succeeded 1
	'

	test_expect_success 'a pod that does not fit waits, and says why' '
		in_ns run huge --image=example.com/x --restart=Never --dry-run=client -o json |
			sed "s/\"resources\": {}/\"resources\": {\"requests\": {\"cpu\": \"1000\"}}/" |
			in_ns apply -f -
		why() { field pod/huge ".status.conditions[0].message" | grep "2 Insufficient cpu"; }
		eventually why
	'

	test_expect_success 'all of it goes with the namespace' '
		k delete namespace $ns --timeout=20s
		test_must_fail k get namespace $ns
	'
}
with_each_kubectl workloads
use_newest_kubectl

test_expect_success 'what simulated pods and nodes cannot do is said' '
	on m2 run quiet --image=example.com/x
	on m2 wait --for=condition=Ready pod/quiet --timeout=10s
	for words in "logs quiet" "exec quiet -- true" "cp /dev/null quiet:/x" "attach quiet" "port-forward quiet :80"; do
		test_must_fail timeout 20 "$kubectl" --kubeconfig members/m2.kubeconfig $words 2>err
		grep "is not served" err
	done
	test_must_fail on m2 top pods 2>err
	grep "Metrics API not available" err
	on m2 delete pod quiet
'

test_expect_success 'a drained node is left by its pods' '
	on m1 create deployment moves --image=example.com/x --replicas=4
	on m1 rollout status deployment/moves --timeout=10s
	node=$(on m1 get nodes -o "jsonpath={.items[0].metadata.name}")
	on m1 drain $node --ignore-daemonsets --timeout=20s
	on m1 rollout status deployment/moves --timeout=10s
	test -z "$(on m1 get pods --field-selector=spec.nodeName=$node -o name)"
	on m1 uncordon $node
	on m1 delete deployment moves
'

test_expect_success 'a member without a node runs pods on one that somebody makes' '
	on m4 create deployment web --image=example.com/web --replicas=2
	on m4 wait --for=condition=Available=False deployment/web --timeout=10s
	on m4 create -f - <<-EOF
		{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "kg-0"},
		 "status": {"capacity": {"cpu": "4", "memory": "16Gi", "pods": "50"}}}
	EOF
	on m4 rollout status deployment/web --timeout=10s
	[ "$(on m4 get node kg-0 -o "jsonpath={.status.allocatable.cpu}")" = 4 ]
'

test_expect_success 'kairship as an image is a process, started again when it ends' '
	on m2 create -f - <<-EOF
		{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "self"}, "spec": {"containers": [{"name": "c",
		 "image": "registry.example.com/kairship:v1", "command": ["kairship", "version"]}]}}
	EOF
	again() { [ "$(on m2 get pod self -o "jsonpath={.status.containerStatuses[0].restartCount}")" -ge 1 ]; }
	eventually again
	grep "Kubernetes API" members/pods/m2/default/self/c.log
	[ -s members/pods/m2/default/self/serviceaccount/token ]
	on m2 delete pod self
'

test_expect_success 'a member that is killed is gone, and comes back at its port' '
	members kill m1
	test_must_fail on m1 get nodes --request-timeout=2s
	on m2 get nodes
	members status | grep "m1.*down"
	members start m1
	on m1 get nodes
'

test_expect_success 'a member that is stopped never answers, one that is slow answers late' '
	members stop m1
	test_must_fail on m1 get nodes --request-timeout=1s
	members slow m1 300
	on m1 get nodes
	members start m1
	members status | grep "m1.*up"
	test_must_fail members kill nobody 2>err
	grep "there are m1, m2, m3, m4" err
'

cp members/members.json before
on m4 get deployment web -o "jsonpath={.metadata.uid}" >uid
stop_server
test_report $? 'they stop cleanly when told'
start_members
test_expect_success 'members that start again are what they were, at the same ports' '
	cmp before members/members.json
	[ "$(on m4 get deployment web -o "jsonpath={.metadata.uid}")" = "$(cat uid)" ]
	on m4 rollout status deployment/web --timeout=10s
'

test_done
