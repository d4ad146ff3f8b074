#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later
#
# Records of what people did: the same by both doors of the management API, of people and the life
# of instances natively, and who may read them.  python/records.py has a function for each test.

. "$(dirname "$0")/lib.sh"

python=${PYTHON:-/usr/bin/python3}
need_python grpc python3-grpcio
use_newest_kubectl
start_server

records() { # TEST
	timeout 60 "$python" "$top/tests/e2e/python/records.py" "$1" "${server#https://}"
}

recorded() { # EVENT PERSON CODE NAME: there is such a record
	k get records.audit.kairship.io -o jsonpath='{range .items[*]}{.spec.event} {.spec.person} {.spec.code} {.spec.name}{"\n"}{end}' >recorded.out
	grep -x "$*" recorded.out
}

login() { # PASSWORD
	api /apis/iam.kairship.io/v1alpha1/logins -H "Content-Type: application/json" \
		-d "{\"spec\":{\"username\":\"jane\",\"password\":\"$1\"}}"
}

iam="apiVersion: iam.kairship.io/v1alpha1"

test_expect_success 'people, their passwords and logins are recorded' '
	printf "%s\n" "$iam" "kind: User" "metadata: {name: jane}" | k create -f -
	echo correct-horse-8714 | "$KAIRSHIP" passwd jane --kubeconfig kairship-data/admin.kubeconfig
	login correct-horse-8714 >login.json
	sed -n "s/.*\"token\": *\"\([^\"]*\)\".*/\1/p" login.json >jane.token
	[ -s jane.token ]
	login wrong-horse-8714 >/dev/null || true
	eventually recorded Create-User kairship-admin 201 jane
	eventually recorded Update-Password kairship-admin 201 kairship-password-jane
	eventually grep "^Login jane 201" recorded.out
	eventually recorded Login jane 401 ""
'

test_expect_success 'the life of instances natively, and what is refused' '
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
		"metadata: {name: demo}" "spec: {profile: karmada}" >demo.yaml
	k create -f demo.yaml --dry-run=server
	k create -f demo.yaml
	k annotate instance demo colour=blue
	test_must_fail k delete instance demo --as joe
	eventually recorded Create-Instance kairship-admin 201 demo
	eventually recorded Update-Instance kairship-admin 200 demo
	eventually recorded Delete-Instance kairship-admin 403 demo
	[ "$(grep -c Create-Instance recorded.out)" = 1 ]
	k get records.audit.kairship.io -o jsonpath="{.items[?(@.spec.code==403)].spec.impersonated}" |
		grep -x joe
	k get records.audit.kairship.io
	test_must_fail k delete records.audit.kairship.io --all
	test_must_fail k create -f - <<-END
		apiVersion: audit.kairship.io/v1alpha1
		kind: Record
		metadata: {name: forged}
		spec: {event: Create-Instance, person: jane}
	END
'

for name in both_doors reads lists; do
	test_expect_success "$name" "records $name"
done

test_expect_success 'an Admin of an instance sees what is about it' '
	printf "%s\n" "$iam" "kind: Workspace" "metadata: {name: w}" \
		"spec: {resources: [{resourceName: demo}], members: [{name: jane, role: Admin}]}" >w.yaml
	eventually k apply -f w.yaml
	eventually records admin_of_one
'

test_expect_success 'and nothing of an instance that had its name before' '
	k delete -f w.yaml
	k delete instance demo --wait
	k create -f demo.yaml
	eventually k apply -f w.yaml
	eventually records nobody_of_another
'

test_expect_success 'nothing hides' 'records hiding'

k get records.audit.kairship.io -o name | sort >before
crash_server
start_server
test_expect_success 'they are there after a kill' '
	[ -s before ]
	k get records.audit.kairship.io -o name | sort >after
	comm -23 before after >lost
	test_must_fail grep . lost
'

test_expect_success 'no secret is in them' '
	k get records.audit.kairship.io -o json >all.json
	test_must_fail grep -F -e canary-8714 -e horse-8714 -f jane.token all.json kairship-data/audit/audit.log
'
stop_server

start_server --audit-record-maxsize 0
test_expect_success 'none are made where none are wanted' '
	k get records.audit.kairship.io -o name | sort >before
	k annotate instance demo colour=red --overwrite
	sleep 0.2
	k get records.audit.kairship.io -o name | sort >after
	cmp before after
'
test_done
