#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The life of an instance: its defaults, its state, its end with and without finalizers.
. "$(dirname "$0")/lib.sh"
serve=apiserver # what an instance is without those who look after it
start_server
use_newest_kubectl

in_instance() { # NAME ARG…: kubectl inside of an instance
	instance=$1
	shift
	k --server "$server/clusters/$instance" "$@"
}

make_instance() { # NAME [METADATA]
	printf 'apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: %s%s}\n' \
		"$1" "${2:+, $2}" | k create -f -
}

watch_in_background() { # FILE PATH: the events of a watch
	api "$2" -N --max-time 20 >"$1" &
	background_pid=$!
}

test_expect_success 'an instance runs from its first moment' '
	make_instance demo
	k get instance demo >out
	grep -E "^demo +karmada +RUNNING +0/0" out
	test "$(k get instance demo -o "jsonpath={.status.observedGeneration}")" = 1
	test "$(k get instance demo -o "jsonpath={.status.state}")" = RUNNING
'

test_expect_success 'some names are reserved' '
	test_must_fail make_instance root 2>err
	grep "metadata.name: Invalid value: \"root\": is reserved" err
	test_must_fail make_instance Demo
	test_must_fail make_instance a.b
	test_must_fail make_instance demo 2>err
	grep AlreadyExists err
'

test_expect_success 'the defaults have the age of the instance, and stay the same' '
	in_instance demo get ns -o "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.metadata.resourceVersion} {.metadata.creationTimestamp}{\"\n\"}{end}" >one
	in_instance demo get ns -o "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.metadata.resourceVersion} {.metadata.creationTimestamp}{\"\n\"}{end}" >two
	cmp one two
	test "$(wc -l <one)" = 4
	created=$(k get instance demo -o "jsonpath={.metadata.creationTimestamp}")
	test "$(grep -c "$created" one)" = 4
	rv=$(k get instance demo -o "jsonpath={.metadata.resourceVersion}")
	test "$(cut -d" " -f3 one | sort -u)" = "$rv"
'

test_expect_success 'a default namespace changes like any other' '
	uid=$(in_instance demo get ns default -o "jsonpath={.metadata.uid}")
	watch_in_background events "/clusters/demo/api/v1/namespaces?watch=1&timeoutSeconds=6"
	eventually grep kube-system events
	in_instance demo label ns default team=a
	in_instance demo annotate ns default note=b
	test "$(in_instance demo get ns default -o "jsonpath={.metadata.uid}")" = "$uid"
	in_instance demo get ns -l team=a -o name >out
	test "$(cat out)" = namespace/default
	k get ns default -o json >out
	test_must_fail grep team out
	in_instance demo delete ns kube-node-lease --timeout=30s
	test_must_fail in_instance demo get ns kube-node-lease
	in_instance demo get ns -l kubernetes.io/metadata.name=kube-node-lease -o name >out
	test ! -s out
	k get ns kube-node-lease
	in_instance demo create ns kube-node-lease
	test_must_fail in_instance demo delete ns default
	wait $background_pid
	sed "s/.*\"type\":\"\([A-Z]*\)\".*\"name\":\"\([a-z-]*\)\".*/\1 \2/" events >out
	tail -n +5 out >changes
	printf "MODIFIED default\nMODIFIED default\nMODIFIED kube-node-lease\nDELETED kube-node-lease\nADDED kube-node-lease\n" | cmp - changes
'

test_expect_success 'what was changed is there after a restart, what was not is as before' '
	in_instance demo get ns default -o yaml >before
	in_instance demo get ns kube-public -o yaml >before2
'
stop_server
start_server
test_expect_success 'and all have kept their identity' '
	in_instance demo get ns default -o yaml | cmp - before
	in_instance demo get ns kube-public -o yaml | cmp - before2
'

test_expect_success 'the same names in two instances do not meet' '
	make_instance twin
	for i in demo twin; do
		in_instance $i create ns app
		in_instance $i create cm settings -n app --from-literal=who=$i
	done
	k create ns app
	k create cm settings -n app --from-literal=who=root
	for i in demo twin; do
		test "$(in_instance $i get cm settings -n app -o "jsonpath={.data.who}")" = $i
	done
	in_instance twin delete ns app --timeout=30s
	test "$(in_instance demo get cm settings -n app -o "jsonpath={.data.who}")" = demo
	test "$(k get cm settings -n app -o "jsonpath={.data.who}")" = root
'

test_expect_success 'over all instances, page by page' '
	make_instance three
	for i in demo twin three; do
		for n in 1 2 3; do
			in_instance $i create cm page-$n --from-literal=n=$n
		done
	done
	: >names
	token=
	pages=0
	while :; do
		k get --raw "/clusters/*/api/v1/namespaces/default/configmaps?limit=4&continue=$token" >page
		grep -o "\"kairship.io/instance\":\"[a-z]*\"\|\"name\":\"page-.\"" page | tr "\n" " " >>names
		pages=$((pages + 1))
		token=$(sed -n "s/.*\"continue\":\"\([^\"]*\)\".*/\1/p" page)
		test -n "$token" || break
	done
	test $pages = 3
	test "$(grep -o "page-" names | wc -l)" = 9
	test "$(grep -o "instance\":\"[a-z]*" names | uniq -c | awk "{ print \$1 \":\" \$2 }" | tr "\n" " ")" = \
		"3:instance\":\"demo 3:instance\":\"twin 3:instance\":\"three "
'

test_expect_success 'untouched defaults are left out over all instances' '
	k get --raw "/clusters/*/api/v1/namespaces" >out
	test_must_fail grep kube-system out
	grep "\"kairship.io/instance\":\"demo\"" out
'

test_expect_success 'and nothing can be written there' '
	test_must_fail k --server "$server/clusters/*" create cm no 2>err
	grep -i "not allow" err
	test_must_fail k --server "$server/clusters/*" delete cm page-1 2>err
	grep -i "not allow" err
'

test_expect_success 'an object says its instance only over all of them' '
	k get --raw /clusters/demo/api/v1/namespaces/default/configmaps/page-1 >out
	test_must_fail grep kairship.io/instance out
	in_instance demo annotate cm page-1 kairship.io/instance=evil
	k get --raw /clusters/demo/api/v1/namespaces/default/configmaps/page-1 >out
	test_must_fail grep evil out
'

test_expect_success 'finalizers hold an instance, which takes no more writes' '
	make_instance held "finalizers: [example.com/cleanup]"
	in_instance held create cm a
	k delete instance held --wait=false
	k get instance held >out
	grep TERMINAL out
	in_instance held get cm a
	test_must_fail in_instance held create cm b 2>err
	grep -i "forbidden.*is being deleted" err
	test_must_fail in_instance held delete cm a
	test_must_fail in_instance held label cm a x=y
	k patch instance held --type=merge -p "{\"metadata\":{\"finalizers\":null}}"
	test_must_fail in_instance held get cm a
	test_must_fail k get instance held
'

test_expect_success 'at the end its watches end, and who watches all hears of each object' '
	watch_in_background own "/clusters/three/api/v1/configmaps?watch=1&timeoutSeconds=15"
	own_pid=$background_pid
	watch_in_background all "/clusters/*/api/v1/configmaps?watch=1&timeoutSeconds=15&resourceVersion=$(
		k get --raw "/clusters/*/api/v1/configmaps?limit=1" | sed "s/^[^[]*\"resourceVersion\":\"\([0-9]*\)\".*/\1/")"
	all_pid=$background_pid
	eventually grep page-3 own
	k delete instance three
	wait $own_pid
	grep "\"type\":\"ERROR\".*\"code\":410" own
	eventually grep page-3 all
	kill $all_pid
	test "$(grep -c "DELETED.*\"kairship.io/instance\":\"three\"" all)" = 3
	test_must_fail grep -v three all
'

test_done
