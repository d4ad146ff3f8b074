#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # test bodies are evaluated later

# An admission webhook of an instance: what it is asked, and what becomes of its answers.
. "$(dirname "$0")/lib.sh"

need python3 python3
hook_pid=

stop_all() {
	[ -z "$hook_pid" ] || kill "$hook_pid" 2>/dev/null
	cleanup
}
trap stop_all EXIT

hook() { # KIND VERSION GROUP RESOURCES OPERATION
	cat <<-EOF2
		apiVersion: admissionregistration.k8s.io/v1
		kind: $1WebhookConfiguration
		metadata: {name: w}
		webhooks:
		- name: w.example.com
		  clientConfig: {url: "https://127.0.0.1:$(cat hook/port)/w", caBundle: $(base64 -w0 <hook/tls.crt)}
		  sideEffects: None
		  admissionReviewVersions: [$2]
		  rules:
		  - {apiGroups: ["$3"], apiVersions: ["*"], resources: [$4], operations: ["$5"]}
	EOF2
	: >hook/log
	rm -f hook/w.json
}

mkdir hook
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=w \
	-addext subjectAltName=IP:127.0.0.1 -keyout hook/tls.key -out hook/tls.crt 2>/dev/null
python3 "$top/tests/e2e/python/hook.py" hook 2>hook.log &
hook_pid=$!
eventually test -s hook/port

serve=apiserver start_server --allow-loopback-members
use_newest_kubectl
k create deployment d --image=i >/dev/null
k create serviceaccount s >/dev/null
for pod in p q; do
	k run $pod --image=i --restart=Never >/dev/null
done

test_expect_success 'a Scale is what it sees and what it changes of a Deployment' '
	hook Mutating v1 apps deployments/scale UPDATE >w.yaml
	k apply -f w.yaml
	echo "{\"allowed\": true, \"patch\": [{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 7}]}" >hook/w.json
	k scale deployment d --replicas=3
	[ "$(k get deployment d -o jsonpath={.spec.replicas})" = 7 ]
	grep -x "admission.k8s.io/v1 UPDATE deployments/scale Scale" hook/log
	k delete -f w.yaml
'

test_expect_success 'what is not stored is asked about before it is done' '
	hook Validating v1 "" "serviceaccounts/token, pods/binding, pods/eviction, pods" "*" >w.yaml
	k apply -f w.yaml
	echo "{\"allowed\": false, \"status\": {\"message\": \"not today\", \"code\": 403, \"reason\": \"Forbidden\"}}" >hook/w.json
	test_must_fail token_of s 2>err
	grep "admission webhook \"w.example.com\" denied the request: not today" err
	grep -x "admission.k8s.io/v1 CREATE serviceaccounts/token TokenRequest" hook/log
	echo "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\"}}" >evict.json
	test_must_fail k create --raw /api/v1/namespaces/default/pods/p/eviction -f evict.json
	k get pod p
	rm hook/w.json
	token_of s >token
	: >hook/log
	k create --raw /api/v1/namespaces/default/pods/p/eviction -f evict.json
	test_must_fail k get pod p
	echo "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"q\"},\"target\":{\"name\":\"n\"}}" >bind.json
	k create --raw /api/v1/namespaces/default/pods/q/binding -f bind.json
	[ "$(k get pod q -o jsonpath={.spec.nodeName})" = n ]
	printf "%s\n" "admission.k8s.io/v1 CREATE pods/eviction Eviction" "admission.k8s.io/v1 CREATE pods/binding Binding" >want
	cmp want hook/log
	k delete -f w.yaml
'

test_expect_success 'a token is given for as long as it says' '
	hook Mutating v1 "" serviceaccounts/token CREATE >w.yaml
	k apply -f w.yaml
	echo "{\"allowed\": true, \"patch\": [{\"op\": \"replace\", \"path\": \"/spec/expirationSeconds\", \"value\": 601}]}" >hook/w.json
	echo "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{}}" >token.json
	k create --raw /api/v1/namespaces/default/serviceaccounts/s/token -f token.json >out
	grep "\"expirationSeconds\":601" out
	k delete -f w.yaml
'

test_expect_success 'one that knows only v1beta1 is asked in it' '
	hook Mutating v1beta1 "" configmaps CREATE >w.yaml
	k apply -f w.yaml
	echo "{\"allowed\": true, \"patch\": [{\"op\": \"add\", \"path\": \"/data\", \"value\": {\"by\": \"it\"}}]}" >hook/w.json
	k create configmap c
	[ "$(k get configmap c -o jsonpath={.data.by})" = it ]
	grep -x "admission.k8s.io/v1beta1 CREATE configmaps/ ConfigMap" hook/log
	k delete -f w.yaml
'

test_expect_success 'one that changes objects has a say in deletes, and nothing to change' '
	hook Mutating v1 "" configmaps DELETE >w.yaml
	k apply -f w.yaml
	echo "{\"allowed\": false, \"status\": {\"message\": \"it stays\"}}" >hook/w.json
	test_must_fail k delete configmap c 2>err
	grep "denied the request: it stays" err
	echo "{\"allowed\": true, \"patch\": [{\"op\": \"add\", \"path\": \"/data\", \"value\": {}}]}" >hook/w.json
	test_must_fail k delete configmap c 2>err
	grep "attempted to modify the object, which is not supported for this operation" err
	rm hook/w.json
	k delete configmap c
	[ "$(grep -cx "admission.k8s.io/v1 DELETE configmaps/ None" hook/log)" = 3 ]
	k delete -f w.yaml
'

test_expect_success 'a patch in another version of the same thing is heeded' '
	hook Mutating v1 events.k8s.io events CREATE >w.yaml
	k apply -f w.yaml
	echo "{\"allowed\": true, \"patch\": [{\"op\": \"replace\", \"path\": \"/note\", \"value\": \"better\"}]}" >hook/w.json
	cat >event.yaml <<-EOF2
		apiVersion: v1
		kind: Event
		metadata: {name: e.1}
		message: worse
		reason: R
		type: Normal
		involvedObject: {kind: Pod, name: q, namespace: default}
		source: {component: me}
	EOF2
	k create -f event.yaml
	[ "$(k get --raw /api/v1/namespaces/default/events/e.1 | grep -o "\"message\":\"[a-z]*\"")" = "\"message\":\"better\"" ]
	k delete -f w.yaml
'

test_done
