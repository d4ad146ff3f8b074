#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An instance that is elsewhere: its API through ours, its objects in our index.
. "$(dirname "$0")/lib.sh"
start_server

far_pid=
trap 'kill -9 $far_pid 2>/dev/null; cleanup' EXIT
"$KAIRSHIP" up --data-dir far --listen 127.0.0.1:0 >far.log 2>&1 &
far_pid=$!
eventually test -s far/admin.kubeconfig

far() { # KUBECTL-ARG…
	(
		KUBECONFIG=$tmp/far/admin.kubeconfig
		export KUBECONFIG
		k "$@"
	)
}

there() { # KUBECTL-ARG…: through our server
	k --server "$server/clusters/old" "$@"
}

use_newest_kubectl
far_server=$(sed -n 's/^ *server: "\(.*\)"/\1/p' far/admin.kubeconfig | head -n 1)

test_expect_success 'an instance there is attached here' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: theirs}\n" | far create -f -
	sed "s|server: .*|server: \"$far_server/clusters/theirs\"|" far/admin.kubeconfig >theirs.kubeconfig
	k create secret generic old --from-file=kubeconfig=theirs.kubeconfig
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" "metadata: {name: old}" \
		"spec: {attach: {kubeconfigSecretRef: {namespace: default, name: old}}}" | k create -f -
	eventually k get cluster.fleet.kairship.io k-old
'

test_expect_success 'its API is reached through ours' '
	there create configmap sent --from-literal=a=b
	far --server "$far_server/clusters/theirs" get configmap sent
	far --server "$far_server/clusters/theirs" create configmap made
	there get configmap made
	there delete configmap made
	test_must_fail far --server "$far_server/clusters/theirs" get configmap made
	there api-resources >out
	grep propagationpolicies out
'

test_expect_success 'its objects are in our index, as those of a hidden cluster' '
	P=$server/apis/clusterpedia.io/v1beta1/resources
	eventually k --server "$P/clusters/k-old" get configmap sent
	k --server "$P" get configmaps -A >out 2>&1 || true
	test_must_fail grep k-old out
	there delete configmap sent
	eventually test_must_fail k --server "$P/clusters/k-old" get configmap sent
'

test_expect_success 'who has no right here does not get there' '
	k create serviceaccount nobody
	test_must_fail there --as system:serviceaccount:default:nobody get configmaps 2>err
	grep -i forbidden err
'

role() { # ROLE: Jane's, in the attached instance
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: Workspace" "metadata: {name: team}" \
		"spec:" "  members: [{kind: User, name: jane, role: $1}]" \
		"  resources: [{resourceType: Kairship, resourceName: old}]" >team.yaml
	k apply -f team.yaml
}

test_expect_success 'a role here is a right there, from the next request on' '
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: User" "metadata: {name: jane}" | k create -f -
	there create configmap shared --from-literal=a=b
	there create secret generic hidden
	test_must_fail there --as jane get configmap shared
	eventually role Viewer
	eventually there --as jane get configmap shared
	test_must_fail there --as jane get secret hidden 2>err
	grep -i forbidden err
	test_must_fail there --as jane create configmap own 2>err
	grep -i forbidden err
	role Editor
	eventually there --as jane create configmap own
	there --as jane get secret hidden
	there --as jane get propagationpolicies
	test_must_fail there --as jane create clusterrole x --verb=get --resource=pods 2>err
	grep -i forbidden err
	role Admin
	eventually there --as jane create clusterrole x --verb=get --resource=pods
	k delete workspace team
	eventually test_must_fail there --as jane get configmap shared
'

test_expect_success 'no kubeconfig is issued that this server would not take; a login gets in' '
	test_must_fail "$KAIRSHIP" kubeconfig old --output old.kubeconfig 2>err
	grep "instance old is attached" err
	grep "kairship login --instance" err
	test ! -e old.kubeconfig
	test "$(far --server "$far_server/clusters/theirs" get csr -o name | wc -l)" = 0
	role Viewer
	echo "a long enough password" >password
	"$KAIRSHIP" passwd jane <password
	"$KAIRSHIP" login "$server" --ca-file kairship-data/pki/ca.crt --user jane --password-file password \
		--instance old --kubeconfig jane.kubeconfig
	k --kubeconfig jane.kubeconfig get configmap shared
'

test_expect_success 'one that is away is said to be so' '
	kill -9 $far_pid
	test_must_fail there get configmaps 2>err
	grep "k-old" err
'
test_done
