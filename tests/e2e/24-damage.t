#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bytes on the disk that are not what they were: what a crash may leave is cut off, everything else
# is refused by name and place, and nothing of it is touched.
. "$(dirname "$0")/lib.sh"
start_server
use_newest_kubectl

newest_segment() {
	find kairship-data -name 'seg-*.log' | sort | tail -n 1
}
oldest_segment() {
	find kairship-data -name 'seg-*.log' | sort | head -n 1
}
used_bytes() { # FILE: up to the last one that is not zero
	od -An -v -tx1 -w1 "$1" | awk '$1 != "00" { last = NR } END { print last }'
}
poke() { # FILE OFFSET TEXT
	printf '%s' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
offset_of() { # FILE TEXT
	grep -abo -m 1 "$2" "$1" | head -n 1 | cut -d: -f1
}
refused() { # the server does not start; what it says is in `err`
	test_must_fail timeout 20 "$KAIRSHIP" up --data-dir kairship-data --listen 127.0.0.1:0 2>err
}
contents() {
	k get cm -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion} {.data.x}{"\n"}{end}' |
		grep -v '^kube-'
}

test_expect_success 'some objects' '
	for i in 1 2 3 4 5; do
		k create cm kept-$i --from-literal=x=value-of-kept-$i
	done
	contents >want
	test "$(wc -l <want)" = 5
	k create cm last --from-literal=x=value-of-the-last
'
crash_server

test_expect_success 'rubbish behind the end of the log is cut off' '
	file=$(newest_segment)
	poke "$file" $(($(used_bytes "$file") / 8 * 8 + 64)) "rubbish rubbish rubbish rubbish"
'
start_server
test_expect_success 'and all is there' '
	contents | grep -v "^last " | cmp want -
	test "$(k get cm last -o "jsonpath={.data.x}")" = value-of-the-last
	k create cm next --from-literal=x=value-of-the-next
'
crash_server

# What was being written when the power went: its last bytes never came.
test_expect_success 'a torn write at the end is cut off' '
	file=$(newest_segment)
	grep -q value-of-the-next "$file"
	poke "$file" "$(offset_of "$file" value-of-the-next)" VALUE
'
start_server
test_expect_success 'and it alone is gone' '
	contents | grep -v "^last " | cmp want -
	test "$(k get cm last -o "jsonpath={.data.x}")" = value-of-the-last
	test_must_fail k get cm next
'
test_expect_success 'writes go on, above all revisions before' '
	k create cm after --from-literal=x=value-of-after
	k create cm after-that --from-literal=x=2
	test "$(k get cm after -o "jsonpath={.metadata.resourceVersion}")" -gt \
		"$(k get cm last -o "jsonpath={.metadata.resourceVersion}")"
	contents >want
'
stop_server
test_report $? 'the server stops'

test_expect_success 'a broken byte in an older segment is refused, with file and place' '
	file=$(oldest_segment)
	test "$file" != "$(newest_segment)"
	cp "$file" saved
	at=$(offset_of "$file" value-of-kept-3)
	poke "$file" "$at" VALUE
	cksum kairship-data/seg-* >before
	refused
	grep "$(basename "$file") is damaged at offset" err
	place=$(sed -n "s/^kairship: .* at offset \([0-9]*\):.*/\1/p" err)
	test "$place" -le "$at"
	test "$place" -gt $((at - 2000))
	cksum kairship-data/seg-* | cmp before -
	cp saved "$file"
'

test_expect_success 'so is one in the newest, when later writes were durable' '
	file=$(newest_segment)
	cp "$file" saved
	poke "$file" "$(offset_of "$file" value-of-after)" VALUE
	refused
	grep "$(basename "$file") is damaged at offset" err
	cp saved "$file"
'

test_expect_success 'a missing segment is refused' '
	file=$(oldest_segment)
	mv "$file" saved
	refused
	grep "$(basename "$file")" err
	mv saved "$file"
'

test_expect_success 'a segment that was cut short is refused' '
	file=$(oldest_segment)
	cp "$file" saved
	truncate -s -64 "$file"
	refused
	grep "$(basename "$file") is damaged at offset" err
	cp saved "$file"
'

test_expect_success 'a damaged header is refused' '
	file=$(oldest_segment)
	cp "$file" saved
	poke "$file" 8 X
	refused
	grep "$(basename "$file") is damaged at offset 0" err
	cp saved "$file"
'

start_server
test_expect_success 'with the bytes put back all is there' '
	contents | cmp want -
'

test_done
