#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages of docs/guide, as they stand there, each beside a server of its own (GUIDE_PAGES="place
# join": these alone).
. "$(dirname "$0")/lib.sh"
use_newest_kubectl

guide_page() { # NAME: its commands work, and print what it shows
	make_clone
	start_server --demo
	eventually greeted
	test_expect_success "the commands of $1 work, and it leaves no file behind" "
		run_page docs/guide/$1.md >$1.out 2>&1 || { cat $1.out; false; }
	"
	test_expect_success "they print what $1 shows" "
		page_shows docs/guide/$1.md $1.out
	"
	stop_server
	test_report $? "the server of $1 stops cleanly"
	drop_clone
}

for page in ${GUIDE_PAGES:-install first-instance join place people}; do
	guide_page "$page"
done

test_done
