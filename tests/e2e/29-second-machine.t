#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A colleague at another machine: kubectl, curl and gRPC, a login, and clusters there that join in each way.
. "$(dirname "$0")/lib.sh"

python=${PYTHON:-/usr/bin/python3}
need_python grpc python3-grpcio
second_machine_network
[ -z "$second_machine_why" ] || skip_all "no network namespaces: $second_machine_why"
second_machine_start

pids=
stop_all() {
	for pid in $pids; do
		kill -9 "$pid" 2>/dev/null
	done
	cleanup
}
trap stop_all EXIT

runs_there() { # COMMAND…, in the background: then $! is the command itself
	exec nsenter --target "$second_machine_pid" --net -- "$@"
}

there() { # kubectl at the other machine, with her kubeconfig
	second_machine env KUBECONFIG="$tmp/jane" "$kubectl" --cache-dir "$tmp/cache-there" "$@"
}

ship() { # kairship there, as her
	second_machine env KUBECONFIG="$tmp/jane" "$KAIRSHIP" "$@"
}

hidden() { # kubectl in the member that only the other machine reaches
	second_machine "$kubectl" --kubeconfig "$tmp/members/hidden.kubeconfig" "$@"
}

shows() { # VALUE COMMAND…: that is all it prints
	want=$1
	shift
	[ "$("$@" 2>/dev/null)" = "$want" ]
}

soon() { # COMMAND…: it succeeds within thirty seconds
	eventually "$@" 2>/dev/null || eventually "$@" 2>/dev/null || eventually "$@"
}

distribute() { # NAME CLUSTER: a Deployment, to that cluster
	there create deployment "$1" --image=nginx --replicas=2
	there apply -f - <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: $1, namespace: default}
	spec:
	  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: $1}]
	  placement: {clusterAffinity: {clusterNames: [$2]}}
	Y
}

listen=$here4:0
start_server
use_newest_kubectl
home=$KUBECONFIG
hash=$(sed -n "s/^Authority: //p" server.out)

# Two members there: one that the server reaches, too, and one that it does not.
runs_there "$KAIRSHIP" up --data-dir far --listen "$there4:0" >far.out 2>far.log &
pids="$pids $!"
runs_there "$KAIRSHIP" simulate --data-dir members --members 1 --names hidden --nodes 1 --delay 20 \
	>members.out 2>members.log &
pids="$pids $!"
eventually greeted members.out
eventually greeted far.out

test_expect_success 'an instance, and jane who is its Admin' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" | k create -f -
	k create -f - <<-Y
	{apiVersion: iam.kairship.io/v1alpha1, kind: User, metadata: {name: jane}}
	Y
	echo "correct horse" | "$KAIRSHIP" passwd jane
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: Workspace" "metadata: {name: w}" \
		"spec: {resources: [{resourceName: demo}], members: [{name: jane, role: Admin}]}" >w.yaml
	eventually k apply -f w.yaml
	test_must_fail curl -sk --max-time 2 "$(sed -n "s/^ *server: *//p" members/hidden.kubeconfig)/readyz"
'

test_expect_success 'an issued kubeconfig and curl work there' '
	"$KAIRSHIP" kubeconfig demo --output demo.kubeconfig
	second_machine "$kubectl" --kubeconfig demo.kubeconfig get namespaces
	api /version
	second_machine curl -sS --cacert certificate-authority "$server/readyz" | grep ok
	second_machine curl -sS --cacert certificate-authority --cert admin.crt --key client-key \
		"$server/apis/kairship.io/v1alpha1/instances" | grep demo
'

for name in health reflection_is_enough_to_call failures_are_statuses nobody_is_let_in; do
	test_expect_success "gRPC from there: $name" \
		'second_machine timeout 60 "$python" "$top/tests/e2e/python/rpc.py" '$name' "${server#https://}"'
done

test_expect_success 'jane logs in there, knowing the address and the hash' '
	printf "correct horse\n" |
		second_machine "$KAIRSHIP" login "$server" --ca-hash "$hash" --user jane --kubeconfig jane >out
	grep "kairship-$here4:.*-demo in jane" out
	there auth can-i "*" "*"
	there create configmap hello --from-literal=who=world
	k get sessions -o wide | grep "jane .*$there4"
'

test_expect_success 'a cluster joins by its kubeconfig, and a Deployment arrives' '
	ship join far --cluster-kubeconfig far/admin.kubeconfig --wait 15
	there get clusters
	distribute web far
	soon second_machine "$kubectl" --kubeconfig far/admin.kubeconfig get deployment web
'

test_expect_success 'a cluster that the server does not reach joins by --pull' '
	ship join hidden --pull --syncer-image registry.example.com/kairship:1 >manifest.yaml
	hidden apply -f manifest.yaml
	soon shows True there get cluster hidden -o "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}"
	distribute api hidden
	soon shows 2 there get deployment api -o "jsonpath={.status.readyReplicas}"
	hidden get deployment api
'

test_expect_success 'the cable is out and in again: the syncer goes on' '
	second_machine_cut
	hidden scale deployment api --replicas=5
	second_machine_mend
	there scale deployment api --replicas=3
	soon shows 3 there get deployment api -o "jsonpath={.status.readyReplicas}"
'

test_expect_success 'logged out there, she is out' '
	ship logout | grep "Logged out"
	test_must_fail there get configmaps
'

# Clusters of kcp, with the controllers at the other machine, in each of their three modes.
stop_server
serve=apiserver start_server --allow-loopback-members

start_manager() { # MODE
	runs_there "$KAIRSHIP" controller-manager --kubeconfig "$home" --allow-loopback-members \
		--syncer-mode "$1" --syncer-image registry.example.com/kairship:1 --splitter-grace 1 \
		--workload-cluster-heartbeat-threshold 3 --leader-elect-lease-duration 3 \
		--leader-elect-renew-deadline 2 --leader-elect-retry-period 1 \
		--resources-to-sync deployments.apps >>manager.log 2>&1 &
	manager_pid=$!
	pids="$pids $manager_pid"
}

stop_manager() {
	kill -TERM "$manager_pid"
	wait "$manager_pid"
	test_report $? "the manager of mode $1 ends in order"
}

t() { # kubectl there, in the instance of this mode
	second_machine "$kubectl" --kubeconfig "$mode.kubeconfig" "$@"
}

for mode in push pull none; do
	start_manager $mode
	test_expect_success "$mode: a cluster of kcp there gets a Deployment" '
		printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: $mode}\nspec: {profile: minimal}\n" |
			k apply -f -
		"$KAIRSHIP" kubeconfig $mode --output $mode.kubeconfig
		printf "apiVersion: workload.kcp.dev/v1alpha1\nkind: Cluster\nmetadata: {name: hidden}\nspec:\n  kubeconfig: |\n" >c.yaml
		sed "s/^/    /" members/hidden.kubeconfig >>c.yaml
		t apply -f c.yaml
		if [ $mode = none ]; then
			runs_there "$KAIRSHIP" syncer --from none.kubeconfig --to members/hidden.kubeconfig \
				--cluster hidden --feeds labels --heartbeat 1 --resources deployments.apps >syncer.log 2>&1 &
			echo $! >syncer.pid
		fi
		soon t create deployment $mode --image=nginx --replicas=2
		t rollout status "deployment/$mode" --timeout=30s
		hidden get deployments -A >out
		grep "$mode--hidden" out
		[ $mode != none ] || kill -9 "$(cat syncer.pid)"
	'
	stop_manager $mode
done

test_done
