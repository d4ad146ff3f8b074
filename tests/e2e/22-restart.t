#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A client that was away does not notice: objects, revisions, history and pages are what they were,
# after an orderly end and after a crash.
. "$(dirname "$0")/lib.sh"
serve=apiserver # nobody else writes, so that all can be compared
start_server
use_newest_kubectl

lists='/api/v1/configmaps /api/v1/secrets /api/v1/namespaces /clusters/one/api/v1/configmaps
	/clusters/one/api/v1/namespaces /clusters/*/api/v1/configmaps /clusters/*/api/v1/namespaces
	/apis/tenancy.kairship.io/v1alpha1/instances'
# All of it, with the revisions of the objects; that of a list may rise when nothing happens.
everything() {
	for path in $lists; do
		echo "$path"
		api "$path" -A test -g | sed 's/"resourceVersion":"[0-9]*"/"resourceVersion":""/'
		echo
	done
}
# All events since revision $1, of each list, as far as they come within a second.
history() {
	n=0
	for path in $lists; do
		n=$((n + 1))
		api "$path?watch=1&resourceVersion=$1&timeoutSeconds=1" -A test -g >history-$n &
	done
	wait
	cat history-?
}
revision() {
	api "/api/v1/configmaps?fieldSelector=metadata.name=none" |
		sed -n 's/^ *"resourceVersion": "\([0-9]*\)".*/\1/p'
}

test_expect_success 'a past' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: %s}\n---\n" one gone >instances.yaml
	revision >start
	k create -f instances.yaml
	k create ns extra
	for i in 1 2 3 4 5 6 7; do
		k create cm cm-$i --from-literal=x=$i
		k --server "$server/clusters/one" create cm cm-$i --from-literal=x=$i
	done
	revision >middle
	k create secret generic secret --from-literal=x=1
	k label cm cm-1 color=red
	k patch cm cm-2 -p "{\"data\":{\"x\":\"changed\"}}"
	k delete cm cm-3
	k create cm cm-3 --from-literal=x=again
	k delete ns extra
	k --server "$server/clusters/gone" create cm lost
	k delete instance gone
	k --server "$server/clusters/one" delete cm cm-7
'

test_expect_success 'what it is now' '
	everything >state
	history "$(cat start)" >events
	history "$(cat middle)" >events-later
	grep -c "\"type\":\"ADDED\"" events
	api "/api/v1/configmaps?resourceVersion=$(cat middle)&resourceVersionMatch=Exact" -A test >then
	api "/api/v1/configmaps?limit=3" -A test >page
	sed -n "s/.*\"continue\":\"\([^\"]*\)\".*/\1/p" page >token
	api "/api/v1/configmaps?limit=3&continue=$(cat token)" -A test >page2
	test -s page2
'

same() {
	test_expect_success "$1 objects and revisions are the same" '
		everything >out
		cmp state out
	'
	test_expect_success "$1 watches go on where they were, event by event" '
		history "$(cat start)" >out
		cmp events out
		history "$(cat middle)" >out
		cmp events-later out
	'
	test_expect_success "$1 the past can be listed, and a list of pages goes on" '
		api "/api/v1/configmaps?resourceVersion=$(cat middle)&resourceVersionMatch=Exact" -A test |
			cmp then -
		api "/api/v1/configmaps?limit=3&continue=$(cat token)" -A test | cmp page2 -
	'
}

same 'to begin with,'

test_expect_success 'a second server on the same data says so, ends with 1, and does no harm' '
	rc=0
	timeout 20 "$KAIRSHIP" up --data-dir kairship-data --listen 127.0.0.1:0 >out 2>err || rc=$?
	test $rc = 1
	grep "^kairship: .*kairship-data.* in use" err
	test ! -s out
	everything | cmp state -
'
stop_server
test_report $? 'an orderly end'
start_server
same 'after an orderly end'
crash_server
start_server
same 'after a crash'

test_expect_success 'what was removed stays removed' '
	test_must_fail k --server "$server/clusters/gone" get cm lost
	test_must_fail k get ns extra
'

test_expect_success 'new revisions are above all that were' '
	revision >before
	k create cm new
	test "$(k get cm new -o "jsonpath={.metadata.resourceVersion}")" -gt "$(cat before)"
'

# The watch is the same request all the time; each end of the server is an end of the stream.
test_expect_success 'a watch over three servers hears each change once' '
	revision >at
	: >heard
'
hear() { # what happened since the revision in `at`, which moves on
	api "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=$(cat at)&timeoutSeconds=1" \
		-A test >stream
	sed -n 's/^{"type":"\([A-Z]*\)".*"resourceVersion":"\([0-9]*\)".*"name":"\([^"]*\)".*/\1 \3 \2/p' stream |
		tee -a heard | tail -n 1 | cut -d' ' -f3 >last
	[ ! -s last ] || cp last at
}
test_expect_success 'changes, then a crash' '
	k create cm w1
	hear
	k create cm w2
'
crash_server
start_server
test_expect_success 'changes, then an orderly end' '
	hear
	k delete cm w1
'
stop_server
start_server
test_expect_success 'all was heard, once and in order' '
	hear
	k create cm w3
	hear
	cut -d" " -f1,2 heard >out
	printf "ADDED w1\nADDED w2\nDELETED w1\nADDED w3\n" | cmp - out
'

test_done
