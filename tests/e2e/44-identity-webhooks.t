#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # test bodies are evaluated later

# Webhooks of the operator that know tokens and rights: one process for both, that is down at times.
. "$(dirname "$0")/lib.sh"

need python3 python3
maps=/api/v1/namespaces/default/configmaps
hook_pid=

start_hook() { # [PORT]
	rm -f hook/port
	python3 "$top/tests/e2e/python/verdicts.py" hook "$@" 2>hook.log &
	hook_pid=$!
	eventually test -s hook/port
}

stop_hook() {
	[ -z "$hook_pid" ] || kill "$hook_pid" 2>/dev/null
	wait "$hook_pid" 2>/dev/null
	hook_pid=
}

stop_all() {
	stop_hook
	cleanup
}
trap stop_all EXIT

is() { # CODE TOKEN PATH
	[ "$(curl -sk --max-time 30 -o body -w "%{http_code}" -H "Authorization: Bearer $2" \
		"$server$3")" = "$1" ]
}

as() { # TOKEN ARG…: kubectl
	token=$1
	shift
	k --kubeconfig /dev/null --server "$server" --insecure-skip-tls-verify=true --token "$token" "$@"
}

asked() { # PATH: how often
	grep -c "^$1 " hook/log
}

kubeconfig() { # PATH CA USER: to stdout
	cat <<-EOF2
		apiVersion: v1
		kind: Config
		current-context: w
		clusters: [{name: w, cluster: {server: "https://127.0.0.1:$port$1", certificate-authority: $2}}]
		users: [{name: w, user: {$3}}]
		contexts: [{name: w, context: {cluster: w, user: w}}]
	EOF2
}

mkdir -p hook/tokens hook/rights
for i in tls ca; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=$i \
		-addext subjectAltName=IP:127.0.0.1 -keyout hook/$i.key -out hook/$i.crt 2>/dev/null
done
echo hush-hush >hook/secret
echo '{"authenticated": true, "user": {"username": "jane", "groups": ["devs"]}}' >hook/tokens/janes
echo '{"authenticated": true, "user": {"username": "system:admin"}}' >hook/tokens/forged
: >hook/log
start_hook
port=$(cat hook/port)
kubeconfig /tokens tls.crt "client-certificate: ca.crt, client-key: ca.key" >hook/tokens.conf
kubeconfig /rights tls.crt "token: hush-hush" >hook/rights.conf

start_server --authentication-token-webhook-config-file hook/tokens.conf \
	--authentication-token-webhook-cache-ttl 3s \
	--authorization-webhook-config-file hook/rights.conf \
	--authorization-webhook-cache-authorized-ttl 3s \
	--authorization-webhook-cache-unauthorized-ttl 1s
use_newest_kubectl

test_expect_success 'a token is whose the webhook says, asked once, with a client certificate' '
	is 200 janes /version
	is 200 janes /version
	[ "$(asked /tokens)" = 1 ]
	grep "\"audiences\": \[\"https://kubernetes.default.svc\"\]" hook/log
	! since 28 || as janes auth whoami -o yaml | grep "username: jane"
'

test_expect_success 'what it does not know, and names of the system, are 401' '
	is 401 nobodys /version
	is 401 forged /version
	test_must_fail grep -e nobodys -e forged server.log
'

test_expect_success 'our own tokens are not shown to it' '
	k create serviceaccount robot
	own=$(token_of robot)
	is 200 "$own" /version
	k delete serviceaccount robot
	is 401 "$own" /version
	test_must_fail grep -e "$own" hook/log
'

test_expect_success 'rights are of RBAC, then of the other webhook, with a bearer token' '
	is 403 janes $maps
	grep "the webhook says so" body
	touch hook/rights/jane
	eventually is 200 janes $maps
	as janes create configmap x
	as janes auth can-i delete secrets
	rm hook/rights/jane
	eventually is 403 janes $maps
	k create rolebinding jane --clusterrole=view --user=jane
	before=$(asked /rights)
	is 200 janes $maps
	[ "$(asked /rights)" = "$before" ]
'

bob_may_not() { # jane may be bob, who may nothing
	test_must_fail as janes create clusterrole none --verb=dance --resource=pods --as bob 2>err &&
		grep "User \"bob\" cannot create resource \"clusterroles\"" err
}

test_expect_success 'it is asked wherever RBAC is: for being another, for giving rights away' '
	test_must_fail as janes get configmaps --as bob 2>err
	grep "cannot impersonate resource \"users\"" err
	touch hook/rights/jane
	eventually bob_may_not
	eventually as janes create clusterrole r --verb=dance --resource=pods
	as janes create clusterrolebinding b --clusterrole=cluster-admin --user=carl
	grep "\"verb\": \"escalate\"" hook/log
	grep "\"verb\": \"bind\"" hook/log
	k delete clusterrolebinding b
	k delete clusterrole r
	rm hook/rights/jane
	sleep 3.1
'

test_expect_success 'an instance is closed to them without a role, and about it nobody is asked' '
	touch hook/rights/jane
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
		"metadata: {name: demo}" | k create -f -
	is 401 janes /clusters/demo$maps && cp body there
	is 401 janes /clusters/nowhere$maps
	cmp there body
	before=$(asked /rights)
	[ "$(curl -sk -o body -w "%{http_code}" "$server/clusters/demo$maps")" = 403 ]
	[ "$(asked /rights)" = "$before" ]
	rm hook/rights/jane
'

test_expect_success 'what sends us elsewhere has not answered' '
	touch hook/redirect
	sleep 3.1
	is 401 janes /version
	[ "$(curl -sk -o body -w "%{http_code}" "$server$maps")" = 500 ]
	rm hook/redirect
	is 200 janes /version
'

test_expect_success 'one that is slow holds up nobody else, and nobody gets in by it' '
	touch hook/slow
	sleep 3.1
	is 401 janes /version &
	waiting=$!
	k get configmaps
	kill -0 $waiting
	wait $waiting
	rm hook/slow
	is 200 janes /version
'

test_expect_success 'while it is down nobody gets in by it, and all others do' '
	kill "$hook_pid"
	sleep 3.1
	is 401 janes /version
	[ "$(curl -sk -o body -w "%{http_code}" "$server$maps")" = 500 ]
	k get configmaps
'

start_hook "$port"
test_expect_success 'when it is back, so are they' '
	is 200 janes /version
	[ "$(curl -sk -o body -w "%{http_code}" "$server$maps")" = 403 ]
'
stop_server

kubeconfig /tokens ca.crt "client-certificate: ca.crt, client-key: ca.key" >hook/other.conf
start_server --authentication-token-webhook-config-file hook/other.conf
test_expect_success 'one that another authority vouches for is not asked' '
	before=$(asked /tokens)
	is 401 janes /version
	[ "$(asked /tokens)" = "$before" ]
'

refused() { # ARG…: the server does not start, and says why in the file why
	test_must_fail "$KAIRSHIP" apiserver --data-dir other --listen 127.0.0.1:0 "$@" 2>why
}

test_expect_success 'a server does not start with what it cannot use' '
	refused --authentication-token-webhook-config-file none
	grep "there is no file none" why
	sed s/https:/http:/ hook/rights.conf >hook/plain.conf
	refused --authorization-webhook-config-file hook/plain.conf
	grep "not https" why
	sed "s/certificate-authority: .*}}/insecure-skip-tls-verify: true}}/" hook/rights.conf >hook/open.conf
	refused --authorization-webhook-config-file hook/open.conf
	grep "insecure-skip-tls-verify" why
	refused --authorization-webhook-cache-authorized-ttl soon
	grep "is no duration" why
'

stop_hook
test_done
