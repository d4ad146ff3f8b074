#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The later pages of docs/guide: each is typed as it stands there, at a server that is new.
. "$(dirname "$0")/lib.sh"
use_newest_kubectl

fresh_server() {
	[ -z "$server_pid" ] || stop_server
	rm -rf clone bin kairship-data server.out admin.crt
	make_clone
	start_server --demo
	eventually greeted
}

page() { # NAME: what it prints is in out and err
	trap "tail -n 20 err" EXIT
	run_page "docs/guide/$1" >out 2>err
}

fresh_server
test_expect_success 'transparent.md' '
	page transparent.md
	grep -E "^deployments.us-east1.v1.apps .* True +True" out
	grep -E "^web--us-east1 +6 +6 " out
	grep -E "^web--us-west1 +5 +5 " out
	grep -E "^web--us-east1 +11 " out
	grep -E "^kcp[0-9a-f]+ +\{\"logical-cluster\":\"shop\",\"namespace\":\"default\"" out
	grep "instance.tenancy.kairship.io \"shop\" deleted" out
'

test_expect_success 'transparent.md: other types, when the server is told to look for them' '
	"$KAIRSHIP" up --data-dir types --listen 127.0.0.1:0 --resources-to-sync "deployments.apps, services" \
		>types.out 2>&1 &
	echo $! >types.pid
	trap "kill \$(cat types.pid)" EXIT
	eventually greeted types.out
	types="k --kubeconfig types/admin.kubeconfig"
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" "metadata: {name: shop}" \
		"spec: {profile: minimal}" | $types create -f -
	"$KAIRSHIP" kubeconfig shop --kubeconfig types/admin.kubeconfig --output shop.kubeconfig
	{
		printf "apiVersion: workload.kcp.dev/v1alpha1\nkind: Cluster\nmetadata: {name: m1}\nspec:\n  kubeconfig: |\n"
		sed "s/^/    /" kairship-data/members/m1.kubeconfig
	} | k --kubeconfig shop.kubeconfig create -f -
	eventually k --kubeconfig shop.kubeconfig get services
	k --kubeconfig shop.kubeconfig create service clusterip web --tcp=80
	k --kubeconfig shop.kubeconfig get apiresourceimports services.m1.v1.core
	test_must_fail k --kubeconfig shop.kubeconfig get daemonsets
'

fresh_server
test_expect_success 'search.md' '
	page search.md
	grep -E "^default +m1 +nginx +3/3" out
	grep -E "^default +k-demo +nginx +6/6" out
	grep -x "\"remainingItemCount\":1" out
	test "$(grep -o "\"kind\":\"CollectionResource\"" out | wc -l)" = 2
	test "$(grep -c "^No resources found" err)" = 1
	grep "Warning: m3 is not ready and the resources obtained may be inaccurate, reason: " out
'

fresh_server
test_expect_success 'attach.md' '
	page attach.md
	grep -E "^old +karmada +RUNNING +0/0" out
	test "$(grep -cE "^hello +1 " out)" = 3
	grep -E "k-old +hello +1 " out
	grep "User \"jane\" cannot delete resource \"configmaps\"" err
	grep "instance.tenancy.kairship.io \"old\" deleted" out
'

fresh_server
test_expect_success 'coming-from.md' '
	page coming-from.md
	grep "owned by another control plane (by its Work karmada-es-m1/web-1)" out
	grep -E "^m1 +1 +1 " out
	k --kubeconfig kairship-data/members/m1.kubeconfig get pods -l app=web -o name >out
	test "$(wc -l <out)" = 1
'

fresh_server
test_expect_success 'operate.md' '
	page operate.md
	grep -E "^secrets: .* [1-9][0-9]* written anew" out
	grep -E "^demo +karmada +RUNNING" out
	grep "^kairship_store_read_only 0" out
	grep "instance.tenancy.kairship.io/demo patched" out
'

test_expect_success 'operate.md: its certificate serves by that name, and clients need nothing new' '
	data=$tmp/kairship-data
	"$KAIRSHIP" up --data-dir "$data/restored" --listen 127.0.0.1:0 \
		--tls-cert-file "$data/serving.crt" --tls-private-key-file "$data/serving.key" >named.out 2>named.log &
	echo $! >named.pid
	trap "kill \$(cat named.pid)" EXIT
	eventually greeted named.out
	at=$(sed -n "s/.*ready at \([^ ]*\).*/\1/p" named.out)
	k --server "$at" --tls-server-name kairship.example.com get secrets -n kube-system
	test_must_fail k --tls-server-name kairship.example.com get namespaces
'

test_done
