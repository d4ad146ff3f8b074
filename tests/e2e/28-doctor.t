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
	for i in $(seq 30); do
		case $i in
		11 | 23 | 26) grep "^  1\.2\.$i  *does not apply " out ;;
		*) grep "^  1\.2\.$i  *holds " out ;;
		esac
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

doctor_of() { # PROGRAM DIR ARG…: what the doctor says of a server that was started so, in out
	program=$1 dir=$2
	shift 2
	rm -f "$dir.out" # of a server before
	"$program" up --data-dir "$dir" --listen 127.0.0.1:0 "$@" >"$dir.out" 2>"$dir.log" &
	pid=$!
	eventually greeted "$dir.out"
	rc=0
	"$program" doctor --data-dir "$dir" >out || rc=$?
	kill $pid
	wait $pid
	return $rc
}

test_expect_success 'a server that has given up nothing is seen' '
	cat >plain.yaml <<-END
	apiVersion: apiserver.config.k8s.io/v1
	kind: EncryptionConfiguration
	resources:
	- resources: ["*.*"]
	  providers: [identity: {}]
	END
	test_must_fail doctor_of "$KAIRSHIP" d2 --sandbox off --encryption-provider-config plain.yaml \
		--disable-admission-plugins EventRateLimit,DenyServiceExternalIPs \
		--audit-log-maxage 7 --audit-log-maxbackup 0 --audit-log-maxsize=10
	grep "^  calls  *FAILS" out
	grep "^  landlock  *FAILS" out
	[ "$(id -u)" != 0 ] || grep "^  caps  *FAILS" out
	for i in 3 9 17 19 27 28; do
		grep "^  1\.2\.$i  *FAILS" out
	done
	grep "^  1\.2\.18  *holds" out
'

test_expect_success 'a log that is not written, or says nothing, is seen' '
	test_must_fail doctor_of "$KAIRSHIP" d3 --audit-log-path ""
	for i in 16 17 18 19; do
		grep "^  1\.2\.$i  *FAILS" out
	done
	printf "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n" >none.yaml
	test_must_fail doctor_of "$KAIRSHIP" d3 --audit-policy-file none.yaml
	grep "^  1\.2\.16  *FAILS" out
'

# Not with a sanitizer, which keeps files and calls; and as somebody, since root is a finding.
release=${KAIRSHIP_RELEASE:-$top/build/release/kairship}
if [ -x "$release" ] && "$release" up --data-dir d4 --listen nowhere --sandbox strict 2>&1 |
	grep -q nowhere; then
	test_expect_success 'with no option given nothing fails' '
		chmod 711 .
		if [ "$(id -u)" = 0 ]; then
			set -- --user 65534:65534
		else
			set --
		fi
		doctor_of "$release" d5 "$@" || { cat out; false; }
		test_must_fail grep FAILS out
		grep "^  landlock  *holds" out
		grep "^0 of " out
	'
else
	test_skip 'with no option given nothing fails' 'no release build, or a kernel without Landlock'
fi

stop_server
test_expect_success 'a server that is down is no finding of its security' '
	test_must_fail "$KAIRSHIP" doctor --data-dir kairship-data >out 2>err
	grep "does not answer: connect to .* refused" err
	grep "^  1\.2\.1  *not looked at .*: the server does not answer" out
	test_must_fail grep "^  1\.2\..*FAILS" out
	grep "^  modes  *holds" out
	tail -n 1 out | grep ", and the server does not answer$"
'

test_expect_success 'what it cannot do it says' '
	test_must_fail "$KAIRSHIP" doctor --data-dir nowhere
	test_must_fail "$KAIRSHIP" doctor -o xml
'

test_done
