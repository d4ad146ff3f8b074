#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later

# Tokens of service accounts: made, used, and refused as soon as they should be.
. "$(dirname "$0")/lib.sh"

start_server
use_newest_kubectl
pki=kairship-data/pki

test_expect_success 'two instances are there' '
	for i in a b; do
		printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
			"metadata: {name: $i}" | k create -f -
	done
'

# The token of an account in a file: by kubectl where it can, else as kubectl would ask.
make_token() { # FILE PREFIX NAMESPACE ACCOUNT
	if since 24; then
		k --server "$server$2" -n "$3" create token "$4" >"$1"
	else
		api "$2/api/v1/namespaces/$3/serviceaccounts/$4/token" -X POST \
			-H "Content-Type: application/json" -d "{}" >"$1.json"
		sed -n "s/.*\"token\": *\"\([^\"]*\)\".*/\1/p" "$1.json" >"$1"
	fi
	[ -s "$1" ]
}

code() { # FILE PATH: what the token gets there
	curl -sk --max-time 30 -o body -w "%{http_code}" -H "Authorization: Bearer $(cat "$1")" \
		"$server$2"
}

is() { # CODE FILE PATH
	[ "$(code "$2" "$3")" = "$1" ]
}

life() {
	maps=/api/v1/namespaces/$ns/configmaps

	test_expect_success 'a token is its account, with the rights of the account' '
		k -n $ns create serviceaccount bot
		make_token token "" $ns bot
		is 403 token $maps
		grep "system:serviceaccount:$ns:bot" body
		k -n $ns create rolebinding bot --clusterrole=view --serviceaccount=$ns:bot
		is 200 token $maps
		is 403 token /api/v1/namespaces/default/configmaps
		is 401 token /clusters/a$maps
		is 401 token /clusters/nowhere$maps
		is 401 token "/clusters/*/api/v1/configmaps"
	'

	test_expect_success 'kubectl works with it' '
		eventually k -n $ns get configmap kube-root-ca.crt
		k --kubeconfig /dev/null --server $server --insecure-skip-tls-verify=true \
			--token "$(cat token)" -n $ns get configmaps kube-root-ca.crt
		test_must_fail k --kubeconfig /dev/null --server $server/clusters/a \
			--insecure-skip-tls-verify=true --token "$(cat token)" -n $ns get configmaps
	'

	test_expect_success 'an account that is deleted takes its tokens along, at once' '
		k -n $ns delete serviceaccount bot
		is 401 token $maps
		is 401 token /healthz
		k -n $ns create serviceaccount bot
		is 401 token $maps
	'

	test_expect_success 'a Secret of the old kind is filled in, and goes with its account' '
		cat >secret.yaml <<-EOF
			apiVersion: v1
			kind: Secret
			metadata:
			  name: bot-token
			  annotations: {kubernetes.io/service-account.name: bot}
			type: kubernetes.io/service-account-token
		EOF
		k -n $ns create -f secret.yaml
		eventually sh -c "$kubectl -n $ns get secret bot-token -o jsonpath={.data.token} | grep ."
		k -n $ns get secret bot-token -o jsonpath={.data.token} | base64 -d >old
		k -n $ns get secret bot-token -o "jsonpath={.data.ca\.crt}" | base64 -d >ca.crt
		cmp ca.crt $pki/ca.crt
		is 200 old $maps
		k -n $ns delete serviceaccount bot
		is 401 old $maps
		eventually test_must_fail k -n $ns get secret bot-token
	'

	test_expect_success 'every namespace has an account and a root CA, again when deleted' '
		k -n $ns delete serviceaccount default
		k -n $ns delete configmap kube-root-ca.crt
		eventually k -n $ns get serviceaccount default
		eventually k -n $ns get configmap kube-root-ca.crt
		k --server $server/clusters/a create namespace $ns
		eventually k --server $server/clusters/a -n $ns get configmap kube-root-ca.crt
		k --server $server/clusters/a -n $ns get serviceaccount default
		k --server $server/clusters/a -n kube-system get serviceaccount default
	'

	test_expect_success 'a token of an instance opens that one' '
		make_token token-a /clusters/a $ns default
		is 403 token-a /clusters/a$maps
		is 401 token-a /clusters/b$maps
		is 401 token-a $maps
		is 401 token-a /version
	'

	test_expect_success 'a bootstrap token is a Secret' '
		printf "abc%03d.0123456789abcdef" $kubectl_minor >token-b
		id=$(cut -d. -f1 token-b)
		k -n kube-system create secret generic bootstrap-token-$id \
			--type=bootstrap.kubernetes.io/token --from-literal=token-id=$id \
			--from-literal=token-secret=0123456789abcdef \
			--from-literal=usage-bootstrap-authentication=true
		is 403 token-b $maps
		grep "system:bootstrap:$id" body
		is 401 token-b /clusters/a$maps
		k -n kube-system delete secret bootstrap-token-$id
		is 401 token-b $maps
	'
}
with_each_kubectl life
use_newest_kubectl

test_expect_success 'a token is made for later' '
	k create serviceaccount keep
	make_token kept "" default keep
	is 403 kept /api/v1/namespaces/default/configmaps
'
stop_server
start_server
test_expect_success 'it outlives a restart' '
	is 403 kept /api/v1/namespaces/default/configmaps
'

test_expect_success 'it does not outlive its instance' '
	make_token token-b /clusters/b default default
	is 403 token-b /clusters/b/api/v1/namespaces/default/configmaps
	k delete instances.tenancy.kairship.io b
	is 401 token-b /clusters/b/api/v1/namespaces/default/configmaps
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
		"metadata: {name: b}" | k create -f -
	is 401 token-b /clusters/b/api/v1/namespaces/default/configmaps
	make_token token-b /clusters/b default default
	is 403 token-b /clusters/b/api/v1/namespaces/default/configmaps
'

test_expect_success 'verifiers find the public keys, without a credential of an admin' '
	api /.well-known/openid-configuration >config
	grep "\"issuer\":\"https://kubernetes.default.svc\"" config
	api /openid/v1/jwks >jwks
	grep "\"alg\":\"ES256\"" jwks
	is 200 kept /openid/v1/jwks
'

keys() { # N: so many are told
	[ "$(api /openid/v1/jwks | grep -o '"kid"' | wc -l)" = "$1" ]
}

test_expect_success 'a new key signs, the old one verifies until it is taken away' '
	old=$(ls $pki/sa-*.key)
	openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $pki/sa-9.key
	kill -HUP $server_pid
	eventually keys 2
	make_token fresh "" default keep
	[ "$(cut -d. -f1 fresh)" != "$(cut -d. -f1 kept)" ]
	is 403 kept /api/v1/namespaces/default/configmaps
	is 403 fresh /api/v1/namespaces/default/configmaps
	openssl pkey -in $old -pubout -out "${old%.key}.pub"
	rm $old
	kill -HUP $server_pid
	sleep 0.5
	keys 2
	is 403 kept /api/v1/namespaces/default/configmaps
	rm "${old%.key}.pub"
	kill -HUP $server_pid
	eventually keys 1
	is 401 kept /api/v1/namespaces/default/configmaps
	is 403 fresh /api/v1/namespaces/default/configmaps
'

test_expect_success 'a bad key changes nothing' '
	echo rubbish >$pki/sa-99.key
	kill -HUP $server_pid
	sleep 0.5
	keys 1
	is 403 fresh /api/v1/namespaces/default/configmaps
	grep "keys of tokens stay as they were" server.log
'

test_done
