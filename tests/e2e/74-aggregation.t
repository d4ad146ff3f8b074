#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An API server of somebody else behind an APIService of an instance: kubectl sees its resources as any
# others, it sees who asks, and it takes that from the front proxy of this instance only.
. "$(dirname "$0")/lib.sh"
need python3 python3
need openssl openssl
start_server
use_newest_kubectl

extension_pid=
stop_extension() {
	[ -z "$extension_pid" ] || kill "$extension_pid" 2>/dev/null
	extension_pid=
}
trap 'stop_extension; cleanup' EXIT

kt() { # in the instance
	k -s "$server/clusters/shop" "$@"
}

api_service() { # PORT
	cat <<-YAML
		apiVersion: v1
		kind: Service
		metadata: {name: api, namespace: default}
		spec: {type: ExternalName, externalName: localhost}
		---
		apiVersion: apiregistration.k8s.io/v1
		kind: APIService
		metadata: {name: v1.metrics.example.com}
		spec:
		  group: metrics.example.com
		  version: v1
		  groupPriorityMinimum: 100
		  versionPriority: 100
		  caBundle: $(base64 -w0 ca.crt)
		  service: {namespace: default, name: api, port: $1}
	YAML
}

reason() { # INSTANCE-PREFIX
	k -s "$server$1" get apiservice v1.metrics.example.com \
		-o 'jsonpath={.status.conditions[?(@.type=="Available")].reason}'
}

has_reason() { # INSTANCE-PREFIX REASON
	[ "$(reason "$1")" = "$2" ]
}

data() { # KEY: of the ConfigMap by which extension servers know the front proxy
	kt get -n kube-system configmap extension-apiserver-authentication -o "jsonpath={.data.$1}"
}

test_expect_success 'an APIService without its service says so' '
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj /CN=test -keyout api.key -out ca.crt -addext subjectAltName=DNS:api.default.svc
	k create -f - <<-YAML
		apiVersion: tenancy.kairship.io/v1alpha1
		kind: Instance
		metadata: {name: shop}
	YAML
	eventually kt get namespace default
	api_service 1 >api.yaml
	kt create -f api.yaml
	eventually has_reason /clusters/shop FailedDiscoveryCheck
	kt get apiservice v1.metrics.example.com >out
	grep -E "default/api +False \(FailedDiscoveryCheck\)" out
	test_must_fail k get --raw /clusters/shop/apis/metrics.example.com/v1 2>err
	grep -i "unable to handle the request\|service unavailable" err
	kt delete service api
	eventually has_reason /clusters/shop ServiceNotFound
'

test_expect_success 'extension servers are told by what to know the front proxy' '
	data requestheader-client-ca-file >front.crt
	grep BEGIN front.crt
	[ "$(data requestheader-username-headers)" = "[\"X-Remote-User\"]" ]
	data requestheader-allowed-names | tr -d "[]\"" >name
	grep front-proxy: name
'

if [ -s front.crt ] && [ -s name ]; then
	python3 "$top/tests/e2e/python/extension.py" ca.crt api.key front.crt "$(cat name)" >port 2>extension.log &
	extension_pid=$!
	for _ in $(seq 100); do
		[ -s port ] && break
		sleep 0.1
	done
fi

test_expect_success 'once it is there, kubectl has its resources' '
	kt delete apiservice v1.metrics.example.com
	api_service "$(cat port)" >api.yaml
	kt create -f api.yaml
	kt wait --for condition=Available --timeout=20s apiservice/v1.metrics.example.com
	has_reason /clusters/shop Passed
	kt api-resources --api-group metrics.example.com >out
	grep -E "^loads +ld +metrics.example.com/v1 +true +Load" out
	kt api-versions >out
	grep "^metrics.example.com/v1$" out
	kt get loads >out
	grep "^now" out
	kt get load mine -o yaml >out
	grep "^user: kairship-admin" out
'

test_expect_success 'its documents are found by both kinds of discovery' '
	k get --raw /clusters/shop/apis/metrics.example.com >out
	grep "\"preferredVersion\":{\"groupVersion\":\"metrics.example.com/v1\"" out
	k get --raw /clusters/shop/apis >out
	grep "\"name\":\"metrics.example.com\"" out
	api /clusters/shop/apis -H "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" >out
	grep "\"resource\": \"loads\"" out
	k get --raw /clusters/shop/openapi/v3 >out
	grep "/clusters/shop/openapi/v3/apis/metrics.example.com/v1?hash=" out
'

test_expect_success 'kubectl explains it' '
	! since 27 || kt explain loads >out
	! since 27 || grep "How much there is to do" out
'

test_expect_success 'who asks is authorized first, and named' '
	test_must_fail kt --as alice get load mine 2>err
	grep "cannot get resource \"loads\" in API group \"metrics.example.com\"" err
	kt create clusterrole loads --verb=get,list,watch --resource=loads.metrics.example.com
	kt create clusterrolebinding loads --clusterrole=loads --user=alice
	kt --as alice get load mine -o yaml >out
	grep "^user: alice" out
	# What the caller says of himself is not passed on.
	api /clusters/shop/apis/metrics.example.com/v1/namespaces/default/loads/x -H "X-Remote-User: eve" >out
	grep "\"user\": \"kairship-admin\"" out
'

test_expect_success 'watches pass, redirects do not' '
	k get --raw "/clusters/shop/apis/metrics.example.com/v1/loads?watch=true" >out
	[ "$(grep -c MODIFIED out)" = 3 ]
	api /clusters/shop/apis/metrics.example.com/v1/namespaces/default/loads/x/away -o out -w "%{http_code}" >code
	[ "$(cat code)" = 502 ]
	grep "attempted to redirect" out
'

upgrade() { # PATH
	python3 "$top/tests/e2e/python/upgrade.py" "${server#https://}" "$1" "$tmp/certificate-authority" \
		"$tmp/admin.crt" "$tmp/client-key"
}

test_expect_success 'a connection is upgraded, or answered and closed' '
	upgrade /clusters/shop/apis/metrics.example.com/v1/namespaces/default/loads/x/echo >out
	grep "101 Switching Protocols" out
	upgrade /clusters/shop/apis/metrics.example.com/v1/namespaces/default/loads/x >out
	grep "200 OK" out
'

test_expect_success 'another instance that names this server is nobody there' '
	k create -f api.yaml
	eventually has_reason "" FailedDiscoveryCheck
	k get apiservice v1.metrics.example.com -o yaml >out
	grep "bad status from .*: 401" out
	test_must_fail k get --raw /apis/metrics.example.com/v1/namespaces/default/loads/x
'

test_expect_success 'what is gone is said to be, and its place stays known' '
	kill $extension_pid
	kt annotate apiservice v1.metrics.example.com look=now
	eventually has_reason /clusters/shop FailedDiscoveryCheck
	api /clusters/shop/apis -H "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" >out
	grep "\"freshness\": \"Stale\"" out
	grep "\"resource\": \"loads\"" out
	kt delete apiservice v1.metrics.example.com
	test_must_fail k get --raw /clusters/shop/apis/metrics.example.com/v1
	k get --raw /clusters/shop/apis >out
	test_must_fail grep metrics.example.com out
'
stop_extension
test_done
