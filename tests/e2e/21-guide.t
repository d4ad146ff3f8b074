#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages of docs/guide, one after the other as they stand there, beside one server as of `make
# up`.  Each leaves that as it was, so that a reader may begin with any.  (GUIDE_PAGES="place join":
# these alone.)
. "$(dirname "$0")/lib.sh"
make_clone
start_server --demo
eventually greeted
use_newest_kubectl

what_is_there() {
	k get instances,users,groups.iam.kairship.io,workspaces
	k --kubeconfig kairship-data/demo.kubeconfig get clusters -o wide
	k --kubeconfig kairship-data/demo.kubeconfig get deployments,configmaps,resourcebindings -A
	k --kubeconfig kairship-data/demo.kubeconfig get propagationpolicies,overridepolicies -A
}

counted() { # the members, in the status of the instance
	k get instance demo | grep -w 3/3
}

as_it_was() {
	what_is_there | page_plain >after
	diff before after
}

eventually counted
what_is_there 2>/dev/null | page_plain >before

for page in ${GUIDE_PAGES:-install first-instance join place people}; do
	test_expect_success "the commands of $page work, and it leaves no file behind" "
		run_page docs/guide/$page.md >$page.out 2>&1 || { cat $page.out; false; }
	"
	test_expect_success "they print what $page shows, and leave all as it was" "
		page_shows docs/guide/$page.md $page.out
		eventually as_it_was
	"
done

test_done
