#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The walk in README.md, as it stands there.
. "$(dirname "$0")/lib.sh"
greeted() {
	grep -q Ctrl-C server.out
}
start_server --demo
eventually greeted
use_newest_kubectl
ln -s "$top/docs" docs
mkdir bin build && ln -s "$kubectl" bin/kubectl && ln -s "$KAIRSHIP" build/kairship

awk '/^<!-- walk/ { walk = 1; next } walk && /^```/ { if (block++) exit; next } block' \
	"$top/README.md" >walk.sh

test_expect_success 'the kubeconfig of the demo opens the demo and nothing else' '
	eventually "$kubectl" --kubeconfig kairship-data/demo.kubeconfig get clusters
	for path in /api /api/v1/namespaces /clusters/other/api "/clusters/*/api/v1/namespaces"; do
		test_must_fail "$kubectl" --kubeconfig kairship-data/demo.kubeconfig --server "$server" \
			get --raw "$path" 2>err
		grep "opens the instance demo only, whose address is $server/clusters/demo" err
	done
'

test_expect_success 'the walk is found' '
	test "$(grep -c "^kubectl" walk.sh)" -ge 8
'

test_expect_success 'every command of the walk works' '
	PATH="$PWD/bin:$PATH" sh -e walk.sh >out
'

test_expect_success 'it shows what the text promises' '
	test "$(grep -c "^m[123] .* Push .* True " out)" -ge 3
	grep "deployment \"nginx\" successfully rolled out" out
	grep -E "^m1 .*weight 3 of 6" out
	grep -E "^nginx-.* Running" out
	grep -E "^m3 .* False " out
	grep -E "^m3 .*(taint|not ready)" out
	grep -E "^default +m1 +nginx-" out
	grep -E "^demo +karmada +RUNNING" out
	grep "instance.tenancy.kairship.io \"demo\" deleted" out
'

test_done
