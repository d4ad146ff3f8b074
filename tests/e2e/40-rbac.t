#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may do what: default roles, roles and bindings, kubectl auth, in root and in an instance.
. "$(dirname "$0")/lib.sh"
start_server

in_instance() { # NAME ARG…: kubectl inside of an instance
	instance=$1
	shift
	k --server "$server/clusters/$instance" "$@"
}

can() { # yes|no ARG…: what can-i answers, which is also how it ends
	want=$1
	shift
	got=$(k auth can-i "$@" 2>can.err) || [ "$want" = no ]
	[ "$got" = "$want" ] || { # newer ones say why behind it
		[ "${got%% *}" = "$want" ]
	}
}

collects() { # ROLE RESOURCE [ARG…]: the role has rules for it
	role=$1 resource=$2
	shift 2
	k "$@" get clusterrole "$role" -o "jsonpath={.rules[*].resources}" | grep -q "$resource"
}

scenario() {
	test_expect_success 'the default roles and bindings are there' '
		k get clusterroles -o name | grep -c . >out
		test "$(cat out)" -ge 68
		k get clusterrolebindings -o name | grep -c . >out
		test "$(cat out)" -ge 49
		k get clusterrole cluster-admin -o "jsonpath={.rules[0].verbs[0]}" | grep -F "*"
		k get clusterrole view -o "jsonpath={.metadata.labels}" | grep bootstrapping
		k get clusterrolebinding cluster-admin -o wide >out
		grep -E "ClusterRole/cluster-admin .* system:masters" out
		k -n kube-system get role extension-apiserver-authentication-reader
	'
	test_expect_success 'so are the accounts and the CA of the default namespaces' '
		for n in default kube-system kube-public kube-node-lease; do
			k -n $n get serviceaccount default
			k -n $n get configmap kube-root-ca.crt -o "jsonpath={.data.ca\.crt}" >ca.crt
			curl -sS --cacert ca.crt "$server/readyz" | grep -x ok
		done
	'
	test_expect_success 'the admin may do everything, others next to nothing' '
		can yes create secrets -n $ns
		can yes "*" "*"
		can yes get /metrics
		can no get configmaps -n $ns --as alice-$ns
		can yes get /healthz --as alice-$ns
		can no get /metrics --as alice-$ns
		test_must_fail k -n $ns get configmaps --as alice-$ns 2>err
		grep "configmaps is forbidden: User \"alice-$ns\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"$ns\"" err
	'
	test_expect_success 'a role and a binding give rights, there and no further' '
		k -n $ns create role reader --verb=get,list --resource=configmaps
		k -n $ns create rolebinding reader --role=reader --user=alice-$ns --group=team-$ns
		k -n $ns get configmaps --as alice-$ns
		k -n $ns get configmaps --as someone --as-group team-$ns
		can yes list configmaps -n $ns --as alice-$ns
		can no list configmaps -n default --as alice-$ns
		can no create configmaps -n $ns --as alice-$ns
		can no list secrets -n $ns --as alice-$ns
		k -n $ns get rolebinding reader -o wide >out
		grep -E "^reader +Role/reader .* alice-$ns +team-$ns" out
	'
	test_expect_success 'can-i --list shows them' '
		k auth can-i --list -n $ns --as alice-$ns >out
		grep -E "^configmaps .*\[get list\]" out
		grep -E "^selfsubjectaccessreviews.authorization.k8s.io .*\[create\]" out
		grep -F "[/healthz]" out
		k auth can-i --list -n default --as alice-$ns >out
		test_must_fail grep -E "^configmaps " out
	'
	test_expect_success 'a cluster role bound in a namespace counts there' '
		k -n $ns create rolebinding edits --clusterrole=edit --serviceaccount=$ns:bot
		can yes create configmaps -n $ns --as system:serviceaccount:$ns:bot
		can no create configmaps -n default --as system:serviceaccount:$ns:bot
		can no create roles.rbac.authorization.k8s.io -n $ns --as system:serviceaccount:$ns:bot
	'
	test_expect_success 'a bound role stays bound, reconcile makes it anew' '
		cat >rbac.yaml <<-EOF
			apiVersion: rbac.authorization.k8s.io/v1
			kind: Role
			metadata: {name: reader, namespace: $ns}
			rules:
			- {apiGroups: [""], resources: [secrets], verbs: [get]}
			---
			apiVersion: rbac.authorization.k8s.io/v1
			kind: RoleBinding
			metadata: {name: reader, namespace: $ns}
			roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
			subjects:
			- {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob-$ns}
		EOF
		test_must_fail k -n $ns patch rolebinding reader --type=merge -p "{\"roleRef\":{\"name\":\"x\"}}" 2>err
		grep "cannot change roleRef" err
		k auth reconcile -f rbac.yaml
		k -n $ns get role reader -o "jsonpath={.rules[*].resources[*]}" >out
		grep configmaps out
		grep secrets out
		test "$(k -n $ns get rolebinding reader -o "jsonpath={.roleRef.name}")" = view
		can yes list configmaps -n $ns --as bob-$ns
		k auth reconcile -f rbac.yaml
	'
	test_expect_success 'roles that say nothing are refused' '
		printf "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x-$ns}\nrules:\n- {apiGroups: [\"\"], resources: [pods]}\n" >role.yaml
		test_must_fail k create --validate=false -f role.yaml 2>err
		grep "rules\[0\].verbs: Required value: verbs must contain at least one value" err
	'
	if since 28; then
		test_expect_success 'whoami' '
			k auth whoami --as alice-$ns --as-group g >out
			grep -E "^Username +alice-$ns" out
			grep -E "^Groups +\[g system:authenticated\]" out
		'
	fi
	test_expect_success 'labelled roles are collected, in their instance only' '
		printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: i-$ns}\n" | k create -f -
		in_instance i-$ns create clusterrole more --verb=get,list --resource=leases.coordination.k8s.io
		in_instance i-$ns label clusterrole more rbac.authorization.k8s.io/aggregate-to-view=true
		for role in view edit admin; do
			eventually collects $role leases --server "$server/clusters/i-$ns"
		done
		in_instance i-$ns create rolebinding v --clusterrole=view --user=alice-$ns
		in_instance i-$ns get leases --as alice-$ns
		test_must_fail collects view leases
		test_must_fail k -n default get leases --as alice-$ns
	'
	test_expect_success 'an instance may lose a default and get it back' '
		in_instance i-$ns delete clusterrolebinding system:basic-user
		test_must_fail in_instance i-$ns auth can-i get configmaps --as alice-$ns 2>err
		grep forbidden err
		can no get secrets --as alice-$ns
		in_instance i-$ns create clusterrolebinding system:basic-user \
			--clusterrole=system:basic-user --group=system:authenticated
		in_instance i-$ns auth can-i list configmaps --as alice-$ns
	'
}

with_each_kubectl scenario
test_done
