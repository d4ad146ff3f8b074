#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program itself: first start, what it prints and leaves behind, stopping, starting again.
. "$(dirname "$0")/lib.sh"

test_expect_success 'the version is told' '
	"$KAIRSHIP" version >out
	grep -E "^v?[0-9]+\.[0-9]+\.[0-9]+|kairship" out
'

test_expect_success 'what is not served is documented' '
	"$KAIRSHIP" not-served | diff - "$top/docs/not-served.md"
'

test_expect_success 'help shows examples and groups of options' '
	"$KAIRSHIP" --help >out
	grep "kairship up" out
	for verb in up apiserver version backup restore; do
		"$KAIRSHIP" $verb --help >out
		grep -i -m 1 -A 1 example out
		test "$(wc -L <out)" -le 80
	done
	"$KAIRSHIP" up --help >out
	sed "/^Audit log:/q" out | grep -e "--data-dir"
'

test_expect_success 'unknown words are refused with a hint' '
	test_must_fail "$KAIRSHIP" fly 2>err
	grep fly err
	test_must_fail "$KAIRSHIP" up --no-such-option 2>err
	grep no-such-option err
	test_must_fail "$KAIRSHIP" up --log-level loud 2>err
	grep "debug, info, warn or error: loud" err
	test_must_fail "$KAIRSHIP" up --log-format xml 2>err
	grep "text, json or auto: xml" err
'

typed() { # what a person types who waits until it has started, and what the terminal shows
	eventually greeted terminal
	printf "\003"
}

for words in "up --listen 127.0.0.1:0" simulate; do
	test_expect_success "a terminal is told that Ctrl-C ends kairship ${words%% *}, and it does" '
		rm -f terminal
		typed | timeout 60 script -qefc "exec \"$KAIRSHIP\" $words --data-dir typed" terminal >shown
		grep -E "^Ctrl-C stops (it|them)\." terminal
		rm -r typed
	'
done

test_expect_success 'kairship apiserver has no demo' '
	"$KAIRSHIP" apiserver --help >out
	test_must_fail grep -e --demo out
	"$KAIRSHIP" up --help | grep -e --demo
'

start_server

test_expect_success 'what has no terminal is not told of Ctrl-C' '
	eventually greeted
	test_must_fail grep Ctrl-C server.out
'

test_expect_success 'it says which three commands to type next' '
	grep "kubectl" server.out
	test "$(grep -c "^  [a-z]" server.out)" = 3
'

test_expect_success 'the kubeconfig is for nobody else to read' '
	test "$(stat -c %a kairship-data/admin.kubeconfig)" = 600
	grep "^current-context: ." kairship-data/admin.kubeconfig
'

test_expect_success 'private keys are for nobody else to read' '
	find kairship-data -type f -perm /077 | xargs -r grep -l "PRIVATE KEY" >open || true
	test ! -s open
'

test_expect_success 'health is answered without a credential' '
	for path in healthz livez readyz; do
		test "$(curl -sk "$server/$path")" = ok
		curl -sk "$server/$path?verbose" >out
		grep "^\[+\]ping ok" out
		grep "$path check passed" out
	done
	test "$(api /readyz/ping)" = ok
'

test_expect_success 'the version is answered without a credential' '
	curl -sk "$server/version" >out
	grep "\"gitVersion\": *\"v1.35.0+kairship" out
'

test_expect_success 'nothing else is' '
	curl -sk "$server/api/v1/namespaces" >out
	grep "system:anonymous" out
	grep "\"code\": *403" out
	test "$(curl -sk -o /dev/null -w "%{http_code}" "$server/metrics")" = 403
'

test_expect_success 'the serving certificate is the CA'"'"'s and fits the address' '
	api /readyz >out
	test "$(cat out)" = ok
'

test_expect_success 'HTTP/1.1 and HTTP/2 share the port' '
	test "$(curl -sk --http1.1 -o /dev/null -w "%{http_version}" "$server/readyz")" = 1.1
	test "$(curl -sk --http2 -o /dev/null -w "%{http_version}" "$server/readyz")" = 2
'

test_expect_success 'old TLS is refused' '
	test_must_fail curl -sk --tls-max 1.1 "$server/readyz"
	test "$(curl -sk --tls-max 1.2 "$server/readyz")" = ok
'

test_expect_success 'metrics are Prometheus text' '
	api /metrics >out
	grep "^# TYPE " out
	test -z "$(grep -v "^#" out | grep -vE "^[a-z_:]+(\{.*\})? [-+0-9.eInfNa]+\$" | head -n 1)"
'

test_expect_success 'a second server on the same data says so and leaves' '
	test_must_fail timeout 20 "$KAIRSHIP" up --data-dir kairship-data --listen 127.0.0.1:0 2>err
	grep -i "in use" err
	test "$(curl -sk "$server/readyz")" = ok
'

test_expect_success 'an address in use is told' '
	test_must_fail timeout 20 "$KAIRSHIP" up --data-dir other --listen "${server#https://}" 2>err
	grep -i "in use" err
'

use_newest_kubectl
test_expect_success 'something is written' '
	k create configmap kept --from-literal=x=1
	k get configmap kept -o "jsonpath={.metadata.uid} {.metadata.resourceVersion}" >kept
'

test_expect_success 'and a namespace is set in the kubeconfig' '
	k config set-context --current --namespace=default
	grep "namespace: default" kairship-data/admin.kubeconfig
'

stop_server
test_report $? 'SIGTERM ends it with 0'
cp kairship-data/admin.kubeconfig kubeconfig-before
start_server

test_expect_success 'it is still there after a restart, with the same version and credentials' '
	k get configmap kept -o "jsonpath={.metadata.uid} {.metadata.resourceVersion}" >out
	cmp kept out
	cmp kubeconfig-before kairship-data/admin.kubeconfig
'

crash_server
start_server

test_expect_success 'and after a crash' '
	k get configmap kept -o "jsonpath={.metadata.uid} {.metadata.resourceVersion}" >out
	cmp kept out
'

test_expect_success 'versions go on where they were' '
	k create configmap later
	test "$(k get configmap later -o "jsonpath={.metadata.resourceVersion}")" -gt \
		"$(cut -d" " -f2 kept)"
'

test_done
