#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What systemd says of the unit that we give people.
. "$(dirname "$0")/lib.sh"
need systemd-analyze systemd
sed 's|@bindir@|/usr/bin|; s|@docdir@|/usr/share/doc/kairship|' \
	"$top/packaging/kairship.service.in" >kairship.service

test_expect_success 'little is left open: 1.5 of 10 at most' '
	systemd-analyze security --offline=true --threshold=15 --no-pager \
		kairship.service >out
	grep "exposure level" out
'

# A name that systemd does not know is ignored, and our own filter could not be put on.
test_expect_success 'systemd of Debian 12 knows every name of the filter of system calls' '
	systemd-analyze syscall-filter --no-pager | sed "s/^[# ]*//" >known
	sed -n "s/^SystemCallFilter=~*//p" kairship.service | tr " " "\n" >names
	grep -x seccomp names &&
	while read -r name; do
		grep -qx -e "$name" known || ! echo "unknown: $name" || return 1
	done <names
'

test_expect_success 'the command of the unit and its configuration are understood' '
	sed -n "s|^ExecStart=/usr/bin/kairship ||p" kairship.service >words
	grep . words
	# shellcheck disable=SC2046 # words
	"$KAIRSHIP" $(cat words) --help >out
	grep "^  --data-dir" out
	test_must_fail "$KAIRSHIP" restore no-backup --config "$top/packaging/kairship.yaml" 2>err
	grep no-backup err
	test_must_fail grep "line [0-9]" err
	test_must_fail grep "@[a-z]*@" kairship.service
'

test_done
