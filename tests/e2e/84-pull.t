#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pull mode as a member has it: what `up` installs there, run as a container of the image.
. "$(dirname "$0")/lib.sh"
. "$top/tests/e2e/containers.sh"
program=${KAIRSHIP_RELEASE:-$top/build/release/kairship}
need "$program" "(none: run tools/build release kairship)"
use_newest_kubectl

t() { # kubectl in the instance
	k --kubeconfig "$tmp/demo.kubeconfig" "$@"
}
m() { # kubectl in the member
	k --kubeconfig "$tmp/members/m1.kubeconfig" "$@"
}
ready() { # STATUS/REASON
	[ "$(t get clusters.workload.kcp.dev m1 \
		-o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}/{.status.conditions[?(@.type=="Ready")].reason}')" = "$1" ]
}
of_member() { # FIELD
	sed -n "s/^ *$1: *\"\{0,1\}\([^\"]*\).*/\1/p" members/m1.kubeconfig
}
stop_all() {
	{ kill -TERM "$members_pid" && wait "$members_pid"; } 2>/dev/null
	remove_containers
}

test_expect_success 'options that make no sense' '
	for words in "--syncer-mode x" "--syncer-server http://a" "--syncer-server https://" "--syncer-image "; do
		test_must_fail "$KAIRSHIP" up --data-dir d --listen 127.0.0.1:0 ${words% *} "${words#* }" 2>err
		grep -e "kairship: ${words% *} is" err
	done
	test_must_fail "$KAIRSHIP" apiserver --syncer-mode push 2>err
	grep "syncer-mode" err
'

start_server --syncer-mode pull
"$KAIRSHIP" simulate --data-dir members --members 1 --delay 20 >members.out 2>>server.log &
members_pid=$!
trap stop_all EXIT
eventually greeted members.out

test_expect_success 'without an image the cluster says which option is missing' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\nspec: {profile: minimal}\n" |
		k apply -f -
	"$KAIRSHIP" kubeconfig demo --output demo.kubeconfig
	printf "apiVersion: workload.kcp.dev/v1alpha1\nkind: Cluster\nmetadata: {name: m1}\nspec:\n  kubeconfig: |\n" >cluster.yaml
	sed "s/^/    /" members/m1.kubeconfig >>cluster.yaml
	t apply -f cluster.yaml
	eventually ready False/NoSyncerImage
	t get clusters.workload.kcp.dev m1 -o yaml | grep -e "--syncer-image"
	m get deployments -A -o name >out
	test ! -s out
'

stop_server
# The simulator runs what is called kairship, so this is not.
start_server --syncer-mode pull --syncer-image registry.example.com/control-plane:1
test_expect_success 'with an image its Deployment is there, as the strictest of the Pod Security Standards has it' '
	eventually ready False/ClusterStatusUnknown
	installed() { m get deployments -A -o json | grep control-plane; }
	eventually installed
	ns=$(m get deployments -A -o "jsonpath={.items[0].metadata.namespace}")
	m label namespace "$ns" pod-security.kubernetes.io/enforce=restricted
	test_must_fail m -n "$ns" run weak --image=x
	m -n "$ns" get deployment "$ns" -o "jsonpath={.spec.template}" >template.json
	{ printf "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", "; sed "s/^{//; s/\"metadata\":{/&\"name\":\"try\",/" template.json; } >pod.json
	m -n "$ns" create -f pod.json --dry-run=server
	echo "$ns" >ns
'

if ! can_contain; then
	test_skip 'its pod runs as a container' "$why"
	test_done
fi

# What a kubelet gives to the pod.
ns=$(cat ns)
mkdir account secret
of_member certificate-authority-data | base64 -d >account/ca.crt
m -n "$ns" create token "$ns" >account/token
m -n "$ns" get secret "$ns" -o 'jsonpath={.data.kubeconfig}' | base64 -d >secret/kubeconfig
chmod -R a+rX "$tmp"/account "$tmp"/secret
address=$(of_member server)
address=${address#https://}
make_image "$program" image >/dev/null
contained syncer pod.json kcp=secret serviceaccount=account \
	KUBERNETES_SERVICE_HOST="${address%:*}" KUBERNETES_SERVICE_PORT="${address##*:}" >syncer.log 2>&1 &

test_expect_success 'its pod runs as a container, and the cluster is ready' '
	for _ in 1 2 3; do ! eventually ready True/ || break; done
	ready True/
	grep "\"msg\":\"sandbox\"" syncer.log
	eventually t create deployment web --image=nginx --replicas=2
	t rollout status deployment/web --timeout=30s
	m get deployments -A >out
	grep web--m1 out
'

test_done
