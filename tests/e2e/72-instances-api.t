#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instances by the management API: python/mgmt.py has one function for each test.
. "$(dirname "$0")/lib.sh"

python=${PYTHON:-/usr/bin/python3}
need_python grpc python3-grpcio
use_newest_kubectl
start_server

mgmt() { # TEST
	timeout 60 "$python" "$top/tests/e2e/python/mgmt.py" "$1" "${server#https://}"
}

test_expect_success 'credentials for curl' 'api /version'
for name in create_and_list update settings failures_are_the_same details_tell_the_field kubeconfig; do
	test_expect_success "$name" "mgmt $name"
done
test_expect_success 'the kubeconfig opens the instance, and no other' '
	k --kubeconfig one.kubeconfig create configmap a --from-literal=x=1
	k --kubeconfig one.kubeconfig get configmap a
	sed "s,/clusters/one,/clusters/two," one.kubeconfig >two.kubeconfig
	test_must_fail k --kubeconfig two.kubeconfig get configmaps
'
test_expect_success delete 'mgmt delete'
test_done
