#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Data folders that older releases have left (tests/data/make): this program opens each of them, and
# nothing in it is lost.
. "$(dirname "$0")/lib.sh"
. "$top/tests/data/objects.sh"

logs_in() { # …with the password of that time
	echo '{"spec":{"username":"jane","password":"correct horse battery"}}' |
		curl -sk --fail "$server/apis/iam.kairship.io/v1alpha1/logins" -H 'Content-Type: application/json' \
			-d @- | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p' >token
	test -s token
}

as_jane() { # PATH
	curl -sk --fail -H "Authorization: Bearer $(cat token)" "$server$1"
}

use_newest_kubectl
for data in "$top"/tests/data/*.tar.xz; do
	version=$(basename "$data" .tar.xz)
	rm -rf kairship-data objects.txt
	tar xJf "$data"
	listen=127.0.0.1:0
	start_server

	test_expect_success "$version: every object is there, with its uid" '
		objects kairship-data/admin.kubeconfig k >now.txt
		diff objects.txt now.txt
	'

	test_expect_success "$version: sealed Secrets open, custom resources are served" '
		[ "$(k get secret key -o "jsonpath={.data.x}" | base64 -d)" = root ]
		[ "$(k --server "$server/clusters/shop" get secret key -o "jsonpath={.data.x}" | base64 -d)" = shop ]
		[ "$(k --server "$server/clusters/shop" get order first -o "jsonpath={.spec.items}")" = 3 ]
	'

	test_expect_success "$version: people have the password and the rights that they had" '
		logs_in
		as_jane /clusters/shop/api/v1/namespaces/default/configmaps/settings | grep "\"a\": *\"b\""
		test_must_fail as_jane /clusters/bare/api/v1/namespaces
		test_must_fail as_jane /api/v1/namespaces/default/secrets
	'

	test_expect_success "$version: what was placed stays placed" '
		k --server "$server/clusters/shop" get resourcebinding nginx-deployment \
			-o "jsonpath={.spec.clusters[*].name}:{.spec.clusters[*].replicas}" >placed
		grep -x "m1:6" placed
	'
	stop_server
done

test_done
