#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kairship doctor looks at what is: what can be turned is turned, and it sees that.
. "$(dirname "$0")/lib.sh"
use_newest_kubectl
start_server

verdict() { # ID
	"$KAIRSHIP" doctor --data-dir kairship-data >doctor.out || test $? = 1
	sed -n "s/^  $1  *\(holds\|FAILS\|does not apply\|not looked at\) .*/\1/p" doctor.out
}

test_expect_success 'every item of the benchmark has a row' '
	"$KAIRSHIP" doctor --data-dir kairship-data >out || test $? = 1
	for i in $(seq 30); do
		grep "^  1\.2\.$i " out
	done
	"$KAIRSHIP" doctor --data-dir kairship-data -o json >json || test $? = 1
	test "$(grep -o "\"id\":" json | wc -l)" = "$(grep -c "^  [a-z0-9]" out)"
	for i in 1 2 4 5 6 7 8 10 12 13 14 15 20 21 22 24 25 30; do
		grep "^  1\.2\.$i  *holds " out
	done
	grep "^  modes  *holds" out
	grep "^  caps  *holds" out
'

test_expect_success 'it leaves nothing behind' '
	test "$(k get serviceaccounts -n kube-system -o name | grep -c doctor)" = 0
'

test_expect_success 'rights for everybody are seen' '
	k create clusterrolebinding open --clusterrole=cluster-admin --group=system:unauthenticated
	test "$(verdict 1.2.1)" = FAILS
	k delete clusterrolebinding open
	test "$(verdict 1.2.1)" = holds
	k create clusterrolebinding open --clusterrole=cluster-admin --user=kairship-doctor
	test "$(verdict 1.2.6)" = FAILS
	k delete clusterrolebinding open
	k create clusterrolebinding open --clusterrole=cluster-admin --group=system:nodes
	test "$(verdict 1.2.7)" = FAILS
	test "$(verdict 1.2.14)" = FAILS
	k delete clusterrolebinding open
'

test_expect_success 'keys that others may read are seen' '
	chmod 644 kairship-data/pki/ca.key
	test "$(verdict modes)" = FAILS
	chmod 600 kairship-data/pki/ca.key
	chmod 755 kairship-data
	test "$(verdict modes)" = FAILS
	chmod 700 kairship-data
	mkdir away
	mv kairship-data/pki/sa-*.key away
	test "$(verdict 1.2.22)" = FAILS
	mv away/* kairship-data/pki
	test "$(verdict 1.2.22)" = holds
'

test_expect_success 'a server that has given up nothing is seen' '
	"$KAIRSHIP" up --data-dir d2 --listen 127.0.0.1:0 --sandbox off >out2 2>log2 &
	pid=$!
	eventually grep Ctrl-C out2
	"$KAIRSHIP" doctor --data-dir d2 >out || test $? = 1
	kill $pid
	wait $pid
	grep "^  calls  *FAILS" out
	[ "$(id -u)" != 0 ] || grep "^  caps  *FAILS" out
'

test_expect_success 'what it cannot do it says' '
	test_must_fail "$KAIRSHIP" doctor --data-dir nowhere
	test_must_fail "$KAIRSHIP" doctor -o xml
'

test_done
