#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later

# Certificates as credentials: each is asked for by the API, approved, and opens one instance.
. "$(dirname "$0")/lib.sh"

need openssl openssl
start_server
use_newest_kubectl

test_expect_success 'two instances are there' '
	for i in a b; do
		printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
			"metadata: {name: $i}" | k create -f -
	done
'

request() { # FILE SUBJECT [OPENSSL-OPTION…]: FILE.key and FILE.csr
	file=$1 subject=$2
	shift 2
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$file.key" \
		-subj "$subject" -out "$file.csr" "$@" 2>/dev/null
}

csr() { # NAME FILE SIGNER USAGES
	cat <<-EOF
		apiVersion: certificates.k8s.io/v1
		kind: CertificateSigningRequest
		metadata: {name: $1}
		spec:
		  request: $(base64 -w0 <"$2.csr")
		  signerName: $3
		  expirationSeconds: 3600
		  usages: [$4]
	EOF
}

client=kubernetes.io/kube-apiserver-client

in_a() { k --server "$server/clusters/a" "$@"; }

issued() { # NAME: its certificate is in NAME.crt
	in_a get csr "$1" -o "jsonpath={.status.certificate}" | base64 -d >"$1.crt"
	[ -s "$1.crt" ]
}

condition() { # NAME TYPE
	in_a get csr "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].message}" >condition
	[ -s condition ]
}

life() {
	n=u$kubectl_minor

	test_expect_success 'a request is asked for, and the server says by whom' '
		request $n /O=devs/CN=alice
		csr $n $n $client "client auth" | in_a create -f -
		in_a get csr $n >out
		grep -E "$n .*$client .*kairship-admin .*Pending" out
		in_a get csr $n -o "jsonpath={.spec.groups[0]}" >out
		grep system:masters out
	'
	test_expect_success 'approved, it is signed, for an hour and this instance' '
		in_a certificate approve $n
		eventually issued $n
		in_a get csr $n | grep Approved,Issued
		openssl x509 -in $n.crt -noout -text >out
		grep -i "Subject: O = devs, CN = alice" out
		grep "TLS Web Client Authentication" out
		uid=$(k get instance a -o "jsonpath={.metadata.uid}")
		grep "URI:urn:kairship:instance:$uid" out
		openssl x509 -in $n.crt -noout -checkend 3500
		test_must_fail openssl x509 -in $n.crt -noout -checkend 3700
	'
	test_expect_success 'denied, it is not' '
		csr $n-denied $n $client "client auth" | in_a create -f -
		in_a certificate deny $n-denied
		in_a get csr $n-denied | grep Denied
		test_must_fail in_a certificate approve $n-denied
		test_must_fail issued $n-denied
	'
}
with_each_kubectl life
use_newest_kubectl
cp "u$kubectl_minor.crt" alice.crt
cp "u$kubectl_minor.key" alice.key
cp "u$kubectl_minor.csr" alice.csr

answer() { # CERTIFICATE PATH [CURL-OPTION…]: the status that its holder gets
	cert=$1 path=$2
	shift 2
	curl -sk -o body -w '%{http_code}' --cert "$cert.crt" --key "$cert.key" "$@" "$server$path"
}

test_expect_success 'it opens its own instance' '
	[ "$(answer alice /clusters/a/api/v1/namespaces)" = 403 ]
	grep "User .\{0,1\}\"alice.\{0,1\}\" cannot list" body
	in_a create clusterrolebinding alice --clusterrole view --user alice
	eventually test "$(answer alice /clusters/a/api/v1/namespaces/default/configmaps)" = 200
'
test_expect_success 'and no other' '
	for path in /api /version /healthz /clusters/b/api /clusters/b/version "/clusters/*/api" \
		/clusters/nowhere/api /clusters/b/apis/tenancy.kairship.io/v1alpha1/instances; do
		[ "$(answer alice "$path")" = 401 ]
	done
'
test_expect_success 'nor the next instance of that name' '
	k create -f - <<-EOF
		apiVersion: tenancy.kairship.io/v1alpha1
		kind: Instance
		metadata: {name: c}
	EOF
	"$KAIRSHIP" kubeconfig c --output c.kubeconfig
	k --kubeconfig c.kubeconfig get namespaces
	k delete instance c
	eventually test_must_fail k get instance c
	k create -f - <<-EOF
		apiVersion: tenancy.kairship.io/v1alpha1
		kind: Instance
		metadata: {name: c}
	EOF
	test_must_fail k --kubeconfig c.kubeconfig get namespaces 2>err
	grep -i -e Unauthorized -e credentials err
'

test_expect_success 'what does not fit the signer fails, and says why' '
	csr usage alice $client "server auth" | in_a create -f -
	in_a certificate approve usage
	eventually condition usage Failed
	grep "invalid usage for client certificate: server auth" condition
	csr node alice kubernetes.io/kube-apiserver-client-kubelet "digital signature,client auth" |
		in_a create -f -
	in_a certificate approve node
	eventually condition node Failed
	grep "subject organization is not system:nodes" condition
'
test_expect_success 'a kubelet gets its certificates' '
	request node1 /O=system:nodes/CN=system:node:n1
	csr node1 node1 kubernetes.io/kube-apiserver-client-kubelet \
		"key encipherment,digital signature,client auth" | in_a create -f -
	request node2 /O=system:nodes/CN=system:node:n1 -addext subjectAltName=DNS:n1,IP:10.0.0.1
	csr node2 node2 kubernetes.io/kubelet-serving "digital signature,server auth" |
		in_a create -f -
	in_a certificate approve node1 node2
	eventually issued node1
	eventually issued node2
	openssl x509 -in node2.crt -noout -text | grep "DNS:n1, IP Address:10.0.0.1"
'
test_expect_success 'a serving certificate of an instance opens nothing, and is not ours' '
	[ "$(answer node2 /clusters/a/api)" = 401 ]
	k config view --raw -o "jsonpath={.clusters[0].cluster.certificate-authority-data}" |
		base64 -d >ca.crt
	test_must_fail openssl verify -CAfile ca.crt node2.crt
'
test_expect_success 'a URI that the requester wants is not given' '
	uid=$(k get instance b -o "jsonpath={.metadata.uid}")
	request uri /CN=mallory -addext subjectAltName=URI:urn:kairship:instance:$uid
	csr uri uri $client "client auth" | in_a create -f -
	in_a certificate approve uri
	eventually issued uri
	openssl x509 -in uri.crt -noout -text >out
	test_must_fail grep $uid out
	[ "$(answer uri /clusters/b/version)" = 401 ]
'
test_expect_success 'system:masters cannot be asked for in this way' '
	request masters /O=system:masters/CN=x
	csr masters masters $client "client auth" >masters.yaml
	test_must_fail in_a create -f masters.yaml 2>err
	grep "use of $client signer with system:masters group is not allowed" err
	sed "s#$client#kairship.io/admin-client#" masters.yaml >admin.yaml
	in_a create clusterrole requester --verb create --resource certificatesigningrequests
	in_a create clusterrolebinding requester --clusterrole requester --user eve
	test_must_fail in_a --as eve create -f admin.yaml 2>err
	grep "is for members of system:masters only" err
'
test_expect_success 'approving takes the right to approve for the signer' '
	in_a create clusterrole approver --verb get,list,update \
		--resource certificatesigningrequests,certificatesigningrequests/approval
	in_a create clusterrolebinding approver --clusterrole approver --user frank
	csr frank alice $client "client auth" | in_a create -f -
	test_must_fail in_a --as frank certificate approve frank 2>err
	grep "user not permitted to approve requests with signerName \"$client\"" err
	in_a create clusterrolebinding approver2 --user frank \
		--clusterrole system:certificates.k8s.io:kube-apiserver-client-approver
	eventually in_a --as frank certificate approve frank
'
test_expect_success 'mistakes are told' '
	for signer in nodomain kubernetes.io/legacy-unknown; do
		csr bad alice $signer "client auth" >bad.yaml
		test_must_fail in_a create -f bad.yaml 2>err
		grep "spec.signerName: Invalid value" err
	done
	csr bad alice $client "time travel" >bad.yaml
	test_must_fail in_a create -f bad.yaml 2>err
	grep "spec.usages\[0\]: Unsupported value: \"time travel\"" err
	sed "s/3600/60/; s/time travel/client auth/" bad.yaml >short.yaml
	test_must_fail in_a create -f short.yaml 2>err
	grep "may not specify a duration less than 600 seconds (10 minutes)" err
	echo hello >hello.csr
	csr bad hello $client "client auth" >bad.yaml
	test_must_fail in_a create -f bad.yaml 2>err
	grep "PEM block type must be CERTIFICATE REQUEST" err
'
test_expect_success 'what is decided stays' '
	in_a get csr u$kubectl_minor -o json >out.json
	sed "s/\"Approved\"/\"Denied\"/" out.json >denied.json
	in_a replace -f denied.json # the main endpoint changes neither spec nor status
	in_a get csr u$kubectl_minor | grep Approved,Issued
	test_must_fail in_a replace --raw \
		/apis/certificates.k8s.io/v1/certificatesigningrequests/u$kubectl_minor/status \
		-f denied.json
'

test_expect_success 'kairship kubeconfig: the admin of an instance' '
	"$KAIRSHIP" kubeconfig a >a.kubeconfig
	k --kubeconfig a.kubeconfig create namespace made-by-admin
	in_a get namespace made-by-admin
	sed "s#/clusters/a#/clusters/b#" a.kubeconfig >b.kubeconfig
	test_must_fail k --kubeconfig b.kubeconfig get namespaces
	sed "s#/clusters/a##" a.kubeconfig >root.kubeconfig
	test_must_fail k --kubeconfig root.kubeconfig get namespaces
'
test_expect_success 'kairship kubeconfig: a user with groups, for some time' '
	"$KAIRSHIP" kubeconfig a --user carol --group devs,ops --ttl 1h --output carol.kubeconfig
	[ "$(stat -c %a carol.kubeconfig)" = 600 ]
	test_must_fail k --kubeconfig carol.kubeconfig get secrets 2>err
	grep "User \"carol\" cannot list" err
	in_a create rolebinding ops --clusterrole edit --group ops
	eventually k --kubeconfig carol.kubeconfig get secrets
	k --kubeconfig carol.kubeconfig config view --raw \
		-o "jsonpath={.users[0].user.client-certificate-data}" | base64 -d >carol.crt
	openssl x509 -in carol.crt -noout -checkend 3500
	test_must_fail openssl x509 -in carol.crt -noout -checkend 3700
'
test_expect_success 'kairship kubeconfig: by the admin of that instance, not of another' '
	"$KAIRSHIP" kubeconfig a --kubeconfig a.kubeconfig --user dave >dave.kubeconfig
	test_must_fail "$KAIRSHIP" kubeconfig b --kubeconfig a.kubeconfig 2>err
	grep Unauthorized err
	test_must_fail "$KAIRSHIP" kubeconfig a --kubeconfig carol.kubeconfig 2>err
	grep "cannot create resource" err
'
test_expect_success 'kairship kubeconfig: root, and what a person gets wrong' '
	"$KAIRSHIP" kubeconfig root --user erin >erin.kubeconfig
	test_must_fail k --kubeconfig erin.kubeconfig get namespaces 2>err
	grep "User \"erin\" cannot list" err
	test_must_fail "$KAIRSHIP" kubeconfig nowhere 2>err
	grep "kubectl get instances" err
	test_must_fail "$KAIRSHIP" kubeconfig a --ttl 1m 2>err
	grep "10m to 365d" err
	(unset KUBECONFIG; cd / && test_must_fail "$KAIRSHIP" kubeconfig a) 2>err
	grep -- "--kubeconfig FILE" err
'

served() { # what the server shows now
	openssl s_client -connect "${server#https://}" </dev/null 2>/dev/null |
		openssl x509 -noout -serial
}

test_expect_success 'a new serving certificate is used without a restart' '
	served >before
	openssl req -new -key kairship-data/pki/server.key -subj /CN=kairship -out s.csr
	# With the names of the other: one with other names is made anew.
	openssl x509 -in kairship-data/pki/server.crt -noout -ext subjectAltName |
		sed -n "s/ //g; s/IPAddress/IP/g; s/^DNS/subjectAltName=DNS/p" >s.ext
	openssl x509 -req -in s.csr -CA kairship-data/pki/ca.crt -CAkey kairship-data/pki/ca.key \
		-CAcreateserial -days 90 -extfile s.ext -out s.crt
	openssl x509 -in s.crt -noout -serial >want
	mv s.crt kairship-data/pki/server.crt
	kill -HUP $server_pid
	sleep 1
	served >after
	test_must_fail cmp before after
	cmp want after
	k get namespaces
'
other_than() { # FILE: the server shows another
	served >now
	test_must_fail cmp -s "$1" now
}

test_expect_success 'without a signal, too; one that is broken is made anew' '
	served >before
	echo rubbish >kairship-data/pki/server.crt
	eventually other_than before
	openssl x509 -in kairship-data/pki/server.crt -noout -checkend 30000000
	k get namespaces
'
test_expect_success 'metrics say how long certificates are good' '
	k get --raw /metrics >metrics
	grep "^apiserver_client_certificate_expiration_seconds_count [1-9]" metrics
	for c in serving ca signer; do
		grep "^kairship_certificate_expiration_seconds{certificate=\"$c\"} [1-9]" metrics
	done
	api /clusters/a/metrics >metrics # its own numbers, none of the server
	grep "^apiserver_storage_objects{resource=\"namespaces\"} [1-9]" metrics
	test_must_fail grep certificate_expiration metrics
'
test_expect_success 'other commands find the server as this one does' '
	(cd / && "$KAIRSHIP" backup "$tmp/data.kairship")
	[ -s data.kairship ]
'

own() { # NAME: own.crt and own.key, signed by nobody
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 60 \
		-subj "/CN=$1" -addext subjectAltName=IP:127.0.0.1 -keyout own.key.new -out own.crt.new
	mv own.key.new own.key
	mv own.crt.new own.crt
}

test_expect_success 'the server is stopped, to be started with a certificate of our own' '
	own one
	kill -TERM $server_pid
'
wait "$server_pid"
start_server --tls-cert-file own.crt --tls-private-key-file own.key

test_expect_success 'it serves with that, and its kubeconfig trusts it' '
	openssl x509 -in own.crt -noout -serial >want
	served >now
	cmp want now
	k get namespaces
'
test_expect_success 'and with the next one, without a restart' '
	served >old
	own two
	openssl x509 -in own.crt -noout -serial >want
	eventually other_than old
	cmp want now
	eventually k get namespaces
'
test_expect_success 'one that is broken is left alone, and so is the one in use' '
	served >before
	echo rubbish >own.crt
	kill -HUP $server_pid
	sleep 1
	served >after
	cmp before after
	grep rubbish own.crt
	grep "certificates stay as they were" server.log
'
test_done
