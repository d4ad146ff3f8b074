#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workloads over simulated members: who gets what, and `kairship explain` says why.
. "$(dirname "$0")/lib.sh"
start_server

"$KAIRSHIP" simulate --data-dir members --members 3 >simulate.out 2>&1 &
simulate_pid=$!
trap 'kill "$simulate_pid" 2>/dev/null; wait "$simulate_pid" 2>/dev/null; cleanup' EXIT
use_newest_kubectl

i() { # kubectl inside of the instance
	k --server "$server/clusters/demo" "$@"
}

explain() {
	"$KAIRSHIP" explain "$@" --instance demo
}

policy() { # NAME PLACEMENT: for the Deployment of that name
	cat <<-EOF
		apiVersion: policy.karmada.io/v1alpha1
		kind: PropagationPolicy
		metadata: {name: $1, namespace: default}
		spec:
		  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: $1}]
		  placement: $2
	EOF
}

targets() { # NAME WANTED: the binding's clusters, "m1=4 m2=2"
	i get resourcebinding "$1-deployment" \
		-o 'jsonpath={range .spec.clusters[*]}{.name}={.replicas} {end}' >targets
	[ "$(cat targets)" = "$2 " ]
}

test_expect_success 'three members join' '
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
		"metadata: {name: demo}" | k create -f -
	eventually test -s members/m3.kubeconfig
	for m in m1 m2 m3; do
		"$KAIRSHIP" join $m --cluster-kubeconfig members/$m.kubeconfig --instance demo --wait 20
	done
'

test_expect_success 'static weights are divided and explained' '
	weights="[{targetCluster: {clusterNames: [m1]}, weight: 2}, {targetCluster: {clusterNames: [m2]}, weight: 1}]"
	policy web "{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted,
	  weightPreference: {staticWeightList: $weights}}}" | i create -f -
	i create deployment web --image=nginx
	i scale deployment web --replicas=6
	eventually targets web "m1=4 m2=2"
	explain deployment/web >out
	grep "^m1  *4  *4  *4 of 6 replicas: weight 2 of 3$" out
	grep "^m3  *-  *-  *no static weight names it$" out
	tail -n 1 out | grep "^6 replicas are divided by static weight over 2 of 3 clusters: m1 4, m2 2.$"
'

test_expect_success 'as JSON, by a short name' '
	explain deploy/web -n default -o json >out
	grep "\"differs\": false" out
	grep "\"step\": \"Divide\"" out
'

test_expect_success 'a taint keeps new work away, and says so' '
	"$KAIRSHIP" cordon m1 --instance demo
	policy new "{clusterAffinity: {clusterNames: [m1, m2]}}" | i create -f -
	i create deployment new --image=nginx
	eventually targets new "m2=1"
	explain deployment/new >out
	grep "^m1 .*taint cluster.karmada.io/unschedulable:NoSchedule is not tolerated$" out
	grep "^m3 .*not what the placement.s affinity asks for$" out
	"$KAIRSHIP" uncordon m1 --instance demo
	eventually targets new "m1=1 m2=1"
'

test_expect_success 'no fit is explained, too' '
	policy lost "{clusterAffinity: {clusterNames: [nope]}}" | i create -f -
	i create deployment lost --image=nginx
	eventually i get resourcebinding lost-deployment
	eventually sh -c "\"\$0\" explain deployment/lost --instance demo | grep NoClusterFit" "$KAIRSHIP"
	explain deployment/lost >out
	tail -n 1 out | grep "^Not scheduled: 0/3 clusters are available: 3 cluster(s) did not match"
'

test_expect_success 'what fits nowhere any more stays where it is, and says so' '
	policy kept "{clusterAffinity: {clusterNames: [m1, m2]}}" | i create -f -
	i create deployment kept --image=nginx
	eventually targets kept "m1=1 m2=1"
	policy kept "{clusterAffinity: {clusterNames: [nope]}}" | i apply -f -
	eventually sh -c "\"\$0\" explain deployment/kept --instance demo | grep NoClusterFit" "$KAIRSHIP"
	explain deployment/kept >out
	grep "^m1  *1  *1  *not what the placement" out
	tail -n 1 out | grep "It stays where it is: m1 1, m2 1.$"
	targets kept "m1=1 m2=1"
'

ready() { # N: replicas of the burst, in all
	i get deployments -l burst=yes -o "jsonpath={range .items[*]}{.status.readyReplicas} {end}" >out
	[ "$(tr " " "\n" <out | awk "{n += \$1} END {print n}")" = "$1" ]
}

test_expect_success 'many at once are not given the same room: 60 replicas have 64 places' '
	cat >burst.yaml <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: burst, namespace: default}
	spec:
	  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {burst: "yes"}}}]
	  placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted,
	    weightPreference: {dynamicWeight: AvailableReplicas}}}
	Y
	for n in $(seq 20); do
		cat <<-Y
		---
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: burst-$n, labels: {burst: "yes"}}
		spec:
		  replicas: 3
		  selector: {matchLabels: {app: burst-$n}}
		  template:
		    metadata: {labels: {app: burst-$n}}
		    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: "1"}}}]}
		Y
	done >>burst.yaml
	i create -f burst.yaml >out
	eventually ready 60
	i delete -f burst.yaml --wait=false
'

test_expect_success 'what goes along with a Deployment says with which, and where' '
	policy app "{clusterAffinity: {clusterNames: [m1, m2]}}" | sed "s/^spec:/spec:\n  propagateDeps: true/" | i create -f -
	i create configmap conf --from-literal=a=b
	i create deployment app --image=nginx
	i set env deployment/app --from=configmap/conf
	eventually sh -c "\"\$0\" explain cm/conf --instance demo | grep m1" "$KAIRSHIP"
	explain cm/conf >out
	grep -x "The binding app-deployment needs it (propagateDeps): it goes to m1, m2." out
	test_must_fail grep -e "^CLUSTER" -e "not looked at it" out
	explain cm/conf -o json >out
	grep "\"name\": \"app-deployment\"" out
	test_must_fail grep "\"differs\"" out
'

test_expect_success 'what does not exist gets a hint' '
	test_must_fail explain deployment/nope 2>err
	grep "there is no binding nope-deployment" err
	test_must_fail "$KAIRSHIP" explain deployment/nope --instance elsewhere 2>err
	grep "there is no instance elsewhere" err
	test_must_fail explain deployment 2>err
	grep "Usage: kairship explain KIND/NAME" err
	test_must_fail explain deployment/web -o yaml 2>err
	grep "json only" err
'

test_done
