#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The walk in README.md, as it stands there.
. "$(dirname "$0")/lib.sh"
make_clone
start_server --demo
eventually greeted
use_newest_kubectl

by_management() { # as a browser would ask for it
	api /apis/kairship.io/v1alpha1/instances/demo/kubeconfig -X POST -d "{}" |
		sed "s/.*\"kubeConfigString\":\"\([^\"]*\)\".*/\1/" | sed "s/\\\\n/\\n/g"
}

by_token() { # what a program in the instance has
	k --kubeconfig kairship-data/demo.kubeconfig create serviceaccount robot >/dev/null
	token=$(k --kubeconfig kairship-data/demo.kubeconfig create token robot)
	sed -e "s/client-certificate-data:.*/token: $token/" -e "/client-key-data:/d" kairship-data/demo.kubeconfig
}

test_expect_success 'what is handed out for the demo opens the demo and nothing else' '
	eventually "$kubectl" --kubeconfig kairship-data/demo.kubeconfig get clusters
	cp kairship-data/demo.kubeconfig by-demo.kubeconfig
	"$KAIRSHIP" kubeconfig demo --user jane --output by-command.kubeconfig
	by_management >by-management.kubeconfig
	by_token >by-token.kubeconfig
	for by in demo command management token; do
		k --kubeconfig by-$by.kubeconfig auth can-i create selfsubjectaccessreviews
		for path in /api /api/v1/namespaces /clusters/other/api "/clusters/*/api/v1/namespaces"; do
			test_must_fail k --kubeconfig by-$by.kubeconfig --server "$server" get --raw "$path" 2>err
			grep "opens the instance demo only, whose address is $server/clusters/demo" err
		done
	done
	other=$(sed -n "s/^ *server: *\"\{0,1\}\([^\"]*\).*/\1/p" kairship-data/members/m2.kubeconfig)
	k --kubeconfig kairship-data/members/m1.kubeconfig get nodes
	test_must_fail k --kubeconfig kairship-data/members/m1.kubeconfig --server "$other" get nodes
'

test_expect_success 'every command of the walk works, and it leaves no file behind' '
	run_page README.md >out
	test "$(grep -c "^kubectl" page.sh)" -ge 8
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
