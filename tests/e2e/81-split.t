#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The parts as processes of their own: one API server, two controller-managers of which one works.
# Each is killed or stopped in the middle of something, and the end is the same.
. "$(dirname "$0")/lib.sh"

pids=
stop_all() {
	for pid in $pids; do
		kill -CONT "$pid" 2>/dev/null
		kill -9 "$pid" 2>/dev/null
	done
	cleanup
}
trap stop_all EXIT

start_apiserver() {
	"$KAIRSHIP" apiserver --allow-loopback-members --data-dir kairship-data \
		--listen "${listen:-127.0.0.1:0}" >>server.out 2>>server.log &
	server_pid=$!
	pids="$pids $server_pid"
	for _ in $(seq 300); do
		if server_ready; then
			export KUBECONFIG="$tmp/kairship-data/admin.kubeconfig"
			return 0
		fi
		sleep 0.1
	done
	echo "Bail out! the API server does not become ready"
	tail -n 40 server.log | diag
	exit 1
}

start_manager() { # NAME
	"$KAIRSHIP" controller-manager --kubeconfig kairship-data/admin.kubeconfig \
		--allow-loopback-members --leader-elect-lease-duration 6 --leader-elect-renew-deadline 5 \
		--leader-elect-retry-period 1 >>"$1.log" 2>&1 &
	eval "$1_pid=$!"
	pids="$pids $!"
}

start_members() {
	"$KAIRSHIP" simulate --data-dir members --members 2 --delay 20 >members.out 2>>server.log &
	pids="$pids $!"
	for _ in $(seq 100); do
		! greeted members.out || return 0
		sleep 0.1
	done
	echo "Bail out! the members do not start"
	exit 1
}

d() { # kubectl in demo
	k -s "$server/clusters/demo" "$@"
}

m() { # MEMBER WORD…
	member=$1
	shift
	k --kubeconfig "members/$member.kubeconfig" "$@"
}

leads() { # NAME
	grep -q '"msg":"leading"' "$1.log"
}

holder() {
	k -n kube-system get lease kairship-controller-manager -o 'jsonpath={.spec.holderIdentity}'
}

spread() { # N N: so many wanted and ready of web in m1 and m2
	for member in m1 m2; do
		[ "$(m $member get deployment web -o 'jsonpath={.spec.replicas} {.status.readyReplicas}')" = "$1 $1" ] ||
			return 1
		shift
	done
}

start_members
start_apiserver
use_newest_kubectl
start_manager one
eventually leads one
start_manager two

test_expect_success 'one of two works, the other waits' '
	eventually grep "waiting: another works" two.log
	test_must_fail leads two
'

test_expect_success 'members join over HTTP/2' '
	k apply -f - <<-Y
	apiVersion: tenancy.kairship.io/v1alpha1
	kind: Instance
	metadata: {name: demo}
	Y
	for member in m1 m2; do
		"$KAIRSHIP" join $member --instance demo --cluster-kubeconfig members/$member.kubeconfig --wait 15
	done
	registered() { test "$(k get fc -o name | wc -l)" = 3; }
	eventually registered
	eventually k get gproductresource kairship.demo
'

test_expect_success 'an application comes to run' '
	d create deployment web --image=web:1 --replicas=4
	d apply -f - <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: web, namespace: default}
	spec:
	  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
	  placement:
	    replicaScheduling:
	      replicaSchedulingType: Divided
	      replicaDivisionPreference: Weighted
	      weightPreference:
	        staticWeightList:
	        - {targetCluster: {clusterNames: [m1]}, weight: 1}
	        - {targetCluster: {clusterNames: [m2]}, weight: 1}
	Y
	eventually spread 2 2
	d rollout status deployment/web --timeout=10s
'

test_expect_success 'the one that works is killed in the middle: the other finishes it' '
	d scale deployment web --replicas=8
	kill -9 "$one_pid"
	d scale deployment web --replicas=10
	eventually leads two
	eventually spread 5 5
'

start_manager one

test_expect_success 'stopped for a while, it may write no more' '
	old=$(holder)
	kill -STOP "$two_pid"
	d scale deployment web --replicas=6
	other() { h=$(holder); test -n "$h" && test "$h" != "$old"; }
	eventually other
	eventually spread 3 3
	kill -CONT "$two_pid"
	ended() { ! kill -0 "$two_pid" 2>/dev/null; }
	eventually ended
	grep "the lease is lost" two.log
	spread 3 3
	# What it would have written with its lease is refused.
	api /api/v1/namespaces/default/configmaps -H "content-type: application/json" \
		-H "kairship-lease: kube-system/kairship-controller-manager/$old" \
		-d "{\"metadata\":{\"name\":\"x\"}}" >out
	grep "who lost it may not write any more" out
'

test_expect_success 'there is work' '
	d scale deployment web --replicas=12
'
crash_server
start_apiserver

test_expect_success 'the API server was killed and came back: nothing is lost, nothing twice' '
	eventually spread 6 6
	d scale deployment web --replicas=4
	eventually spread 2 2
	test "$(d get works -A -o name | grep -c web-)" = 2
	test "$(m m1 get pods -o name | wc -l)" = 2
	d delete pp,deployment web
	empty() { test -z "$(d get rb -A -o name)$(m m1 get deployments -o name)$(m m2 get deployments -o name)"; }
	eventually empty
'

test_expect_success 'told to end, a controller-manager gives the lease back' '
	kill "$one_pid"
	ended() { ! kill -0 "$one_pid" 2>/dev/null; }
	eventually ended
	test -z "$(holder)"
'

test_done
