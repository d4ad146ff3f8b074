#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A suspended instance stands still, and so does what it has in its members; statuses go on.
. "$(dirname "$0")/lib.sh"
start_server

"$KAIRSHIP" simulate --data-dir members --members 3 --nodes 1 --delay 20 >simulate.out 2>&1 &
simulate_pid=$!
trap 'kill "$simulate_pid" 2>/dev/null; wait "$simulate_pid" 2>/dev/null; cleanup' EXIT
use_newest_kubectl

i() { # kubectl inside of the instance
	k --server "$server/clusters/demo" "$@"
}

m1() { # kubectl in a member
	k --kubeconfig members/m1.kubeconfig "$@"
}

says() { # WANTED OBJECT JSONPATH
	[ "$(i get "$2" -o "jsonpath={$3}")" = "$1" ]
}

refused() { # COMMAND…: for the suspension
	test_must_fail "$@" 2>err
	grep "instance \"demo\" is suspended: nothing in it or in its members is changed" err
}

suspend() { # true or false
	k patch instance demo --type merge -p "{\"spec\":{\"suspended\":$1}}"
}

test_expect_success 'an instance with a workload in two members' '
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
		"metadata: {name: demo}" | k create -f -
	eventually test -s members/m3.kubeconfig
	for m in m1 m2; do
		"$KAIRSHIP" join $m --cluster-kubeconfig members/$m.kubeconfig --instance demo --wait 20
	done
	i create -f - <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: all, namespace: default}
	spec:
	  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: ConfigMap, name: settings}]
	  placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}
	Y
	i create configmap settings --from-literal=a=b
	i create deployment web --image=nginx --replicas=2
	i rollout status --timeout=30s deployment/web
	eventually m1 get configmap settings
'

test_expect_success 'nothing in it is changed, and the reason is said' '
	suspend true
	refused i scale deployment web --replicas=3
	refused i delete configmap settings
	refused i create configmap other
	refused i label cluster m1 a=b
	refused i -s "$server/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy" \
		create configmap through
	refused "$KAIRSHIP" unjoin m1 --instance demo
	refused "$KAIRSHIP" join m3 --cluster-kubeconfig members/m3.kubeconfig --instance demo
	k --kubeconfig members/m3.kubeconfig get namespaces -o name >out
	test_must_fail grep karmada out
	i get deployment web
	i auth can-i create pods
	"$KAIRSHIP" kubeconfig demo --output demo.kubeconfig
'

test_expect_success 'nothing of it is written to members, whose statuses go on' '
	m1 delete configmap settings
	m1 scale deployment web --replicas=1
	eventually says 3 deployment/web .status.readyReplicas
	[ "$(m1 get deployment web -o "jsonpath={.spec.replicas}")" = 1 ]
	test_must_fail m1 get configmap settings
'

crash_server
start_server

test_expect_success 'nor after a restart' '
	m1 scale deployment web --replicas=3
	eventually says 5 deployment/web .status.readyReplicas
	[ "$(m1 get deployment web -o "jsonpath={.spec.replicas}")" = 3 ]
	test_must_fail m1 get configmap settings
	refused i scale deployment web --replicas=3
'

test_expect_success 'it is not deleted with what it has in its members' '
	k annotate instance demo kairship.io/release=Destroy
	test_must_fail k delete instance demo 2>err
	grep "it is suspended and has 2 member clusters .*1 workload .*of which nothing is deleted in the meantime" err
	k annotate instance demo kairship.io/release-
'

test_expect_success 'what was held back is written when the suspension ends' '
	suspend false
	eventually m1 get configmap settings
	replicas() { [ "$(m1 get deployment web -o "jsonpath={.spec.replicas}")" = 2 ]; }
	eventually replicas
	i scale deployment web --replicas=3
	eventually says 6 deployment/web .status.readyReplicas
'

test_expect_success 'suspended, it is let go with Orphan' '
	suspend true
	k annotate instance demo kairship.io/release=Orphan
	k delete instance demo --timeout=60s
	m1 get deployment web
'

test_done
