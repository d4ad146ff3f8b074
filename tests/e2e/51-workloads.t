#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pods and what makes them, services, nodes, storage: good manifests, bad ones, and what get shows.
. "$(dirname "$0")/lib.sh"
start_server

# A pod's spec with an image, restarted as said.
pod_spec() { # POLICY IMAGE
	printf '{restartPolicy: %s, containers: [{name: main, image: "%s"}]}' "$1" "$2"
}

workload() { # KIND NAME IMAGE
	printf 'apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s}\nspec: {selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: %s}}\n' \
		"$1" "$2" "$2" "$2" "$(pod_spec Always "$3")"
}

scenario() {
	test_expect_success 'a pod is completed as it would be elsewhere' '
		printf "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: %s\n" "$(pod_spec Always nginx)" >p.yaml
		k -n $ns create -f p.yaml
		k -n $ns get pods >out
		grep -E "^NAME +READY +STATUS +RESTARTS +AGE\$" out
		grep -E "^p +0/1 +Pending +0 +[0-9]+s\$" out
		k -n $ns get pod p -o "jsonpath={.spec.serviceAccountName} {.spec.containers[0].imagePullPolicy} {.spec.priority} {.status.qosClass}" >out
		test "$(cat out)" = "default Always 0 BestEffort"
		k -n $ns get pod p -o "jsonpath={.spec.tolerations[*].key}" | grep "node.kubernetes.io/not-ready"
	'
	test_expect_success 'a pod is bound once, and deleted with time to stop' '
		printf "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}" >b.json
		sed "s/\"name\":\"p\"/\"name\":\"q\"/" b.json >wrong.json
		test_must_fail k create --raw /api/v1/namespaces/$ns/pods/p/binding -f wrong.json 2>err
		grep "name in URL does not match name in Binding object" err
		sed "s/\"name\":\"p\"/\"name\":\"p\",\"namespace\":\"other\"/" b.json >wrong.json
		test_must_fail k create --raw /api/v1/namespaces/$ns/pods/p/binding -f wrong.json 2>err
		grep "namespace of the provided object does not match" err
		k create --raw /api/v1/namespaces/$ns/pods/p/binding -f b.json
		test "$(k -n $ns get pods --field-selector spec.nodeName=n1 -o name)" = pod/p
		test_must_fail k create --raw /api/v1/namespaces/$ns/pods/p/binding -f b.json 2>err
		grep "already assigned to node" err
		k -n $ns delete pod p --wait=false
		k -n $ns get pod p | grep Terminating
		test "$(k -n $ns get pod p -o "jsonpath={.metadata.deletionGracePeriodSeconds}")" = 30
		k -n $ns delete pod p --grace-period=0 --force
		test_must_fail k -n $ns get pod p
	'
	test_expect_success 'a pod that is evicted says so, and goes when nothing holds it' '
		sed "s/{name: p}/{name: p, finalizers: [example.com\/x]}/; s/spec: {/spec: {nodeName: n1, /" p.yaml >held.yaml
		k -n $ns create -f held.yaml
		printf "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\"}}" >e.json
		k create --raw /api/v1/namespaces/$ns/pods/p/eviction -f e.json
		test "$(k -n $ns get pod p -o "jsonpath={.status.conditions[*].reason} {.metadata.deletionGracePeriodSeconds}")" = "EvictionByEvictionAPI 30"
		k -n $ns delete pod p --grace-period=0 --force --wait=false
		test "$(k -n $ns get pod p -o "jsonpath={.metadata.deletionGracePeriodSeconds}")" = 0
		k -n $ns patch pod p --type=merge -p "{\"metadata\":{\"finalizers\":null}}"
		test_must_fail k -n $ns get pod p
	'
	test_expect_success 'logs need a kubelet, and say so' '
		k -n $ns create -f p.yaml
		test_must_fail k -n $ns logs p 2>err
		grep "does not have a host assigned" err
		test_must_fail k -n $ns patch pod p --type=merge -p "{\"spec\":{\"hostname\":\"other\"}}" 2>err
		grep "spec: Forbidden: pod updates may not change fields other than" err
		k -n $ns delete pod p
		test_must_fail k -n $ns get pod p
	'
	for kind in Deployment ReplicaSet StatefulSet DaemonSet; do
		test_expect_success "a good and a bad $kind" '
			workload '$kind' w nginx:1 >good.yaml
			k -n $ns create -f good.yaml
			k -n $ns get '$kind' w -o wide | grep "nginx:1"
			workload '$kind' w2 "" >bad.yaml
			test_must_fail k -n $ns create -f bad.yaml 2>err
			grep "spec.template.spec.containers\[0\].image: Required value" err
			test_must_fail k -n $ns patch '$kind' w --type=merge -p "{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"z\"}}}}" 2>err
			grep -E "field is immutable|forbidden|Forbidden" err
			k -n $ns delete '$kind' w
		'
	done
	test_expect_success 'jobs run pods that end' '
		printf "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: %s}}\n" "$(pod_spec Never i:1)" >j.yaml
		k -n $ns create -f j.yaml
		k -n $ns get job j -o "jsonpath={.spec.backoffLimit}{.spec.template.metadata.labels}" | grep "^6.*controller-uid"
		sed "s/Never/Always/; s/name: j}/name: j2}/" j.yaml >bad.yaml
		test_must_fail k -n $ns create -f bad.yaml 2>err
		grep "valid values: \"OnFailure\", \"Never\"" err
		k delete --raw "/apis/batch/v1/namespaces/$ns/jobs/j?dryRun=All" 2>err >out
		grep "\"finalizers\":\[\"orphan\"\]" out
		grep "child pods are preserved by default" err
	'
	test_expect_success 'services get an address' '
		k -n $ns create service clusterip c --tcp=80:8080
		k -n $ns create service nodeport n --tcp=80
		k -n $ns get svc >out
		grep -E "^c +ClusterIP +10\.[0-9.]+ +<none> +80/TCP +[0-9]+s\$" out
		grep -E "^n +NodePort +10\.[0-9.]+ +<none> +80:3[0-9]+/TCP +[0-9]+s\$" out
		test "$(k -n $ns get svc -o "jsonpath={.items[*].spec.clusterIP}" | tr " " "\n" | sort | uniq -d | wc -l)" = 0
		ip=$(k -n $ns get svc c -o "jsonpath={.spec.clusterIP}")
		test_must_fail k -n $ns create service clusterip d --tcp=80 --clusterip=$ip 2>err
		grep "provided IP is already allocated" err
		test_must_fail k -n $ns create service clusterip e --tcp=99999 2>err
	'
	test_expect_success 'nodes and storage' '
		printf "apiVersion: v1\nkind: Node\nmetadata: {name: n-$ns}\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v-$ns}\nspec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /x}}\n" >x.yaml
		k create -f x.yaml
		k get node n-$ns | grep -E "^n-$ns +Unknown +<none>"
		k get pv v-$ns | grep -E "^v-$ns +1Gi +RWO +Retain +Pending"
		sed "s/1Gi/0/; s/v-$ns/w-$ns/" x.yaml >bad.yaml
		test_must_fail k create -f bad.yaml 2>err
		grep "must be greater than zero" err
		k delete -f x.yaml
	'
	test_expect_success 'fields are explained' '
		k explain pod.spec.containers.livenessProbe >out
		grep periodSeconds out
		k explain deployment.spec.strategy >out
		grep rollingUpdate out
	'
}

with_each_kubectl scenario
test_done
