#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A cluster that the server cannot reach joins by a manifest that is applied there.
. "$(dirname "$0")/lib.sh"

member() { # kubectl in the member
	k --kubeconfig "$tmp/members/m1.kubeconfig" "$@"
}

demo() { # kubectl in the instance
	k -s "$server/clusters/demo" "$@"
}

pull() { # [OPTION…]: joins m1
	"$KAIRSHIP" join m1 --pull --syncer-image registry.example.com/control-plane:1 --instance demo "$@"
}

syncer() { # may it VERB RESOURCE?
	k --kubeconfig syncer.kubeconfig auth can-i "$@"
}

m1_is() { # STATUS
	[ "$(demo get cluster m1 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = "$1" ]
}

says() { # TEXT COMMAND…
	text=$1
	shift
	test_must_fail "$@" 2>err && grep -e "$text" err
}

stop_all() {
	for pid in $members_pid $(cat syncer.pid 2>/dev/null); do
		kill -TERM "$pid" 2>/dev/null
	done
	cleanup
}

# What a kubelet would do with the pod: the Secret as files, the arguments of the container, and the
# account of the pod for the member.  Simulated nodes run images of the name kairship only, which this
# is not, so that its log can be read.
run_syncer() {
	ns=$(sed -n 's/^  namespace: //p' manifest.yaml | head -n 1)
	member -n "$ns" get secret "$ns" -o 'jsonpath={.data.kubeconfig}' | base64 -d >syncer.kubeconfig
	member -n "$ns" get deployment "$ns" \
		-o 'jsonpath={range .spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}' >args
	sed -i "s#/kcp/kubeconfig#$tmp/syncer.kubeconfig#" args
	token=$(echo '{}' | member create --raw "/api/v1/namespaces/$ns/serviceaccounts/$ns/token" -f - |
		sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
	sed "s/^\( *\)client-certificate-data:.*/\1token: $token/; /client-key-data/d" \
		members/m1.kubeconfig >pod.kubeconfig
	# shellcheck disable=SC2046 # words
	"$KAIRSHIP" $(cat args) --to pod.kubeconfig --heartbeat 1 --metrics-listen none >syncer.log 2>&1 &
	echo $! >syncer.pid
}

members_pid=''
trap stop_all EXIT
start_server
use_newest_kubectl
"$KAIRSHIP" simulate --data-dir members --members 1 --delay 20 >members.out 2>>server.log &
members_pid=$!
eventually greeted members.out

test_expect_success 'which options go together' '
	says "needs --syncer-image" "$KAIRSHIP" join m1 --pull
	says "without a kubeconfig of the cluster" pull --cluster-kubeconfig members/m1.kubeconfig
	says "is a URL such as" pull --syncer-server here
	says "cluster-kubeconfig is missing" "$KAIRSHIP" join m1
'

test_expect_success 'a manifest is printed, and applies in the member' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" | k apply -f -
	pull >manifest.yaml 2>err
	grep "in the cluster is the cluster.s own machine" err
	member apply -f manifest.yaml
	[ "$(demo get cluster m1 -o "jsonpath={.spec.syncMode}")" = Pull ]
	pull --syncer-server https://192.0.2.1:6443/ >other.yaml 2>err
	test_must_fail grep "own machine" err
	sed -n "s/^  kubeconfig: //p" other.yaml | base64 -d >out
	grep "https://192.0.2.1:6443/clusters/demo" out
'

test_expect_success 'the credential in it can be the syncer of this cluster and nothing else' '
	run_syncer
	syncer list works.work.karmada.io -n karmada-es-m1
	syncer patch works.work.karmada.io --subresource=status -n karmada-es-m1
	syncer create events   # what went wrong is told on the object as well
	syncer get clusters.cluster.karmada.io/m1
	syncer patch leases.coordination.k8s.io/m1 -n karmada-cluster
	for no in "list works.work.karmada.io -n karmada-es-m2" "list works.work.karmada.io -A" \
		"create works.work.karmada.io -n karmada-es-m1" "get clusters.cluster.karmada.io/m2" \
		"update clusters.cluster.karmada.io/m1" "list secrets -A" "get secrets -n karmada-es-m1" \
		"patch leases.coordination.k8s.io/m2 -n karmada-cluster" \
		"create leases.coordination.k8s.io -n karmada-cluster" "list configmaps" "list deployments.apps"; do
		# shellcheck disable=SC2086
		test_must_fail syncer $no
	done
	test_must_fail k --kubeconfig syncer.kubeconfig -s "$server" get namespaces
	sed -n "s/.*token: *//p" syncer.kubeconfig >token
	test_must_fail grep -F -f token server.log
'

test_expect_success 'a Deployment arrives, and its status comes back' '
	eventually m1_is True
	demo create deployment web --image=nginx --replicas=2
	demo apply -f - <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: web, namespace: default}
	spec:
	  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
	  placement: {clusterAffinity: {clusterNames: [m1]}}
	Y
	eventually member get deployment web
	ready() { [ "$(demo get deployment web -o "jsonpath={.status.readyReplicas}")" = 2 ]; }
	eventually ready
	test_must_fail grep -iE "forbidden|warn|error" syncer.log
'

test_expect_success 'again it is the same account; a member of push mode is no other' '
	pull >again.yaml 2>err
	cmp manifest.yaml again.yaml
	says "is a member in pull mode" "$KAIRSHIP" join m1 --cluster-kubeconfig members/m1.kubeconfig --instance demo
'

test_expect_success 'it leaves: the Deployment goes, then the account does' '
	demo delete propagationpolicy web
	demo delete deployment web
	eventually test_must_fail member get deployment web
	"$KAIRSHIP" unjoin m1 --instance demo --wait 20
	gone() { ! demo -n kube-system get serviceaccounts -o name | grep kairship-syncer; }
	eventually gone
	test "$(curl -sk -o out -w "%{http_code}" -H "authorization: Bearer $(cat token)" "$server/clusters/demo/api")" = 401
	demo get clusterroles -o name >out
	test_must_fail grep kairship-syncer out
	member delete -f manifest.yaml --wait=false
'

test_done
