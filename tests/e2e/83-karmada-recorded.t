#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recorded answers of Karmada, over four simulated members: scenarios that need no wait for their
# own sake.  RECORDED='*' plays all of them, which takes minutes.
. "$(dirname "$0")/lib.sh"
suite=$top/tests/recorded/karmada
export PYTHONDONTWRITEBYTECODE=1
use_newest_kubectl
export KUBECTL="$kubectl"
start_server

subset='admission-*,affinity-labels,columns,conflict-*,crd-and-cr,dup-scale,interpreter-lua,job-*,kind-*'
subset="$subset,override-*,policy-delete,policy-precision,propagate-deps,spread-*,static-*,status-*,template-*"
names='m1 m2 m3 m4'

members_pid=
trap 'kill -9 $members_pid 2>/dev/null; cleanup' EXIT
"$KAIRSHIP" simulate --data-dir members --members 4 --nodes 0 --no-load-balancers \
	>members.out 2>>server.log &
members_pid=$!
eventually greeted members.out

members=
for m in $names; do members="$members --member $m=$tmp/members/$m.kubeconfig"; done

test_expect_success 'an instance as a Karmada, and four members that join' '
	k apply -f - <<-Y
	apiVersion: tenancy.kairship.io/v1alpha1
	kind: Instance
	metadata: {name: recorded}
	Y
	eventually "$KAIRSHIP" kubeconfig recorded --output recorded.kubeconfig
	for m in $names; do
		"$KAIRSHIP" join $m --cluster-kubeconfig members/$m.kubeconfig --instance recorded --wait 20
	done
'

test_expect_success 'what was recorded happens' '
	python3 "$suite/replay.py" check --kubeconfig recorded.kubeconfig $members --dir "$suite/open" \
		--only "${RECORDED:-$subset}" -j 6 --timeout-scale 2 >out || {
		cat out
		false
	}
	grep " passed, 0 failed" out
'

kill -9 $members_pid
test_done
