#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prometheus reads all processes with the files of packaging/: its alerts work, and each expression
# of the dashboard has something to show.
. "$(dirname "$0")/lib.sh"
prometheus=$top/build/tools/prometheus/usr/bin
[ -x "$prometheus/promtool" ] || skip_all "there is no Prometheus: tools/clients could not fetch it"
packaging=$top/packaging

stop_all() {
	xargs -r kill -TERM <"$tmp/pids" 2>/dev/null
	cleanup
}
run() { # LOG COMMAND ARG…: in the background
	log=$1
	shift
	"$@" >"$log" 2>&1 &
	echo $! >>"$tmp/pids"
}
listens() { # LOG: where, once it does
	sed -n 's/.*"msg":"metrics","listen":"\([^"]*\)".*/\1/p' "$1" | grep .
}
prometheus_listens() {
	sed -n 's/.*msg="Listening on" address=\(.*\)/\1/p' prometheus.log | grep .
}
ask() { # QUERY: the series
	curl -s --max-time 5 "http://$(prometheus_listens)/api/v1/query" --data-urlencode "query=$1"
}
has_series() { # QUERY
	ask "$1" | grep "\"result\":\[{"
}
token_is_there() {
	k -n kube-system get secret prometheus -o "jsonpath={.data.token}" | base64 -d >token
	test -s token
}
all_up() {
	ask 'count(up == 1)' | grep "\"3\""
}

test_expect_success 'the alerts fire when they should' '
	"$prometheus/promtool" check rules "$packaging/prometheus/kairship-rules.yml"
	"$prometheus/promtool" test rules "$packaging/prometheus/kairship-rules-test.yml"
'

: >"$tmp/pids"
trap stop_all EXIT
serve=apiserver start_server
use_newest_kubectl
run members.out "$KAIRSHIP" simulate --data-dir members --members 1
run manager.log "$KAIRSHIP" controller-manager --metrics-listen 127.0.0.1:0

test_expect_success 'a ServiceAccount may read the metrics, and only them' '
	k apply -f "$packaging/prometheus/reader.yaml"
	eventually token_is_there
	curl -sf --cacert kairship-data/pki/ca.crt -H "Authorization: Bearer $(cat token)" \
		"$server/metrics" >out
	grep "^kairship_build_info" out
	test_must_fail curl -sf --cacert kairship-data/pki/ca.crt \
		-H "Authorization: Bearer $(cat token)" "$server/api/v1/secrets"
'

test_expect_success 'Prometheus reads an API server, a controller-manager and a syncer' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: demo}\n" |
		k apply -f -
	"$KAIRSHIP" kubeconfig demo --output demo.kubeconfig
	eventually test -s members/m1.kubeconfig
	run syncer.log "$KAIRSHIP" syncer --from demo.kubeconfig --to members/m1.kubeconfig \
		--cluster east --resources configmaps --metrics-listen 127.0.0.1:0
	eventually listens syncer.log
	cp "$packaging"/prometheus/*.yml kairship-data/pki/ca.crt .
	sed -i "s/30s/1s/; s/127.0.0.1:6443/${server#https://}/
		s/127.0.0.1:6480/$(listens manager.log)/; s/127.0.0.1:6481/$(listens syncer.log)/" prometheus.yml
	"$prometheus/promtool" check config prometheus.yml
	for at in $(listens manager.log) $(listens syncer.log); do
		curl -s "http://$at/metrics" | "$prometheus/promtool" check metrics || test $? = 3
	done
	run prometheus.log "$prometheus/prometheus" --config.file=prometheus.yml \
		--storage.tsdb.path=tsdb --web.listen-address=127.0.0.1:0
	eventually prometheus_listens
	eventually all_up
'

test_expect_success 'each expression of the dashboard has something to show' '
	python3 -c "
import json
for panel in json.load(open(\"$packaging/grafana/kairship.json\"))[\"panels\"]:
    for target in panel.get(\"targets\", []):
        print(target[\"expr\"])" >expressions
	test "$(wc -l <expressions)" -gt 30
	while read -r expression; do
		eventually has_series "$expression"
	done <expressions
'

test_expect_success 'each metric of an alert is there, and no alert fires' '
	grep -o "\(kairship\|apiserver\|up\)[a-z_]*" "$packaging/prometheus/kairship-rules.yml" |
		grep "_\|^up\$" | sort -u >names
	test "$(wc -l <names)" -gt 12
	while read -r name; do
		has_series "$name"
	done <names
	curl -s "http://$(prometheus_listens)/api/v1/alerts" >alerts
	grep "\"alerts\":\[\]" alerts
'

test_expect_success 'each metric that docs/watch.md names is there' '
	grep -o "\`\(apiserver\|kairship\|process\)_[a-z_]*\`" "$top/docs/watch.md" | tr -d "\`" |
		sort -u >names
	test "$(wc -l <names)" -gt 12
	while read -r name; do
		has_series "{__name__=~\"$name(_bucket)?\"}"
	done <names
'
test_done
