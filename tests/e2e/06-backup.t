#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A backup of a running server, and a server from a backup.
. "$(dirname "$0")/lib.sh"
start_server
use_newest_kubectl

test_expect_success 'objects before the backup' '
	for i in $(seq 50); do
		printf "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before-%s}\ndata: {x: \"%s\"}\n---\n" $i $i
	done >before.yaml
	k create -f before.yaml
	k get cm -o json --field-selector metadata.name!=kube-root-ca.crt >want
'

test_expect_success 'backup while it runs' '
	"$KAIRSHIP" backup backup.kairship
	test -s backup.kairship
	test "$(stat -c %a backup.kairship)" = 600
'

test_expect_success 'a new backup takes the place of the old one, whole or not at all' '
	cp backup.kairship first
	"$KAIRSHIP" backup backup.kairship --context root
	test -s backup.kairship
	test ! -e backup.kairship.part
	test_must_fail "$KAIRSHIP" backup backup.kairship --kubeconfig nowhere
	test_must_fail "$KAIRSHIP" backup backup.kairship --context nobody
	test -s backup.kairship
	test ! -e backup.kairship.part
'

test_expect_success 'objects after the backup' '
	k create cm after
	k delete cm before-1
'

stop_server
test_report $? 'the server stops'

test_expect_success 'restore refuses a folder that holds data' '
	test_must_fail "$KAIRSHIP" restore backup.kairship --data-dir kairship-data 2>err
	grep -iE "not empty|exist" err
'

test_expect_success 'restore refuses a damaged backup' '
	cp backup.kairship bad.kairship
	size=$(stat -c %s bad.kairship)
	printf X | dd of=bad.kairship bs=1 seek=$((size / 2)) conv=notrunc
	head -c $((size - 20)) backup.kairship >short.kairship
	test_must_fail "$KAIRSHIP" restore bad.kairship --data-dir restored-bad
	test_must_fail "$KAIRSHIP" restore short.kairship --data-dir restored-short
'

mv kairship-data old-data
test_expect_success 'restore into an empty folder' '
	"$KAIRSHIP" restore backup.kairship --data-dir kairship-data
'

start_server
test_expect_success 'what was there at the backup is there, and nothing of later' '
	# A restored folder has a CA of its own.
	k get cm -o json --field-selector metadata.name!=kube-root-ca.crt >got
	cmp want got
	test_must_fail k get cm after
	k get cm before-1
'

test_expect_success 'it can be written, and versions go on' '
	k create cm new
	test "$(k get cm new -o "jsonpath={.metadata.resourceVersion}")" -gt \
		"$(k get cm before-50 -o "jsonpath={.metadata.resourceVersion}")"
'

test_done
