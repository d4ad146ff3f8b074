#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Status says what is known: conditions of a Deployment over several members, and what becomes of
# them while one of these is silent.
. "$(dirname "$0")/lib.sh"
start_server

"$KAIRSHIP" simulate --data-dir members --members 3 --nodes 1 --delay 20 >simulate.out 2>&1 &
simulate_pid=$!
trap 'kill "$simulate_pid" 2>/dev/null; wait "$simulate_pid" 2>/dev/null; cleanup' EXIT
use_newest_kubectl

i() { # kubectl inside of the instance
	k --server "$server/clusters/demo" "$@"
}

says() { # WANTED OBJECT JSONPATH
	[ "$(i get "$2" -o "jsonpath={$3}")" = "$1" ]
}

summary() { # WANTED PATH
	[ "$(k get instance demo -o "jsonpath={.status.summary.$2}")" = "$1" ]
}

told() { # REASON DEPLOYMENT
	i get events --field-selector "reason=$1,involvedObject.kind=Deployment,involvedObject.name=$2" \
		-o name | grep -q event
}

ready=.status.readyReplicas
silent='.status.conditions[?(@.type=="StatusUnknown")]'
m3='.status.aggregatedStatus[?(@.clusterName=="m3")]'

test_expect_success 'three members join an instance that notices silence quickly' '
	k create -f - <<-Y
	apiVersion: tenancy.kairship.io/v1alpha1
	kind: Instance
	metadata: {name: demo}
	spec: {settings: {failover: {clusterFailureThreshold: 1, clusterSuccessThreshold: 1}}}
	Y
	eventually test -s members/m3.kubeconfig
	for m in m1 m2 m3; do
		"$KAIRSHIP" join $m --cluster-kubeconfig members/$m.kubeconfig --instance demo --wait 20
	done
	i create -f - <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: all, namespace: default}
	spec:
	  resourceSelectors:
	  - {apiVersion: apps/v1, kind: Deployment}
	  - {apiVersion: v1, kind: ConfigMap, name: settings}
	  placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}
	Y
'

test_expect_success 'who waits for a Deployment is told when it is available' '
	i create configmap settings --from-literal=a=b
	i create deployment web --image=nginx --replicas=6
	i wait --for=condition=Available --timeout=30s deployment/web
	i rollout status --timeout=30s deployment/web
	eventually says True deployment/web ".status.conditions[?(@.reason==\"NewReplicaSetAvailable\")].status"
	eventually summary 1 workLoadSummary.deployments.readyNum
	i get deployment web -o "jsonpath={.metadata.resourceVersion}" >before
'

test_expect_success 'nothing is written while nothing changes' '
	i create deployment other --image=nginx --replicas=3
	i wait --for=condition=Available --timeout=30s deployment/other
	[ "$(i get deployment web -o "jsonpath={.metadata.resourceVersion}")" = "$(cat before)" ]
'

test_expect_success 'a rollout that does not get on in its members says so' '
	i create -f - <<-Y
	apiVersion: apps/v1
	kind: Deployment
	metadata: {name: huge}
	spec:
	  replicas: 3
	  progressDeadlineSeconds: 1
	  selector: {matchLabels: {app: huge}}
	  template:
	    metadata: {labels: {app: huge}}
	    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: "9000"}}}]}
	Y
	test_must_fail i rollout status --timeout=30s deployment/huge 2>err
	grep "exceeded its progress deadline" err
	i get deployment huge -o yaml | grep "timed out progressing in m"
	i delete deployment huge
'

test_expect_success 'of a cluster that is silent it is not known what runs there' '
	"$KAIRSHIP" simulate kill m3 --data-dir members
	eventually says False cluster/m3 ".status.conditions[?(@.type==\"Ready\")].status"
	since=$(i get cluster m3 -o "jsonpath={.status.conditions[?(@.type==\"Ready\")].lastTransitionTime}")
	eventually says 4 deployment/web $ready
	says "6 6 4 2" deployment/web \
		".status.replicas} {.status.updatedReplicas} {.status.availableReplicas} {.status.unavailableReplicas"
	says "True $since" deployment/web "$silent.status} {$silent.lastTransitionTime"
	says False deployment/web ".status.conditions[?(@.type==\"Available\")].status"
	rb=resourcebinding/web-deployment
	says "Unknown 2 2 $since" $rb \
		"$m3.health} {$m3.status.replicas} {$m3.status.readyReplicas} {$m3.unknownSince"
	says "m3 (since $since) is not Ready: what runs there is not known, and stays unless failover moves it" $rb "$silent.message"
	says "m1 m2 m3 2 2 2" $rb ".spec.clusters[*].name} {.spec.clusters[*].replicas"
	eventually says "Unknown $since" resourcebinding/settings-configmap "$m3.health} {$m3.unknownSince"
	test_must_fail i rollout status --timeout=1s deployment/web >out 2>&1
	grep "4 of 6 updated replicas are available" out
	"$KAIRSHIP" explain deployment/web --instance demo >out
	grep "^m3 (since $since) is not Ready: what runs there is not known, and stays unless failover moves it" out
	eventually told StatusUnknown web
	eventually summary "2 $since" \
		"workLoadSummary.deployments.unknownNum} {.status.summary.workLoadSummary.deployments.unknownSince"
	summary "3 2 1" \
		"nodeSummary.totalNum} {.status.summary.nodeSummary.readyNum} {.status.summary.nodeSummary.unknownNum"
'

i get deployment web -o 'jsonpath={.metadata.resourceVersion}' >before
crash_server
start_server

test_expect_success 'a restart does not make it known' '
	i create deployment later --image=nginx --replicas=2
	i wait --for=condition=Available --timeout=30s deployment/later
	[ "$(i get deployment web -o "jsonpath={.metadata.resourceVersion}")" = "$(cat before)" ]
'

test_expect_success 'it speaks again' '
	"$KAIRSHIP" simulate start m3 --data-dir members
	eventually says True cluster/m3 ".status.conditions[?(@.type==\"Ready\")].status"
	eventually says 6 deployment/web $ready
	eventually says "" deployment/web "$silent.status"
	eventually says "Healthy " resourcebinding/web-deployment "$m3.health} {$m3.unknownSince"
	eventually told StatusKnown web
	i rollout status --timeout=20s deployment/web
	eventually summary "" workLoadSummary.deployments.unknownNum
'

test_done
