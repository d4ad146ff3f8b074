#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The story of `make up`: an application over three clusters, a cluster that dies, people with
# roles, one search over everything, and nothing left behind.
. "$(dirname "$0")/lib.sh"

d() { # kubectl in demo
	k --kubeconfig kairship-data/demo.kubeconfig "$@"
}

m() { # MEMBER WORD…: kubectl in a member
	member=$1
	shift
	k --kubeconfig "kairship-data/members/$member.kubeconfig" "$@"
}

replicas() { # MEMBER: wanted and ready
	m "$1" get deployment nginx -o 'jsonpath={.spec.replicas} {.status.readyReplicas}' 2>/dev/null
}

spread() { # A B C: so many wanted and ready in m1, m2, m3; - for none
	for member in m1 m2 m3; do
		if [ "$1" = - ]; then
			[ -z "$(replicas $member)" ] || return 1
		else
			[ "$(replicas $member)" = "$1 $1" ] || return 1
		fi
		shift
	done
}

simulate() { # kill|start MEMBER
	"$KAIRSHIP" simulate "$@" --data-dir kairship-data/members
}

ready() { # MEMBER STATUS
	[ "$(d get cluster "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = "$2" ]
}

start_server --demo
eventually greeted
use_newest_kubectl

test_expect_success 'the screen says what there is, and what to type next' '
	grep "^  m1 .*https://127" server.out
	grep "export KUBECONFIG=kairship-data/demo.kubeconfig" server.out
'

test_expect_success 'three members are ready, each of its own kind' '
	d get clusters -o wide >out
	test "$(grep -c " True " out)" = 3
	test "$(awk "NR > 1 { print \$NF, \$7, \$6 }" out | sort -u | wc -l)" = 3
'

test_expect_success 'the quick start: replicas by weight, one image from elsewhere, pods run' '
	d apply -f "$top/docs/samples/nginx.yaml"
	d rollout status deployment/nginx --timeout=20s
	spread 3 2 1
	test "$(m m2 get deployment nginx -o "jsonpath={..image}")" = nginx:1.27
	test "$(m m3 get deployment nginx -o "jsonpath={..image}")" = registry.example.com/nginx:1.27
	test "$(m m1 get pods -l app=nginx --no-headers | grep -c Running)" = 3
	test "$(d get rb nginx-deployment -o "jsonpath={.spec.clusters[*].replicas}" | wc -w)" = 3
	test "$(d get works -A --no-headers | grep -c nginx)" = 3
	d get deployment nginx >out
	grep "6/6" out
'

test_expect_success 'it says why' '
	"$KAIRSHIP" explain deployment/nginx --kubeconfig kairship-data/demo.kubeconfig >out
	grep -E "^m1 .*weight 3 of 6" out
'

test_expect_success 'scaled, it follows' '
	d scale deployment nginx --replicas=12
	eventually spread 6 4 2
	d rollout status deployment/nginx --timeout=10s
'

test_expect_success 'a changed policy is followed' '
	d patch pp nginx --type=merge -p \
		"{\"spec\":{\"placement\":{\"clusterAffinity\":{\"clusterNames\":[\"m1\",\"m2\"]}}}}"
	eventually spread 7 5 -
	d patch pp nginx --type=merge -p \
		"{\"spec\":{\"placement\":{\"clusterAffinity\":{\"clusterNames\":[\"m1\",\"m2\",\"m3\"]}}}}"
	eventually spread 6 4 2
'

test_expect_success 'what is wrong is said with its field' '
	test_must_fail d apply -f - <<-Y 2>err
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: bad, namespace: default}
	spec: {resourceSelectors: []}
	Y
	grep "spec.resourceSelectors" err
'

test_expect_success 'one search over all members' '
	pedia="$server/apis/clusterpedia.io/v1beta1/resources"
	three() { test "$(k -s "$pedia" get deployments -A --no-headers | grep -c nginx)" = 3; }
	eventually three
	k -s "$pedia/clusters/m1" get deployments -n default >out
	grep "6/6" out
	test_must_fail grep m2 out
	k -s "$pedia/clusters/k-demo" get deployments -n default >out
	grep "12/12" out
'

test_expect_success 'the numbers of the instance are those of its members' '
	k get instance demo -o "jsonpath={.status.summary.clusterSummary.readyNum}" >out
	test "$(cat out)" = 3
	nodes() { test "$(k get instance demo -o "jsonpath={.status.summary.nodeSummary.totalNum}")" = 5; }
	eventually nodes
	counted() { test "$(k get instance demo -o \
		"jsonpath={.status.summary.workLoadSummary.deployments.readyNum}")" = 1; }
	eventually counted
'

test_expect_success 'a role counts at once, and only where it was given' '
	eventually k get gproductresource kairship.demo
	k apply -f - <<-Y
	apiVersion: iam.kairship.io/v1alpha1
	kind: User
	metadata: {name: jane}
	---
	apiVersion: iam.kairship.io/v1alpha1
	kind: Workspace
	metadata: {name: team}
	spec:
	  resources: [{resourceType: Kairship, resourceName: demo}]
	  members: [{kind: User, name: jane, role: Viewer}]
	Y
	"$KAIRSHIP" kubeconfig demo --user jane --output jane.kubeconfig
	j() { k --kubeconfig jane.kubeconfig "$@"; }
	eventually j get deployment nginx
	test_must_fail j scale deployment nginx --replicas=1
	test_must_fail j get secrets -A
	k patch workspace team --type=json \
		-p "[{\"op\":\"replace\",\"path\":\"/spec/members/0/role\",\"value\":\"Editor\"}]"
	j label deployment nginx by=jane
	k patch workspace team --type=json -p "[{\"op\":\"remove\",\"path\":\"/spec/members/0\"}]"
	test_must_fail j get deployment nginx
'

test_expect_success 'a login opens the root instance, as oneself' '
	echo "correct horse" | "$KAIRSHIP" passwd jane
	curl -sk "$server/apis/iam.kairship.io/v1alpha1/logins" -H "content-type: application/json" \
		-d "{\"spec\":{\"username\":\"jane\",\"password\":\"correct horse\"}}" >login
	token=$(sed -n "s/.*\"token\": *\"\([^\"]*\)\".*/\1/p" login)
	curl -sk -H "authorization: Bearer $token" "$server/apis/tenancy.kairship.io/v1alpha1/instances" >out
	grep "User .*jane.* cannot list" out
	k create -f - <<-Y
	apiVersion: tenancy.kairship.io/v1alpha1
	kind: Instance
	metadata: {name: other}
	Y
	k patch workspace team --type=merge \
		-p "{\"spec\":{\"members\":[{\"kind\":\"User\",\"name\":\"jane\",\"role\":\"Viewer\"}]}}"
	rest="$server/apis/kairship.io/v1alpha1"
	curl -sk -H "authorization: Bearer $token" "$rest/instances" >out
	grep "\"name\":\"demo\"" out
	test_must_fail grep "\"name\":\"other\"" out
	curl -sk -H "authorization: Bearer $token" "$rest/instances/demo/deployments" >out
	grep "\"name\":\"nginx\"" out
	curl -sk -H "authorization: Bearer $token" -X DELETE "$rest/instances/demo" >out
	grep "\"code\":7" out
	curl -sk -H "authorization: Bearer $token" \
		"$server/apis/clusterpedia.io/v1beta1/resources/apis/apps/v1/deployments" >out
	test "$(grep -o "\"name\":\"nginx\"" out | wc -l)" -ge 3
	k delete instance other
	test "$(curl -sk -o out -w "%{http_code}" "$server/apis/iam.kairship.io/v1alpha1/logins" \
		-H "content-type: application/json" \
		-d "{\"spec\":{\"username\":\"jane\",\"password\":\"wrong horse\"}}")" = 401
'

test_expect_success 'what an update of a member does not speak of stays' '
	d patch cluster m3 --type=merge -p "{\"metadata\":{\"labels\":{\"kept\":\"yes\"}}}"
	d patch cluster m3 --type=merge -p "{\"spec\":{\"taints\":[{\"key\":\"kept\",\"effect\":\"NoSchedule\"}]}}"
	one=/apis/kairship.io/v1alpha1/instances/demo/clusters/m3
	api $one -X PUT -H "content-type: application/json" -d "{}" >out
	d get cluster m3 -o "jsonpath={.metadata.labels.kept} {.spec.taints[*].key}" | grep "yes kept"
	api $one -X PUT -H "content-type: application/json" \
		-d "{\"cluster\":{\"metadata\":{\"labels\":{\"now\":\"this\"}},\"spec\":{\"aliasName\":\"x\"}}}" >out
	d get cluster m3 -o "jsonpath={.metadata.labels.now} {.spec.taints[*].key}" | grep "this kept"
	api $one -X PUT -H "content-type: application/json" -d "{\"clear\":[\"taints\"]}" >out
	test "$(d get cluster m3 -o "jsonpath={.metadata.labels.kept}{.metadata.labels.now} {.spec.taints[*].key}")" = "this "
'

test_expect_success 'a member dies: its replicas move, and come back by a rebalance' '
	simulate kill m1
	eventually ready m1 False
	moved() { test "$(replicas m1) $(replicas m2) $(replicas m3)" = " 8 8 4 4"; }
	for _ in 1 2 3; do eventually moved && break; done
	moved
	simulate start m1
	eventually ready m1 True
	untainted() { test -z "$(d get cluster m1 -o "jsonpath={.spec.taints}")"; }
	eventually untainted
	d apply -f - <<-Y
	apiVersion: apps.karmada.io/v1alpha1
	kind: WorkloadRebalancer
	metadata: {name: back}
	spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, name: nginx, namespace: default}]}
	Y
	eventually spread 6 4 2
'

test_expect_success 'deleted, nothing is left' '
	d delete -f "$top/docs/samples/nginx.yaml"
	eventually spread - - -
	empty() { test -z "$(d get rb,works -A -o name | grep nginx)"; }
	eventually empty
	nowhere() { test -z "$(k -s "$server/apis/clusterpedia.io/v1beta1/resources" get deployments -A -o name)"; }
	eventually nowhere
'

test_expect_success 'the instance goes with its registrations' '
	k delete workspace team
	test_must_fail k delete instance demo
	api "/apis/kairship.io/v1alpha1/instances/demo" -X DELETE >out
	grep "kairship.io/release=Orphan" out
	api "/apis/kairship.io/v1alpha1/instances/demo?release=Destroy" -X DELETE >out
	k wait --for=delete instance/demo --timeout=30s
	gone() { test -z "$(k get fc,gproductresources -o name)"; }
	eventually gone
	m m1 get namespaces,clusterrolebindings -o name >out
	test_must_fail grep -E "karmada-es|kairship:demo" out
'

test_expect_success 'killed, it leaves no process behind' '
	pgrep -f "simulate --data-dir kairship-data/members" >pids
	test -s pids
	kill -9 "$server_pid"
	none() { ! kill -0 $(cat pids) 2>/dev/null; }
	eventually none
'
server_pid=

test_done
