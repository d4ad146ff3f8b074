#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Karmada's kinds and the kcp door as a person meets them: defaults, refusals, columns, explain.
. "$(dirname "$0")/lib.sh"
start_server

i() { # kubectl inside of the instance
	k --server "$server/clusters/demo" "$@"
}

policy() { # NAME SPEC…: a policy for a Deployment, with these lines in its spec
	cat <<-EOF
		apiVersion: policy.karmada.io/v1alpha1
		kind: PropagationPolicy
		metadata: {name: $1}
		spec:
		  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web, namespace: $ns}]
	EOF
	shift
	printf '  %s\n' "$@"
}

# The policy with these lines is refused, with that text.
refused_with() { # TEXT SPEC…
	text=$1
	shift
	policy bad "$@" >bad.yaml
	test_must_fail i -n "$ns" create --validate=false -f bad.yaml 2>err
	grep -F -e "$text" err
}

scenario() {
	hook='(Forbidden): error when creating "bad.yaml": admission webhook "propagationpolicy.karmada.io" denied the request:'

	test_expect_success 'a policy gets its defaults, an id, and columns' '
		i create namespace $ns
		policy web "placement: {replicaScheduling: {}, spreadConstraints: [{maxGroups: 2}]}" | i -n $ns create -f -
		i -n $ns get pp web -o "jsonpath={.spec.placement}" >out
		grep "\"replicaDivisionPreference\":\"Weighted\"" out
		grep "\"spreadByField\":\"cluster\"" out
		i -n $ns get pp web -o "jsonpath={.metadata.labels.propagationpolicy\.karmada\.io/permanent-id}" |
			grep -E "^[0-9a-f-]{36}\$"
		i -n $ns get pp >out
		grep -E "^NAME +CONFLICT-RESOLUTION +PRIORITY +AGE" out
		grep -E "^web +Abort +0 +" out
	'
	test_expect_success 'applied twice it is unchanged' '
		policy web "priority: 3" | i -n $ns apply -f - 2>&1 | grep configured
		policy web "priority: 3" | i -n $ns apply -f - | grep unchanged
	'
	test_expect_success 'the schema refuses, and says everything' '
		refused_with "spec.preemption: Unsupported value: \"Maybe\"" "preemption: Maybe" "conflictResolution: Fight"
		grep -F "spec.conflictResolution: Unsupported value: \"Fight\": supported values: \"Abort\", \"Overwrite\"" err
	'
	test_expect_success 'the webhook refuses in the words of Karmada' '
		refused_with "$hook spec.placement: Invalid value" \
			"placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: x}]}"
		refused_with "$hook [spec.placement.spreadConstraints: Invalid value: [{\"spreadByField\":\"region\",\"minGroups\":1}]: the cluster" \
			"placement: {spreadConstraints: [{spreadByField: region}]}" \
			"failover: {application: {decisionConditions: {}}}"
		grep -F "spec.propagateDeps: Invalid value: false" err
	'
	test_expect_success 'some things never change' '
		test_must_fail i -n $ns patch pp web --type=merge -p "{\"spec\":{\"schedulerName\":\"other\"}}" 2>err
		grep "the schedulerName should not be updated" err
	'
	test_expect_success 'an override policy, and a bad one' '
		printf "apiVersion: policy.karmada.io/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\nspec:\n  resourceSelectors: [{apiVersion: v1, kind: Secret}]\n  overrideRules:\n  - overriders: {plaintext: [{path: /x, operator: add, value: {a: 1}}]}\n" >o.yaml
		i -n $ns create -f o.yaml
		test "$(i -n $ns get op o -o "jsonpath={.spec.resourceSelectors[0].namespace}")" = $ns
		i -n $ns get op o -o "jsonpath={.spec.overrideRules[0].overriders.plaintext[0].value}" | grep "\"a\":1"
		sed -i "s/operator: add/operator: put/; s/name: o}/name: p}/" o.yaml
		test_must_fail i -n $ns create --validate=false -f o.yaml 2>err
		grep "Unsupported value: \"put\": supported values: \"add\", \"remove\", \"replace\"" err
	'
	test_expect_success 'everything is in one category' '
		i -n $ns get karmada-io -o name >out
		grep -x propagationpolicy.policy.karmada.io/web out
		grep -x overridepolicy.policy.karmada.io/o out
	'
	test_expect_success 'explain' '
		i explain propagationpolicy.spec.placement >out
		grep -E "clusterAffinity[[:space:]]+<" out
		i explain rb.spec.clusters --recursive >out
		grep replicas out
	'
	test_expect_success 'the root has clusters of its own, and names say which' '
		printf "apiVersion: fleet.kairship.io/v1alpha1\nkind: Cluster\nmetadata: {name: k-x}\n" >c.yaml
		test_must_fail k create -f c.yaml 2>err
		grep "must not start with \"k-\"" err
		test_must_fail i get fc
		k get fc >out
		grep -E "^k-demo +Virtual " out
	'
}

test_expect_success 'instances of both profiles' '
	use_newest_kubectl
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: %s}\nspec: {profile: %s}\n---\n" \
		demo karmada few minimal | k create -f -
	eventually k get fc k-demo
'
test_expect_success 'a minimal one has what a kcp has, and its own three kinds' '
	use_newest_kubectl
	k --server "$server/clusters/few" api-resources --verbs=list -o name | sort >out
	cat >expected <<-EOF
		apiresourceimports.apiresource.kcp.dev
		apiservices.apiregistration.k8s.io
		certificatesigningrequests.certificates.k8s.io
		clusterrolebindings.rbac.authorization.k8s.io
		clusterroles.rbac.authorization.k8s.io
		clusters.workload.kcp.dev
		configmaps
		customresourcedefinitions.apiextensions.k8s.io
		events
		events.events.k8s.io
		flowschemas.flowcontrol.apiserver.k8s.io
		leases.coordination.k8s.io
		limitranges
		namespaces
		negotiatedapiresources.apiresource.kcp.dev
		prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
		resourcequotas
		rolebindings.rbac.authorization.k8s.io
		roles.rbac.authorization.k8s.io
		secrets
		serviceaccounts
	EOF
	diff expected out
'

customization() { # NAME SCRIPT: how many replicas a Thing has
	cat <<-EOF
		apiVersion: config.karmada.io/v1alpha1
		kind: ResourceInterpreterCustomization
		metadata: {name: $1}
		spec:
		  target: {apiVersion: example.com/v1, kind: Thing}
		  customizations: {replicaResource: {luaScript: "$2"}}
	EOF
}

test_expect_success 'scripts must compile, and one says how many replicas a kind has' '
	use_newest_kubectl
	customization bad "function GetReplicas(" | test_must_fail i create -f - 2>err
	grep "InterpreterOperation(InterpretReplica) Lua script error: <string> at EOF:   syntax error" err
	customization good "function GetReplicas(o) return 1 end" | i apply -f -
	customization good "function GetReplicas(o) return 2 end" | i apply -f -
	customization other "function GetReplicas(o) return 3 end" | test_must_fail i create -f - 2>err
	grep "conflicting with InterpreterOperation(InterpretReplica) of existing ResourceInterpreterCustomization(good)" err
	i delete resourceinterpretercustomization good
'

told() {
	i get events --field-selector reason=NotServed -o name | grep -q event
}

test_expect_success 'what is not served is stored, and whoever writes it is told' '
	use_newest_kubectl
	i apply -f "$top/tests/e2e/manifests/good/federatedhpas.yaml" 2>err
	grep "Warning: FederatedHPA is not served: no workload is scaled by it" err
	i wait --for=condition=Served=False --timeout=10s federatedhpa/good
	eventually told
	policy web "preemption: Always" | sed "s/, namespace: [^}]*/, namespace: default/" | i apply -f - 2>err
	grep "Warning: spec.preemption is not served" err
'
with_each_kubectl scenario
test_done
