#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # test bodies are evaluated later

# Two versions of a CRD that a webhook converts, and those who apply in one or the other.
. "$(dirname "$0")/lib.sh"

need python3 python3
hook_pid=

stop_all() {
	[ -z "$hook_pid" ] || kill "$hook_pid" 2>/dev/null
	cleanup
}
trap stop_all EXIT

mkdir hook
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=w \
	-addext subjectAltName=IP:127.0.0.1 -keyout hook/tls.key -out hook/tls.crt 2>/dev/null
python3 "$top/tests/e2e/python/hook.py" hook 2>hook.log &
hook_pid=$!
eventually test -s hook/port

serve=apiserver start_server --allow-loopback-members
use_newest_kubectl

places() {
	echo '{"v1": {"size": "spec.size", "color": "spec.color"},
		"v2": {"size": "spec.box.size", "color": "spec.box.color"}}' >hook/c.json
}

number='{type: integer}' text='{type: string}'
cat >crd.yaml <<EOF
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: "https://127.0.0.1:$(cat hook/port)/c", caBundle: $(base64 -w0 <hook/tls.crt)}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: $number, color: $text, other: $text}}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {box: {type: object, properties: {size: $number, color: $text}}, other: $text}}}}}
EOF
places
k apply -f crd.yaml >/dev/null
k wait --for=condition=Established crd/things.example.com >/dev/null
eventually k get things >/dev/null 2>&1

apply() { # VERSION MANAGER SPEC [OPTIONS]
	version=$1 manager=$2 spec=$3
	shift 3
	printf 'apiVersion: example.com/%s\nkind: Thing\nmetadata: {name: t}\nspec: %s\n' "$version" "$spec" |
		k apply --server-side --field-manager="$manager" --validate=false "$@" -f -
}

spec() { # VERSION
	k get "things.$1.example.com" t -o jsonpath='{.spec}'
}

managers() {
	k get things.v1.example.com t \
		-o jsonpath='{range .metadata.managedFields[*]}{.manager} {.apiVersion} {.fieldsV1}{"\n"}{end}' | sort
}

test_expect_success 'conflicts are found in the version of who owns the field' '
	apply v1 a "{size: 1, color: red}"
	: >hook/log
	test_must_fail apply v2 b "{box: {color: blue}}" 2>err
	grep "conflict with \"a\": .spec.color" err
	printf "%s\n" "1 to example.com/v2" "2 to example.com/v1" >want
	cmp want hook/log
	apply v2 b "{box: {color: blue}}" --force-conflicts
	test_must_fail apply v1 a "{size: 1, color: red}" 2>err
	grep "conflict with \"b\": .spec.box.color" err
	printf "%s\n" "a example.com/v1 {\"f:spec\":{\"f:size\":{}}}" \
		"b example.com/v2 {\"f:spec\":{\"f:box\":{\"f:color\":{}}}}" >want
	managers >got
	cmp want got
'

test_expect_success 'what was applied in another version goes with the next apply' '
	apply v2 a "{other: x}"
	[ "$(spec v1)" = "{\"color\":\"blue\",\"other\":\"x\"}" ]
	apply v1 b "{}"
	[ "$(spec v1)" = "{\"other\":\"x\"}" ]
	apply v1 b "{size: 2, color: red}"
	apply v2 c "{box: {size: 2}}"
	apply v1 b "{color: red}"
	[ "$(spec v2)" = "{\"box\":{\"color\":\"red\",\"size\":2},\"other\":\"x\"}" ]
'

test_expect_success 'one version needs nobody who converts' '
	printf "%s\n" "apiVersion: example.com/v1" "kind: Thing" "metadata: {name: one}" "spec: {size: 1}" >one.yaml
	: >hook/log
	k apply --server-side -f one.yaml
	k patch thing.v1.example.com one --type merge -p "{\"spec\":{\"size\":2}}"
	test ! -s hook/log
'

test_expect_success 'without it an apply fails, and an update forgets who owned what' '
	rm hook/c.json
	test_must_fail apply v1 b "{color: green}" --force-conflicts 2>err
	grep "conversion webhook for example.com/v1, Kind=Thing failed: not today" err
	k patch thing.v1.example.com t --type merge -p "{\"spec\":{\"color\":\"green\"}}"
	[ "$(spec v1)" = "{\"color\":\"green\",\"other\":\"x\",\"size\":2}" ]
	managers >got
	test ! -s got
	places
	apply v2 b "{box: {color: red}}" --force-conflicts
	managers >got
	grep "^before-first-apply example.com/v2" got
'

test_done
