#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two instances, and a copy of the installation, want one object in a member that they share.
. "$(dirname "$0")/lib.sh"

member() { # kubectl in the member
	k --kubeconfig "$tmp/members/m1.kubeconfig" "$@"
}

in_instance() { # INSTANCE…: kubectl there
	at=$1
	shift
	k --server "$server/clusters/$at" "$@"
}

managers() { # of the object in the member
	member get configmap conf -o 'jsonpath={.metadata.managedFields[*].manager}'
}

says() { # VALUE: the object in the member
	[ "$(member get configmap conf -o "jsonpath={.data.from}")" = "$1" ]
}

place() { # INSTANCE VALUE: a ConfigMap and its policy, which would overwrite
	in_instance "$1" apply -f - <<-EOF
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: conf, namespace: default}
		data: {from: $2}
		---
		apiVersion: policy.karmada.io/v1alpha1
		kind: PropagationPolicy
		metadata: {name: conf, namespace: default}
		spec:
		  conflictResolution: Overwrite
		  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: conf}]
		  placement: {clusterAffinity: {clusterNames: [m1]}}
	EOF
}

stop_all() {
	for pid in $copy_pid $members_pid; do
		kill -TERM "$pid" 2>/dev/null
	done
	cleanup
}

copy_pid='' members_pid=''
trap stop_all EXIT
start_server
use_newest_kubectl
"$KAIRSHIP" simulate --data-dir members --members 1 --delay 20 >members.out 2>>server.log &
members_pid=$!
eventually greeted members.out

test_expect_success 'two instances have joined one member' '
	for i in one two; do
		printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: %s}\n" $i |
			k apply -f -
		"$KAIRSHIP" join m1 --instance $i --cluster-kubeconfig members/m1.kubeconfig --wait 20
	done
'

test_expect_success 'every instance shows its installation, and keeps it' '
	k -n kube-public get configmap kairship-installation -o "jsonpath={.data.id}" >id
	grep -Ex "[0-9a-f]{16}" id
	[ "$(in_instance one -n kube-public get configmap kairship-installation -o "jsonpath={.data.id}")" = "$(cat id)" ]
	test_must_fail in_instance one -n kube-public delete configmap kairship-installation 2>err
	grep "it cannot be deleted" err
	test_must_fail k -n kube-public label configmap kairship-installation a=b 2>err
	grep "it cannot be changed" err
'

refused() { # INSTANCE [KUBECTL-OPTION…]
	in_instance "$@" get resourcebinding conf-configmap \
		-o 'jsonpath={.status.aggregatedStatus[0].appliedMessage}' | tee message |
		grep -q "default/conf) in the cluster m1 is owned by instance one of installation $(cat id)"
}

test_expect_success 'the first one has the object, and it says so' '
	place one first
	eventually member get configmap conf
	managers | grep "kairship:$(cat id):one:"
'

test_expect_success 'the second one is told whose it is' '
	place two second
	eventually refused two
	"$KAIRSHIP" explain configmap/conf --instance two >out
	tr "\n" " " <out | grep "m1 has not got it: .*owned by instance one of installation"
	says first
'

test_expect_success 'deleting there takes nothing away' '
	in_instance two delete configmap conf
	eventually test_must_fail in_instance two get resourcebinding conf-configmap
	says first
'

test_expect_success 'a copy of all of it, started beside the original, is refused, too' '
	"$KAIRSHIP" backup b
	"$KAIRSHIP" restore b --data-dir copy --as-new
	cp kairship-data/encryption.yaml copy
'
"$KAIRSHIP" up --data-dir copy --listen 127.0.0.1:0 >copy.out 2>>server.log &
copy_pid=$!
test_expect_success 'and has an id of its own' '
	eventually grep -q "is ready at" copy.out
	original=$server
	server=$(k --kubeconfig copy/admin.kubeconfig config view -o "jsonpath={.clusters[0].cluster.server}")
	k --kubeconfig copy/admin.kubeconfig -n kube-public get configmap kairship-installation \
		-o "jsonpath={.data.id} {.data.origin}" >copied
	grep " copied" copied
	test_must_fail grep "$(cat id)" copied
	eventually refused one --kubeconfig copy/admin.kubeconfig
	in_instance one --kubeconfig copy/admin.kubeconfig delete configmap conf
	eventually test_must_fail in_instance one --kubeconfig copy/admin.kubeconfig get resourcebinding conf-configmap
	server=$original
	says first
'
kill -TERM "$copy_pid"
wait "$copy_pid"
copy_pid=''

test_expect_success 'what is released is free for the other one' '
	k annotate instance one kairship.io/release=Orphan
	k delete instance one
	managers >now
	test_must_fail grep "kairship:" now
	place two second
	eventually says second
	managers | grep "kairship:$(cat id):two:"
'

test_done
