#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Search over members and instances, as Clusterpedia's users know it; its recorded answers.
. "$(dirname "$0")/lib.sh"
start_server

member_pids=
trap 'kill -9 $member_pids 2>/dev/null; cleanup' EXIT

start_member() { # NAME
	"$KAIRSHIP" apiserver --data-dir "$1" --listen 127.0.0.1:0 >"$1.log" 2>&1 &
	member_pids="$member_pids $!"
	eval "pid_$1=$!"
}

member() { # NAME KUBECTL-ARG…
	KUBECONFIG=$tmp/$1/admin.kubeconfig
	export KUBECONFIG
	shift
	k "$@"
}

member_creates() { # FILE: in c1
	(member c1 create -f "$1")
}

pedia() { # NAME
	cat <<-EOF
		apiVersion: cluster.clusterpedia.io/v1alpha2
		kind: PediaCluster
		metadata: {name: $1}
		spec:
		  kubeconfig: $(base64 -w0 "$1/admin.kubeconfig")
		  syncResources:
		  - {group: apps, resources: [deployments]}
		  - {group: "", resources: [configmaps, secrets, namespaces]}
	EOF
}

search() { # KUBECTL-ARG…: over all clusters
	k --server "$server/apis/clusterpedia.io/v1beta1/resources" "$@"
}

search_in() { # CLUSTER KUBECTL-ARG…
	cluster=$1
	shift
	k --server "$server/apis/clusterpedia.io/v1beta1/resources/clusters/$cluster" "$@"
}

finds() { # TEXT KUBECTL-ARG…
	text=$1
	shift
	search "$@" | grep -q -e "$text"
}

for m in c1 c2; do start_member $m; done
for m in c1 c2; do eventually test -s $m/admin.kubeconfig; done

use_newest_kubectl
test_expect_success 'members are registered' '
	(member c1 create deployment web --image=w:1)
	(member c2 create deployment web --image=w:2)
	(member c2 create deployment api --image=a:1)
	(member c2 create secret generic s --from-literal=word=geheim)
	(member c2 label deployment api tier=back)
	pedia c1 | k create -f -
	pedia c2 | k create -f -
	eventually finds "c2 *web" get deployments -A
	eventually finds "c1 *web" get deployments -A
	k get pediaclusters >out
	grep -E "^c1 +True +v1" out
'

scenario() {
	test_expect_success 'Deployments of all members, by cluster, label and field' '
		search get deployments -A >out
		test "$(grep -c . out)" = 4
		grep -E "^NAMESPACE +CLUSTER +NAME +READY" out
		search get deployments -A -l "search.clusterpedia.io/clusters in (c2)" >out
		test "$(grep -c . out)" = 3
		search get deploy -n default -l tier=back | grep -E "^c2 +api"
		search get deploy -A -l "internalstorage.clusterpedia.io/fuzzy-name=we" >out
		test "$(grep -c . out)" = 3
		search_in c2 get deployment api -o "jsonpath={.spec.template.spec.containers[0].image}" | grep "^a:1$"
		test_must_fail search get deployment api
	'
	test_expect_success 'Secrets are found, and hold nothing' '
		search_in c2 get secret s -o yaml >out
		grep "name: s" out
		test_must_fail grep "$(printf geheim | base64)" out
	'
}
with_each_kubectl scenario
use_newest_kubectl
ns=default

P=/apis/clusterpedia.io/v1beta1

test_expect_success 'pages in order, and what remains' '
	k get --raw "$P/resources/apis/apps/v1/deployments?limit=2&orderby=name,cluster&withContinue&withRemainingCount" >out
	grep "\"continue\":\"2\",\"remainingItemCount\":1" out
	k get --raw "$P/resources/apis/apps/v1/deployments?limit=2&orderby=name,cluster&continue=2" >out
	grep "cluster-name\":\"c2\".*\"name\":\"web\"" out
'

test_expect_success 'changes in a member are followed' '
	(member c1 scale deployment web --replicas=7)
	(member c2 delete deployment api)
	eventually finds "0/7" get deployments -A
	search get deployments -A >out
	test_must_fail grep api out
'

test_expect_success 'an instance is a hidden cluster' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" | k create -f -
	k --server "$server/clusters/demo" create configmap mine --from-literal=a=b
	eventually search_in k-demo get configmap mine
	search get configmaps -A >out
	test_must_fail grep k-demo out
	finds k-demo get configmaps -A -l search.clusterpedia.io/show-virtual-cluster=true
'

test_expect_success 'a role in an instance shows that, and nothing else' '
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: User" "metadata: {name: jane}" | k create -f -
	eventually k get gproductresources
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: Workspace" "metadata: {name: w}" \
		"spec:" "  members: [{kind: User, name: jane, role: Viewer}]" \
		"  resources: [{resourceType: Kairship, resourceName: demo}]" >w.yaml
	eventually k create -f w.yaml
	eventually sh -c "\"$kubectl\" --as jane get --raw $P/resources/clusters/k-demo/api/v1/configmaps | grep mine"
	k --as jane get --raw "$P/resources/api/v1/configmaps?showVirtualCluster" >out
	grep k-demo out
	test_must_fail grep -E "cluster-name\":\"c[12]" out
	test_must_fail k --as jane get --raw "$P/resources/clusters/c1/api/v1/configmaps"
	k --as jane get --raw "$P/resources/api/v1/configmaps?limit=1&withContinue&withRemainingCount" >out
	grep "^{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"items\":\[\],\"metadata\":{\"remainingItemCount\":0}}" out
	search --as jane get deployments -A >out 2>&1
	grep "No resources found" out
	k --server "$server/clusters/demo" create secret generic hidden
	eventually search_in k-demo get secret hidden
	k --as jane get --raw "$P/resources/clusters/k-demo/api/v1/secrets?withRemainingCount" >out
	grep "\"items\":\[\],\"metadata\":{\"remainingItemCount\":0}" out
	k get workspace w -o yaml | sed "s/role: Viewer/role: Editor/" | k apply -f - 2>&1
	eventually sh -c "\"$kubectl\" --as jane get --raw $P/resources/clusters/k-demo/api/v1/secrets | grep hidden"
'

test_expect_success 'a role on a registered cluster shows that, without Secrets' '
	k create secret generic m1 --from-file=kubeconfig=c1/admin.kubeconfig
	printf "%s\n" "apiVersion: fleet.kairship.io/v1alpha1" "kind: Cluster" "metadata: {name: m1}" \
		"spec: {secretRef: {namespace: default, name: m1}}" | k create -f -
	eventually search_in m1 get deployment web
	for name in nowhere k-demo; do
		printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: Workspace" "metadata: {name: v}" \
			"spec:" "  resources: [{resourceType: Cluster, resourceName: $name}]" >v.yaml
		test_must_fail k create -f v.yaml 2>err
		grep "it is not registered" err
	done
	sed -e s/k-demo/m1/ -e "\$ a\\  members: [{kind: User, name: joe, role: Viewer}]" v.yaml >v1.yaml
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: User" "metadata: {name: joe}" | k create -f -
	test_must_fail k --as joe get --raw "$P/resources/apis/apps/v1/deployments"
	k create -f v1.yaml
	sed "s/name: v}/name: u}/" v1.yaml >u.yaml
	test_must_fail k create -f u.yaml 2>err
	grep "is bound to workspace v" err
	eventually k --as joe get --raw "$P/resources/clusters/m1/apis/apps/v1/deployments"
	search --as joe get deployments -A >out
	grep -E "default +m1 +web" out
	test_must_fail grep -E " c[12] " out
	k --as joe get --raw "$P/resources/apis/apps/v1/deployments?limit=1&withContinue&withRemainingCount" >out
	grep "\"continue\":\"1\",\"remainingItemCount\":0" out
	(member c1 create secret generic t)
	eventually search_in m1 get secret t
	k --as joe get --raw "$P/resources/api/v1/secrets?limit=1&withContinue&withRemainingCount" >out
	grep "\"items\":\[\],\"metadata\":{\"remainingItemCount\":0}" out
	test_must_fail k --as joe get --raw "$P/resources/clusters/m1/api/v1/namespaces/default/secrets/t"
	test_must_fail k --as joe get --raw "$P/resources/clusters/c1/apis/apps/v1/deployments"
	test_must_fail k --as joe get --raw "$P/resources/clusters/k-demo/api/v1/configmaps"
	k --as joe get --raw "$P/collectionresources/workloads?withRemainingCount&limit=1" >out
	grep "\"remainingItemCount\":0" out
'

test_expect_success 'kinds of CRDs, of members and of instances' '
	crd() { # GROUP
		printf "%s\n" "apiVersion: apiextensions.k8s.io/v1" "kind: CustomResourceDefinition" "metadata: {name: widgets.$1}" \
			"spec: {group: $1, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}"
	}
	widget() { # GROUP NAME
		printf "%s\n" "apiVersion: $1/v1" "kind: Widget" "metadata: {name: $2}"
	}
	crd of.instance >crd.yaml
	widget of.instance inner >inner.yaml
	k --server "$server/clusters/demo" create -f crd.yaml
	eventually k --server "$server/clusters/demo" create -f inner.yaml
	eventually search_in k-demo get widgets.of.instance inner
	crd of.member >crd.yaml
	widget of.member outer >outer.yaml
	(member c1 create -f crd.yaml)
	eventually member_creates outer.yaml
	eventually search_in m1 get widgets.of.member outer
	k --as jane get --raw "$P/resources/apis" >out
	test_must_fail grep of.member out
	k --server "$server/clusters/demo" delete crd widgets.of.instance
	eventually test_must_fail search_in k-demo get widgets.of.instance inner
'

test_expect_success 'an instance that is gone leaves the index' '
	k annotate instance demo kairship.io/release=Destroy
	k delete instance demo
	test_must_fail search_in k-demo get configmap mine
'

test_expect_success 'who may not, sees nothing' '
	k create serviceaccount nobody
	k --as system:serviceaccount:default:nobody get --raw "$P/resources/apis/apps/v1/deployments" >out 2>&1 || true
	grep -i forbidden out
	test_must_fail grep DeploymentList out
	printf "%s\n" "apiVersion: rbac.authorization.k8s.io/v1" "kind: ClusterRole" "metadata: {name: searcher}" \
		"rules: [{apiGroups: [clusterpedia.io], resources: [resources], verbs: [get]}]" | k create -f -
	k create clusterrolebinding searcher --clusterrole=searcher --serviceaccount=default:nobody
	eventually k --as system:serviceaccount:default:nobody get --raw "$P/resources/apis/apps/v1/deployments"
	for path in resources/apis/apps/v1/deployments resources/api/v1/secrets collectionresources/workloads; do
		k --as system:serviceaccount:default:nobody get --raw "$P/$path?withRemainingCount" >out
		grep "\"items\":\[\]" out
		grep "\"remainingItemCount\":0" out
	done
	test_must_fail k --as system:serviceaccount:default:nobody get --raw "$P/resources/clusters/c1/apis/apps/v1/deployments"
'

test_expect_success 'a member that is away keeps its rows, with a warning; a restart goes on' '
	kill -9 "$pid_c2"
	eventually sh -c "\"$kubectl\" get pediacluster c2 | grep False"
	search_in c2 get deployments -A >out 2>&1
	grep web out
	grep "c2 is not ready" out
'
stop_server
start_server
test_expect_success 'what was collected is there after a restart' '
	eventually finds "c2 *web" get deployments -A
	finds "c1 *web" get deployments -A
	k delete pediacluster c2
	eventually sh -c "! \"$kubectl\" --server $server$P/resources get deployments -A | grep -q c2"
'
test_done
