#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every native kind, in an instance: manifests/good is made, shown, applied and deleted; manifests/bad
# is refused in the words that its first lines say.  What is asked, not kept, is in manifests/reviews.
. "$(dirname "$0")/lib.sh"
start_server

i() { # kubectl inside of the instance
	k --server "$server/clusters/one" "$@"
}

# The manifests, as files below good and bad, for this namespace.
unpack() {
	rm -rf good bad reviews
	cp -r "$top"/tests/e2e/manifests/* .
	sed -i "s/NAMESPACE/$ns/" good/*.yaml bad/*.yaml reviews/*/*.yaml
}

kind_of() { # FILE
	sed -n 's/^kind: //p' "$1"
}

# What the manifest is to be refused with is in what kubectl said of it.
refused_as_told() { # FILE ERRORS
	grep -F "\"$1\"" "$2" >refusal
	sed -n 's/^# refused: //p' "$1" >words
	[ -s words ]
	while read -r line; do
		grep -F -e "$line" refusal
	done <words
}

# The Cluster of kcp waits half a minute for its member, which does not answer.
none_left() {
	test -z "$(i -n "$ns" get -f good --ignore-not-found -o name)"
}

scenario() {
	test_expect_success 'a namespace in the instance, and the manifests' '
		i create namespace $ns
		unpack
	'
	test_expect_success 'there is a good and a bad manifest for each kind that is kept' '
		i api-resources --verbs=list,create -o name | sed "s/\..*//" | sort -u >kinds
		ls good | sed "s/\..*//" | sort -u | diff kinds -
		ls bad | grep -v componentstatuses | sed "s/\..*//" | sort -u | diff kinds -
		i api-resources -o wide >out
		test "$(grep -cE "\[?create\]? *\$" out)" = "$(ls reviews/good | wc -l)"
	'
	test_expect_success 'the good ones are accepted' '
		i -n $ns create -f good >made
		test "$(grep -c " created\$" made)" = "$(ls good | wc -l)"
	'
	test_expect_success 'what is odd is accepted, too, with a warning' '
		printf "apiVersion: v1\nkind: Pod\nmetadata:\n  name: odd.pod\nspec:\n  nodeSelector:\n    beta.kubernetes.io/os: linux\n  containers:\n  - name: a\n    image: i\n" >odd.yaml
		i create --dry-run=server -f odd.yaml 2>warned
		grep "^Warning: metadata.name: this is used in the Pod.s hostname.*: \[must not contain dots\]" warned
		grep "^Warning: spec.nodeSelector\[beta.kubernetes.io/os\]: deprecated since v1.14; use \"kubernetes.io/os\" instead" warned
		i -n $ns get endpoints 2>warned
		grep "^Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice" warned
	'
	test_expect_success 'the bad ones are not' '
		test_must_fail i -n $ns create --validate=false -f bad >made 2>errors
		test ! -s made
	'
	for file in bad/*.yaml; do
		test_expect_success "a bad $(kind_of "$file") is refused with the right words" 'refused_as_told $file errors'
	done
	test_expect_success 'each has columns, also in a wide table' '
		i -n $ns get -f good >out
		test "$(grep -cE "^(NAME|LAST SEEN) " out)" = "$(ls good | wc -l)"
		i -n $ns get -f good -o wide >out
		test_must_fail grep -i "unknown object type" out
	'
	test_expect_success 'each is described' '
		since 34 || rm good/volumeattributesclasses.yaml # asked for as v1beta1 by older ones
		since 21 || rm good/cronjobs.yaml good/endpointslices.yaml good/poddisruptionbudgets.yaml
		i -n $ns describe -f good >out
		test "$(grep -c "^Name: " out)" = "$(ls good | wc -l)"
		unpack
	'
	if since 30; then # older ones read all of OpenAPI again for each object
		test_expect_success 'each can be applied by the server' '
			i -n $ns apply --server-side --force-conflicts --dry-run=server -f good >out
			test "$(grep -c "serverside-applied (server dry run)" out)" = "$(ls good | wc -l)"
		'
	fi
	test_expect_success 'each is labelled' '
		i -n $ns label -f good seen=yes >out
		test "$(grep -c " labeled\$" out)" = "$(ls good | wc -l)"
	'
	test_expect_success 'each is deleted' '
		i -n $ns delete -f good --grace-period=0 --force --wait=false
		eventually none_left || eventually none_left || eventually none_left || eventually none_left
	'
	test_expect_success 'reviews are answered, not kept' '
		i -n $ns run bound --image=example.com/app:1
		i -n $ns create -f reviews/good >out
		test "$(grep -c " created\$" out)" = "$(ls reviews/good | wc -l)"
		test "$(i -n $ns get pod bound -o "jsonpath={.spec.nodeName}")" = some
		test_must_fail i -n $ns create -f reviews/bad >out 2>errors
		test ! -s out
		for file in reviews/bad/*.yaml; do
			refused_as_told $file errors
		done
	'
}

test_expect_success 'an instance' '
	use_newest_kubectl
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: one}\n" | k create -f -
'
with_each_kubectl scenario
test_done
