#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every process is killed at random moments while people work; in the end everything is as if nobody
# had been.  SEEDS="1 2 3" says which runs; `make soak` makes twenty.
. "$(dirname "$0")/lib.sh"

seeds=${SEEDS:-1 2 3}
[ -z "$SOAK" ] || seeds=$(seq 1 20)
sup=

stop_all() {
	: >stop
	for name in api one two members; do
		[ ! -f $name.pid ] || kill -9 "$(cat $name.pid)" 2>/dev/null
	done
	# shellcheck disable=SC2086 # words
	[ -z "$sup" ] || kill $sup 2>/dev/null
	cleanup
}
trap stop_all EXIT

supervise() { # NAME COMMAND…: started again whenever it ends
	name=$1
	shift
	(
		while [ ! -f stop ]; do
			"$@" >>"$name.log" 2>&1 &
			echo $! >"$name.pid"
			wait $!
		done
	) 2>/dev/null & # the shell would tell of each that was killed
	sup="$sup $!"
}

d() { # kubectl in demo
	k -s "$server/clusters/demo" "$@"
}

m() { # MEMBER WORD…
	member=$1
	shift
	k --kubeconfig "members/$member.kubeconfig" "$@"
}

insist() { # COMMAND…: until it works; servers come and go
	for _ in $(seq 200); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	"$@"
}

killer() { # SEED: kills one of them, then another, until told to stop
	awk -v seed="$1" 'BEGIN { srand(seed); for (i = 0; i < 1000; i++)
		printf "%d 0.%03d\n", int(rand() * 4), 100 + int(rand() * 800) }' |
		while read -r which pause && [ ! -f enough ]; do
			sleep "$pause"
			set -- api one two members
			shift "$which"
			kill -9 "$(cat "$1.pid")" 2>/dev/null
			echo "$1" >>killed
		done
}

deployment() { # NAME REPLICAS IMAGE
	cat <<-Y
	apiVersion: apps/v1
	kind: Deployment
	metadata: {name: $1, namespace: default}
	spec:
	  replicas: $2
	  selector: {matchLabels: {app: $1}}
	  template:
	    metadata: {labels: {app: $1}}
	    spec: {containers: [{name: c, image: "$3"}]}
	Y
}

put() { # NAME REPLICAS IMAGE
	deployment "$@" >"$1.yaml"
	insist d apply -f "$1.yaml"
}

# What there is, without what differs from run to run.
state() {
	d get deployments -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.replicas} {.status.readyReplicas} {..image}{"\n"}{end}' | sort
	for member in m1 m2; do
		m $member get deployments -n default -o "jsonpath={range .items[*]}$member {.metadata.name} {.spec.replicas} {.status.readyReplicas} {..image}{\"\\n\"}{end}" | sort
		m $member get pods -n default --no-headers | awk -v m=$member '{ print m, $3 }' | sort | uniq -c
	done
	d get rb -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.clusters[*].replicas}{"\n"}{end}' | sort
	d get works -A --no-headers | grep -c app-
}

as_it_should() {
	state >now && cmp -s now want
}

cat >want <<'E2'
app-2 6 6 app:2
app-3 4 4 app:1
app-4 8 8 app:1
m1 app-2 3 3 app:2
m1 app-3 2 2 app:1
m1 app-4 4 4 app:1
      9 m1 Running
m2 app-2 3 3 app:2
m2 app-3 2 2 app:1
m2 app-4 4 4 app:1
      9 m2 Running
app-2-deployment 3 3
app-3-deployment 2 2
app-4-deployment 4 4
6
E2

start_all() {
	supervise members "$KAIRSHIP" simulate --data-dir members --members 2 --delay 10
	eventually greeted members.log
	start_server
	stop_server # it has a port and a kubeconfig now
	supervise api "$KAIRSHIP" apiserver --allow-loopback-members --data-dir kairship-data --listen "$listen"
	for name in one two; do
		supervise $name "$KAIRSHIP" controller-manager --kubeconfig kairship-data/admin.kubeconfig \
			--allow-loopback-members --leader-elect-lease-duration 3 \
			--leader-elect-renew-deadline 2 --leader-elect-retry-period 1
	done
}

start_all
use_newest_kubectl

# A member that is not Ready gets nothing from the scheduler: on a slow machine that would be another
# end than the one that is wanted.
test_expect_success 'an instance with two members' '
	cat >demo.yaml <<-Y
	apiVersion: tenancy.kairship.io/v1alpha1
	kind: Instance
	metadata: {name: demo}
	spec: {settings: {failover: {clusterFailureThreshold: 600}}}
	Y
	insist k apply -f demo.yaml
	for member in m1 m2; do
		insist "$KAIRSHIP" join $member --instance demo \
			--cluster-kubeconfig members/$member.kubeconfig --wait 15
	done
	cat >policy.yaml <<-Y
	apiVersion: policy.karmada.io/v1alpha1
	kind: PropagationPolicy
	metadata: {name: all, namespace: default}
	spec:
	  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
	  placement:
	    replicaScheduling:
	      replicaSchedulingType: Divided
	      replicaDivisionPreference: Weighted
	      weightPreference:
	        staticWeightList:
	        - {targetCluster: {clusterNames: [m1]}, weight: 1}
	        - {targetCluster: {clusterNames: [m2]}, weight: 1}
	Y
	insist d apply -f policy.yaml
'

for seed in $seeds; do
	rm -f enough killed
	killer "$seed" &
	killer_pid=$!
	test_expect_success "people work while everything is killed (seed $seed)" '
		for i in 1 2 3; do put app-$i 2 app:1; done
		sleep 1
		put app-2 6 app:1
		insist d delete deployment app-1 --ignore-not-found
		put app-3 4 app:1
		sleep 1
		put app-4 10 app:1
		put app-2 6 app:2
		sleep 1
		put app-4 8 app:1
	'
	: >enough
	wait "$killer_pid"
	test_expect_success "and it ends as it should (seed $seed, $(wc -l <killed) kills)" '
		for _ in 1 2 3 4; do eventually as_it_should >/dev/null && break; done
		state >now || true
		diff want now
	'
	test_expect_success "nothing is left of it (seed $seed)" '
		insist d delete deployments --all
		empty() { test -z "$(d get rb -A -o name)$(m m1 get pods -n default -o name)$(m m2 get pods -n default -o name)"; }
		for _ in 1 2 3; do eventually empty && break; done
		empty
	'
done

server_pid=
test_done
