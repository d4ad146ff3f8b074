#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workloads over three members by the management API: python/workloads.py has most of the tests.
. "$(dirname "$0")/lib.sh"

python=${PYTHON:-/usr/bin/python3}
need_python grpc python3-grpcio
need_python jsonschema python3-jsonschema

mgmt() { # TEST
	timeout 60 "$python" "$top/tests/e2e/python/workloads.py" "$1" "${server#https://}"
}

m3() { # kubectl in a member
	k --kubeconfig kairship-data/members/m3.kubeconfig "$@"
}

jane() { # PATH [CURL-WORD…]: the code of the answer
	path=$1
	shift
	curl -sk -o out -w '%{http_code}' -H "authorization: Bearer $(cat token)" \
		"$@" "$server/apis/kairship.io/v1alpha1/instances/demo/$path"
}

crd() { # PLURAL KIND SCOPE
	printf '%s\n' --- 'apiVersion: apiextensions.k8s.io/v1' 'kind: CustomResourceDefinition' \
		"metadata: {name: $1.example.com}" "spec:" "  {group: example.com, scope: $3, names: {plural: $1, kind: $2}," \
		"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}"
}

policy() { # KIND FIELD: one that chooses nothing there is
	printf '%s\n' --- 'apiVersion: policy.karmada.io/v1alpha1' "kind: $1" 'metadata: {name: seed}' \
		"spec: {$2, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: none}]}"
}

seeds() { # one of each that the other tests leave out
	crd gadgets Gadget Cluster
	policy ClusterPropagationPolicy "placement: {}"
	policy ClusterOverridePolicy "overrideRules: [{overriders: {}}]"
	policy PropagationPolicy "placement: {}"
	policy OverridePolicy "overrideRules: [{overriders: {}}]"
	printf '%s\n' --- 'apiVersion: autoscaling.karmada.io/v1alpha1' 'kind: FederatedHPA' 'metadata: {name: seed}' \
		'spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 2}'
}

things() {
	printf '%s\n' 'apiVersion: example.com/v1' 'kind: Widget' 'metadata: {name: seed, namespace: default}' \
		--- 'apiVersion: example.com/v1' 'kind: Gadget' 'metadata: {name: seed}'
}

start_server --demo
eventually greeted
use_newest_kubectl

test_expect_success 'credentials for curl' 'api /version'
for name in create_together clusters_and_pods policies change configuration failures_are_the_same; do
	test_expect_success "$name" "mgmt $name"
done

test_expect_success 'what a member has is taken over, and its pods stay' '
	m3 create configmap old --from-literal=a=b
	m3 create deployment old --image=nginx:1.20 --replicas=2
	m3 patch deployment old -p "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[
		{\"name\":\"v\",\"configMap\":{\"name\":\"old\"}}]}}}}"
	m3 expose deployment old --port=80
	m3 rollout status deployment old --timeout=20s
	two() { test "$(m3 get pods -l app=old -o name | wc -l)" = 2; }
	eventually two # those of the first template are on their way out
	m3 get pods -l app=old -o name >before
	mgmt promote
	m3 get pods -l app=old -o name | diff before -
	m3 get deployment old -o "jsonpath={.metadata.labels}" | grep karmada.io/managed
'

test_expect_success 'Jobs and CronJobs' 'mgmt jobs'
test_expect_success 'Ingresses, and one of a member with its certificate' '
	m3 create secret generic cert --from-literal=a=b
	printf "%s\n" "apiVersion: networking.k8s.io/v1" "kind: IngressClass" \
		"metadata: {name: near, annotations: {ingressclass.kubernetes.io/is-default-class: \"true\"}}" \
		"spec: {controller: example.com/near}" \
		--- "apiVersion: networking.k8s.io/v1" "kind: Ingress" "metadata: {name: way}" \
		"spec:" "  tls: [{hosts: [a.example], secretName: cert}]" \
		"  defaultBackend: {service: {name: old, port: {number: 80}}}" | m3 create -f -
	mgmt ingresses
'
test_expect_success 'definitions and custom resources' 'mgmt custom_resources'

test_expect_success 'a Viewer reads, an Editor writes, who has no role is refused' '
	eventually k get gproductresource kairship.demo
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: User" "metadata: {name: jane}" \
		--- "apiVersion: iam.kairship.io/v1alpha1" "kind: Workspace" "metadata: {name: team}" \
		"spec: {resources: [{resourceType: Kairship, resourceName: demo}]}" | k create -f -
	echo "correct horse" | "$KAIRSHIP" passwd jane
	curl -sk "$server/apis/iam.kairship.io/v1alpha1/logins" -H "content-type: application/json" \
		-d "{\"spec\":{\"username\":\"jane\",\"password\":\"correct horse\"}}" |
		sed -n "s/.*\"token\": *\"\([^\"]*\)\".*/\1/p" >token
	test "$(jane deployments)" = 403
	k patch workspace team --type=merge \
		-p "{\"spec\":{\"members\":[{\"kind\":\"User\",\"name\":\"jane\",\"role\":\"Viewer\"}]}}"
	sleep 0.1
	test "$(jane deployments)" = 200
	test "$(jane namespaces/team/configmaps -d "{\"data\":\"{\\\"metadata\\\":{\\\"name\\\":\\\"j\\\"}}\"}")" = 403
	test "$(jane namespaces/team/secrets)" = 403
	k patch workspace team --type=merge \
		-p "{\"spec\":{\"members\":[{\"kind\":\"User\",\"name\":\"jane\",\"role\":\"Editor\"}]}}"
	sleep 0.1
	test "$(jane namespaces/team/configmaps -d "{\"data\":\"{\\\"metadata\\\":{\\\"name\\\":\\\"j\\\"}}\"}")" = 200
	test "$(jane namespaces/team/secrets)" = 200
'
test_expect_success 'an instance leaves its workspace, and comes back' 'mgmt workspaces'

test_expect_success 'every GET is as the OpenAPI document says' '
	m3 create deployment offered --image=nginx:1.20
	m3 create ingress offered --rule="a.example/=old:80"
	seeds >seeds.yaml
	things >things.yaml
	k --kubeconfig kairship-data/demo.kubeconfig apply -f seeds.yaml
	eventually k --kubeconfig kairship-data/demo.kubeconfig create -f things.yaml
	for what in deployments ingresses; do
		is_offered() { api /apis/kairship.io/v1alpha1/instances/demo/member-clusters/m3/$what | grep "\"offered\""; }
		eventually is_offered
	done
	timeout 60 "$python" "$top/tests/e2e/python/document.py" "${server#https://}"
'

test_expect_success delete 'mgmt delete'
test_done
