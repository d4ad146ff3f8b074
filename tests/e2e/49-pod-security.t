#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Pod Security Standards: what the labels of a namespace do to pods and to what makes them.
. "$(dirname "$0")/lib.sh"
start_server

pod() { # NAME SPEC
	printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {%s containers: [{name: c, image: i}]}\n' "$1" "$2"
}

scenario() {
	test_expect_success 'labels that say nothing are refused' '
		test_must_fail k label ns $ns pod-security.kubernetes.io/enforce=strict 2>err
		grep "metadata.labels\[pod-security.kubernetes.io/enforce\]: Invalid value: \"strict\": must be one of privileged, baseline, restricted" err
	'
	test_expect_success 'a stricter namespace tells of its pods, and takes no more of them' '
		pod old "hostPID: true," | k -n $ns create -f -
		k label ns $ns pod-security.kubernetes.io/enforce=baseline 2>err
		grep "Warning: existing pods in namespace \"$ns\" violate the new PodSecurity enforce level \"baseline:latest\"" err
		grep "Warning: old: host namespaces" err
		pod bad "hostPID: true," >bad.yaml
		test_must_fail k -n $ns create -f bad.yaml 2>err
		grep "pods \"bad\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces (hostPID=true)" err
		pod good "" | k -n $ns create -f -
	'
	test_expect_success 'a deployment is warned of what its pods will hear' '
		k label ns $ns pod-security.kubernetes.io/warn=restricted pod-security.kubernetes.io/warn-version=v1.20
		k -n $ns create deployment d --image=i 2>err
		grep "Warning: would violate PodSecurity \"restricted:v1.20\": allowPrivilegeEscalation != false (container \"i\" must set securityContext.allowPrivilegeEscalation=false), runAsNonRoot" err
	'
}

with_each_kubectl scenario

stop_server
start_server --disable-admission-plugins PodSecurity
test_expect_success 'the operator may turn it off' '
	k create ns off
	k label ns off pod-security.kubernetes.io/enforce=strict
	pod any "hostPID: true," | k -n off create -f -
	k delete ns off
'

test_done
