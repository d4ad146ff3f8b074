#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Changes arrive: kubectl get --watch, wait, and the stream itself.
. "$(dirname "$0")/lib.sh"
start_server

scenario() {
	test_expect_success 'a watch shows what is there, then every change' '
		k -n $ns create cm before
		k_background out -n $ns get cm --watch --output-watch-events
		eventually grep -E "ADDED +before" out
		k -n $ns create cm during
		eventually grep -E "ADDED +during +0" out
		k -n $ns patch cm during -p "{\"data\":{\"x\":\"1\"}}"
		eventually grep -E "MODIFIED +during +1" out
		k -n $ns delete cm during
		eventually grep -E "DELETED +during +1" out
		k_background_stop
	'
	test_expect_success 'a watch of one object hears of no other' '
		k_background out -n $ns get cm before --watch -o name
		eventually grep configmap/before out
		k -n $ns create cm other
		k -n $ns label cm before seen=yes
		eventually sh -c "test \$(grep -c before out) -ge 2"
		test_must_fail grep other out
		k_background_stop
	'
	test_expect_success 'with a selector objects come and go as they match' '
		k_background out -n $ns get cm -l color=red --watch --output-watch-events
		sleep 0.5
		k -n $ns label cm other color=red
		eventually grep -E "ADDED +other" out
		k -n $ns label cm other color=blue --overwrite
		eventually grep -E "DELETED +other" out
		k_background_stop
	'
	test_expect_success 'a watch over all namespaces' '
		k_background out get cm -A --watch-only -o "jsonpath={.metadata.namespace}/{.metadata.name}{\"\\n\"}"
		sleep 0.5
		k -n $ns create cm anywhere
		eventually grep "$ns/anywhere" out
		k_background_stop
	'
	test_expect_success 'wait for deletion' '
		k_background out -n $ns wait --for=delete cm/other --timeout=20s
		sleep 0.5
		k -n $ns delete cm other
		wait "$background_pid"
		test_must_fail k -n $ns wait --for=delete cm/before --timeout=1s
	'
	if since 23; then
		test_expect_success 'wait for a value' '
			k_background out -n $ns wait --for=jsonpath="{.data.ready}"=yes cm/before --timeout=20s
			sleep 0.5
			k -n $ns patch cm before -p "{\"data\":{\"ready\":\"yes\"}}"
			wait "$background_pid"
			grep "condition met" out
		'
	fi
	test_expect_success 'finalizers hold a deletion up' '
		k -n $ns create cm held
		k -n $ns patch cm held --type=merge -p "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}"
		k -n $ns delete cm held --wait=false
		test -n "$(k -n $ns get cm held -o "jsonpath={.metadata.deletionTimestamp}")"
		k -n $ns patch cm held --type=merge -p "{\"metadata\":{\"finalizers\":null}}"
		eventually test_must_fail k -n $ns get cm held
	'
}

with_each_kubectl scenario

use_newest_kubectl
api_watch() { # FILE QUERY: the raw stream, in the background
	file=$1
	shift
	api "/api/v1/namespaces/raw/configmaps?watch=1&$1" --no-buffer >"$file" 2>/dev/null &
	background_pid=$!
}

test_expect_success 'a watch resumes after a version, without gap or repeat' '
	k create namespace raw
	k -n raw create cm one
	rv=$(k -n raw get cm one -o "jsonpath={.metadata.resourceVersion}")
	k -n raw create cm two
	k -n raw delete cm one
	api_watch out "resourceVersion=$rv&timeoutSeconds=2"
	wait "$background_pid"
	sed -E "s/.*\"type\":\"([A-Z]+)\".*\"name\":\"([a-z]+)\".*/\1 \2/" out >got
	printf "ADDED two\nDELETED one\n" >want
	diff want got
'

test_expect_success 'the initial events end with a bookmark' '
	api_watch out "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
	wait "$background_pid"
	grep "\"type\":\"ADDED\"" out | grep two
	grep "\"type\":\"BOOKMARK\"" out | grep "k8s.io/initial-events-end\":\"true\""
'

test_expect_success 'one object is watched by its path' '
	api "/api/v1/watch/namespaces/raw/configmaps/two?timeoutSeconds=1" >out
	grep "\"type\":\"ADDED\"" out | grep "\"name\":\"two\""
	test "$(wc -l <out)" = 1
'

test_expect_success 'a version from the future holds the stream, then times out' '
	api_watch out "resourceVersion=99999999&timeoutSeconds=1"
	wait "$background_pid"
	test ! -s out
'

test_expect_success 'a watch does not end the server when it stops' '
	api_watch out "timeoutSeconds=60"
	sleep 0.5
	kill "$background_pid"
	k -n raw create cm three
'

test_done
