# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# For the tests in this folder: each starts a server of its own and uses it as a person would.
#
#     . "$(dirname "$0")/lib.sh"
#     start_server
#     test_expect_success 'a configmap can be made' '
#         k create configmap a --from-literal=x=1
#         k get configmap a -o yaml >out
#         grep "x: \"1\"" out
#     '
#     test_done
#
# A body is shell text that runs with set -e in a subshell, in the temporary folder $tmp: the first
# command that fails fails the test, and its trace is shown.  What the next test needs goes into a
# file.  Commands that should fail: test_must_fail.  The output is TAP, for prove.
#
# KAIRSHIP is the program (build/asan/kairship), KUBECTL a kubectl (else those that
# tools/clients brought are used, one after the other, where the test says with_each_kubectl).

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
KAIRSHIP=${KAIRSHIP:-$top/build/asan/kairship}
tmp=$(mktemp -d) || exit 1
test_n=0 test_failed=0 test_suffix=
server_pid='' second_machine_pid=''
export HOME="$tmp" TZ=UTC LC_ALL=C.UTF-8
export KAIRSHIP_CONFIG=/dev/null # not that of this machine
unset KUBECONFIG KUBE_EDITOR EDITOR
cd "$tmp" || exit 1

# What a sanitizer has to say goes into files, which fail the test at its end.
ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$tmp/sanitizer:detect_leaks=1
UBSAN_OPTIONS=$UBSAN_OPTIONS:log_path=$tmp/sanitizer
TSAN_OPTIONS=$TSAN_OPTIONS:log_path=$tmp/sanitizer
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS

cleanup() {
	[ -z "$server_pid" ] || kill -9 "$server_pid" 2>/dev/null
	[ -z "$second_machine_pid" ] || kill -9 "$second_machine_pid" 2>/dev/null
	cd / && rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

diag() { # on stdin
	sed 's/^/# /'
}

test_report() { # RC NAME
	test_n=$((test_n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $test_n - $2$test_suffix"
	else
		test_failed=$((test_failed + 1))
		echo "not ok $test_n - $2$test_suffix"
	fi
}

test_expect_success() { # NAME BODY
	(
		set -e
		eval "set -x;$2"
	) >"$tmp/.trace" 2>&1 </dev/null
	rc=$?
	[ $rc = 0 ] || tail -n 40 "$tmp/.trace" | diag
	test_report $rc "$1"
}

test_skip() { # NAME WHY
	test_n=$((test_n + 1))
	echo "ok $test_n - $1$test_suffix # SKIP $2"
}

skip_all() { # WHY
	echo "1..0 # SKIP $1"
	exit 0
}

need() { # COMMAND PACKAGE: a test that lacks a tool fails
	command -v "$1" >/dev/null || lacks "$1" "$2"
}

need_python() { # MODULE PACKAGE
	"$python" -c "import $1" 2>/dev/null || lacks "Python's module $1" "$2"
}

lacks() { # TOOL PACKAGE
	echo "not ok 1 - $1 is not here: install the package $2"
	echo "1..1"
	exit 1
}

test_must_fail() { # COMMAND…: it ends with an error of its own, not by a signal
	rc=0
	"$@" || rc=$?
	[ $rc != 0 ] && [ $rc -lt 126 ]
}

eventually() { # COMMAND…: it succeeds within ten seconds
	for _ in $(seq 100); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	"$@"
}

test_done() {
	if [ -n "$server_pid" ]; then
		stop_server
		test_report $? 'the server stops cleanly when told'
	fi
	if ls "$tmp"/sanitizer* >/dev/null 2>&1; then
		head -n 60 "$tmp"/sanitizer* | diag
		test_report 1 'no sanitizer has anything to say'
	fi
	if [ $test_failed != 0 ] && [ -f "$tmp/server.log" ]; then
		tail -n 30 "$tmp/server.log" | diag
	fi
	echo "1..$test_n"
	[ $test_failed = 0 ]
	exit $?
}

# The server.  Its data are in kairship-data, as a user's would be; $server is its address.

start_server() { # [ARG…]; serve=apiserver: without the controllers of instances and members
	rm -f "$tmp/ready"
	"$KAIRSHIP" "${serve:-up}" --data-dir kairship-data --listen "${listen:-127.0.0.1:0}" "$@" \
		>>"$tmp/server.out" 2>>"$tmp/server.log" &
	server_pid=$!
	for _ in $(seq 300); do
		if server_ready; then
			export KUBECONFIG="$tmp/kairship-data/admin.kubeconfig"
			return 0
		fi
		kill -0 "$server_pid" 2>/dev/null || break
		sleep 0.1
	done
	echo "Bail out! the server does not become ready"
	cat "$tmp/server.out" "$tmp/server.log" "$tmp"/sanitizer* 2>/dev/null | tail -n 40 | diag
	exit 1
}

kubeconfig_field() { # NAME
	sed -n "s/^ *$1: *\"\{0,1\}\([^\"]*\).*/\1/p" kairship-data/admin.kubeconfig
}

server_ready() {
	[ -f kairship-data/admin.kubeconfig ] || return 1
	server=$(kubeconfig_field server)
	listen=${server#https://} # a restart comes back to the same port
	[ "$(curl -sk --max-time 5 "$server/readyz")" = ok ]
}

# It says what to type next when all of it is there, with --demo the members, too.
greeted() { # [FILE with the output]
	grep -q "Next:" "${1:-server.out}"
}

stop_server() {
	kill -TERM "$server_pid"
	wait "$server_pid"
	rc=$?
	server_pid=
	return $rc
}

crash_server() {
	kill -9 "$server_pid"
	wait "$server_pid" 2>/dev/null
	server_pid=
}

# Pages of the documentation: what they tell a person to type is run as it stands there.

# The folder "clone" as it is after `make` in a clone of the repository.  To call before
# start_server, whose data are in there.
make_clone() {
	mkdir -p clone/build clone/kairship-data bin
	ln -s clone/kairship-data kairship-data
	ln -s "$KAIRSHIP" clone/build/kairship
	cp -R "$top/.gitignore" "$top/docs" clone
	git -C clone init -q
	git -C clone add -A
	git -C clone -c user.name=e2e -c user.email=e2e@example.com commit -qm clone
}

# Every block of the language sh, but those behind the comment <!-- not run: WHY -->.
page_commands() { # PAGE
	awk '/^<!-- not run: / { left_out = 1; next }
		/^```/ { run = !block && /^```sh$/ && !left_out; block = !block; left_out = 0
			if (run) print ": " FILENAME " line " FNR; next }
		run' "$1"
}

# In one shell, in the clone, with the newest kubectl, until a command fails.  What is left in the
# clone afterwards must be what Git ignores.
run_page() { # PAGE of the repository: what it prints is on stdout
	page_commands "$top/$1" >page.sh
	ln -sf "$(newest_kubectl)" bin/kubectl
	ln -sf "${PYTHON:-/usr/bin/python3}" bin/python3
	(
		unset KUBECONFIG
		cd clone && PATH="$tmp/bin:$PATH" timeout 240 sh -ex ../page.sh
	)
	git -C clone status --porcelain >left
	diff /dev/null left
}

# Every line of the page's blocks of the language text is a line of what its commands printed, but
# for ages, ids, ports and the width of columns.  "..." stands for lines that are left out.
page_shows() { # PAGE OUTPUT
	awk '/^```/ { show = !block && /^```text$/; block = !block; next } show && !/^\.\.\.$/' \
		"$top/$1" | page_plain >shown
	page_plain <"$2" >printed
	grep . shown >/dev/null
	! grep -vxF -f printed shown
}

page_plain() {
	sed -E 's/\b([0-9]+(ms|[smhd]))+\b/AGE/g; s/\b[0-9a-f]{8,}(-[0-9a-f]{4,})*\b/ID/g
		s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g; s/(127\.0\.0\.1:)[0-9]+/\1PORT/g; s/ +/ /g; s/ $//'
}

# Clients.

# kubectl, with the chosen version; its cache of discovery is this test's own.
k() {
	"$kubectl" --cache-dir "$tmp/cache-$kubectl_minor" "$@"
}

# kubectl has a verb for it since 1.24 only.
token_of() { # ACCOUNT [PREFIX]: a token of the account in the namespace default, there
	echo "{}" | k create --raw "$2/api/v1/namespaces/default/serviceaccounts/$1/token" -f - |
		sed -n "s/.*\"token\": *\"\([^\"]*\)\".*/\1/p" | grep .
}

use_kubectl() { # MINOR PATH
	kubectl_minor=$1 kubectl=$2
}

kubectls() {
	if [ -n "$KUBECTL" ]; then
		echo "$("$KUBECTL" version --client -o json |
			sed -n 's/.*"gitVersion": *"v1\.\([0-9]*\)\..*/\1/p') $KUBECTL"
	else
		cat "$top/build/tools/kubectls"
	fi
}

use_newest_kubectl() {
	# shellcheck disable=SC2046 # two words
	use_kubectl $(kubectls | tail -n 1)
}

newest_kubectl() { # its path
	kubectls | tail -n 1 | cut -d " " -f 2-
}

with_each_kubectl() { # FUNCTION: runs it once with each kubectl, in a namespace of its own
	kubectls >"$tmp/.kubectls"
	while read -r minor path <&3; do
		use_kubectl "$minor" "$path"
		test_suffix=" (kubectl 1.$minor)" ns=e2e-$minor
		test_expect_success "namespace $ns is made" 'k create namespace $ns'
		"$1"
		test_suffix=
	done 3<"$tmp/.kubectls"
}

since() { # MINOR: is this kubectl that new?
	[ "$kubectl_minor" -ge "$1" ]
}

# What --raw needs before a path in a kubeconfig of the instance: kubectl 1.36 begins at the path
# of the server's URL, as its other verbs do, older ones forget it.
raw_in() { # INSTANCE
	since 36 || echo "/clusters/$1"
}

# curl as the platform admin: api PATH [CURL-OPTION…]
api() {
	if [ ! -f "$tmp/admin.crt" ]; then
		for what in client-certificate client-key certificate-authority; do
			kubeconfig_field $what-data | base64 -d >"$tmp/$what"
		done
		cat "$tmp/client-certificate" >"$tmp/admin.crt"
	fi
	path=$1
	shift
	curl -sS --max-time 30 --cacert "$tmp/certificate-authority" --cert "$tmp/admin.crt" \
		--key "$tmp/client-key" "$@" "$server$path"
}

# kubectl in the background, its output in FILE, for a minute at most; k_background_stop ends it.
k_background() { # FILE ARG…
	background_file=$1
	shift
	timeout 60 "$kubectl" --cache-dir "$tmp/cache-$kubectl_minor" "$@" >"$background_file" 2>&1 &
	background_pid=$!
}

k_background_stop() {
	kill "$background_pid" 2>/dev/null || true
	wait "$background_pid" 2>/dev/null || true
}

# A second machine: another network namespace, with a cable (veth) to this one.  The test gets a
# network of its own for it, so that nothing of the real machine is changed or seen:
#
#     . "$(dirname "$0")/lib.sh"
#     second_machine_network           # starts this file once more, in a network of its own
#     second_machine_start
#     second_machine kubectl get namespaces
#
# Here are $here4 and $here6, there $there4 and $there6.  Without the right to make namespaces
# $second_machine_why says why there is none, and the test skips what needs one.

here4=192.0.2.1 there4=192.0.2.2 here6=2001:db8:77::1 there6=2001:db8:77::2
second_machine_why=

second_machine_network() {
	need ip iproute2
	ours=--net
	# Another user than root owns a network by way of a user namespace.
	[ "$(id -u)" = 0 ] || ours='--net --user --map-current-user --keep-caps'
	if [ -z "$SECOND_MACHINE_NETWORK" ]; then
		# shellcheck disable=SC2086 # words
		if second_machine_why=$(unshare $ours true 2>&1); then
			cd / && rm -rf "$tmp"
			SECOND_MACHINE_NETWORK=1 exec unshare $ours sh "$top/tests/e2e/$(basename "$0")"
		fi
		return 0
	fi
	unset SECOND_MACHINE_NETWORK
	ip link set lo up
}

second_machine_start() {
	unshare --net sleep infinity &
	second_machine_pid=$!
	eventually second_machine_is_apart
	ip link add here type veth peer name there netns "$second_machine_pid"
	ip addr add "$here4/24" dev here
	ip addr add "$here6/64" dev here nodad
	second_machine ip link set lo up
	second_machine ip addr add "$there4/24" dev there
	second_machine ip addr add "$there6/64" dev there nodad
	second_machine ip link set there up
	ip link set here up
	eventually second_machine_is_near
}

second_machine_is_apart() {
	[ "$(readlink "/proc/$second_machine_pid/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

second_machine_is_near() { # the cable carries
	ip -o link show here | grep -q LOWER_UP
}

second_machine() { # COMMAND…: runs it there
	nsenter --target "$second_machine_pid" --net -- "$@"
}

second_machine_cut() { # the cable is out; second_machine_mend puts it back
	ip link set here down
}

second_machine_mend() {
	ip link set here up
	# The kernel forgets IPv6 addresses of what goes down.
	ip addr replace "$here6/64" dev here nodad
	eventually second_machine_is_near
}
