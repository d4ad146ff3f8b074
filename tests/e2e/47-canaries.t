#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later
#
# Secrets come in by every door, with an audit that writes down all bodies, and a log of every
# request; then none of them is in what the server has told: its log, the audit, the metrics, its
# answers to who may not know.

. "$(dirname "$0")/lib.sh"

audit=$tmp/own/audit.log
mkdir own
cat >policy.yaml <<-END
	apiVersion: audit.k8s.io/v1
	kind: Policy
	rules:
	- level: RequestResponse
END

send() { # PATH ARG…: whatever the answer is
	path=$1
	shift
	curl -sk --max-time 30 -o body "$server$path" "$@" || true
}

json='Content-Type: application/json'
start_server --log-level debug --audit-policy-file policy.yaml --audit-log-path own/audit.log
use_newest_kubectl

test_expect_success 'tokens, good and bad, in every place where clients put them' '
	k create serviceaccount robot
	token_of robot >token
	send /api/v1/namespaces -H "Authorization: Bearer canary-bearer"
	send /api/v1/namespaces -H "Authorization: Bearer $(cat token)"
	send /api/v1/namespaces -H "Authorization: Basic Y2FuYXJ5LWJhc2ljOng="
	send "/api/v1/namespaces?access_token=canary-query&token=canary-query2"
	send /api/v1/namespaces -H "Connection: Upgrade" -H "Upgrade: websocket" -H "Sec-WebSocket-Key: x" \
		-H "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.Y2FuYXJ5LXNvY2tldA"
	api /apis/authentication.k8s.io/v1/tokenreviews -H "$json" -d "{\"spec\":{\"token\":\"canary-review\"}}"
	api /apis/authentication.k8s.io/v1/tokenreviews -H "$json" -d "{\"spec\":{\"token\":\"$(cat token)\"}}"
	send /clusters/none/api/v1/namespaces -H "Authorization: Bearer canary-nowhere"
'

test_expect_success 'passwords' '
	printf "apiVersion: iam.kairship.io/v1alpha1\nkind: User\nmetadata: {name: jane}\nspec: {}\n" >user.yaml
	k create -f user.yaml
	KUBECONFIG=$tmp/kairship-data/admin.kubeconfig
	export KUBECONFIG
	echo canary-password | "$KAIRSHIP" passwd jane
	send /apis/iam.kairship.io/v1alpha1/logins -H "$json" \
		-d "{\"spec\":{\"username\":\"jane\",\"password\":\"canary-password\"}}"
	sed -n "s/.*\"token\": *\"\([^\"]*\)\".*/\1/p" body >login
	[ -s login ]
	send /apis/iam.kairship.io/v1alpha1/logins -H "$json" \
		-d "{\"spec\":{\"username\":\"jane\",\"password\":\"canary-wrong\"}}"
	send /apis/iam.kairship.io/v1alpha1/logins -H "$json" \
		-d "{\"spec\":{\"username\":\"jane\",\"password\":[\"canary-wrong\"]}}"
	send /apis/iam.kairship.io/v1alpha1/logins -H "$json" \
		-d "{\"spec\":{\"username\":\"jane\",\"password\":\"canary-broken"
'

test_expect_success 'Secrets, made, patched, applied, misspelt, in lists and in other objects' '
	k create secret generic s --from-literal=a=canary-data
	k get secrets -A -o yaml >/dev/null
	k patch secret s -p "{\"stringData\":{\"b\":\"canary-patch\"}}"
	printf "apiVersion: v1\nkind: Secret\nmetadata: {name: t}\nstringData: {k: canary-apply}\n" >t.yaml
	k apply -f t.yaml
	k apply --server-side --force-conflicts -f t.yaml
	send /api/v1/namespaces/default/secrets -H "$json" --cert-type PEM \
		-d "{\"metadata\":{\"name\":\"u\"},\"stringdata\":{\"k\":\"canary-anonymous\"}}"
	api /api/v1/namespaces/default/secrets -H "$json" \
		-d "{\"metadata\":{\"name\":\"u\"},\"stringdata\":{\"k\":\"canary-misspelt\"}}" || true
	api /api/v1/namespaces/default/secrets -H "$json" \
		-d "{\"metadata\":{\"name\":\"Bad_Name\"},\"stringData\":{\"k\":\"canary-refused\"}}" || true
	k create namespace karmada-es-m1
	printf "%s\n" "apiVersion: work.karmada.io/v1alpha1" "kind: Work" \
		"metadata: {name: w, namespace: karmada-es-m1}" "spec: {workload: {manifests: [{apiVersion: v1," \
		"kind: Secret, metadata: {name: x}, stringData: {k: canary-work}}]}}" >work.yaml
	k create -f work.yaml || true
'

test_expect_success 'credentials of clusters, and kubeconfigs that are made' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: t1}\nspec: {profile: minimal}\n" >i.yaml
	k create -f i.yaml
	send2="{\"metadata\":{\"name\":\"c\"},\"spec\":{\"kubeconfig\":\"apiVersion: v1\nkind: Config\nusers: [{name: u, user: {token: canary-kcp}}]\"}}"
	api /clusters/t1/apis/workload.kcp.dev/v1alpha1/clusters -H "$json" -d "$send2" || true
	api /apis/cluster.clusterpedia.io/v1alpha2/pediaclusters -H "$json" \
		-d "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"apiserver\":\"https://10.0.0.1\",\"tokenData\":\"Y2FuYXJ5LXBlZGlh\"}}" || true
	"$KAIRSHIP" kubeconfig t1 --kubeconfig kairship-data/admin.kubeconfig --output t1.kubeconfig
	api /apis/kairship.io/v1alpha1/instances/t1/kubeconfig -X POST -H "$json" -d "{}" >made || true
'

test_expect_success 'what is told to all: metrics, documents' '
	api /metrics >own/metrics
	api /openapi/v2 >own/openapi
	grep -q "^apiserver_" own/metrics
	eventually grep -q "\"resource\":\"logins\"" "$audit"
	eventually grep -q "/instances/t1/kubeconfig" "$audit"
	k create configmap shown --from-literal=x=not-a-canary
	eventually grep -q "not-a-canary" "$audit"
'
stop_server

test_expect_success 'none of them is in any of it' '
	for word in bearer query query2 basic socket review nowhere password wrong broken data patch apply \
		anonymous misspelt refused work kcp pedia; do
		printf "canary-%s\n" "$word"
		printf "canary-%s" "$word" | base64
	done >canaries
	for name in token login; do cut -d. -f3 $name; done >>canaries
	sed -n "s/.*client-key-data: *//p" t1.kubeconfig kairship-data/admin.kubeconfig >>canaries
	sed -n "s/ *secret: //p" kairship-data/encryption.yaml >>canaries
	grep -v -e "^-" kairship-data/pki/ca.key | head -n 1 >>canaries
	sed -n "s/.*token: \([^ \\\\]*\).*/\1/p" made | cut -d. -f3 | grep . >>canaries || true
	grep -c . canaries
	grep -q "\"msg\":\"request\"" "$tmp/server.log"
	test_must_fail grep -r -n -F -f canaries own "$tmp/server.log" "$tmp/server.out"
'
test_done
