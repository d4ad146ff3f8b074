#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later
#
# The audit: what the default policy writes down, a policy of one's own, files that are put aside,
# a killed server, and that no secret is in any of it; and the same sent to a webhook.

. "$(dirname "$0")/lib.sh"

log=$tmp/kairship-data/audit/audit.log

# events [FIELD=TEXT…]: the lines that have all of these.
events() {
	cat "$log" >events.all
	for want; do
		grep -F -- "$want" events.all >events.some || true
		mv events.some events.all
	done
	cat events.all
}

seen() { # FIELD=TEXT…: at least one has
	[ -n "$(events "$@")" ]
}

every_line_is_json() { # FILE…
	cat "$@" >lines
	test_must_fail grep -v '^{"kind":"Event","apiVersion":"audit.k8s.io/v1",.*}$' lines
}

start_server
use_newest_kubectl

test_expect_success 'writes are written down, reads are not, with no option given' '
	k create configmap a --from-literal=x=1
	k get configmap a
	k delete configmap a
	eventually seen "\"verb\":\"create\"" "\"resource\":\"configmaps\"" "\"name\":\"a\""
	eventually seen "\"verb\":\"delete\"" "\"resource\":\"configmaps\"" "\"name\":\"a\""
	events "\"resource\":\"configmaps\"" >out
	grep "\"username\":\"kairship-admin\"" out
	grep "\"sourceIPs\":\\[\"127.0.0.1\"\\]" out
	grep "\"userAgent\":\"kubectl" out
	grep "\"authorization.k8s.io/decision\":\"allow\"" out
	grep "\"responseStatus\":{\"metadata\":{},\"code\":201}" out
	test_must_fail grep "\"verb\":\"get\"" out
	[ "$(stat -c %a "$log")" = 600 ]
'

test_expect_success 'who looks at secrets is written down, who is refused and for whom it was' '
	k create secret generic s --from-literal=password=canary-8714
	k get secret s -o yaml
	test_must_fail k get secrets --as jane
	eventually seen "\"verb\":\"get\"" "\"resource\":\"secrets\""
	eventually seen "\"impersonatedUser\":{\"username\":\"jane\"" "/decision\":\"forbid\""
'

test_expect_success 'an event names its instance and the id that the client was told' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: t1}\n" >i.yaml
	k create -f i.yaml
	api /clusters/t1/api/v1/namespaces -H "Content-Type: application/json" -D head \
		-d "{\"metadata\":{\"name\":\"n\"}}"
	id=$(tr -d "\r" <head | sed -n "s/^[Aa]udit-[Ii]d: //p")
	eventually seen "\"auditID\":\"$id\"" "\"kairship.io/instance\":\"t1\"" \
		"\"requestURI\":\"/clusters/t1/api/v1/namespaces\""
'

test_expect_success 'what is mounted is seen, too' '
	api /apis/kairship.io/v1alpha1/nothing -X POST -d "{}" || true
	eventually seen "\"verb\":\"post\"" "\"requestURI\":\"/apis/kairship.io/v1alpha1/nothing\""
'

test_expect_success 'it is counted' '
	api /metrics >out
	grep "^apiserver_audit_event_total [1-9]" out
	grep "^apiserver_audit_level_total{level=\"Metadata\"} [1-9]" out
	grep "^apiserver_audit_level_total{level=\"None\"} [1-9]" out
	grep "^apiserver_audit_error_total{plugin=\"log\"} 0" out
'

crash_server
cp "$log" whole
printf '{"kind":"Event","half' >>"$log"
start_server
test_expect_success 'after a kill what was written is there, half a line is not, and it goes on' '
	grep "\"kairship.io/instance\":\"t1\"" whole
	k create configmap after-the-kill
	eventually seen "\"name\":\"after-the-kill\""
	every_line_is_json "$log"
	head -n "$(grep -c . whole)" "$log" >same
	cmp whole same
'
stop_server

test_expect_success 'a wrong policy is refused with its fields' '
	cat >wrong.yaml <<-END
		apiVersion: audit.k8s.io/v1
		kind: Policy
		rules:
		- level: Everything
		  omitStages: [Later]
	END
	test_must_fail "$KAIRSHIP" up --data-dir other --listen 127.0.0.1:0 \
		--audit-policy-file wrong.yaml >out 2>&1
	grep "rules\\[0\\].level: Unsupported value: \"Everything\"" out
	grep "rules\\[0\\].omitStages\\[0\\]: Invalid value: \"Later\"" out
	test_must_fail "$KAIRSHIP" up --data-dir other --audit-log-mode never >out 2>&1
	grep "batch or blocking" out
'

cat >policy.yaml <<-END
	apiVersion: audit.k8s.io/v1
	kind: Policy
	omitStages: [RequestReceived]
	rules:
	- level: None
	  userGroups: [system:kairship:parts]
	- level: None
	  verbs: [create]
	  resources: [{group: "", resources: [pods]}]
	- level: RequestResponse
	  omitManagedFields: true
	  resources: [{group: ""}, {group: authentication.k8s.io}, {group: apps}]
END
log=$tmp/own/audit.log
mkdir own
start_server --audit-policy-file policy.yaml --audit-log-path own/audit.log --audit-log-maxsize 1 \
	--audit-log-maxbackup 2

test_expect_success 'a policy of our own: bodies, managed fields left out, nothing else' '
	k create configmap b --from-literal=x=shown-value
	k label configmap b colour=blue
	eventually seen "\"verb\":\"patch\"" "\"requestObject\":{\"metadata\":{\"labels\":{\"colour\":\"blue\"}}}"
	eventually seen "\"verb\":\"create\"" "\"responseObject\":{" "shown-value"
	k create role r --verb=get --resource=pods
	k get configmap b
	eventually seen "\"verb\":\"get\"" "\"name\":\"b\""
	test_must_fail seen "\"resource\":\"roles\""
	events "\"name\":\"b\"" >out
	test_must_fail grep managedFields out
'

test_expect_success 'watches begin and end' '
	api "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1"
	eventually seen "\"verb\":\"watch\"" "\"stage\":\"ResponseStarted\""
	eventually seen "\"verb\":\"watch\"" "\"stage\":\"ResponseComplete\""
'

test_expect_success 'bodies with secrets in them show that there are some, and nothing of them' '
	k create secret generic c --from-literal=password=canary-8714
	k get secret c -o json
	k get secrets -o yaml
	printf "apiVersion: v1\nkind: Secret\nmetadata: {name: d}\nstringData: {k: canary-8714}\n" >d.yaml
	k apply -f d.yaml
	sed s/8714/8714-more/ d.yaml >e.yaml
	k apply -f e.yaml
	k apply --server-side --force-conflicts -f d.yaml
	k patch secret d --type=json -p "[{\"op\":\"add\",\"path\":\"/data/z\",\"value\":\"Y2FuYXJ5LTg3MTQ=\"}]"
	token_of default >token
	api /apis/authentication.k8s.io/v1/tokenreviews -H "Content-Type: application/json" \
		-d "{\"spec\":{\"token\":\"$(cat token)\"}}"
	eventually seen "\"resource\":\"tokenreviews\"" "REDACTED"
	eventually seen "\"subresource\":\"token\"" "REDACTED"
'

test_expect_success 'large files are put aside, old ones go' '
	"$KAIRSHIP"-bench --workload create --kubeconfig kairship-data/admin.kubeconfig --duration 1 \
		--keep >bench.out 2>&1
	eventually test "$(find own -name "audit-*.log" | wc -l)" = 2
	find own -name "audit*.log" -size +1100k >too-large
	test_must_fail grep . too-large
	ls own
'
stop_server

test_expect_success 'every line of every file is one whole event' '
	every_line_is_json own/*.log kairship-data/audit/*.log
'

test_expect_success 'no secret is in any of them, nor in the log of the server' '
	cut -d. -f3 token >signature
	test_must_fail grep -r -F -e canary-8714 -e Y2FuYXJ5 -f signature own kairship-data/audit \
		"$tmp/server.log"
'

start_server --audit-log-path -
test_expect_success 'to standard output' '
	k create configmap to-stdout
	eventually grep "\"name\":\"to-stdout\"" server.out
'
stop_server

start_server --audit-log-path=
test_expect_success 'or not at all' '
	size=$(stat -c %s kairship-data/audit/audit.log)
	k create configmap nowhere
	sleep 0.2
	[ "$(stat -c %s kairship-data/audit/audit.log)" = "$size" ]
'
stop_server

# The webhook: a server whose certificate is of an authority that only its kubeconfig names.

cleanup_all() {
	receiver_stop
	cleanup
}
trap cleanup_all EXIT

receiver_start() { # comes back to the same port; received has a line for each list
	rm -f receiver.port
	python3 "$top/tests/e2e/python/receiver.py" receiver.crt receiver.key "${port:-0}" \
		receiver.port received 2>>receiver.err &
	receiver_pid=$!
	eventually test -s receiver.port
	port=$(cat receiver.port)
}

receiver_stop() {
	[ -z "$receiver_pid" ] || kill "$receiver_pid" 2>/dev/null
	[ -z "$receiver_pid" ] || wait "$receiver_pid" 2>/dev/null
	receiver_pid=
}

received() { # TEXT…: one list has all of these
	cp received lists
	for want; do
		grep -F -- "$want" lists >some || return 1
		mv some lists
	done
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=receiver \
	-addext subjectAltName=IP:127.0.0.1 -keyout receiver.key -out receiver.crt 2>/dev/null
: >received
receiver_start
mkdir hook
cp receiver.crt hook/ca.crt
printf bearer-5511 >hook/token
cat >hook/config <<-END
	apiVersion: v1
	kind: Config
	clusters: [{name: c, cluster: {server: "https://127.0.0.1:$port/hooks/audit", certificate-authority: ca.crt}}]
	users: [{name: u, user: {tokenFile: token}}]
	contexts: [{name: x, context: {cluster: c, user: u}}]
	current-context: x
END
webhook="--audit-policy-file policy.yaml --audit-webhook-config-file hook/config
	--audit-webhook-batch-max-wait 200ms --audit-webhook-initial-backoff 300ms"

# shellcheck disable=SC2086 # words
start_server $webhook
test_expect_success 'events arrive at a webhook, and in the log' '
	k create configmap sent
	k create secret generic hidden --from-literal=password=canary-8714
	eventually received "\"kind\": \"EventList\"" "\"apiVersion\": \"audit.k8s.io/v1\"" "\"name\": \"sent\""
	eventually received "\"name\": \"hidden\"" REDACTED
	received "\"path\": \"/hooks/audit?timeout=30s\"" "\"authorization\": \"Bearer bearer-5511\""
	grep "\"name\":\"sent\"" kairship-data/audit/audit.log
	api /metrics | grep "^apiserver_audit_error_total{plugin=\"webhook\"} 0"
'

receiver_stop
test_expect_success 'while it is down requests are answered, and events are kept' '
	k create configmap meanwhile
	sleep 1
	k create configmap later
	test_must_fail received meanwhile
	eventually grep "the audit webhook cannot be reached" "$tmp/server.log"
'
receiver_start
test_expect_success 'when it is back it gets them, in their order' '
	eventually received "\"name\": \"later\""
	grep -o "\"name\": \"\(meanwhile\|later\)\"" received | head -n 1 | grep meanwhile
	eventually grep "the audit webhook takes events again" "$tmp/server.log"
	api /metrics | grep "^apiserver_audit_error_total{plugin=\"webhook\"} 0"
'
stop_server

start_server --audit-webhook-config-file hook/config --audit-webhook-batch-max-wait 1h
test_expect_success 'what waits is kept until there are enough' '
	k create configmap at-the-end
	sleep 1
	test_must_fail received at-the-end
'
stop_server
test_expect_success 'or until the server stops' '
	received "\"name\": \"at-the-end\""
	test_must_fail grep -e canary-8714 -e Y2FuYXJ5 received
	test_must_fail grep bearer-5511 "$tmp/server.log" kairship-data/audit/audit.log
'

receiver_stop
start_server --audit-webhook-config-file hook/config --audit-webhook-mode blocking \
	--audit-webhook-batch-max-size 1 --audit-webhook-batch-buffer-size 1
test_expect_success 'in the mode blocking what cannot be kept is refused' '
	for n in 1 2 3; do
		api /api/v1/namespaces/default/configmaps -H "Content-Type: application/json" \
			-d "{\"metadata\":{\"name\":\"blocked-$n\"}}"
	done >out
	grep "the audit takes no more events" out
	grep "\"code\": *503" out
	k get configmaps
	api /metrics | grep "^apiserver_audit_requests_rejected_total [1-9]"
'
stop_server

test_expect_success 'wrong settings of it are refused' '
	up() { test_must_fail timeout 20 "$KAIRSHIP" up --data-dir other --listen 127.0.0.1:0 "$@" >out 2>&1; }
	up --audit-webhook-config-file hook/nothing
	grep "audit webhook (hook/nothing)" out
	up --audit-webhook-mode never
	grep "audit-webhook-mode is batch or blocking" out
	up --audit-webhook-batch-max-wait 30
	grep "audit-webhook-batch-max-wait is a time like" out
	up --audit-webhook-batch-max-size 0
	grep "1 event or more at once" out
'

test_done
