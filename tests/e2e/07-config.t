#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options from files and the environment, and commands that find the server of this machine by them.
. "$(dirname "$0")/lib.sh"
unset KAIRSHIP_CONFIG
use_newest_kubectl

test_expect_success 'a mistake in a file is told by its line, whatever is run' '
	mkdir -p .config
	printf "listen: 127.0.0.1:0\nlisten-on: x\n" >.config/kairship.yaml
	test_must_fail "$KAIRSHIP" up 2>err
	grep "kairship.yaml: line 2: listen-on is no option of kairship up" err
	test_must_fail "$KAIRSHIP" restore x 2>err
	grep "line 2" err
	"$KAIRSHIP" up --help >out
	grep -e "--config FILE" out
	"$KAIRSHIP" version
'

test_expect_success 'a file of somebody else is not read' '
	[ "$(id -u)" = 0 ] || exit 0
	chown 4711 .config/kairship.yaml
	test_must_fail "$KAIRSHIP" up 2>err
	grep "belongs to user 4711" err
	rm .config/kairship.yaml
'

mkdir -p .config
cat >.config/kairship.yaml <<END
data-dir: $tmp/server
listen: 127.0.0.1:0
audit-log-maxage: 40
simulate:
  members: 1
END
KAIRSHIP_LOG_FORMAT=json KAIRSHIP_LOG_LEVEL=debug "$KAIRSHIP" up --log-level=info \
	>server.out 2>server.log &
server_pid=$!

test_expect_success 'the server runs with what file, environment and command line say' '
	eventually grep "data in $tmp/server" server.out
	grep "\"level\":\"info\"" server.log
	test_must_fail grep "\"level\":\"debug\"" server.log
	grep "^audit-log-maxage: 40" server/options.yaml
	grep "^log-level: \"info\"" server/options.yaml
	test "$(stat -c %a server/options.yaml)" = 600
'

test_expect_success 'commands find it' '
	"$KAIRSHIP" backup all.kairship
	"$KAIRSHIP" kubeconfig root >root.kubeconfig
	"$KAIRSHIP" doctor >out || test $? = 1
	grep "^  1\.2\.17  *holds .*40 days" out
	"$KAIRSHIP" --help | grep KAIRSHIP_DATA_DIR
'

test_expect_success 'and a variable names another' '
	test_must_fail env KAIRSHIP_DATA_DIR=nowhere "$KAIRSHIP" backup b 2>err
	grep "there is no nowhere/admin.kubeconfig" err
	test_must_fail env KAIRSHIP_CONFIG=/dev/null "$KAIRSHIP" backup b 2>err
	grep "there is no ./kairship-data/admin.kubeconfig" err
	test_must_fail env KUBECONFIG=elsewhere "$KAIRSHIP" backup b 2>err
	grep elsewhere err
'

test_expect_success 'root runs nothing that the user of the server wrote' '
	[ "$(id -u)" = 0 ] || exit 0
	mkdir theirs
	sed "s/^  user:.*/  user: {exec: {apiVersion: client.authentication.k8s.io\/v1, interactiveMode: Never, command: touch, args: [$(
		echo "$tmp" | sed "s,/,\\\\/,g")\/ran]}}/; /client-.*-data/d" server/admin.kubeconfig \
		>theirs/admin.kubeconfig
	chown -R 4711 theirs
	test_must_fail "$KAIRSHIP" backup b --config /dev/null 2>err
	test_must_fail env KAIRSHIP_DATA_DIR=theirs "$KAIRSHIP" backup b 2>err
	grep "inline data only" err
	test ! -e ran
	chown -R 0 theirs
	test_must_fail env KAIRSHIP_DATA_DIR=theirs "$KAIRSHIP" backup b 2>err
	test -e ran
'

test_done
