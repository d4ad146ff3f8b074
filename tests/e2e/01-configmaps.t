#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everyday life with one kind, as kubectl does it.
. "$(dirname "$0")/lib.sh"
start_server

cat >a.yaml <<'Y'
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {app: web, tier: front}
data:
  color: red
  size: "3"
Y
sed 's/red/blue/; s/size: .*/shape: round/' a.yaml >a2.yaml

scenario() {
	test_expect_success 'create' '
		k -n $ns create configmap hello --from-literal=x=1 --from-literal=y=two >out
		grep "configmap/hello created" out
		k -n $ns get configmap hello -o "jsonpath={.data.x} {.data.y}" >out
		test "$(cat out)" = "1 two"
	'
	test_expect_success 'creating it again is refused' '
		test_must_fail k -n $ns create configmap hello 2>err
		grep "configmaps \"hello\" already exists" err
	'
	test_expect_success 'what the server adds' '
		k -n $ns get configmap hello -o json >out
		grep -E "\"uid\": \"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\"" out
		grep -E "\"resourceVersion\": \"[1-9][0-9]*\"" out
		grep -E "\"creationTimestamp\": \"20[0-9-]+T[0-9:]+Z\"" out
		test_must_fail grep -E "selfLink|generation" out
	'
	test_expect_success 'get prints a table' '
		k -n $ns get configmaps >out
		grep -E "^NAME +DATA +AGE$" out
		grep -E "^hello +2 +[0-9]+s$" out
		k -n $ns get cm hello -o wide >out
		grep -E "^hello +2 +[0-9]+s" out
		k -n $ns get cm --show-labels >out
		grep -E "LABELS$" out
	'
	test_expect_success 'other outputs' '
		test "$(k -n $ns get cm hello -o name)" = configmap/hello
		k -n $ns get cm hello -o yaml >out
		grep "y.*: two$" out
		k -n $ns get cm hello -o "custom-columns=N:.metadata.name,X:.data.x" >out
		grep -E "^hello +1$" out
		k -n $ns get cm -o "go-template={{range .items}}{{.metadata.name}} {{end}}" >out
		grep hello out
	'
	test_expect_success 'what is not there' '
		test_must_fail k -n $ns get configmap nothing 2>err
		grep "Error from server (NotFound): configmaps \"nothing\" not found" err
		k -n empty-$ns get configmaps 2>err
		grep "No resources found in empty-$ns namespace." err
		test_must_fail k -n empty-$ns create configmap x 2>err
		grep "namespaces \"empty-$ns\" not found" err
	'

	test_expect_success 'apply creates, changes, and leaves alone' '
		k -n $ns apply -f a.yaml >out
		grep "configmap/a created" out
		k -n $ns apply -f a.yaml >out
		grep "configmap/a unchanged" out
		k -n $ns apply -f a2.yaml >out
		grep "configmap/a configured" out
		k -n $ns get cm a -o json >out
		grep "\"color\": \"blue\"" out
		grep "\"shape\": \"round\"" out
		test_must_fail grep "\"size\": \"3\"" out
	'
	test_expect_success 'apply keeps what others added' '
		k -n $ns patch cm a -p "{\"data\":{\"theirs\":\"x\"}}"
		k -n $ns apply -f a.yaml
		test "$(k -n $ns get cm a -o "jsonpath={.data.theirs}{.data.color}{.data.shape}")" = xred
	'
	test_expect_success 'a write that changes nothing keeps the version' '
		before=$(k -n $ns get cm a -o "jsonpath={.metadata.resourceVersion}")
		k -n $ns patch cm a -p "{\"data\":{\"theirs\":\"x\"}}"
		k -n $ns label cm a app=web --overwrite
		test "$(k -n $ns get cm a -o "jsonpath={.metadata.resourceVersion}")" = "$before"
	'
	test_expect_success 'diff shows what apply would do' '
		rc=0
		k -n $ns diff -f a2.yaml >out || rc=$?
		test $rc = 1
		grep -E "^-  color: red" out
		grep -E "^\+  color: blue" out
		k -n $ns diff -f a.yaml
		test "$(k -n $ns get cm a -o "jsonpath={.data.color}")" = red
	'
	test_expect_success 'three kinds of patch' '
		k -n $ns patch cm hello --type=merge -p "{\"data\":{\"x\":null,\"z\":\"3\"}}" >out
		grep "configmap/hello patched" out
		k -n $ns patch cm hello --type=json \
			-p "[{\"op\":\"test\",\"path\":\"/data/z\",\"value\":\"3\"},{\"op\":\"replace\",\"path\":\"/data/z\",\"value\":\"4\"}]"
		k -n $ns patch cm hello --type=strategic -p "{\"data\":{\"w\":\"5\"}}"
		test "$(k -n $ns get cm hello -o "jsonpath={.data.w}{.data.x}{.data.y}{.data.z}")" = 5two4
		test_must_fail k -n $ns patch cm hello --type=json \
			-p "[{\"op\":\"test\",\"path\":\"/data/z\",\"value\":\"9\"}]"
	'
	test_expect_success 'labels and selectors' '
		k -n $ns label cm hello app=web tier=back >out
		grep "configmap/hello labeled" out
		test "$(k -n $ns get cm -l app=web,tier!=front -o name)" = configmap/hello
		test "$(k -n $ns get cm -l "tier in (front)" -o name)" = configmap/a
		test "$(k -n $ns get cm -l "app,tier notin (front)" -o name)" = configmap/hello
		test -z "$(k -n $ns get cm -l "app=nobody" -o name)"
		test_must_fail k -n $ns label cm hello app=db
		k -n $ns label cm hello app=db --overwrite
		k -n $ns label cm hello tier-
		test "$(k -n $ns get cm -l app=db,"!tier" -o name)" = configmap/hello
		test_must_fail k -n $ns get cm -l "a b c"
	'
	test_expect_success 'annotations' '
		k -n $ns annotate cm hello note="two words" >out
		grep "configmap/hello annotated" out
		test "$(k -n $ns get cm hello -o "jsonpath={.metadata.annotations.note}")" = "two words"
		k -n $ns annotate cm hello note-
		test -z "$(k -n $ns get cm hello -o "jsonpath={.metadata.annotations}")"
	'
	test_expect_success 'field selectors' '
		test "$(k -n $ns get cm --field-selector metadata.name=hello -o name)" = configmap/hello
		k get cm -A --field-selector "metadata.namespace=$ns,metadata.name!=a" -o name >out
		grep -x configmap/hello out
		test_must_fail grep -x configmap/a out
		test_must_fail k -n $ns get cm --field-selector data.x=1 2>err
		grep "data.x" err
	'
	test_expect_success 'edit' '
		KUBE_EDITOR="sed -i s/two/three/" k -n $ns edit cm hello >out
		grep "configmap/hello edited" out
		test "$(k -n $ns get cm hello -o "jsonpath={.data.y}")" = three
		KUBE_EDITOR=true k -n $ns edit cm hello >out 2>&1
		grep -i "no changes made" out
	'
	test_expect_success 'replace, and a replace that comes too late' '
		k -n $ns get cm hello -o yaml >old.yaml
		sed "s/three/four/" old.yaml >new.yaml
		k -n $ns replace -f new.yaml >out
		grep "configmap/hello replaced" out
		test_must_fail k -n $ns replace -f old.yaml 2>err
		grep "the object has been modified; please apply your changes to the latest version" err
		test "$(k -n $ns get cm hello -o "jsonpath={.data.y}")" = four
	'
	test_expect_success 'a dry run changes nothing' '
		k -n $ns create cm ghost --dry-run=server >out
		grep "configmap/ghost created (server dry run)" out
		test_must_fail k -n $ns get cm ghost
		k -n $ns apply --dry-run=server -f a2.yaml >out
		grep "configured (server dry run)" out
		test "$(k -n $ns get cm a -o "jsonpath={.data.color}")" = red
		k -n $ns delete cm hello --dry-run=server
		k -n $ns get cm hello
	'
	test_expect_success 'generated names' '
		printf "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: gen-}\n" >gen.yaml
		k -n $ns create -f gen.yaml >out
		k -n $ns create -f gen.yaml >>out
		grep -cE "configmap/gen-[bcdfghjklmnpqrstvwxz2456789]{5} created" out >n
		test "$(cat n)" = 2
		test "$(sort -u out | wc -l)" = 2
	'
	test_expect_success 'pages are put together' '
		for i in $(seq 30); do
			printf "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page-%02d, labels: {page: yes-it-is}}\n---\n" $i
		done >pages.yaml
		k -n $ns create -f pages.yaml
		k -n $ns get cm -l page -o name --chunk-size=7 >out
		test "$(wc -l <out)" = 30
		sort -c out
		k -n $ns get cm --chunk-size=7 --sort-by=.metadata.name --no-headers | grep -c page- >n
		test "$(cat n)" = 30
	'
	test_expect_success 'bad input is refused with its reason' '
		test_must_fail k -n $ns create configmap Bad_Name 2>err
		grep "RFC 1123" err
		printf "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\ndata: {x: 1}\n" >bad.yaml
		test_must_fail k -n $ns create --validate=false -f bad.yaml 2>err
		grep ConfigMap err
		printf "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\nbogus: {x: 1}\n" >bad.yaml
		test_must_fail k -n $ns create -f bad.yaml 2>err
		grep bogus err
		printf "apiVersion: v1\nkind: Nonsense\nmetadata: {name: odd}\n" >bad.yaml
		test_must_fail k -n $ns create --validate=false -f bad.yaml 2>err
		grep "no matches for kind \"Nonsense\"" err
		test_must_fail k -n $ns get cm odd
	'
	test_expect_success 'describe' '
		k -n $ns describe cm hello >out
		grep -E "^Name: +hello" out
		grep four out
	'
	test_expect_success 'binary data and large values' '
		head -c 300000 /dev/urandom >blob
		k -n $ns create configmap blob --from-file=blob
		k -n $ns get cm blob -o "jsonpath={.binaryData.blob}" | base64 -d >out
		cmp blob out
		head -c 1100000 /dev/zero | tr "\0" x >big
		test_must_fail k -n $ns create configmap big --from-file=big 2>err
		grep -iE "too long|too large|must have at most" err
	'
	test_expect_success 'answers in YAML, failures too' '
		api "/api/v1/namespaces/$ns/configmaps/hello" -H "Accept: application/yaml" -D head >out
		grep -i "^content-type: application/yaml" head
		grep "^kind: ConfigMap" out
		k -n $ns get cm hello -o yaml --show-managed-fields >out2 2>/dev/null ||
			k -n $ns get cm hello -o yaml >out2
		diff out out2
		api "/api/v1/namespaces/$ns/configmaps/none" -H "Accept: application/yaml" >out
		grep "^message: configmaps \"none\" not found" out
		api "/api/v1/namespaces/$ns/configmaps?limit=1" -H "Accept: application/yaml" >out
		grep "^items:" out
		grep "^kind: ConfigMapList" out
	'
	test_expect_success 'delete one, some, all' '
		k -n $ns delete cm hello >out
		grep "configmap \"hello\" deleted" out
		test_must_fail k -n $ns get cm hello
		test_must_fail k -n $ns delete cm hello
		k -n $ns delete cm hello --ignore-not-found
		k -n $ns delete cm -l page >out
		test "$(grep -c deleted out)" = 30
		k -n $ns delete cm --all
		test -z "$(k -n $ns get cm -o name | grep -v kube-root-ca)"
	'
}

with_each_kubectl scenario
test_done
