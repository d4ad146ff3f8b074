#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/guide/trouble.md: its commands, and that each sentence in it is what a user sees.
. "$(dirname "$0")/lib.sh"
make_clone
start_server --demo
eventually greeted
use_newest_kubectl

test_expect_success 'its commands work' '
	run_page docs/guide/trouble.md >out
	grep "readyz check passed" out
	grep -E "^0 of [0-9]+ fail|FAILS" out
	grep -E "^m1 .*weight 3 of 6" out
'

# Faults, one after the other; what they say is in the file faults.
fault() { # COMMAND…: it fails
	test_must_fail "$@" >>faults 2>&1
}

demo() { # KUBECTL-ARG…
	k --kubeconfig kairship-data/demo.kubeconfig "$@"
}

policy() { # NAME AFFINITY: for the ConfigMap of that name, which is made
	demo create configmap "$1"
	demo create -f - <<-END
		apiVersion: policy.karmada.io/v1alpha1
		kind: PropagationPolicy
		metadata: {name: $1, namespace: default}
		spec:
		  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: $1}]
		  placement: {clusterAffinity: $2}
	END
}

condition() { # KUBECTL-ARG…: conditions with a message, in faults
	"$@" -o "jsonpath={range .status.conditions[*]}{.message}{\"\n\"}{end}" >conditions
	cat conditions >>faults
}

test_expect_success 'who gets in' '
	fault k --tls-server-name kairship.example.com get namespaces
	"$KAIRSHIP" kubeconfig demo --output robot.kubeconfig
	k --kubeconfig robot.kubeconfig create serviceaccount robot
	token=$(k --kubeconfig robot.kubeconfig create token robot)
	sed -e "s/client-certificate-data:.*/token: $token/" -e "/client-key-data:/d" robot.kubeconfig >token.kubeconfig
	k --kubeconfig robot.kubeconfig delete serviceaccount robot
	fault k --kubeconfig token.kubeconfig get configmaps
	fault demo --server "$server" get namespaces
	fault demo --server "$server" get --raw /api
	mkdir empty
	(cd empty && unset KUBECONFIG && test_must_fail "$KAIRSHIP" backup x) 2>>faults
	fault "$KAIRSHIP" up --data-dir second --listen "$listen"
	fault "$KAIRSHIP" up --data-dir kairship-data --listen 127.0.0.1:0
'

test_expect_success 'what does not arrive' '
	demo create deployment plain --image=nginx
	fault "$KAIRSHIP" explain deployment/plain --instance demo
	policy nowhere "{labelSelector: {matchLabels: {env: none}}}"
	eventually sh -c "\"$KAIRSHIP\" explain configmap/nowhere --instance demo | grep \"^Not scheduled\" >>faults"
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" "metadata: {name: other}" | k create -f -
	"$KAIRSHIP" join m1 --cluster-kubeconfig kairship-data/members/m1.kubeconfig --instance other --wait 20
	"$KAIRSHIP" join self --cluster-kubeconfig kairship-data/admin.kubeconfig --instance other
	other="k --server $server/clusters/other"
	$other apply -f "$top/docs/samples/nginx.yaml"
	eventually sh -c "\"$KAIRSHIP\" explain deployment/nginx --instance other | grep owned >>faults"
	"$KAIRSHIP" simulate kill m3 --data-dir kairship-data/members
	k wait clusters.fleet.kairship.io/m3 --for="jsonpath={.status.phase}=Unknown" --timeout=60s
	condition demo get cluster m3
	condition $other get cluster self
'

test_expect_success 'what is refused' '
	limits() { k patch instance demo --type=merge -p "{\"spec\":$1}"; }
	limits "{\"limits\":{\"maxObjects\":5}}"
	fault demo create configmap one
	limits "{\"limits\":null}"
	demo create namespace small
	demo create quota small -n small --hard=configmaps=1
	eventually sh -c "$kubectl --kubeconfig kairship-data/demo.kubeconfig get quota -n small -o yaml | grep \"configmaps: .1\""
	fault demo create configmap two -n small
	limits "{\"suspended\":true}"
	fault demo create configmap three
	limits "{\"suspended\":null}"
	fault k delete instance demo
'

test_expect_success 'a copy without the keys, pull mode without an image' '
	k create secret generic db --from-literal=x=1
	"$KAIRSHIP" backup friday.kairship
	"$KAIRSHIP" restore friday.kairship --data-dir copy --as-new
	"$KAIRSHIP" up --data-dir copy --listen 127.0.0.1:0 --syncer-mode pull >copy.out 2>&1 &
	echo $! >copy.pid
	trap "kill \$(cat copy.pid)" EXIT
	eventually greeted copy.out
	copy="k --kubeconfig copy/admin.kubeconfig"
	fault $copy get secret db
	fault k --kubeconfig copy/admin.kubeconfig --server "$server" get namespaces
	printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" "metadata: {name: shop}" \
		"spec: {profile: minimal}" | $copy create -f -
	"$KAIRSHIP" kubeconfig shop --kubeconfig copy/admin.kubeconfig --output shop.kubeconfig
	{
		printf "apiVersion: workload.kcp.dev/v1alpha1\nkind: Cluster\nmetadata: {name: m1}\nspec:\n  kubeconfig: |\n"
		sed "s/^/    /" kairship-data/members/m1.kubeconfig
	} | k --kubeconfig shop.kubeconfig create -f -
	k --kubeconfig shop.kubeconfig wait clusters.workload.kcp.dev/m1 --for=condition=Ready=False --timeout=30s
	condition k --kubeconfig shop.kubeconfig get clusters.workload.kcp.dev m1
'

test_expect_success 'each sentence is what the user sees' '
	awk "/^<!-- not produced: / { left_out = 1; next }
		/^\`\`\`/ { said = !block && /^\`\`\`text$/ && !left_out; block = !block; left_out = 0; next }
		said" "$top/docs/guide/trouble.md" >sentences
	test "$(wc -l <sentences)" -ge 17
	sed -e "s/[][\\.*^\$]/\\\\&/g" -e "s/…/.*/g" sentences >patterns
	grep -v "^+" faults >said
	while IFS= read -r pattern; do
		grep -q -e "$pattern" said || { echo "nothing says: $pattern"; exit 1; }
	done <patterns
'

test_done
