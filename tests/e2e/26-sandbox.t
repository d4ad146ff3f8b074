#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shut in, the program works as before.  With the one that people run: builds with a sanitizer keep
# the files and calls that it needs for its reports.
. "$(dirname "$0")/lib.sh"
KAIRSHIP=${KAIRSHIP_RELEASE:-$top/build/release/kairship}
need "$KAIRSHIP" "(none: run tools/build release kairship)"
use_newest_kubectl

field() { # PID NAME: of /proc/PID/status
	sed -n "s/^$2:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$1/status"
}
child() { # of the server
	pgrep -P "$server_pid"
}
found_pods() {
	k get pods -A --server "$server/apis/clusterpedia.io/v1beta1/resources" | grep nginx
}
start_server --demo
eventually greeted

for who in server_pid '(child)'; do
	pid=$(eval "echo \$$who")
	test_expect_success "$who has given up what it does not need" '
		test "$(field $pid CapEff)" = 0000000000000000
		test "$(field $pid CapPrm)" = 0000000000000000
		test "$(field $pid NoNewPrivs)" = 1
		grep -E "^Max core file size +0 +0 " /proc/$pid/limits
		for task in /proc/$pid/task/*; do
			grep -E "^Seccomp:.*2" $task/status
		done
	'
done

test_expect_success 'its log says so' '
	grep "\"msg\":\"sandbox\",\"mode\":\"auto\"" server.log >line
	test "$(sed "s/.*\"calls\":\([0-9]*\).*/\1/" line)" -gt 30
'

test_expect_success 'a Deployment goes to the members' '
	k --kubeconfig kairship-data/demo.kubeconfig apply -f "$top/docs/samples/nginx.yaml"
	k --kubeconfig kairship-data/demo.kubeconfig rollout status deployment/nginx --timeout 60s
	k --kubeconfig kairship-data/members/m1.kubeconfig get pods | grep Running
'

test_expect_success 'what reads and writes files works' '
	"$KAIRSHIP" backup backup
	test -s backup
	api /metrics | grep "^process_resident_memory_bytes [1-9]"
	kill -HUP $server_pid
	eventually grep "keys of tokens are loaded" server.log
	k create configmap hello
	eventually found_pods
'

test_expect_success 'controllers elsewhere look up names' '
	sed "s|https://127.0.0.1:|https://localhost:|" kairship-data/admin.kubeconfig >by-name
	"$KAIRSHIP" controller-manager --kubeconfig by-name 2>manager.log &
	pid=$!
	echo $pid >manager.pid
	eventually grep "waiting: another works\|\"leading\"" manager.log
	test "$(field $pid Seccomp)" = 2
	kill $pid
	wait $pid
'

test_expect_success 'words that it does not know' '
	test_must_fail "$KAIRSHIP" up --data-dir d2 --listen 127.0.0.1:0 --sandbox perhaps 2>err
	grep "auto, strict or off" err
	test_must_fail "$KAIRSHIP" up --data-dir d2 --listen 127.0.0.1:0 --user nobody-like-this 2>err
	grep "user" err
'

stop_server
test_report $? 'the server stops, and its members with it'
start_server --sandbox off
test_expect_success 'off is off' '
	test "$(field $server_pid NoNewPrivs)$(field $server_pid Seccomp)" = 00
'
stop_server

if [ "$(id -u)" = 0 ]; then
	chmod 711 "$tmp"
	start_server --user 12345:23456
	test_expect_success 'root becomes another user, to whom the data go' '
		test "$(field $server_pid Uid) $(field $server_pid Gid)" = "12345 23456"
		test "$(stat -c %u:%g kairship-data kairship-data/pki/ca.key | sort -u)" = 12345:23456
		k create configmap by-another-user
		k get configmap hello
	'
	stop_server
	listen=127.0.0.1:843
	start_server
	test_expect_success 'it stays theirs, and ports of root are opened before' '
		test "$(field $server_pid Uid)" = 12345
		case $server in *:843) ;; *) false ;; esac
		k get configmap by-another-user
	'
	test_expect_success 'a folder that its user cannot reach is named with that user' '
		mkdir -m 700 closed
		test_must_fail "$KAIRSHIP" up --data-dir closed/data --listen 127.0.0.1:0 --user 12345:23456 2>err
		grep "runs as the user 12345, who may not enter .*closed/data or a folder above it" err
		test_must_fail "$KAIRSHIP" simulate --data-dir closed/members --user 12345:23456 2>err
		grep "who may not enter .*closed/members" err
		mkdir -m 755 closed/open
		cd closed/open
		test_must_fail "$KAIRSHIP" up --data-dir data --listen 127.0.0.1:0 --user 12345:23456 2>err
		grep "who may not enter .*closed/open/data" err
	'
else
	test_skip 'root becomes another user' 'not root'
fi

test_done
