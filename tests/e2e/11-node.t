#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The JavaScript client (@kubernetes/client-node): node/client.mjs has one function for each test.
. "$(dirname "$0")/lib.sh"

need node npm
start_server

for name in createGetList updateConflict patches pages watchFromList informer errorsAreStatuses \
	workloads anyKind; do
	test_expect_success "$name" 'timeout 60 node "$top/tests/e2e/node/client.mjs" '$name
done
test_done
