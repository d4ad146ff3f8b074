#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python client, as Debian packages it: python/client.py has one function for each test.
. "$(dirname "$0")/lib.sh"

python=${PYTHON:-/usr/bin/python3}
need_python kubernetes python3-kubernetes
start_server

for name in create_get_list update_conflict patch_kinds pages selectors \
	watch_from_list watch_resumes watch_expired_is_told informer \
	delete_with_preconditions secrets_and_accounts events leases errors_are_statuses \
	workloads pods_and_services custom_objects; do
	test_expect_success "$name" '"$python" "$top/tests/e2e/python/client.py" '$name
done
test_done
