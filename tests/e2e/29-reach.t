#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later

# Who can connect to the server, and what its clients are told of where it is.
. "$(dirname "$0")/lib.sh"

need openssl openssl
second_machine_network
use_newest_kubectl

without= # a command that gives up rights
refused() { # SENTENCE OPTION…: the start is refused with these words, and no folder is left behind
	sentence=$1
	shift
	for serve in up apiserver; do
		# shellcheck disable=SC2086 # words
		test_must_fail timeout 20 $without "$KAIRSHIP" $serve --data-dir never "$@" 2>err ||
			return 1
		grep -F -e "$sentence" err || return 1
		[ ! -e never ] || return 1
	done
}

while IFS='|' read -r options sentence; do
	test_expect_success "$options: the sentence says what to do" '
		refused "$sentence" $options
	'
done <<'END'
--listen 127.0.0.1:99999|--listen 127.0.0.1:99999: the port is a number from 0 to 65535
--listen 127.0.0.1|--listen 127.0.0.1: the port is missing, as in 127.0.0.1:6443
--listen 127.0.0.1:https|the port is a number from 0 to 65535, not "https"
--listen ::1:6443|an IPv6 address has brackets around it, as in [::1]:6443
--listen nowhere.invalid:6443|give an address of this machine, or 0.0.0.0 for all of them
--listen 198.51.100.7:6443|this is not an address of this machine; take one of those that "ip address" shows
--advertise https://kairship.example|give a name or an address, as kairship.example.com, not a URL
--advertise kairship.example:0|leave it out to take that of --listen
--advertise 0.0.0.0|0.0.0.0 is not an address that clients can connect to
--tls-san two,names|"two,names" is neither a name nor an address
END

authority() { # the hash of its key, as kubeadm would tell it
	openssl x509 -in kairship-data/pki/ca.crt -noout -pubkey | openssl pkey -pubin -outform der |
		openssl dgst -sha256 -hex | sed 's/.* /sha256:/'
}

start_server
test_expect_success 'a server on a loopback says that it is for this machine, and how to change it' '
	grep "^Clients: this machine only; --listen 0.0.0.0:${listen##*:} for others" server.out
	grep "^Authority: $(authority)\$" server.out
'
test_expect_success 'a port in use: the sentence says what to do' '
	refused "--listen $listen: the address is in use; stop the server that has it, or choose" \
		--listen "$listen"
'
stop_server
test_report $? 'the server stops'

if [ -n "$second_machine_why" ]; then
	test_skip 'the server is reached from another machine' "no namespaces: $second_machine_why"
	test_done
fi
second_machine_start

test_expect_success 'a port that takes a right: the sentence says what to do' '
	without="setpriv --ambient-caps -net_bind_service --inh-caps -net_bind_service"
	without="$without --bounding-set -net_bind_service"
	refused "ports below 1024 are for root" --listen 127.0.0.1:443
'

names() { # in the certificate, one a line
	openssl x509 -in kairship-data/pki/server.crt -noout -ext subjectAltName |
		sed "1d; s/ //g; s/IPAddress://g; s/DNS://g" | tr "," "\n" | sort
}

second4=192.0.2.3 # another address of the same network
ip addr add "$second4/24" dev here
listen=:0
start_server
port=${listen##*:}

test_expect_success 'on every address: the ready line tells them' '
	grep "^Clients: https://$here4:$port, https://$second4:$port, https://\[$here6\]:$port\$" \
		server.out
'
test_expect_success 'the certificate has them, and nothing that is not there' '
	names >got
	{
		printf "%s\n" localhost 127.0.0.1 0:0:0:0:0:0:0:1 kubernetes kubernetes.default.svc
		printf "%s\n" "$here4" "$second4" 2001:DB8:77:0:0:0:0:1 "$(hostname | tr A-Z a-z)"
	} | sort >want
	cmp want got
'
test_expect_success 'discovery tells the first' '
	k get --raw /api >out
	grep "\"serverAddress\": *\"$here4:$port\"" out
'
server_of() { # KUBECONFIG
	sed -n "s/^ *server: *\"\{0,1\}\([^\"]*\).*/\1/p" "$1"
}

there_kubectl() { # ARG…: kubectl on the other machine
	second_machine "$kubectl" --cache-dir "$tmp/cache-there" "$@"
}

test_expect_success 'the kubeconfig of the admin is for this machine, those of others are not' '
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
		"metadata: {name: one}" | k create -f -
	[ "$(server_of kairship-data/admin.kubeconfig)" = "https://127.0.0.1:$port" ]
	"$KAIRSHIP" kubeconfig one --output one.kubeconfig
	[ "$(server_of one.kubeconfig)" = "https://$here4:$port/clusters/one" ]
	"$KAIRSHIP" kubeconfig root --output root.kubeconfig
	[ "$(server_of root.kubeconfig)" = "https://$here4:$port" ]
	"$KAIRSHIP" kubeconfig one --server "https://[$here6]:$port" --output six.kubeconfig
	[ "$(server_of six.kubeconfig)" = "https://[$here6]:$port/clusters/one" ]
	test_must_fail "$KAIRSHIP" kubeconfig one --server "$here4:$port" 2>err
	grep "a URL, as https://" err
'
test_expect_success 'the management API gives the same address' '
	api /apis/kairship.io/v1alpha1/instances/one/kubeconfig -X POST -d "{}" >out
	sed "s/.*\"kubeConfigString\": *\"//; s/\\\\n/\n/g" out | sed "\$d" >mgmt.kubeconfig
	[ "$(server_of mgmt.kubeconfig)" = "https://$here4:$port/clusters/one" ]
'
test_expect_success 'kubectl on the other machine works by what was issued' '
	there_kubectl --kubeconfig one.kubeconfig create configmap a --from-literal=x=1
	there_kubectl --kubeconfig six.kubeconfig get configmap a
	there_kubectl --kubeconfig mgmt.kubeconfig get configmap a
	test_must_fail there_kubectl --kubeconfig kairship-data/admin.kubeconfig get namespaces
'

verifies() { # ADDRESS: the other machine gets an answer from a server that it trusts
	[ "$(second_machine curl -sS --max-time 5 --cacert kairship-data/pki/ca.crt \
		"https://$1:$port/readyz")" = ok ]
}

new4=192.0.2.9
test_expect_success 'a new address is in the certificate within seconds, without a restart' '
	test_must_fail verifies $new4
	openssl x509 -in kairship-data/pki/server.crt -noout -issuer >before
	stat -c "%i %Y" kairship-data/admin.kubeconfig >>before
	printf "%s\n" "addr del $second4/24 dev here" "addr del $here4/24 dev here" \
		"addr add $new4/24 dev here" | ip -batch -
	eventually verifies $new4
	verifies "[$here6]"
	kill -0 $server_pid
	openssl x509 -in kairship-data/pki/server.crt -noout -issuer >after
	stat -c "%i %Y" kairship-data/admin.kubeconfig >>after
	cmp before after
	names >now
	test_must_fail grep -x "$here4" now
'
test_expect_success 'and is what clients are told from now on' '
	"$KAIRSHIP" kubeconfig one --output new.kubeconfig
	[ "$(server_of new.kubeconfig)" = "https://$new4:$port/clusters/one" ]
	there_kubectl --kubeconfig new.kubeconfig get configmap a
	grep "the addresses of this machine have changed" server.log
'
stop_server
test_report $? 'the server stops'
listen=0.0.0.0:$port
start_server --advertise "$new4" --advertise "kairship.example:443" --tls-san "*.example.org"

test_expect_success 'what is advertised is in the certificate; the addresses of the machine are not' '
	names >got
	{
		printf "%s\n" localhost 127.0.0.1 0:0:0:0:0:0:0:1 kubernetes kubernetes.default.svc
		printf "%s\n" "$new4" kairship.example "*.example.org"
	} | sort >want
	cmp want got
	grep "^Clients: https://$new4:$port, https://kairship.example:443\$" server.out
	[ "$(server_of kairship-data/admin.kubeconfig)" = "https://$new4:$port" ]
	there_kubectl --kubeconfig kairship-data/admin.kubeconfig get namespaces
	[ "$(second_machine curl -sS --max-time 5 --cacert kairship-data/pki/ca.crt \
		--resolve "kairship.example:$port:$new4" "https://kairship.example:$port/readyz")" = ok ]
'

test_done
