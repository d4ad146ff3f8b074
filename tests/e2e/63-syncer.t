#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A syncer started by hand: Works and labelled objects of an instance, in a simulated member.
. "$(dirname "$0")/lib.sh"

member() { # kubectl in the member
	k --kubeconfig "$tmp/members/m1.kubeconfig" "$@"
}

demo() { # kubectl in the instance
	k --kubeconfig "$tmp/demo.kubeconfig" "$@"
}

shows() { # VALUE COMMAND…: that is all it prints
	want=$1
	shift
	[ "$("$@")" = "$want" ]
}

finished() { # PID
	test_must_fail kill -0 "$1" 2>/dev/null
}

copied() { # CLUSTER-WIDE-TYPE NAME JSONPATH
	member get "$1" -A -o "jsonpath={.items[?(@.metadata.name==\"$2\")]$3}"
}

stop_all() {
	for pid in $syncer_pid $members_pid; do
		kill -TERM "$pid" 2>/dev/null
	done
	cleanup
}

syncer_pid='' members_pid=''
trap stop_all EXIT
start_server
use_newest_kubectl
"$KAIRSHIP" simulate --data-dir members --members 1 --delay 20 >members.out 2>>server.log &
members_pid=$!
eventually greeted members.out

test_expect_success 'an instance and its kubeconfig are made' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" |
		k apply -f -
	"$KAIRSHIP" kubeconfig demo --output demo.kubeconfig
	demo create namespace karmada-es-east
'

test_expect_success 'what is wrong on the command line is said' '
	test_must_fail "$KAIRSHIP" syncer 2>err
	grep -- "--from FILE and --cluster NAME are needed" err
	test_must_fail "$KAIRSHIP" syncer --from demo.kubeconfig --cluster east --feeds x 2>err
	grep "knows works and labels" err
	test_must_fail "$KAIRSHIP" syncer --from demo.kubeconfig --cluster east 2>err
	grep "this is no pod of the member" err
'

"$KAIRSHIP" syncer --from demo.kubeconfig --to members/m1.kubeconfig --cluster east \
	--resources configmaps,deployments.apps >syncer.log 2>&1 &
syncer_pid=$!

test_expect_success 'a labelled deployment runs in the member and its status comes back' '
	demo create deployment web --image=nginx
	demo scale deployment web --replicas=2
	demo label deployment web workloads.kcp.dev/cluster=east
	eventually shows 2 copied deployments web .spec.replicas
	eventually shows 2 demo get deployment web -o "jsonpath={.status.readyReplicas}"
	demo scale deployment web --replicas=3
	eventually shows 3 demo get deployment web -o "jsonpath={.status.readyReplicas}"
'

test_expect_success 'it is put back when somebody changes it, and goes with its object' '
	ns=$(copied deployments web .metadata.namespace)
	member -n "$ns" scale deployment web --replicas=7
	eventually shows 3 copied deployments web .spec.replicas
	demo delete deployment web
	eventually shows "" copied deployments web .metadata.name
'

test_expect_success 'a Work becomes an object and takes it along' '
	cat >work.yaml <<-END
	apiVersion: work.karmada.io/v1alpha1
	kind: Work
	metadata: {name: w, namespace: karmada-es-east}
	spec:
	  workload:
	    manifests:
	    - {apiVersion: v1, kind: ConfigMap, metadata: {name: conf, namespace: default}, data: {k: v}}
	END
	demo apply -f work.yaml
	eventually shows v member get configmap conf -o "jsonpath={.data.k}"
	eventually shows True demo -n karmada-es-east get work w \
		-o "jsonpath={.status.conditions[?(@.type==\"Applied\")].status}"
	member patch configmap conf -p "{\"data\":{\"k\":\"edited\"}}"
	eventually shows v member get configmap conf -o "jsonpath={.data.k}"
	demo -n karmada-es-east delete work w
	eventually test_must_fail member get configmap conf
'

test_expect_success 'it ends cleanly when told' '
	kill -TERM "$syncer_pid"
	eventually finished "$syncer_pid"
	grep stopping syncer.log
'

test_expect_success 'a Cluster of pull mode, before anybody speaks for it' '
	k patch instance demo --type=merge -p "{\"spec\":{\"settings\":{\"failover\":{\"enabled\":true,
		\"clusterMonitorGracePeriod\":3,\"clusterStartupGracePeriod\":60}}}}"
	printf "%s\n" "apiVersion: cluster.karmada.io/v1alpha1" "kind: Cluster" "metadata: {name: west}" \
		"spec: {syncMode: Pull}" | demo apply -f -
	shows "" demo get cluster west -o "jsonpath={.status.kubernetesVersion}"
'

west_is() { # STATUS
	shows "$1" demo get cluster west \
		-o "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}"
}

"$KAIRSHIP" syncer --from demo.kubeconfig --to members/m1.kubeconfig --cluster west --feeds works \
	--heartbeat 1 >syncer.log 2>&1 &
syncer_pid=$!

test_expect_success 'its agent posts what it finds, and renews its Lease' '
	eventually west_is True
	shows 2 demo get cluster west -o "jsonpath={.status.nodeSummary.readyNum}"
	demo get cluster west -o "jsonpath={.status.apiEnablements[*].resources[*].kind}" | grep -w Deployment
	demo -n karmada-cluster get lease west -o "jsonpath={.spec.renewTime}" >before
	sleep 2
	demo -n karmada-cluster get lease west -o "jsonpath={.spec.renewTime}" >after
	test_must_fail cmp before after
	sed "s/karmada-es-east/karmada-es-west/" work.yaml | demo apply -f -
	eventually shows v member get configmap conf -o "jsonpath={.data.k}"
'

test_expect_success 'a member that dies while its agent lives is not ready' '
	"$KAIRSHIP" simulate kill m1 --data-dir members
	eventually west_is False
	"$KAIRSHIP" simulate start m1 --data-dir members
	eventually west_is True
'

test_expect_success 'the agent writes nothing while the instance is suspended' '
	k patch instance demo --type=merge -p "{\"spec\":{\"suspended\":true}}"
	eventually grep "\"is\":\"on\"" syncer.log
	member patch configmap conf -p "{\"data\":{\"k\":\"edited\"}}"
	dispatched() { demo -n karmada-es-west get work w -o "jsonpath={.status.conditions[?(@.type==\"Dispatching\")].status}"; }
	eventually shows False dispatched
	shows edited member get configmap conf -o "jsonpath={.data.k}"
	west_is True
	k patch instance demo --type=merge -p "{\"spec\":{\"suspended\":false}}"
	eventually shows v member get configmap conf -o "jsonpath={.data.k}"
	eventually shows True dispatched
'

kill -9 "$syncer_pid"
wait "$syncer_pid" 2>/dev/null
test_expect_success 'an agent that dies while its member lives makes it unknown' '
	eventually west_is Unknown
	demo get cluster west -o "jsonpath={.status.conditions[?(@.type==\"Ready\")].reason}" >out
	grep ClusterStatusUnknown out
'

kill -TERM "$members_pid"
wait "$members_pid"
test_done
