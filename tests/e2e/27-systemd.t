#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What systemd says of the unit that we give people.
. "$(dirname "$0")/lib.sh"
command -v systemd-analyze >/dev/null || skip_all 'no systemd-analyze'
systemd-analyze security --help 2>&1 | grep -q offline || skip_all 'systemd-analyze is too old'

test_expect_success 'little is left open: 1.5 of 10 at most' '
	systemd-analyze security --offline=true --threshold=15 --no-pager \
		"$top/packaging/kairship.service" >out
	grep "exposure level" out
'

test_expect_success 'the command of the unit is understood' '
	sed -n "s|^ExecStart=/usr/bin/kairship ||p" "$top/packaging/kairship.service" >words
	# shellcheck disable=SC2046 # words
	"$KAIRSHIP" $(cat words) --help >out
	grep "^  --data-dir" out
'

test_done
