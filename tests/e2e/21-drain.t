#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Told to end while it works: no new work, what runs is finished, then it ends with 0.
. "$(dirname "$0")/lib.sh"
start_server
use_newest_kubectl

# 24 MB, more than sockets hold, so that a list takes as long as its reader does.
test_expect_success 'a list that takes its time' '
	for i in $(seq 30); do
		printf "{\"metadata\":{\"name\":\"big-%s\"},\"data\":{\"x\":\"" $i
		head -c 800000 /dev/zero | tr "\\0" x
		printf "\"}}"
		printf "\\n"
	done >bodies
	for i in $(seq 30); do
		sed -n ${i}p bodies >body
		api /api/v1/namespaces/default/configmaps -o /dev/null -w "%{http_code}\\n" \
			-H "Content-Type: application/json" --data-binary @body
	done >codes
	test "$(grep -c 201 codes)" = 30
	api /api/v1/configmaps -A test >want
	test "$(stat -c %s want)" -gt 24000000
'

# In the background: what they say, and how they end.
api "/api/v1/configmaps" -A test --limit-rate 6M >list 2>list.err &
list=$!
api "/api/v1/configmaps" -A test --limit-rate 6M --http1.1 >list1 2>list1.err &
list1=$!
api "/api/v1/configmaps?watch=1&resourceVersion=0" -A test --no-buffer >watch 2>watch.err &
watch=$!
api "/api/v1/namespaces?watch=1" -A test --no-buffer --http1.1 >watch1 2>watch1.err &
watch1=$!
test_expect_success 'lists and watches are running' '
	eventually test -s list
	eventually test -s list1
	eventually test -s watch
	eventually test -s watch1
	test "$(curl -sk "$server/readyz")" = ok
'

kill -TERM "$server_pid"
not_ready() {
	test "$(curl -sk --max-time 2 -o /dev/null -w '%{http_code}' "$server/readyz")" != 200
}
test_expect_success 'it is not ready any more, while it still works' '
	eventually not_ready
	kill -0 $server_pid
	test "$(stat -c %s list)" -lt "$(stat -c %s want)"
'

wait "$list"
test_report $? 'the list comes to its end'
wait "$list1"
test_report $? 'and the one over HTTP/1.1'
wait "$watch"
test_report $? 'the watch is ended in an orderly way'
wait "$watch1"
test_report $? 'and the one over HTTP/1.1'
wait "$server_pid"
test_report $? 'the server ends with 0'
server_pid=

test_expect_success 'both lists are whole' '
	cmp want list
	cmp want list1
'

start_server
test_expect_success 'an idle server ends at once, and one with an idle connection' '
	mkfifo pipe
	(sleep 20 >pipe) &
	idle=$!
	openssl s_client -connect "${server#https://}" <pipe >/dev/null 2>&1 &
	sleep 1
	date +%s >began
	kill -TERM $server_pid
	while kill -0 $server_pid 2>/dev/null; do
		sleep 0.1
		test $(($(date +%s) - $(cat began))) -lt 5
	done
	kill $idle
'
wait "$server_pid"
test_report $? 'with 0'
server_pid=

start_server
test_expect_success 'SIGINT does the same' '
	kill -INT $server_pid
'
wait "$server_pid"
test_report $? 'with 0'
server_pid=

test_done
