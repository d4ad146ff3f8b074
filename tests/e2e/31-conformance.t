#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Requests and answers recorded from a real kube-apiserver, where they are at hand: in the root
# instance and in another.
. "$(dirname "$0")/lib.sh"

recorded=$top/../shared/conformance/kubernetes
[ -f "$recorded/open/core.txt" ] || skip_all "no recorded answers beside the checkout"
command -v python3 >/dev/null || skip_all "no python3"
start_server
use_newest_kubectl

replay() { # [OPTION…]
	# shellcheck disable=SC2046 # one word each
	python3 "$recorded/replay.py" check -q --kubeconfig "$KUBECONFIG" "$@" \
		$(cat "$recorded/open/core.txt") >out || { cat out; return 1; }
	tail -n 1 out
	grep -E "^[1-9][0-9]* passed, 0 failed" out
}

test_expect_success 'the core set, in the root instance' 'replay'
test_expect_success 'the core set, in an instance' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" |
		k create -f -
	replay --prefix /clusters/demo
'
test_done
