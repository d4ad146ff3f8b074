#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Quotas, limit ranges, what instances may use, and events that go by themselves.
. "$(dirname "$0")/lib.sh"
mkdir config
cat >config/admission.yaml <<Y
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: EventRateLimit
  path: rates.yaml
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - {resource: pods, matchContains: [example.com/gpu]}
Y
cat >config/rates.yaml <<Y
apiVersion: eventratelimit.admission.k8s.io/v1alpha1
kind: Configuration
limits:
- {type: SourceAndObject, qps: 1, burst: 500}
- {type: Server, qps: 10, burst: 5000}
Y
start_server --event-ttl 6 --admission-control-config-file config/admission.yaml

pod() { # NAME RESOURCES
	printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: i, resources: {%s}}]}\n' \
		"$1" "$2"
}

used() { # NAME KEY
	k -n "$ns" get quota "$1" -o "jsonpath={.status.used.$2}"
}

is_used() { # NAME KEY VALUE
	test "$(used "$1" "$2")" = "$3"
}

scenario() {
	test_expect_success 'a quota shows what is used, and refuses what is beyond' '
		k -n $ns create quota q --hard=pods=2,requests.cpu=1,secrets=1
		eventually is_used q pods 0
		pod a "requests: {cpu: 400m}" | k -n $ns create -f -
		pod b "requests: {cpu: 400m}" | k -n $ns create -f -
		pod c "requests: {cpu: 400m}" >c.yaml
		test_must_fail k -n $ns create -f c.yaml 2>err
		grep "pods \"c\" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=400m, used: pods=2,requests.cpu=800m, limited: pods=2,requests.cpu=1" err
		eventually is_used q "requests\.cpu" 800m
		k -n $ns describe quota q | grep -E "^pods +2 +2\$"
		pod d "" >d.yaml
		k -n $ns delete pod a --grace-period=0 --force
		test_must_fail k -n $ns create -f d.yaml 2>err
		grep "pods \"d\" is forbidden: failed quota: q: must specify requests.cpu for: c" err
		k -n $ns create -f c.yaml
	'
	test_expect_success 'of many creates at once as many succeed as fit' '
		k -n $ns create quota race --hard=count/configmaps=9
		eventually is_used race "count/configmaps" 1
		api /api/v1/namespaces/$ns >/dev/null # the first call writes what the others read
		for i in $(seq 40); do
			api /api/v1/namespaces/$ns/configmaps -o /dev/null -w "%{http_code}\n" -H "content-type: application/json" \
				-d "{\"metadata\":{\"name\":\"race-$i\"}}" >code.$i &
		done
		wait
		cat code.* | sort | uniq -c >codes
		cat codes
		grep "^ *8 201\$" codes
		grep "^ *32 403\$" codes
		test "$(k -n $ns get configmaps -o name | wc -l)" = 9
		eventually is_used race "count/configmaps" 9
		k -n $ns delete configmap --all
		eventually k -n $ns create configmap again
		k -n $ns delete quota race
	'
	test_expect_success 'custom resources are counted, too' '
		sed "s/GROUP/g$kubectl_minor.example.com/" <<-Y >crd.yaml
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: widgets.GROUP}
		spec:
		  group: GROUP
		  scope: Namespaced
		  names: {plural: widgets, kind: Widget}
		  versions:
		  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
		Y
		k create -f crd.yaml
		k wait --for=condition=Established crd/widgets.g$kubectl_minor.example.com
		k -n $ns create quota w --hard=count/widgets.g$kubectl_minor.example.com=1
		eventually k -n $ns get quota w -o "jsonpath={.status.used}"
		for i in 1 2; do
			printf "apiVersion: g%s.example.com/v1\nkind: Widget\nmetadata: {name: w%s}\n" $kubectl_minor $i >w$i.yaml
		done
		eventually k -n $ns create -f w1.yaml
		test_must_fail k -n $ns create -f w2.yaml 2>err
		grep "exceeded quota: w, requested: count/widgets.g$kubectl_minor.example.com=1" err
		k delete -f crd.yaml
	'
	test_expect_success 'a limit range fills in and bounds' '
		k -n $ns delete quota --all
		printf "apiVersion: v1\nkind: LimitRange\nmetadata: {name: r}\nspec: {limits: [{type: Container, defaultRequest: {cpu: 200m}, min: {cpu: 100m}}]}\n" |
			k -n $ns create -f -
		k -n $ns create -f d.yaml
		test "$(k -n $ns get pod d -o "jsonpath={.spec.containers[0].resources.requests.cpu}")" = 200m
		k -n $ns get pod d -o "jsonpath={.metadata.annotations}" | grep "LimitRanger plugin set: cpu request for container c"
		pod e "requests: {cpu: 50m}" >e.yaml
		test_must_fail k -n $ns create -f e.yaml 2>err
		grep "pods \"e\" is forbidden: minimum cpu usage per Container is 100m, but request is 50m" err
		k -n $ns describe limitrange r | grep -E "^Container +cpu +100m"
	'
	test_expect_success 'an instance that is full says so, and others are not' '
		cat >i.yaml <<-Y
		apiVersion: tenancy.kairship.io/v1alpha1
		kind: Instance
		metadata: {name: full-$kubectl_minor}
		spec: {limits: {maxObjects: 2}}
		Y
		k create -f i.yaml
		t="--server $server/clusters/full-$kubectl_minor"
		k $t create configmap a
		k $t create configmap b
		test_must_fail k $t create configmap c 2>err
		grep "holds 2 objects, this is 1 more, and it may hold 2 (spec.limits.maxObjects of the Instance)" err
		k -n $ns create configmap c
		k patch instance full-$kubectl_minor --type=merge -p "{\"spec\":{\"limits\":{\"maxObjects\":3}}}"
		k $t create configmap c
		k delete -f i.yaml
	'
	test_expect_success 'an event goes by itself' '
		cat >event.yaml <<-Y
		apiVersion: v1
		kind: Event
		metadata: {name: e}
		involvedObject: {kind: Pod, name: p, namespace: $ns}
		reason: Test
		Y
		k -n $ns create -f event.yaml
		k -n $ns get event e
		for _ in $(seq 30); do
			k -n $ns get event e || break
			sleep 1
		done
		test_must_fail k -n $ns get event e
	'
}

with_each_kubectl scenario

test_expect_success 'what the operator has limited needs a quota' '
	pod gpu "limits: {example.com/gpu: 1}" >gpu.yaml
	test_must_fail k create -f gpu.yaml 2>err
	grep "pods \"gpu\" is forbidden: insufficient quota to consume: requests.example.com/gpu" err
	k create quota gpus --hard=requests.example.com/gpu=1
	ns=default
	eventually is_used gpus "requests\.example\.com/gpu" 0
	k create -f gpu.yaml
	test_must_fail k create -f gpu.yaml 2>err
	grep "exceeded quota: gpus" err
	api /metrics | grep "^kairship_event_rate_limit{type=\"SourceAndObject\"} 1\$"
'
test_expect_success 'a configuration that is wrong ends the start' '
	sed "s/ResourceQuota$/PodSecurity/" config/admission.yaml >config/wrong.yaml
	test_must_fail "$KAIRSHIP" apiserver --data-dir d2 --listen 127.0.0.1:0 \
		--admission-control-config-file config/wrong.yaml 2>err
	grep "there is no admission plugin \"PodSecurity\" that takes a configuration here" err
	sed "s/qps: 10/qps: 10, qqs: 5/" config/rates.yaml >config/faulty.yaml
	sed "s/rates.yaml/faulty.yaml/" config/admission.yaml >config/wrong.yaml
	test_must_fail "$KAIRSHIP" apiserver --data-dir d2 --listen 127.0.0.1:0 \
		--admission-control-config-file config/wrong.yaml 2>err
	grep "unknown field \"limits\[1\].qqs\"" err
'
test_done
