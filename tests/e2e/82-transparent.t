#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Transparent multi-cluster: an instance of profile minimal, Clusters with a kubeconfig inside, and
# plain kubectl.
. "$(dirname "$0")/lib.sh"

pids='' image=''
stop_all() {
	for pid in $pids; do
		kill -9 "$pid" 2>/dev/null
	done
	cleanup
}
trap stop_all EXIT

start_apiserver() {
	"$KAIRSHIP" apiserver --allow-loopback-members --data-dir kairship-data \
		--listen "${listen:-127.0.0.1:0}" >>server.out 2>>server.log &
	server_pid=$!
	pids="$pids $server_pid"
	for _ in $(seq 300); do
		if server_ready; then
			export KUBECONFIG="$tmp/kairship-data/admin.kubeconfig"
			return 0
		fi
		sleep 0.1
	done
	echo "Bail out! the API server does not become ready"
	tail -n 40 server.log | diag
	exit 1
}

start_manager() { # MODE
	# shellcheck disable=SC2086 # words
	"$KAIRSHIP" controller-manager --kubeconfig kairship-data/admin.kubeconfig \
		--allow-loopback-members --syncer-mode "$1" $image --splitter-grace 1 \
		--workload-cluster-heartbeat-threshold 3 --leader-elect-lease-duration 3 \
		--leader-elect-renew-deadline 2 --leader-elect-retry-period 1 \
		--resources-to-sync 'deployments.apps,daemonsets.apps,*.example.com' >>manager.log 2>&1 &
	manager_pid=$!
	pids="$pids $manager_pid"
}

stop_manager() { # not in a test's subshell: it is this shell's child
	kill -TERM "$manager_pid"
	wait "$manager_pid"
	test_report $? "the manager of mode $1 ends in order"
}

start_members() {
	"$KAIRSHIP" simulate --data-dir members --members 3 --names us-east1,us-west1,eu-central1 \
		--nodes 2 --delay 20 >members.out 2>>server.log &
	members_pid=$!
	pids="$pids $members_pid"
	for _ in $(seq 200); do
		! greeted members.out || return 0
		sleep 0.1
	done
	echo "Bail out! the members do not start"
	exit 1
}

new_instance() { # NAME: becomes the one that t speaks to
	printf 'apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: %s}\nspec: {profile: minimal}\n' \
		"$1" | k apply -f -
	"$KAIRSHIP" kubeconfig "$1" --output "$1.kubeconfig"
}

t() { # kubectl in the instance
	k --kubeconfig "$tmp/$instance.kubeconfig" "$@"
}

m() { # MEMBER WORD…: kubectl there
	member=$1
	shift
	k --kubeconfig "$tmp/members/$member.kubeconfig" "$@"
}

cluster_yaml() { # NAME
	printf 'apiVersion: workload.kcp.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec:\n  kubeconfig: |\n' "$1"
	sed 's/^/    /' "$tmp/members/$1.kubeconfig"
}

shows() { # VALUE COMMAND…: that is all it prints
	want=$1
	shift
	[ "$("$@" 2>/dev/null)" = "$want" ]
}

soon() { # COMMAND…: it succeeds within thirty seconds
	for _ in $(seq 150); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.2
	done
	"$@"
}

ready() { # CLUSTER STATUS
	shows "$2" t get clusters.workload.kcp.dev "$1" \
		-o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
}

look_again() { # CLUSTER: its types are imported anew when its spec changes, else every minute
	for value in true false; do
		t patch clusters.workload.kcp.dev "$1" --type=merge -p "{\"spec\":{\"unschedulable\":$value}}"
	done
}

import_is() { # IMPORT CONDITION STATUS
	shows "$3" t get apiresourceimport "$1" \
		-o "jsonpath={.status.conditions[?(@.type==\"$2\")].status}"
}

shards() { # "a b c": replicas of web's shards, by name
	shows "$1" t get deployments -l kcp.dev/owned-by=web \
		-o 'jsonpath={.items[*].spec.replicas}'
}

copied() { # MEMBER TYPE NAME JSONPATH
	m "$1" get "$2" -A -o "jsonpath={.items[?(@.metadata.name==\"$3\")]$4}"
}

start_apiserver
use_newest_kubectl
start_members
start_manager push
instance=shop

test_expect_success 'two clusters with a kubeconfig inside; Deployments are negotiated and served' '
	new_instance shop
	test_must_fail t get deployments
	for c in us-east1 us-west1; do cluster_yaml $c >$c.yaml; t apply -f $c.yaml; done
	soon import_is deployments.us-east1.v1.apps Available True
	soon import_is deployments.us-west1.v1.apps Compatible True
	soon t get deployments
	t get negotiatedapiresource deployments.v1.apps
	soon ready us-east1 True
	soon ready us-west1 True
'

test_expect_success 'their nodes are counted' '
	soon shows 4 k get instance shop -o "jsonpath={.status.summary.nodeSummary.readyNum}"
	soon shows 440 k get instance shop -o "jsonpath={.status.summary.resourceSummary.allocatable.pods}"
'

test_expect_success 'a Cluster that is applied again is unchanged' '
	t apply -f us-east1.yaml >out
	grep unchanged out
	t diff -f us-east1.yaml
'

hides() { # FILE: there is none of the credentials of us-east1 in it
	test_must_fail grep -q -e "$(sed -n 's/.*\(client-key-data\|token\): *//p' members/us-east1.kubeconfig | head -n 1)" "$1" &&
		test_must_fail grep -q client-key-data "$1"
}

test_expect_success 'its credentials are in a Secret, and seen by nobody who may not read that' '
	soon t get secret -n kube-system cluster-us-east1
	t get secret -n kube-system cluster-us-east1 -o "jsonpath={.data.kubeconfig}" | base64 -d >copy
	cmp copy members/us-east1.kubeconfig
	t create clusterrole clerk --verb="*" --resource=clusters.workload.kcp.dev
	t create clusterrolebinding clerk --clusterrole=clerk --user=clerk
	path=$(raw_in shop)/apis/workload.kcp.dev/v1alpha1/clusters
	t --as clerk get clusters.workload.kcp.dev us-east1 -o yaml >out
	hides out
	grep "# in Secret kube-system/cluster-us-east1" out
	t --as clerk get --raw $path >out
	hides out
	timeout 3 "$kubectl" --kubeconfig shop.kubeconfig --as clerk get --raw "$path?watch=1&timeoutSeconds=1" >out
	grep us-east1 out
	hides out
	t --as clerk label clusters.workload.kcp.dev us-east1 seen=yes
	t --as clerk patch clusters.workload.kcp.dev us-east1 --type=json -o yaml \
		-p "[{\"op\":\"copy\",\"from\":\"/spec/kubeconfig\",\"path\":\"/metadata/labels/x\"}]" >out 2>&1 || true
	hides out
	t --as clerk apply -f us-east1.yaml
	t --as clerk diff -f us-east1.yaml
	t apply -f us-east1.yaml >out
	grep unchanged out
'

test_expect_success 'ten replicas are five and five, run, and are summed up' '
	t create configmap conf --from-literal=k=v
	cat >web.yaml <<-END
	apiVersion: apps/v1
	kind: Deployment
	metadata: {name: web, labels: {app: web}}
	spec:
	  replicas: 10
	  selector: {matchLabels: {app: web}}
	  template:
	    metadata: {labels: {app: web}}
	    spec:
	      containers:
	      - name: web
	        image: nginx:1
	        volumeMounts: [{name: conf, mountPath: /conf}]
	      volumes: [{name: conf, configMap: {name: conf}}]
	END
	t apply -f web.yaml
	soon shards "5 5"
	t rollout status deployment/web --timeout=30s
	shows 10 t get deployment web -o "jsonpath={.status.readyReplicas}"
	shows us-east1 t get deployment web--us-east1 \
		-o "jsonpath={.metadata.labels.workloads\.kcp\.dev/cluster}"
	soon shows 5 copied us-west1 deployments web--us-west1 .status.readyReplicas
'

test_expect_success 'the ConfigMap that it mounts has come along, and changes do' '
	soon shows v copied us-east1 configmaps conf--us-east1 .data.k
	shows conf--us-east1 copied us-east1 deployments web--us-east1 \
		".spec.template.spec.volumes[0].configMap.name"
	t patch configmap conf -p "{\"data\":{\"k\":\"w\"}}"
	soon shows w copied us-west1 configmaps conf--us-west1 .data.k
'

test_expect_success 'kubectl edits it as any Deployment: apply, set image, scale' '
	sed "s/nginx:1/nginx:2/" web.yaml >web2.yaml
	t apply -f web2.yaml
	t set env deployment/web A=b
	t rollout status deployment/web --timeout=30s
	shows nginx:2 copied us-east1 deployments web--us-east1 \
		".spec.template.spec.containers[0].image"
	t scale deployment web --replicas=7
	soon shards "4 3"
	t scale deployment web --replicas=10
	soon shards "5 5"
'

test_expect_success 'kairship explain says who decides here, and where to look' '
	test_must_fail "$KAIRSHIP" explain deployment/web --kubeconfig shop.kubeconfig 2>err
	grep "no policies in this instance" err
	sed -n "s/.*See: kubectl //p" err >words
	t $(cat words) >out
	grep "web--us-east1 .*us-east1" out
'

test_expect_success 'a third cluster: four, three and three' '
	cluster_yaml eu-central1 | t apply -f -
	soon ready eu-central1 True
	soon shards "4 3 3"
	t rollout status deployment/web --timeout=30s
	soon shows w copied eu-central1 configmaps conf--eu-central1 .data.k
'

test_expect_success 'a DaemonSet goes to all of them' '
	cat >agent.yaml <<-END
	apiVersion: apps/v1
	kind: DaemonSet
	metadata: {name: agent}
	spec:
	  selector: {matchLabels: {app: agent}}
	  template:
	    metadata: {labels: {app: agent}}
	    spec: {containers: [{name: agent, image: agent}]}
	END
	soon t get daemonsets
	t apply -f agent.yaml
	for c in us-east1 us-west1 eu-central1; do
		soon shows 2 copied $c daemonsets agent--$c .status.numberReady
	done
	soon shows 6 t get daemonset agent -o "jsonpath={.status.numberReady}"
'

crd() { # TYPE-OF-SIZE
	cat <<-END
	apiVersion: apiextensions.k8s.io/v1
	kind: CustomResourceDefinition
	metadata: {name: widgets.example.com}
	spec:
	  group: example.com
	  scope: Namespaced
	  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
	  versions:
	  - name: v1
	    served: true
	    storage: true
	    schema:
	      openAPIV3Schema:
	        type: object
	        properties: {spec: {type: object, properties: {size: {type: $1}}}}
	END
}

test_expect_success 'a type that one member has otherwise is withheld from that one, with the reason' '
	crd integer >int.yaml
	crd string >string.yaml
	m us-east1 apply -f int.yaml
	m us-west1 apply -f int.yaml
	look_again us-east1
	look_again us-west1
	soon import_is widgets.us-west1.v1.example.com Available True
	m eu-central1 apply -f string.yaml
	look_again eu-central1
	soon import_is widgets.eu-central1.v1.example.com Compatible False
	t get apiresourceimport widgets.eu-central1.v1.example.com \
		-o "jsonpath={.status.conditions[?(@.type==\"Compatible\")].message}" >out
	grep "properties\[size\]: the type changed from" out
	import_is deployments.eu-central1.v1.apps Compatible True
'

test_expect_success 'an object of that type goes to one cluster' '
	printf "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n" |
		t apply -f -
	soon shows widget.example.com/w t get widgets -l workloads.kcp.dev/cluster -o name
	c=$(t get widget w -o "jsonpath={.metadata.labels.workloads\.kcp\.dev/cluster}")
	[ "$c" = us-east1 ] || [ "$c" = us-west1 ]
	soon shows 3 copied $c widgets.example.com w .spec.size
'

test_expect_success 'a cluster that is lost loses its share' '
	"$KAIRSHIP" simulate kill us-west1 --data-dir members
	soon ready us-west1 False
	soon shards "5 5"
	t get deployment web--eu-central1
	test_must_fail t get deployment web--us-west1
	t rollout status deployment/web --timeout=30s
	"$KAIRSHIP" simulate start us-west1 --data-dir members
	soon ready us-west1 True
	soon shards "4 3 3"
'

test_expect_success 'kubectl create, which speaks protobuf' '
	t create deployment quick --image=nginx:1 --replicas=3
	t rollout status deployment/quick --timeout=30s
	shows "1 1 1" t get deployments -l kcp.dev/owned-by=quick -o "jsonpath={.items[*].spec.replicas}"
	t delete deployment quick
'

test_expect_success 'what is deleted is gone everywhere' '
	t delete deployment web
	soon shows "" copied us-east1 deployments web--us-east1 .metadata.name
	soon shows "" copied us-west1 deployments web--us-west1 .metadata.name
	shards ""
	soon shows "" copied us-east1 configmaps conf--us-east1 .metadata.name
	t get configmap conf
'

test_expect_success 'an instance that is deleted leaves nothing in its members' '
	sed -i -e "/volumeMounts/d" -e "/volumes/d" web.yaml
	t apply -f web.yaml
	t rollout status deployment/web --timeout=30s
	copied us-east1 deployments web--us-east1 .metadata.name | grep web
	test_must_fail k delete instance shop 2>err
	grep "workloads (.*Deployment default/web" err # types that the members have brought count, too
	k annotate instance shop kairship.io/release=Destroy
	k delete instance shop --timeout=60s
	for c in us-east1 us-west1 eu-central1; do
		m $c get deployments,daemonsets,configmaps -A -o name >out
		test_must_fail grep -e web -e agent -e conf-- out
		m $c get namespaces -o yaml >out
		test_must_fail grep logical-cluster out
	done
'

stop_manager push
start_manager none
instance=hand
test_expect_success 'none: an operator starts the syncer; without it the cluster is not ready' '
	new_instance hand
	cluster_yaml us-east1 | t apply -f -
	soon import_is deployments.us-east1.v1.apps Available True
	soon ready us-east1 False
	"$KAIRSHIP" syncer --from hand.kubeconfig --to members/us-east1.kubeconfig --cluster us-east1 \
		--feeds labels --heartbeat 1 --resources deployments.apps,configmaps >syncer.log 2>&1 &
	echo $! >syncer.pid
	soon ready us-east1 True
	sed "s/replicas: 10/replicas: 2/" web.yaml | t apply -f -
	t create configmap conf --from-literal=k=v
	soon shards 2
	t rollout status deployment/web --timeout=30s
	"$KAIRSHIP" simulate kill us-east1 --data-dir members
	soon ready us-east1 False
	"$KAIRSHIP" simulate start us-east1 --data-dir members
	soon ready us-east1 True
	kill -9 "$(cat syncer.pid)"
	soon ready us-east1 False
'

test_expect_success 'a cluster that hangs can be deleted: it takes seconds, and what may be left is told' '
	"$KAIRSHIP" simulate stop us-east1 --data-dir members
	t delete cluster us-east1 --timeout=12s
	soon sh -c "$kubectl --kubeconfig hand.kubeconfig get events -A | grep LeftBehind"
	"$KAIRSHIP" simulate start us-east1 --data-dir members
'

stop_manager none
image='--syncer-image registry.example.com/kairship:1'
start_manager pull
instance=inside
test_expect_success 'pull: the syncer runs inside of the member, as its Deployment' '
	new_instance inside
	cluster_yaml us-east1 >us-east1.yaml
	t apply -f us-east1.yaml
	soon ready us-east1 True
	sed "s/replicas: 10/replicas: 2/" web.yaml | t apply -f -
	t rollout status deployment/web --timeout=30s
	m us-east1 get deployments -A >out
	grep syncer out
	t apply -f us-east1.yaml >out
	grep unchanged out
'

test_expect_success 'pull: one that hangs is missed; one that is killed is started again by the member' '
	pgrep -P "$members_pid" -f "syncer --from" >pid
	kill -STOP "$(cat pid)"
	soon ready us-east1 False
	kill -CONT "$(cat pid)"
	soon ready us-east1 True
	kill -9 "$(cat pid)"
	t scale deployment web --replicas=3
	t rollout status deployment/web --timeout=30s
	soon ready us-east1 True
	pgrep -P "$members_pid" -f "syncer --from" >now
	test_must_fail cmp -s pid now
'

stop_manager pull
kill -TERM "$members_pid"
wait "$members_pid"
test_done
