#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later

# Priority and fairness: the objects of an instance decide over its requests, and over no others.
. "$(dirname "$0")/lib.sh"

start_server
use_newest_kubectl

jailed() { # the level and the schema that hold jane
	cat <<-EOF
		apiVersion: flowcontrol.apiserver.k8s.io/v1
		kind: FlowSchema
		metadata: {name: jane}
		spec:
		  matchingPrecedence: 50
		  priorityLevelConfiguration: {name: jail}
		  rules:
		  - subjects: [{kind: User, user: {name: jane}}]
		    resourceRules:
		    - {verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}
	EOF
}

jail() {
	cat <<-EOF
		apiVersion: flowcontrol.apiserver.k8s.io/v1
		kind: PriorityLevelConfiguration
		metadata: {name: jail}
		spec:
		  type: Limited
		  limited: {nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
	EOF
}

as_jane() { # INSTANCE PATH [CURL-OPTION…]
	i=$1 p=$2
	shift 2
	api "/clusters/$i$p" -H "Impersonate-User: jane" "$@"
}

t() { k --server "$server/clusters/t" "$@"; }

test_expect_success 'two instances where jane may read' '
	for i in t u; do
		printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
			"metadata: {name: $i}" | k create -f -
		k --server "$server/clusters/$i" create clusterrolebinding jane --clusterrole=view --user=jane
	done
'
test_expect_success 'answers name the schema and the level' '
	as_jane t /api/v1/namespaces/default/configmaps -D head >/dev/null
	uid=$(t get flowschema global-default -o "jsonpath={.metadata.uid}")
	grep -i "^x-kubernetes-pf-flowschema-uid: $uid" head
	uid=$(t get prioritylevelconfiguration global-default -o "jsonpath={.metadata.uid}")
	grep -i "^x-kubernetes-pf-prioritylevel-uid: $uid" head
'
test_expect_success 'schemas are shown in the order in which they are tried' '
	for by in "" --chunk-size=0; do
		t get flowschemas --no-headers $by | awk "{print \$3}" >out
		sort -n out | cmp - out
	done
'
test_expect_success 'a schema without its level is dangling, and counts for nothing' '
	jailed | t create -f -
	missing() { t get flowschemas | grep -E "^jane +jail +50 .* True$"; }
	eventually missing
	as_jane t /api/v1/namespaces/default/configmaps -f >/dev/null
'
test_expect_success 'with it jane is sent away, in this instance only' '
	jail | t create -f -
	found() { t get flowschemas | grep -E "^jane +jail +50 .* False$"; }
	eventually found
	as_jane t /api/v1/namespaces/default/configmaps -D head >out
	grep "429" head
	grep -i "^retry-after: 1" head
	grep "^Too many requests, please try again later" out
	uid=$(t get prioritylevelconfiguration jail -o "jsonpath={.metadata.uid}")
	grep -i "^x-kubernetes-pf-prioritylevel-uid: $uid" head
	as_jane u /api/v1/namespaces/default/configmaps -f >/dev/null
	as_jane t /readyz -f >/dev/null
	t get configmaps
'
test_expect_success 'metrics tell levels apart, and no instances' '
	api /metrics >out
	grep "^apiserver_flowcontrol_rejected_requests_total{priority_level=\"other\",reason=\"concurrency-limit\"} [1-9]" out
	grep "^apiserver_flowcontrol_dispatched_requests_total{priority_level=\"exempt\"} [1-9]" out
	test_must_fail grep "apiserver_flowcontrol.*jail" out
'
test_expect_success 'what is deleted holds nobody any more' '
	t delete flowschema jane
	as_jane t /api/v1/namespaces/default/configmaps -f >/dev/null
'
# The bound is far above what it takes (docs/performance.md): the machine may be busy otherwise.
test_expect_success 'beside an instance that asks for far too much the others are answered' '
	"$KAIRSHIP"-bench --workload overload --kubeconfig kairship-data/admin.kubeconfig \
		--connections 10 --streams 80 --duration 2 >out
	grep " 0 errors" out
	grep "loud requests answered  *[1-9]" out
	awk "/ longest, all /{ n++; if (\$(NF - 1) > 1000) exit 1 } END { exit n != 3 }" out
'
test_done
