#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Requests and answers recorded from a real kube-apiserver: in the root instance and in another.
. "$(dirname "$0")/lib.sh"

recorded=$top/tests/recorded/kubernetes
export PYTHONDONTWRITEBYTECODE=1
start_server
use_newest_kubectl

replay() { # LIST [OPTION…]
	list=$1
	shift
	# shellcheck disable=SC2046 # one word each
	python3 "$recorded/replay.py" check -q --kubeconfig "$KUBECONFIG" "$@" \
		$(cat "$recorded/open/$list.txt") >out || { cat out; return 1; }
	tail -n 1 out
	grep -E "^[1-9][0-9]* passed, 0 failed" out
}

test_expect_success 'there is an instance' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" |
		k create -f -
'
for list in core identity machinery cel-admission; do
	test_expect_success "the set $list, in the root instance" 'replay $list'
	test_expect_success "the set $list, in an instance" 'replay $list --prefix /clusters/demo'
done
test_done
