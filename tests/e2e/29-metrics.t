#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What controller-manager and syncer tell of themselves: where, to whom, and to probes.
. "$(dirname "$0")/lib.sh"

stop_all() {
	xargs -r kill -TERM <"$tmp/pids" 2>/dev/null
	cleanup
}
run() { # LOG ARG…: in the background
	log=$1
	shift
	"$KAIRSHIP" "$@" >"$log" 2>&1 &
	pid=$!
	echo $pid >>"$tmp/pids"
}
listens() { # LOG: where, once it does
	sed -n 's/.*"msg":"metrics","listen":"\([^"]*\)".*/\1/p' "$1" | grep .
}
get() { # ADDRESS PATH [ARG…]
	at=$1 path=$2
	shift 2
	curl -s --max-time 5 "$@" "http://$at$path"
}
code() { # ADDRESS PATH [ARG…]
	get "$@" -o /dev/null -w "%{http_code}"
}
is() { # VALUE COMMAND…: that is what it prints
	want=$1
	shift
	[ "$("$@")" = "$want" ]
}
value() { # ADDRESS SERIES
	get "$1" /metrics | sed -n "s/^$2 //p"
}
reconciled() { # ADDRESS
	[ "$(value "$1" kairship_reconciles_total)" -gt 0 ]
}
ports() { # PID: on which it listens
	find "/proc/$1/fd" -lname "socket:*" -printf "%l\n" | tr -dc "0-9\n" >inodes
	awk '$4 == "0A" { print $10 }' "/proc/$1/net/tcp" "/proc/$1/net/tcp6" | grep -c -x -F -f inodes
}

: >"$tmp/pids"
trap stop_all EXIT
serve=apiserver start_server
use_newest_kubectl
export KUBECONFIG="$tmp/kairship-data/admin.kubeconfig"
run members.out simulate --data-dir members --members 1
run manager.log controller-manager --metrics-listen 127.0.0.1:0
manager=$pid
eventually listens manager.log
m=$(listens manager.log)

test_expect_success 'a controller-manager tells Prometheus and probes' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" |
		k apply -f -
	eventually is 1 value $m kairship_leader
	eventually reconciled $m
	get $m /metrics -D head >out
	grep -i "^content-type: text/plain; version=0.0.4" head
	grep "^kairship_build_info{version=\"[0-9.]*\"} 1\$" out
	for name in process_resident_memory_bytes process_open_fds process_cpu_seconds_total \
		process_start_time_seconds kairship_reconciles_total; do
		grep "^$name [1-9]\|^$name 0\.[0-9]*[1-9]" out
	done
	grep "^kairship_workqueue_depth{controller=\"scheduler\"} " out
	test "$(code $m /healthz)$(code $m /livez)$(code $m /readyz)" = 200200200
	get $m "/readyz?verbose" | grep "^\[+\]lease ok"
'

test_expect_success 'and nothing else' '
	test "$(code $m /)$(code $m /api)$(code $m /clusters/root/metrics)" = 404404404
	test "$(code $m /metrics -X POST -d x)$(code $m /metrics -I)" = 405200
	head -c 100000 /dev/zero | code $m /metrics -X POST --data-binary @- >code || true
	grep "413\|405\|000" code
	test "$(value $m kairship_leader)" = 1
'

test_expect_success 'the text is what Prometheus reads: each metric once, its type before it' '
	awk "/^# TYPE / { if (seen[\$3]++) exit 1; next }
		/^#/ { next }
		!/^[a-z_]+({[a-z_]+=\"[^\"]*\"(,[a-z_]+=\"[^\"]*\")*})? [-+0-9.e]+\$/ { print; exit 1 }" out
'

run second.log controller-manager --metrics-listen 127.0.0.1:0
eventually listens second.log
s=$(listens second.log)
second=$pid
test_expect_success 'one that waits for the lease is ready, and no leader' '
	eventually is 200 code $s /readyz
	test "$(value $s kairship_leader)" = 0
'

test_expect_success 'the next leader says so' '
	kill -TERM $manager
	eventually is 1 value $s kairship_leader
'

test_expect_success 'an address that others reach has to be wanted' '
	for at in 0.0.0.0:0 :0 [::]:0 127.0.0.1.example.com:0; do
		test_must_fail "$KAIRSHIP" controller-manager --metrics-listen $at 2>err
		grep "add --metrics-plain-http if they may" err
	done
	run open.log controller-manager --metrics-listen 0.0.0.0:0 --metrics-plain-http
	eventually listens open.log
	at=$(listens open.log)
	test "$(code 127.0.0.1:${at##*:} /healthz)" = 200
'

test_expect_success 'an address that is taken is an error, as the default it is a warning' '
	test_must_fail "$KAIRSHIP" controller-manager --metrics-listen $s 2>err
	grep "the address is in use" err
	run first.log controller-manager
	eventually grep "no metrics and no health checks\|\"msg\":\"metrics\"" first.log
	run other.log controller-manager
	eventually grep "no metrics and no health checks" other.log
	eventually grep "\"msg\":\"waiting" other.log
'

test_expect_success 'none is nowhere' '
	run none.log controller-manager --metrics-listen none
	eventually grep "\"msg\":\"waiting" none.log
	test "$(ports $pid)" = 0
'

test_expect_success 'a syncer is ready when it knows whose it is, and counts what it writes' '
	"$KAIRSHIP" kubeconfig demo --output demo.kubeconfig
	eventually test -s members/m1.kubeconfig
	run syncer.log syncer --from demo.kubeconfig --to members/m1.kubeconfig --cluster east \
		--resources configmaps --metrics-listen "[::1]:0"
	echo $pid >syncer.pid
	eventually listens syncer.log
	at=$(listens syncer.log)
	echo "$at" >at
	eventually is 200 code "$at" /readyz
	k --kubeconfig demo.kubeconfig create configmap hello
	k --kubeconfig demo.kubeconfig label configmap hello workloads.kcp.dev/cluster=east
	eventually is 1 value "$at" kairship_syncer_objects
	eventually is 0 value "$at" kairship_syncer_queue_depth
	test "$(value "$at" "kairship_syncer_writes_total{to=\"member\"}")" -ge 1
	test "$(value "$at" kairship_syncer_failing)" = 0
	get "$at" /metrics >shown
	test_must_fail grep "hello\|east\|demo" shown
	test "$(ports "$(cat syncer.pid)")" = 1
'

test_expect_success 'what cannot be applied is counted' '
	k --kubeconfig members/m1.kubeconfig create quota none --hard=count/configmaps=0 -n default
	ns=$(k --kubeconfig members/m1.kubeconfig get configmaps -A \
		-o "jsonpath={.items[?(@.metadata.name==\"hello\")].metadata.namespace}")
	k --kubeconfig members/m1.kubeconfig create quota none --hard=count/configmaps=0 -n "$ns"
	k --kubeconfig demo.kubeconfig create configmap more
	k --kubeconfig demo.kubeconfig label configmap more workloads.kcp.dev/cluster=east
	eventually is 1 value "$(cat at)" kairship_syncer_failing
	k --kubeconfig demo.kubeconfig delete configmap more
	eventually is 0 value "$(cat at)" kairship_syncer_failing
'

test_expect_success 'the API server tells of its disk' '
	api /metrics >out
	size=$(sed -n "s/^kairship_data_disk_size_bytes //p" out)
	free=$(sed -n "s/^kairship_data_disk_free_bytes //p" out)
	test "$free" -gt 0
	test "$size" -ge "$free"
	grep "^kairship_store_sync_duration_seconds_count [1-9]" out
	grep "^kairship_search_lag_seconds [0-9.]*\$" out
	test_must_fail grep "^kairship_leader" out
'

kill -TERM $second "$(cat syncer.pid)"
wait $second
test_report $? 'it stops cleanly when told'
test_done
