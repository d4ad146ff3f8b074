#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A backup under load is one moment of everything: all instances, all kinds, nothing half.
. "$(dirname "$0")/lib.sh"
serve=apiserver # nobody else writes, so that all can be compared
start_server
use_newest_kubectl

# Not the ConfigMaps kube-root-ca.crt: whoever restores has another authority.
lists='/api/v1/secrets? /api/v1/namespaces? /api/v1/serviceaccounts? /clusters/one/api/v1/namespaces?
	/clusters/*/api/v1/configmaps?labelSelector=app%3Dseq& /apis/tenancy.kairship.io/v1alpha1/instances?'
everything() { # KUBECONFIG [QUERY]: all of it, without the lists' own revisions
	for path in $lists; do
		echo "$path"
		k --kubeconfig "$1" get --raw "$path$2" |
			sed 's/"resourceVersion":"[0-9]*"/"resourceVersion":""/'
		echo
	done
}

test_expect_success 'objects of several kinds and instances' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: %s}\n---\n" one gone >instances.yaml
	k create -f instances.yaml
	k create ns extra
	k -n extra create secret generic s --from-literal=x=1
	k -n extra create sa robot
	k --server "$server/clusters/one" create ns inner
	k --server "$server/clusters/one" -n inner create cm c --from-literal=x=1
	k --server "$server/clusters/gone" create cm lost
	k delete instance gone
	k create cm deleted
	k delete cm deleted
'

# One after the other, in turn in root and in an instance: each is there only if all before are.
api /api/v1/namespaces/default/configmaps -o /dev/null
(
	i=0
	while [ ! -f stop ]; do
		i=$((i + 1))
		for path in /api/v1 /clusters/one/api/v1; do
			printf '{"metadata":{"name":"seq-%s","labels":{"app":"seq"}},"data":{"x":"%s"}}' $i $i |
				api $path/namespaces/default/configmaps -o /dev/null -w '%{http_code}\n' \
					-H 'Content-Type: application/json' --data-binary @-
		done
	done >codes
) &
writer=$!

test_expect_success 'backups while writes go on' '
	for i in 1 2 3; do
		sleep 0.5
		"$KAIRSHIP" backup backup-$i
	done
	: >stop
'
wait $writer
test_expect_success 'no write was held up or refused' '
	grep -c 201 codes
	test_must_fail grep -v 201 codes
'

each='{range .items[*]}{.metadata.annotations.kairship\.io/instance} {.metadata.name}{"\n"}{end}'

# The old server goes on, and can be asked what it was like then.
for i in 1 2 3; do
	test_expect_success "backup $i is restored" '
		"$KAIRSHIP" restore backup-$i --data-dir restored-$i
		cp kairship-data/encryption.yaml restored-$i # keys are not in a backup
	'
	"$KAIRSHIP" apiserver --data-dir restored-$i --listen 127.0.0.1:0 >out 2>>server.log &
	restored_pid=$!
	test_expect_success 'a server begins with it' '
		eventually grep -q "is ready at" out
	'
	test_expect_success 'and is to the byte what the old one was at one moment' '
		everything restored-$i/admin.kubeconfig >got
		grep -o "\"resourceVersion\":\"[0-9]*\"" got | tr -dc "0-9\n" | sort -n | tail -n 1 >at
		everything kairship-data/admin.kubeconfig \
			"resourceVersion=$(cat at)&resourceVersionMatch=Exact" >want
		cmp want got
	'
	test_expect_success 'a moment of all instances' '
		restored=$(sed -n "s/^ *server: *\"\{0,1\}\([^\"]*\).*/\1/p" restored-$i/admin.kubeconfig)
		k --kubeconfig restored-$i/admin.kubeconfig --server "$restored/clusters/*" \
			get configmaps -A -l app=seq -o jsonpath="$each" >items
		sed -n "s/^root seq-//p" items | sort -n >root
		sed -n "s/^one seq-//p" items | sort -n >one
		test -s root
		test "$(wc -l <root)" = "$(tail -n 1 root)"
		test "$(wc -l <one)" = "$(tail -n 1 one)"
		behind=$(($(tail -n 1 root) - $(tail -n 1 one)))
		test $behind = 0 || test $behind = 1
	'
	kill "$restored_pid"
	wait "$restored_pid"
	test_report $? 'it ends cleanly'
done

test_done
