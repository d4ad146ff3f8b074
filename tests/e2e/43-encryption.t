#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Secrets at rest: on the disk nobody reads them, keys come and go, one that is missing is named.
. "$(dirname "$0")/lib.sh"
start_server
use_newest_kubectl

# The words, and what base64 makes of them wherever they stand in a file.
canary=Xq7canaryPlainWords
in_data() { # WORDS: are they in a file of the data folder?
	grep -rqaF -e "$1" -e "$(printf %s "$1" | base64)" kairship-data
}

manifest() { # NAME WORDS
	printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: %s, labels: {app: %s}}\nstringData: {password: %s}\n' \
		"$1" "$1" "$2"
}

password() { # NAME
	k get secret "$1" -o 'jsonpath={.data.password}' | base64 -d
}

test_expect_success 'the first start makes a key that only its owner may read' '
	test "$(stat -c %a kairship-data/encryption.yaml)" = 600
	grep "kind: EncryptionConfiguration" kairship-data/encryption.yaml
	grep "name: key-" kairship-data/encryption.yaml
'

test_expect_success 'a configmap is on the disk as it is, so the search finds things' '
	k create configmap plain --from-literal=x=Xq7otherWords
	in_data Xq7otherWords
'

test_expect_success 'a secret is not, however it is written' '
	k create secret generic made --from-literal=password=$canary
	manifest applied $canary | k apply -f -
	manifest server $canary | k apply --server-side -f -
	k patch secret made -p "{\"stringData\":{\"password\":\"$canary\",\"more\":\"$canary\"}}"
	k patch secret made --type=json -p "[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"app\":\"made\"}}]"
	k get secret made -o yaml | k replace -f -
	k annotate secret made note=x
	k create serviceaccount robot
	k apply -f - <<-END
	apiVersion: v1
	kind: Secret
	metadata: {name: robot-token, annotations: {kubernetes.io/service-account.name: robot}}
	type: kubernetes.io/service-account-token
	END
	eventually sh -c "test -n \"\$($kubectl get secret robot-token -o jsonpath={.data.token})\""
	test "$(password made)" = $canary
	test "$(password applied)" = $canary
	test "$(password server)" = $canary
	test_must_fail in_data $canary
	token=$(k get secret robot-token -o jsonpath={.data.token} | base64 -d)
	test_must_fail in_data "$token"
'

test_expect_success 'lists, selectors, tables and metadata of sealed objects' '
	k get secrets -o name | sort >out
	printf "secret/applied\nsecret/made\nsecret/robot-token\nsecret/server\n" | diff - out
	k get secrets -l app=made -o name >out
	echo secret/made | diff - out
	k get secrets --field-selector type=kubernetes.io/service-account-token -o name >out
	echo secret/robot-token | diff - out
	k get secrets | grep -E "^made +Opaque +2 "
	api "/api/v1/namespaces/default/secrets?limit=1" | grep "\"continue\": *\""
	api /api/v1/namespaces/default/secrets/made \
		-H "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" >out
	grep "\"name\": *\"made\"" out
	test_must_fail grep "\"data\"" out
'

test_expect_success 'a watch tells of them, one with a selector too' '
	k_background events get secrets -w -l app=watched -o "jsonpath={.metadata.name}={.data.password}{\"\n\"}"
	all=$background_pid
	k create secret generic probe --from-literal=x=1
	manifest watched $canary | k apply -f -
	k label secret watched app=other --overwrite
	manifest watched $canary | k apply -f -
	k delete secret watched probe
	eventually grep -q "watched=$(printf %s $canary | base64)" events
	kill $all || true
	test_must_fail in_data $canary
'

test_expect_success 'owners, quotas and namespaces count and clear sealed objects' '
	k create namespace counted
	k create quota two -n counted --hard=secrets=2
	eventually sh -c "$kubectl get quota two -n counted -o jsonpath={.status.used.secrets} | grep -q 0"
	k create secret generic a -n counted --from-literal=x=$canary
	k create secret generic b -n counted --from-literal=x=$canary
	test_must_fail k create secret generic c -n counted --from-literal=x=$canary 2>err
	grep "exceeded quota" err
	uid=$(k get configmap plain -o jsonpath={.metadata.uid})
	k create secret generic owned --from-literal=x=$canary
	k patch secret owned -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"plain\",\"uid\":\"$uid\"}]}}"
	k delete configmap plain
	eventually test_must_fail k get secret owned
	k delete namespace counted
	test_must_fail k get secret a -n counted
'

test_expect_success 'nor in a Work that carries one, nor in the index' '
	printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: one}\n" | k apply -f -
	eventually api /clusters/one/readyz
	k="$kubectl --server $server/clusters/one"
	eventually $k create namespace karmada-es-m1
	$k create secret generic made --from-literal=password=$canary
	eventually $k apply -f - <<-END
	apiVersion: work.karmada.io/v1alpha1
	kind: Work
	metadata: {name: w, namespace: karmada-es-m1}
	spec: {workload: {manifests: [{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {p: $canary}}]}}
	END
	$k get work w -n karmada-es-m1 -o yaml | grep $canary
	eventually k --server $server/apis/clusterpedia.io/v1beta1/resources/clusters/k-one get secret made
	test_must_fail in_data $canary
'

crash_server
start_server
test_expect_success 'after kill -9 all is there, and still not to be seen' '
	test "$(password made)" = $canary
	manifest later $canary | k apply -f -
	test_must_fail in_data $canary
'

test_expect_success 'a backup does not show them either' '
	"$KAIRSHIP" backup sealed.kairship
	test_must_fail grep -qaF -e $canary -e "$(printf %s $canary | base64)" sealed.kairship
'

stop_server
test_report $? 'the server stops'
mv kairship-data old-data
"$KAIRSHIP" restore sealed.kairship --data-dir kairship-data >restored
rm -f admin.crt
start_server

missing_key=$(sed -n 's/.*name: \(key-.*\)/\1/p' old-data/encryption.yaml)
test_expect_success 'without the key: said by name, others are served, nothing is lost' '
	grep encryption.yaml restored
	test_must_fail k get secret made 2>err
	grep "made: it is sealed with the key \"$missing_key\" (aesgcm), which the encryption configuration does not have" err
	test_must_fail k get secrets 2>err
	grep "$missing_key" err
	test_must_fail k delete secret made 2>err
	grep "$missing_key" err
	k get namespaces
	k create secret generic new --from-literal=password=other
	test "$(password new)" = other
'

test_expect_success 'with it, beside the new one, all of them' '
	secret=$(sed -n "s/.*secret: //p" old-data/encryption.yaml)
	sed -i "/^  - identity/i\\  - aesgcm: {keys: [{name: $missing_key, secret: $secret}]}" kairship-data/encryption.yaml
	kill -HUP $server_pid
	eventually k get secret made
	test "$(password made)" = $canary
	test "$(password new)" = other
	k get secrets
'

test_expect_success 'a configuration that is wrong changes nothing, and is said' '
	cp kairship-data/encryption.yaml good.yaml
	sed "s/aesgcm/kms/" good.yaml >kairship-data/encryption.yaml
	kill -HUP $server_pid
	eventually grep "kms plugins are not supported here" server.log
	test "$(password made)" = $canary
	cp good.yaml kairship-data/encryption.yaml
	kill -HUP $server_pid
	test_must_fail "$KAIRSHIP" up --data-dir elsewhere --listen 127.0.0.1:0 --encryption-provider-config restored 2>err
	grep "no EncryptionConfiguration" err
'

test_expect_success 'a new key, all written anew, the old ones may go' '
	"$KAIRSHIP" reencrypt --help | grep "kairship reencrypt secrets.v1"
	test_must_fail "$KAIRSHIP" reencrypt secrets 2>err
	new=$(head -c 32 /dev/urandom | base64)
	sed -i "/^  providers:/a\\  - aesgcm: {keys: [{name: newest, secret: $new}]}" kairship-data/encryption.yaml
	kill -HUP $server_pid
	eventually sh -c "test \$(grep -c \"keys of encryption at rest are loaded\" server.log) -ge 3"
	k create secret generic newer --from-literal=password=third
	"$KAIRSHIP" reencrypt >out
	grep -E "^secrets: [0-9]+ looked at, [1-9][0-9]* written anew" out
	grep "works.work.karmada.io: 1 looked at, 1 written anew" out
	"$KAIRSHIP" reencrypt >out
	test_must_fail grep -v " 0 written anew" out
	cat >kairship-data/encryption.yaml <<-END
	apiVersion: apiserver.config.k8s.io/v1
	kind: EncryptionConfiguration
	resources:
	- resources: [secrets, works.work.karmada.io]
	  providers: [aesgcm: {keys: [{name: newest, secret: $new}]}]
	END
'

stop_server
test_report $? 'the server stops'
start_server
test_expect_success 'with the new key alone all of them are there' '
	test "$(password made)" = $canary
	test "$(password new)" = other
	test "$(password newer)" = third
	k get secrets -A
	"$kubectl" --server $server/clusters/one get work w -n karmada-es-m1 -o yaml | grep $canary
	"$kubectl" --server $server/clusters/one get secret made
	k delete secret made
	test_must_fail in_data $canary
'

test_expect_success 'back to what everybody can read' '
	cp kairship-data/encryption.yaml sealed.yaml
	sed "s/providers: \[/providers: [identity: {}, /" sealed.yaml >kairship-data/encryption.yaml
	kill -HUP $server_pid
	eventually sh -c "\"$KAIRSHIP\" reencrypt secrets.v1 | grep -E \" [1-9][0-9]* written anew\""
	in_data $canary
	test "$(password applied)" = $canary
'

test_done
