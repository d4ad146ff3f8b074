#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How many pods there are to be, and how they are sent away: scale, autoscale, eviction.
. "$(dirname "$0")/lib.sh"
start_server

scenario() {
	test_expect_success 'workloads are scaled' '
		k -n $ns create deployment web --image=example.com/web:1
		k -n $ns scale deployment web --replicas=3 >out
		grep "deployment.apps/web scaled" out
		test "$(k -n $ns get deployment web -o "jsonpath={.spec.replicas} {.metadata.generation}")" = "3 2"
	'
	test_expect_success 'only from the number that is expected' '
		test_must_fail k -n $ns scale deployment web --replicas=5 --current-replicas=2 2>err
		grep -i "expected replicas to be 2, was 3" err
		k -n $ns scale deployment web --replicas=5 --current-replicas=3
	'
	test_expect_success 'not below zero' '
		test_must_fail k -n $ns scale deployment web --replicas=-1
		test "$(k -n $ns get deployment web -o "jsonpath={.spec.replicas}")" = 5
	'
	test_expect_success 'the scale is an object of its own' '
		k get --raw "/apis/apps/v1/namespaces/$ns/deployments/web/scale" >out
		grep "\"kind\":\"Scale\"" out
		grep "\"selector\":\"app=web\"" out
	'
	test_expect_success 'an autoscaler is the same in both versions' '
		k -n $ns autoscale deployment web --min=2 --max=4 --cpu-percent=60
		k get --raw "/apis/autoscaling/v1/namespaces/$ns/horizontalpodautoscalers/web" >out
		grep "\"targetCPUUtilizationPercentage\":60" out
		k get --raw "/apis/autoscaling/v2/namespaces/$ns/horizontalpodautoscalers/web" >out
		grep "\"averageUtilization\":60" out
	'
	test_expect_success 'a pod that serves nobody may go, whatever its budget' '
		cat >budget.json <<-EOF
			{"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "metadata": {"name": "web"},
			 "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
		EOF
		k -n $ns create -f budget.json
		k -n $ns run one --image=example.com/web:1 --labels=app=web
		cat >eviction.json <<-EOF
			{"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "one", "namespace": "$ns"}}
		EOF
		k create --raw "/api/v1/namespaces/$ns/pods/one/eviction" -f eviction.json >out
		grep "\"status\":\"Success\"" out
	'
	test_expect_success 'the system has its priorities and flow control' '
		k get priorityclasses >out
		grep -E "^system-node-critical +2000001000 +false" out
		k get flowschemas >out
		grep -E "^exempt +exempt +1 +<none>" out
		k get prioritylevelconfigurations >out
		grep -E "^workload-low +Limited +100 +128 +6 +50" out
	'
}

with_each_kubectl scenario
test_done
