#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later

# Validating admission policies: what is wrong with them is told, and what they say holds.
. "$(dirname "$0")/lib.sh"

start_server
use_newest_kubectl

policy() { # EXPRESSION
	cat <<-EOF
		apiVersion: admissionregistration.k8s.io/v1
		kind: ValidatingAdmissionPolicy
		metadata: {name: few}
		spec:
		  matchConstraints:
		    resourceRules:
		    - {apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE, UPDATE]}
		  validations:
		  - expression: $1
	EOF
}

seen() { # GENERATION
	[ "$(k get validatingadmissionpolicy few -o 'jsonpath={.status.observedGeneration}')" = "$1" ]
}

test_expect_success 'the status of a policy says which expressions cannot be right' '
	policy "object.spec.replica <= 2" | k create -f -
	eventually seen 1
	k get validatingadmissionpolicy few -o "jsonpath={.status.typeChecking}" >out
	grep "\"fieldRef\":\"spec.validations\[0\].expression\"" out
	grep "apps/v1, Kind=Deployment: ERROR: .*:1:12: undefined field .*replica" out
'
test_expect_success 'and no longer when they are' '
	policy "object.spec.replicas <= 2" | k apply -f -
	eventually seen 2
	test -z "$(k get validatingadmissionpolicy few -o "jsonpath={.status.typeChecking}")"
'
test_expect_success 'with a binding the policy holds' '
	printf "%s\n" "apiVersion: admissionregistration.k8s.io/v1" \
		"kind: ValidatingAdmissionPolicyBinding" "metadata: {name: few}" \
		"spec: {policyName: few, validationActions: [Deny]}" | k create -f -
	k create deployment a --image=a --replicas=2
	test_must_fail k create deployment b --image=b --replicas=3 2>err
	grep "ValidatingAdmissionPolicy .few. with binding .few. denied request: failed expression" err
'

test_done
