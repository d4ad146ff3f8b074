#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A day with kubectl in an instance: its generators, rollouts, nodes, prune, wait, watch, completion.
. "$(dirname "$0")/lib.sh"
start_server

i() { # kubectl inside of the instance
	k --server "$server/clusters/one" "$@"
}

in_ns() { # kubectl inside of the instance and of this test's namespace
	i -n "$ns" "$@"
}

field() { # OBJECT JSONPATH
	in_ns get "$1" -o "jsonpath={$2}"
}

# What the controller of deployments would have left of two revisions of d.
revisions() {
	uid=$(field deployment/d .metadata.uid)
	for r in 1 2; do
		cat <<-EOF
			---
			apiVersion: apps/v1
			kind: ReplicaSet
			metadata:
			  name: d-$r
			  labels: {app: d, pod-template-hash: h$r}
			  annotations: {deployment.kubernetes.io/revision: "$r", kubernetes.io/change-cause: change $r}
			  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, uid: $uid, controller: true, blockOwnerDeletion: true}]
			spec:
			  replicas: 0
			  selector: {matchLabels: {app: d, pod-template-hash: h$r}}
			  template:
			    metadata: {labels: {app: d, pod-template-hash: h$r}}
			    spec: {containers: [{name: app, image: "example.com/app:$r"}]}
		EOF
	done
}

finished() { # NAME: the status of a deployment of two pods that all run
	printf '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"%s"},"status":{' "$1"
	printf '"observedGeneration":99,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,'
	printf '"conditions":[{"type":"Available","status":"True"}]}}'
}

for name in a b; do
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part-%s, labels: {set: parts}}\n---\n' $name
done >parts.yaml
sed '/^---/,$d' parts.yaml >part.yaml

generators() {
	test_expect_success 'what kubectl create writes is accepted' '
		i create namespace $ns
		in_ns create deployment d --image=example.com/app:1 --replicas=2
		in_ns create job once --image=example.com/app:1 -- true
		in_ns create ingress web --class=nginx --rule="www.example.com/*=d:80,tls=cert"
		in_ns create quota q --hard=configmaps=20
		in_ns create serviceaccount robot
		in_ns create role reader --verb=get --resource=pods,deployments.apps
		in_ns create rolebinding reader --role=reader --serviceaccount=$ns:robot
		in_ns create service externalname away --external-name=www.example.com
		in_ns create service loadbalancer lb --tcp=80:8080
		in_ns create secret docker-registry reg --docker-server=r.example.com --docker-username=u --docker-password=p
		i create clusterrole c-$ns --verb=get --resource=nodes
		i create clusterrolebinding c-$ns --clusterrole=c-$ns --group=$ns
		i create priorityclass p-$ns --value=10
	'
	if since 21; then # before, these are made in versions that are gone
		test_expect_success 'budgets, cron jobs, and a job of one' '
			in_ns create pdb d --selector=app=d --min-available=1
			in_ns create cronjob daily --image=example.com/app:1 --schedule="0 3 * * *" -- true
			in_ns create job today --from=cronjob/daily
			test "$(field job/today ".metadata.ownerReferences[0].kind")" = CronJob
			in_ns get cronjob daily >out
			grep -E "^daily +0 3 \* \* \* +<none> +False +0 +<none>" out
		'
	fi
	test_expect_success 'run, expose, autoscale' '
		in_ns run p --image=example.com/app:1 --port=80 --expose --labels=app=p
		in_ns expose deployment d --port=80 --target-port=8080
		test "$(field service/d ".spec.ports[0].targetPort} {.spec.selector.app")" = "8080 d"
		in_ns autoscale deployment d --min=1 --max=3 --cpu-percent=80
		in_ns get hpa d >out
		grep -E "^d +Deployment/d +cpu: <unknown>/80% +1 +3 +0 " out
	'
	test_expect_success 'get all shows all of it' '
		in_ns get all -o wide >out
		for what in pod/p service/d service/lb deployment.apps/d job.batch/once horizontalpodautoscaler.autoscaling/d; do
			grep "^$what " out
		done
		in_ns get ingress web | grep -E "^web +nginx +www.example.com +80, 443 "
	'
	test_expect_success 'columns and order as one likes' '
		in_ns get services --sort-by=.spec.type -o custom-columns=N:.metadata.name,T:.spec.type >out
		printf "%s\n" T ClusterIP ClusterIP ExternalName LoadBalancer >want
		sed "s/^[^ ]* *//" out | diff want -
		test "$(in_ns get deployment d -o "go-template={{.spec.replicas}}")" = 2
		in_ns get pods -L app --show-labels | grep -E "^p .* p +app=p\$"
	'
}

changes() {
	test_expect_success 'set' '
		in_ns set image deployment/d app=example.com/app:2
		in_ns set env deployment/d A=b
		in_ns set resources deployment/d --limits=cpu=200m,memory=512Mi
		in_ns set serviceaccount deployment/d robot
		in_ns set subject rolebinding reader --user=jane
		c=.spec.template.spec
		field deployment/d "$c.containers[0].image} {$c.containers[0].env[0].value} {$c.containers[0].resources.limits.cpu} {$c.serviceAccountName" >out
		test "$(cat out)" = "example.com/app:2 b 200m robot"
	'
	test_expect_success 'rollout: history and undo, from the revisions there are' '
		revisions | in_ns create -f -
		in_ns rollout history deployment/d >out
		grep -E "^1 +change 1\$" out
		in_ns rollout history deployment/d --revision=1 | grep "example.com/app:1"
		in_ns rollout undo deployment/d --to-revision=1
		test "$(field deployment/d ".spec.template.spec.containers[0].image")" = example.com/app:1
	'
	test_expect_success 'rollout: pause, resume, restart, status' '
		in_ns rollout pause deployment/d
		test "$(field deployment/d .spec.paused)" = true
		in_ns rollout resume deployment/d
		in_ns rollout restart deployment/d
		field deployment/d .spec.template.metadata.annotations | grep restartedAt
		in_ns rollout status deployment/d --watch=false | grep "Waiting for deployment spec update"
		finished d >status.json
		k replace --raw /clusters/one/apis/apps/v1/namespaces/$ns/deployments/d/status -f status.json
		in_ns rollout status deployment/d --timeout=5s | grep "successfully rolled out"
		in_ns wait --for=condition=Available --timeout=5s deployment/d
		in_ns get deployment d | grep -E "^d +2/2 +2 +2 "
	'
	test_expect_success 'an edit that does nothing, and one that is no good' '
		in_ns scale deployment d --replicas=5
		KUBE_EDITOR=true in_ns edit deployment d 2>&1 | grep "Edit cancelled, no changes made"
		printf "#!/bin/sh\ngrep -q must.be \$1 && exec cp \$1 again\nsed -i s/replicas:.5/replicas:\\\\ -1/ \$1\n" >edit && chmod +x edit
		test_must_fail env KUBE_EDITOR=./edit "$kubectl" --server $server/clusters/one -n $ns edit deployment d
		grep "spec.replicas: Invalid value: -1: must be greater than or equal to 0" again
	'
	test_expect_success 'labels, annotations and patches of every sort' '
		in_ns create configmap c --from-literal=a=b
		in_ns label configmap c l=1
		test_must_fail in_ns label configmap c l=2
		test_must_fail in_ns label configmap c l=2 --overwrite --resource-version=1 2>err
		grep "the object has been modified" err
		in_ns annotate configmap --all n=1 --overwrite
		in_ns label configmap c l-
		test "$(field configmap/c ".metadata.labels.l} {.metadata.annotations.n")" = " 1"
		in_ns patch configmap c --type=merge -p "{\"data\":{\"x\":\"y\"}}"
		in_ns patch configmap c --type=json -p "[{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"b\"},{\"op\":\"remove\",\"path\":\"/data/a\"}]"
		test_must_fail in_ns patch configmap c --type=json -p "[{\"op\":\"test\",\"path\":\"/data/x\",\"value\":\"b\"}]"
		in_ns patch configmap c -p "{\"data\":{\"z\":\"1\"}}"
		test "$(field configmap/c .data)" = "{\"x\":\"y\",\"z\":\"1\"}"
		in_ns delete configmap --field-selector=metadata.name=c
	'
	test_expect_success 'what was applied last is shown, edited, and drives the next apply' '
		in_ns apply -f parts.yaml
		in_ns apply view-last-applied configmap/part-a | grep "set: parts"
		KUBE_EDITOR="sed -i s/set:.parts/set:\\ edited/" in_ns apply edit-last-applied configmap/part-a
		in_ns apply view-last-applied configmap/part-a | grep "set: edited"
		in_ns apply set-last-applied -f part.yaml
		in_ns apply view-last-applied configmap/part-a | grep "set: parts"
		in_ns delete -f parts.yaml
	'
	test_expect_success 'scale where it is what one thinks, and select others' '
		test_must_fail in_ns scale deployment d --current-replicas=9 --replicas=1 2>err
		grep "Expected replicas to be 9, was 5" err
		in_ns scale deployment d --current-replicas=5 --replicas=6
		! since 24 || in_ns patch deployment d --subresource=scale --type=merge -p "{\"spec\":{\"replicas\":5}}"
		! since 24 || in_ns get deployment d --subresource=scale | grep -E "^d +5 "
		! since 23 || in_ns wait deployment d --for=jsonpath="{.spec.replicas}"=5 --timeout=5s
		in_ns scale deployment d --replicas=5
		in_ns set selector service d app=other
		test "$(field service/d .spec.selector.app)" = other
	'
	test_expect_success 'describe finds something to say of each' '
		for what in deployment/d service/d ingress/web hpa/d quota/q role/reader rolebinding/reader serviceaccount/robot secret/reg job/once; do
			in_ns describe $what >out
			grep -E "^Name: +${what#*/}\$" out
		done
		i describe namespace $ns | grep -E "^ +configmaps "
	'
	test_expect_success 'diff of a deployment shows what would change, and nothing else' '
		in_ns get deployment d -o yaml >d.yaml
		in_ns diff -f d.yaml
		sed -i "s/replicas: 5/replicas: 7/" d.yaml
		rc=0
		in_ns diff -f d.yaml >out || rc=$?
		test $rc = 1
		test "$(grep -E "^[-+]  [a-z]" out | grep -v generation | tr -s " ")" = "- replicas: 5
+ replicas: 7"
	'
	test_expect_success 'orphans stay, a foreground deletion waits' '
		in_ns delete deployment d --cascade=orphan
		test -z "$(field replicaset/d-1 .metadata.ownerReferences)"
		in_ns create deployment d --image=example.com/app:1
		in_ns delete replicaset d-1 d-2
		revisions | in_ns create -f -
		in_ns delete deployment d --cascade=foreground --timeout=20s
		test -z "$(in_ns get replicasets -o name)"
	'
}

files() {
	test_expect_success 'apply --prune takes away what is no longer there' '
		list=--prune-whitelist
		! since 26 || list=--prune-allowlist
		in_ns apply -f parts.yaml
		in_ns apply --prune -l set=parts $list=core/v1/ConfigMap -f part.yaml >out
		grep "configmap/part-b pruned" out
		test "$(in_ns get configmaps -l set=parts -o name)" = configmap/part-a
	'
	if since 27; then
		test_expect_success 'an apply set does so, too, over all kinds' '
			export KUBECTL_APPLYSET=true
			in_ns apply --prune --applyset=parts -f parts.yaml
			in_ns apply --prune --applyset=parts -f part.yaml >out
			grep "configmap/part-b pruned" out
		'
	fi
	test_expect_success 'replace, by force if need be' '
		uid=$(field configmap/part-a .metadata.uid)
		in_ns replace -f part.yaml
		test "$(field configmap/part-a .metadata.uid)" = $uid
		in_ns replace --force -f part.yaml
		test "$(field configmap/part-a .metadata.uid)" != $uid
	'
	test_expect_success 'a dry run of the server leaves nothing behind' '
		in_ns create deployment dry --image=example.com/app:1 --dry-run=server -o yaml >out
		grep "progressDeadlineSeconds: 600" out
		test_must_fail in_ns get deployment dry
	'
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\ndatum: {}\n' >odd.yaml
	test_expect_success 'a field that does not exist is found' '
		test_must_fail in_ns create -f odd.yaml 2>err
		grep "unknown field \"datum\"" err
		! since 25 || in_ns create --validate=warn -f odd.yaml 2>&1 | grep "Warning: unknown field \"datum\""
	'
	test_expect_success 'wait for the end of something, and see it in a watch' '
		# a list: of one object kubectl takes the first event of its watch for what it has shown
		k_background seen --server $server/clusters/one -n $ns get configmaps --field-selector metadata.name=part-a --watch --output-watch-events --no-headers
		eventually grep "ADDED *part-a" seen
		in_ns label configmap part-a x=y
		in_ns delete configmap part-a --wait=false
		! since 24 || in_ns wait --for=delete configmap/part-a --timeout=10s # also if it is gone
		eventually grep "DELETED *part-a" seen
		grep "MODIFIED *part-a" seen
		k_background_stop
	'
}

nodes() {
	node=n-$ns
	test_expect_success 'a node is tainted, cordoned, drained' '
		printf "apiVersion: v1\nkind: Node\nmetadata: {name: $node}\n" | i create -f -
		i taint node $node gpu=yes:NoSchedule
		test_must_fail i taint node $node gpu=yes:NoSchedule
		i taint node $node gpu-
		i cordon $node
		i get node $node | grep "Unknown,SchedulingDisabled"
		i uncordon $node
		printf "apiVersion: v1\nkind: Binding\nmetadata: {name: p}\ntarget: {kind: Node, name: $node}\n" | in_ns create -f -
		i drain $node --force --dry-run=client | grep "evicting pod $ns/p"
		in_ns get pod p
		i drain $node --force --grace-period=0 --timeout=10s
		test_must_fail in_ns get pod p
		i delete node $node
	'
	test_expect_success 'what needs a kubelet or metrics says so' '
		test_must_fail i top pods 2>err
		grep "Metrics API not available" err
		in_ns run p --image=example.com/app:1
		test_must_fail in_ns exec p -- true 2>err
		grep -E "does not have a host assigned|is not served" err
		in_ns delete pod p --force --grace-period=0
	'
}

help_of_kubectl() {
	test_expect_success 'explain goes down to the leaves' '
		k explain ingress --recursive --server $server/clusters/one >out
		grep -E "pathType.*string" out
		i explain hpa.spec.metrics.resource.target | grep averageUtilization
		test_must_fail i explain pod.nothing 2>err
		grep "field \"nothing\" does not exist" err
		test_must_fail i get nothing 2>err
		grep "the server doesn.t have a resource type \"nothing\"" err
	'
	if since 23; then
		test_expect_success 'words are completed' '
			"$kubectl" __complete get --server $server/clusters/one horiz | grep "^horizontalpodautoscalers"
			"$kubectl" __complete get --server $server/clusters/one -n $ns serviceaccount "" | grep -x robot
		'
	fi
	test_expect_success 'a proxy' '
		k_background proxy --server $server/clusters/one proxy --port=0
		eventually grep -E "127.0.0.1:[0-9]+" proxy
		address=$(grep -oE "127.0.0.1:[0-9]+" proxy)
		curl -sS "http://$address/api/v1/namespaces/$ns/serviceaccounts/robot" | grep "\"name\": *\"robot\""
		k_background_stop
	'
	test_expect_success 'a namespace goes with all that is in it' '
		i delete namespace $ns --timeout=20s
		test_must_fail i get namespace $ns
		test -z "$(in_ns get all,ingress,role,rolebinding,quota,secret,configmap -o name)"
		i delete clusterrole/c-$ns clusterrolebinding/c-$ns priorityclass/p-$ns
	'
}

scenario() {
	generators
	changes
	files
	nodes
	help_of_kubectl
}

test_expect_success 'an instance' '
	use_newest_kubectl
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: one}\n" | k create -f -
'
with_each_kubectl scenario
test_done
