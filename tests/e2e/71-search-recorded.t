#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 213 recorded answers of Clusterpedia, over three of our own servers as members.
. "$(dirname "$0")/lib.sh"
suite=$top/tests/recorded/clusterpedia
export PYTHONDONTWRITEBYTECODE=1
start_server

member_pids=
trap 'kill -9 $member_pids 2>/dev/null; cleanup' EXIT
members=
for m in c1 c2 c3; do
	"$KAIRSHIP" apiserver --data-dir $m --listen 127.0.0.1:0 >$m.log 2>&1 &
	member_pids="$member_pids $!"
	members="$members --member $m=$tmp/$m/admin.kubeconfig"
done
for m in c1 c2 c3; do eventually test -s $m/admin.kubeconfig; done

# Our members are whole API servers: each namespace has its kube-root-ca.crt.
cat >known <<'EOF'
11-collections/any-all
11-collections/kuberesources
12-shapes/table-configmaps
EOF

test_expect_success 'the data set is loaded and collected' '
	python3 "$suite/replay.py" load $members
	python3 "$suite/replay.py" register --kubeconfig "$KUBECONFIG" $members
	python3 "$suite/replay.py" wait --kubeconfig "$KUBECONFIG" --seconds 30 >out
	grep "^complete$" out
'
test_expect_success 'answers are those that were recorded' '
	python3 "$suite/replay.py" check --kubeconfig "$KUBECONFIG" >out || true
	grep " passed, " out
	sed -n "s/^FAIL \([^ ]*\).*/\1/p" out | sort >failed
	diff known failed
	grep "^210 passed, 3 failed" out
'
test_done
