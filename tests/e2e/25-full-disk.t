#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The disk fills up: writes are refused and say so, reads go on; with space it goes on by itself.
. "$(dirname "$0")/lib.sh"

mkdir kairship-data
if ! mount -t tmpfs -o size=8m,mode=0700 tmpfs kairship-data 2>mount.err; then
	skip_all "cannot mount a small file system: $(tail -n 1 mount.err)"
fi
unmount() {
	[ -z "$server_pid" ] || kill -9 "$server_pid" 2>/dev/null
	wait 2>/dev/null
	umount "$tmp/kairship-data"
	cleanup
}
trap unmount EXIT

start_server
use_newest_kubectl

# A configmap with so many KB; the answer is in `answer`, its code is printed.
put() { # NAME KB
	{
		printf '{"metadata":{"name":"%s"},"data":{"x":"' "$1"
		head -c "${2}000" /dev/zero | tr '\0' x
		printf '"}}'
	} >body
	api /api/v1/namespaces/default/configmaps -o answer -w '%{http_code}' \
		-H 'Content-Type: application/json' --data-binary @body
}
fill() { # NAME KB: until it is refused; the names are printed, the code is in `code`
	n=0
	while code=$(put "$1-$n" "$2") && [ "$code" = 201 ]; do
		echo "$1-$n"
		n=$((n + 1))
		[ $n -lt 200 ] || return 1
	done
	echo "$code" >code
}
names() { # of all configmaps, as a list shows them
	api /api/v1/configmaps -A test | grep -oE '"name":"(large|small)-[0-9]*"' | cut -d'"' -f4 | sort
}

test_expect_success 'writes go on until the disk is full' '
	fill large 200 >written
	test "$(wc -l <written)" -gt 10
'

test_expect_success 'then they are refused with a Status that says why' '
	test "$(cat code)" = 503
	grep "\"kind\": *\"Status\"" answer
	grep "\"reason\": *\"ServiceUnavailable\"" answer
	grep "No space left on device" answer
	test "$(put refused 200)" = 503
'

test_expect_success 'small ones too, when nothing at all fits any more' '
	fill small 4 >>written
	test "$(cat code)" = 503
	test "$(put refused 4)" = 503
	sort written >want
'

test_expect_success 'changes are refused, and change nothing' '
	k get cm large-0 -o "jsonpath={.metadata.resourceVersion}" >before
	api /api/v1/namespaces/default/configmaps/large-0 -X PATCH -d "{\"data\":{\"y\":\"1\"}}" \
		-H "Content-Type: application/merge-patch+json" -o out -w "%{http_code}" >code
	grep 503 code
	k get cm large-0 -o "jsonpath={.metadata.resourceVersion}" | cmp before -
'

test_expect_success 'reads go on, and show all that was acknowledged and nothing else' '
	names | cmp want -
	test_must_fail k get cm refused
	test "$(k get cm large-1 -o "jsonpath={.data.x}" | wc -c)" = 200000
	api "/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=1" -A test >stream
	grep -oE "\"name\":\"(large|small)-[0-9]*\"" stream | cut -d"\"" -f4 | sort | cmp want -
'

test_expect_success 'it is alive' '
	test "$(curl -sk "$server/livez")" = ok
	test "$(curl -sk "$server/readyz")" = ok
'

crash_server
start_server
test_expect_success 'killed in that state it starts, with the same objects' '
	names | cmp want -
	kill -0 $server_pid
	k get cm large-0 -o "jsonpath={.metadata.resourceVersion}" | cmp before -
'

test_expect_success 'with space again it takes writes by itself' '
	mount -o remount,size=32m "$PWD/kairship-data"
	eventually k create cm later
	test "$(put small-1000 4)" = 201
	test "$(put large-1000 200)" = 201
	k label cm large-0 color=red
	(cat written && echo large-1000 && echo small-1000) | sort >want
	names | cmp want -
'

crash_server
start_server
test_expect_success 'and nothing was lost' '
	names | cmp want -
	test "$(k get cm large-0 -o "jsonpath={.metadata.labels.color}")" = red
	test_must_fail k get cm refused
	k get cm later
'

test_done
