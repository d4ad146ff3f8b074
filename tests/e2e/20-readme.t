#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The walk in README.md, as it stands there.
. "$(dirname "$0")/lib.sh"
start_server
use_newest_kubectl
mkdir bin build && ln -s "$kubectl" bin/kubectl && ln -s "$KAIRSHIP" build/kairship

awk '/^<!-- walk/ { walk = 1; next } walk && /^```/ { if (block++) exit; next } block' \
	"$top/README.md" >walk.sh

test_expect_success 'the walk is found' '
	test "$(grep -c "^kubectl" walk.sh)" -ge 8
'

test_expect_success 'every command of the walk works' '
	PATH="$PWD/bin:$PATH" sh -e walk.sh >out
'

test_expect_success 'it shows what the text promises' '
	grep -E "^kube-system +Active" out
	grep "who: world" out
	grep "deployment.apps/web created" out
	grep -x no out
	grep -E "^default +web +" out
	grep "instance.tenancy.kairship.io/team-a created" out
	grep "instance.tenancy.kairship.io \"team-a\" deleted" out
'

test_done
