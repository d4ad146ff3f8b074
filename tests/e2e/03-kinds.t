#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The other kinds: namespaces, secrets, service accounts, events, leases, limits and quotas.
. "$(dirname "$0")/lib.sh"
start_server

scenario() {
	test_expect_success 'the four namespaces everybody has' '
		k get namespaces >out
		for n in default kube-system kube-public kube-node-lease; do
			grep -E "^$n +Active +[0-9a-z]+\$" out
		done
	'
	test_expect_success 'a namespace is labelled with its name and active' '
		k create namespace more-$ns >out
		grep "namespace/more-$ns created" out
		test "$(k get ns -l kubernetes.io/metadata.name=more-$ns -o name)" = namespace/more-$ns
		test "$(k get ns more-$ns -o "jsonpath={.status.phase} {.spec.finalizers[0]}")" = "Active kubernetes"
		test "$(k get ns --field-selector status.phase=Active,metadata.name=more-$ns -o name)" = namespace/more-$ns
	'
	test_expect_success 'deleting a namespace deletes what is in it' '
		k -n more-$ns create cm inside
		k -n more-$ns create secret generic inside
		k -n more-$ns create serviceaccount inside
		k delete namespace more-$ns --timeout=30s
		test_must_fail k get namespace more-$ns
		test -z "$(k -n more-$ns get cm,secrets,serviceaccounts -o name)"
	'
	test_expect_success 'a namespace of that name can be made again, empty' '
		k create namespace more-$ns
		test_must_fail k -n more-$ns get cm inside
		k delete namespace more-$ns --wait=false
	'
	test_expect_success 'default may not be deleted' '
		test_must_fail k delete namespace default --wait=false 2>err
		grep "this namespace may not be deleted" err
	'

	test_expect_success 'secrets' '
		k -n $ns create secret generic pw --from-literal=user=me --from-literal=password=hunter2
		k -n $ns get secret pw >out
		grep -E "^NAME +TYPE +DATA +AGE\$" out
		grep -E "^pw +Opaque +2 +[0-9]+s\$" out
		test "$(k -n $ns get secret pw -o "jsonpath={.data.password}" | base64 -d)" = hunter2
		printf "apiVersion: v1\nkind: Secret\nmetadata: {name: plain}\nstringData: {a: b}\n" >s.yaml
		k -n $ns apply -f s.yaml
		test "$(k -n $ns get secret plain -o "jsonpath={.data.a}{.stringData}")" = Yg==
		test "$(k -n $ns get secret --field-selector type=Opaque -o name | wc -l)" = 2
		k -n $ns describe secret pw >out
		grep "password: *7 bytes" out
		test_must_fail grep hunter2 out
	'
	test_expect_success 'the type of a secret is checked and stays' '
		test_must_fail k -n $ns patch secret pw --type=merge -p "{\"type\":\"kubernetes.io/tls\"}" 2>err
		grep "field is immutable" err
		printf "apiVersion: v1\nkind: Secret\nmetadata: {name: tls}\ntype: kubernetes.io/tls\ndata: {tls.crt: \"\"}\n" >s.yaml
		test_must_fail k -n $ns create -f s.yaml 2>err
		grep "tls.key" err
	'
	test_expect_success 'what is immutable stays' '
		k -n $ns patch secret plain --type=merge -p "{\"immutable\":true}"
		test_must_fail k -n $ns patch secret plain --type=merge -p "{\"data\":{\"a\":\"YQ==\"}}" 2>err
		grep -i immutable err
		k -n $ns label secret plain still=labelled
		k -n $ns delete secret plain
	'

	test_expect_success 'service accounts' '
		k -n $ns create serviceaccount robot >out
		grep "serviceaccount/robot created" out
		k -n $ns get sa robot --no-headers >out
		grep -E "^robot +" out
		k -n $ns patch sa robot -p "{\"secrets\":[{\"name\":\"b\"}]}"
		k -n $ns patch sa robot -p "{\"secrets\":[{\"name\":\"a\"}]}"
		test "$(k -n $ns get sa robot -o "jsonpath={.secrets[*].name}")" = "a b"
	'

	test_expect_success 'something for an event to be about' '
		k -n $ns create cm hello
		k -n $ns get cm hello -o "jsonpath={.metadata.uid}" >uid
	'
	cat >event.yaml <<Y
apiVersion: v1
kind: Event
metadata: {name: something.1, namespace: $ns}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: hello, namespace: $ns, uid: $(cat uid)}
reason: Happened
message: something has happened
type: Warning
count: 2
firstTimestamp: "2026-01-02T15:04:05Z"
lastTimestamp: "2026-01-02T15:04:05Z"
source: {component: test}
Y
	test_expect_success 'events, seen through both groups' '
		k create -f event.yaml
		k -n $ns get events >out
		grep -E "^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\$" out
		grep -E "Warning +Happened +configmap/hello +something has happened\$" out
		k -n $ns get events.events.k8s.io something.1 -o "jsonpath={.note} {.regarding.name} {.deprecatedCount}" >out
		test "$(cat out)" = "something has happened hello 2"
		test "$(k -n $ns get events --field-selector involvedObject.name=hello,type=Warning -o name)" = event/something.1
		test -z "$(k -n $ns get events --field-selector reason=Other -o name)"
	'
	test_expect_success 'describe finds the events of an object' '
		k -n $ns describe cm hello >out
		grep "something has happened" out
	'
	if since 26; then
		test_expect_success 'kubectl events' '
			k -n $ns events --for cm/hello >out
			grep "something has happened" out
		'
	fi

	printf 'apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: leader}\nspec: {holderIdentity: me, leaseDurationSeconds: 15, renewTime: "2026-01-02T15:04:05.000000Z"}\n' >lease.yaml
	test_expect_success 'leases' '
		k -n $ns apply -f lease.yaml
		k -n $ns get lease >out
		grep -E "^NAME +HOLDER +AGE\$" out
		grep -E "^leader +me +" out
		test "$(k -n $ns get lease leader -o "jsonpath={.spec.renewTime}")" = 2026-01-02T15:04:05.000000Z
		test_must_fail k -n $ns patch lease leader --type=merge -p "{\"spec\":{\"leaseDurationSeconds\":0}}" 2>err
		grep "must be greater than 0" err
	'

	cat >limits.yaml <<Y
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: $ns}
spec: {limits: [{type: Container, max: {cpu: "2", memory: 1024Mi}, default: {cpu: 0.5}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: $ns}
spec: {hard: {configmaps: "10", requests.cpu: 1000m}}
Y
	test_expect_success 'limit ranges and quotas' '
		k apply -f limits.yaml
		test "$(k -n $ns get limitrange limits -o "jsonpath={.spec.limits[0].max.memory} {.spec.limits[0].default.cpu}")" = "1Gi 500m"
		test "$(k -n $ns get quota quota -o "jsonpath={.spec.hard.requests\.cpu} {.spec.hard.configmaps}")" = "1 10"
		k -n $ns get limits,quota
	'

	test_expect_success 'several kinds in one command' '
		k -n $ns get cm,secrets,sa,lease -o name >out
		for o in configmap/hello secret/pw serviceaccount/robot lease.coordination.k8s.io/leader; do
			grep -x $o out
		done
	'
}

with_each_kubectl scenario
test_done
