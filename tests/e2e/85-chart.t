#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The charts: helm 4 installs them in a simulated cluster, whose pods run nothing; so what helm rendered
# runs here as containers of the image, and its probes are asked.
. "$(dirname "$0")/lib.sh"
. "$top/tests/e2e/containers.sh"
program=${KAIRSHIP_RELEASE:-$top/build/release/kairship}
need "$program" "(none: run tools/build release kairship)"
helm=$top/build/tools/helm/helm
need "$helm" "(none: run tools/clients)"
use_newest_kubectl

charts=$top/packaging/helm
# The simulator runs what is called kairship, so this is not.
image_is=image.repository=registry.example.com/control-plane
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export HELM_CONFIG_HOME="$tmp/helm/config" HELM_CACHE_HOME="$tmp/helm/cache" HELM_DATA_HOME="$tmp/helm/data"

m() { # kubectl in the cluster that is the host
	k --kubeconfig "$tmp/members/m1.kubeconfig" "$@"
}
h() { # helm there
	timeout 60 "$helm" --kubeconfig "$tmp/members/m1.kubeconfig" --namespace ns "$@"
}
one_of() { # LIST: its first object
	"$python" -c "import json, sys; print(json.dumps(json.load(open(sys.argv[1]))['items'][0]))" "$1"
}
of_member() { # FIELD: of its kubeconfig
	sed -n "s/^ *$1: *\"\{0,1\}\([^\"]*\).*/\1/p" members/m1.kubeconfig
}
rendered() { # NAME=VALUE…: of the chart of the server
	words=
	for word in "$@"; do words="$words --set $word"; done
	# shellcheck disable=SC2086 # words
	"$helm" template kairship "$charts/kairship" --namespace ns --set $image_is $words
}

test_expect_success 'helm finds no fault, and the charts are of this version' '
	version=$("$program" version | sed "s/^kairship \([^ ]*\).*/\1/")
	for chart in kairship kairship-syncer; do
		grep -x "version: $version" "$charts/$chart/Chart.yaml"
		grep -x "appVersion: \"$version\"" "$charts/$chart/Chart.yaml"
	done
	"$helm" lint --strict "$charts/kairship" --set $image_is
	"$helm" lint --strict "$charts/kairship" --set $image_is --set server.tlsSecret=tls --set syncers.mode=pull \
		--set controllerManager.apart=true --set controllerManager.kubeconfigSecret=s
	"$helm" lint --strict "$charts/kairship-syncer" --set $image_is --set cluster=m1 --set kubeconfigSecret=s \
		--set "resources={configmaps}"
'

refused() { # WHAT-HELM-SAYS NAME=VALUE…
	want=$1
	shift
	test_must_fail rendered "$@" 2>err
	grep -e "$want" err
}
test_expect_success 'values that are missing or unknown are told' '
	refused "image.repository is needed" image.repository=
	refused "kubeconfigSecret is needed" controllerManager.apart=true
	refused "additional properties" server.password=x
	refused "syncers" syncers.mode=both
	test_must_fail "$helm" template s "$charts/kairship-syncer" --set $image_is --set cluster=m1 \
		--set kubeconfigSecret=s 2>err
	grep "resources is needed" err
'

test_expect_success 'values become arguments; no Secret is among the objects' '
	rendered server.advertise=kairship.example.com server.names={a,b} syncers.mode=pull server.tlsSecret=own \
		persistence.existingClaim=mine service.type=LoadBalancer >all
	for word in kairship.example.com a b control-plane /etc/kairship/tls/tls.key "claimName: mine" LoadBalancer; do
		grep -e "$word" all
	done
	test_must_fail grep "volumeClaimTemplates\|kind: Secret" all
	rendered controllerManager.apart=true controllerManager.kubeconfigSecret=s syncers.mode=pull >all
	test "$(grep -c -e "--syncer-mode" all)" = 1
'

stop_all() {
	[ -z "$members_pid" ] || { kill -TERM "$members_pid" && wait "$members_pid"; } 2>/dev/null
	remove_containers
}
members_pid=
trap stop_all EXIT
"$KAIRSHIP" simulate --data-dir members --members 1 --delay 20 >members.out 2>>server.log &
members_pid=$!
eventually greeted members.out

test_expect_success 'helm install --wait ends by itself, where only the strictest pods may be' '
	m create namespace ns
	m label namespace ns pod-security.kubernetes.io/enforce=restricted
	test_must_fail m -n ns run weak --image=x
	h install kairship "$charts/kairship" --set $image_is --set service.port=$port --set config.event-ttl=7200 \
		--wait --timeout 50s >notes
	mkdir config
	m -n ns get configmap kairship -o "jsonpath={.data.kairship\.yaml}" >config/kairship.yaml
	m -n ns get pod kairship-0 -o json >server.json
	m -n ns get persistentvolumeclaim data-kairship-0
	grep "exec statefulset/kairship -- kairship kubeconfig root" notes
'

test_expect_success 'upgrades to controllers apart, and back' '
	m -n ns create secret generic admin --from-literal=kubeconfig=x
	h upgrade kairship "$charts/kairship" --reuse-values --set controllerManager.apart=true \
		--set controllerManager.kubeconfigSecret=admin --set controllerManager.replicas=1 --wait --timeout 50s
	m -n ns get pod kairship-0 -o json >apiserver.json
	m -n ns get pods -l app.kubernetes.io/component=controller-manager -o json >list
	one_of list >manager.json
	h rollback kairship 1 --wait --timeout 50s
'

if ! can_contain; then
	test_skip 'the pods run as containers' "$why"
	test_done
fi

make_image "$program" image >/dev/null
mkdir data && chown 65532:65532 data
address=https://127.0.0.1:$port
answers() { # KUBELET-LIKE: every probe of POD
	"$python" "$top/tests/e2e/python/probes.py" "$1" >probes
	test "$(wc -l <probes)" = 3 || return 1
	while read -r probe scheme at path; do
		[ "$at" = "$port" ] && [ "$(curl -sk --max-time 5 "$scheme://127.0.0.1:$at$path")" = ok ] ||
			! echo "$probe fails" || return 1
	done <probes
}
inside() { # CONTAINER COMMAND…: kubectl exec; runc exec does not find its way where all of this is in a chroot
	pid=$(pid_of "$1")
	shift
	# shellcheck disable=SC2046 # words
	env -i $(tr "\0" "\n" <"/proc/$pid/environ") nsenter -t "$pid" -m -i -n -r -w -S 65532 -G 65532 "$@"
}
stop() { # CONTAINER PID
	kill -TERM "$2" && wait "$2"
}

contained server server.json data="$tmp/data" config=config >server.out 2>>server.log &
server=$!
test_expect_success 'the pod runs as a container, and each of its probes is answered' '
	eventually answers server.json
	grep "\"msg\":\"sandbox\"" server.log
	grep livenessProbe probes
	grep "event-ttl: \"\{0,1\}7200" data/data/options.yaml
'

test_expect_success 'its certificate has the names of the Service' '
	openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null |
		openssl x509 -noout -ext subjectAltName | tr -d " " | tr , "\n" >names
	for name in kairship kairship.ns kairship.ns.svc kairship.ns.svc.cluster.local; do
		grep -x "DNS:$name" names
	done
'

test_expect_success 'the command of the notes gives a kubeconfig' '
	sed -n "s/.* exec statefulset.kairship -- \(kairship kubeconfig root\) >.*/\1/p" notes >words
	# shellcheck disable=SC2046 # words
	inside server $(cat words) >admin.kubeconfig
	grep "server: \"\{0,1\}https://kairship.ns.svc:$port" admin.kubeconfig
	inside server kairship kubeconfig root --server "$address" >here.kubeconfig
	k --kubeconfig here.kubeconfig get namespaces
	inside server kairship kubeconfig root --ttl 365d >kubeconfig
'
stop server "$server"
test_report $? 'the server stops cleanly when told'

# A Secret as a kubelet mounts it for a group: its files are links.
mkdir -p own/..data kept && chown 65532:65532 kept
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=own \
	-addext subjectAltName=DNS:kairship.example.com -keyout own/..data/tls.key -out own/..data/tls.crt 2>/dev/null
chown -R root:65532 own/..data && chmod 0440 own/..data/tls.*
for file in tls.crt tls.key; do ln -s "..data/$file" "own/$file"; done
"$helm" template kairship "$charts/kairship" --show-only templates/server.yaml --set $image_is --set "service.port=$port" \
	--set server.tlsSecret=own --set server.advertise=kairship.example.com |
	m create --dry-run=client -o 'jsonpath={.spec.template}' -f - >own.json
contained own own.json data="$tmp/kept" tls=own config=config >own.out 2>own.log &
server=$!
test_expect_success 'a certificate of the operator, from a Secret' '
	eventually curl -sf --cacert own/tls.crt --resolve "kairship.example.com:$port:127.0.0.1" \
		"https://kairship.example.com:$port/readyz"
'
stop own "$server"

# What its Service and its Secret would do for the others.
echo "127.0.0.1 localhost kairship.ns.svc" >hosts
mkdir admin && cp kubeconfig admin && chmod -R a+rX admin
contained apiserver apiserver.json data="$tmp/data" config=config >server.out 2>>server.log &
server=$!
eventually answers apiserver.json
contained manager manager.json admin=admin hosts=hosts config=config >manager.log 2>&1 &
manager=$!
r() { # kubectl in the root instance
	k --kubeconfig here.kubeconfig "$@"
}
test_expect_success 'apart, the API server has the data, and the controllers work' '
	answers apiserver.json
	eventually grep "\"leading\"" manager.log
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" | r apply -f -
	working() { [ "$(r get instance demo -o "jsonpath={.status.state}")" = RUNNING ]; }
	eventually working
	inside apiserver kairship kubeconfig demo --server "$address" >demo.kubeconfig
'

i() { # kubectl in the instance
	k --kubeconfig demo.kubeconfig "$@"
}
test_expect_success 'the chart of the syncer, with a credential that may just do this' '
	mkdir instance account
	"$KAIRSHIP" join m1 --pull --instance demo --kubeconfig here.kubeconfig --syncer-server "$address" \
		--syncer-image registry.example.com/control-plane:1 >manifest
	sed -n "s/^  kubeconfig: //p" manifest | base64 -d >instance/kubeconfig
	m -n ns create secret generic instance --from-file=instance/kubeconfig
	h install m1 "$charts/kairship-syncer" --set $image_is --set cluster=m1 --set kubeconfigSecret=instance \
		--set "resources={configmaps}" --wait --timeout 50s
	m -n ns get pods -l app.kubernetes.io/name=kairship-syncer -o json >list
	one_of list >syncer.json
	m -n ns create token m1-kairship-syncer >account/token
	of_member certificate-authority-data | base64 -d >account/ca.crt
	chmod -R a+rX instance account
'
where=$(of_member server)
where=${where#https://}
contained syncer syncer.json instance=instance serviceaccount=account \
	KUBERNETES_SERVICE_HOST="${where%:*}" KUBERNETES_SERVICE_PORT="${where##*:}" >syncer.log 2>&1 &

work() { # KIND: a Work with one
	cat <<-END
	apiVersion: work.karmada.io/v1alpha1
	kind: Work
	metadata: {name: $(echo "$1" | tr '[:upper:]' '[:lower:]'), namespace: karmada-es-m1}
	spec: {workload: {manifests: [{apiVersion: v1, kind: $1, metadata: {name: x, namespace: default}}]}}
	END
}
applied() { # WORK STATUS
	[ "$(i -n karmada-es-m1 get work "$1" -o 'jsonpath={.status.conditions[?(@.type=="Applied")].status}')" = "$2" ]
}
test_expect_success 'its pod brings what it may into the member, and nothing else' '
	work ConfigMap | i apply -f -
	work Secret | i apply -f -
	eventually applied configmap True
	m get configmap x
	eventually applied secret False
	test_must_fail m get secret x
	ready() { [ "$(i get cluster m1 -o "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}")" = True ]; }
	eventually ready
'

test_done
