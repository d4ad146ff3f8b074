#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # test bodies are evaluated later

# Names that are used again: what had the name before leaves no right behind, whoever makes it anew.
. "$(dirname "$0")/lib.sh"

need curl curl
start_server
use_newest_kubectl

make() { # KIND NAME [SPEC]: of our own groups
	case $1 in
	Instance) group=tenancy ;;
	*) group=iam ;;
	esac
	printf "%s\n" "apiVersion: $group.kairship.io/v1alpha1" "kind: $1" "metadata: {name: $2}" "spec: ${3:-{\}}" |
		k create -f -
}

registered() {
	k get gproductresource "kairship.$1" -o "jsonpath={.metadata.ownerReferences[0].uid}" |
		grep -x "$(k get instance "$1" -o "jsonpath={.metadata.uid}")"
}

login() { # PASSWORD: the token into ./token, the code on stdout
	curl -sk -o login -w "%{http_code}\n" "$server/apis/iam.kairship.io/v1alpha1/logins" \
		-H "content-type: application/json" -d "{\"spec\":{\"username\":\"jane\",\"password\":\"$1\"}}"
	sed -n "s/.*\"token\": *\"\([^\"]*\)\".*/\1/p" login >token
}

as_token() { # PATH [ARG…]
	path=$1
	shift
	curl -sk -H "authorization: Bearer $(cat token)" "$server$path" "$@"
}

as_jane() { # by the certificate of FILE
	file=$1
	shift
	k --kubeconfig "$file" "$@"
}

key_for_jane() { # INSTANCE FILE
	"$KAIRSHIP" kubeconfig "$1" --user jane --group devs --output "$2"
}

team='{resources: [{resourceName: demo}], members: [{name: jane, role: Admin}]}'

test_expect_success 'jane is Admin of demo, by certificate, by token and in the index' '
	make User jane
	make Instance demo
	eventually registered demo
	make Workspace team "$team"
	k get workspace team -o "jsonpath={.spec.resources[0].uid}" | grep -x "$(k get instance demo -o "jsonpath={.metadata.uid}")"
	k get workspace team -o "jsonpath={.spec.members[0].uid}" | grep -x "$(k get user jane -o "jsonpath={.metadata.uid}")"
	key_for_jane demo jane1
	eventually as_jane jane1 create configmap mine --from-literal=a=b
	echo "correct horse" | "$KAIRSHIP" passwd jane
	login "correct horse" | grep 201
	found() { as_token /apis/clusterpedia.io/v1beta1/resources/clusters/k-demo/api/v1/configmaps | grep "\"name\":\"mine\""; }
	eventually found
	as_token /apis/kairship.io/v1alpha1/instances | grep "\"name\":\"demo\""
'

test_expect_success 'another demo is not hers' '
	k delete instance demo --timeout=30s
	make Instance demo
	k --server "$server/clusters/demo" create configmap secret --from-literal=a=b
	test_must_fail as_jane jane1 get configmaps 2>err
	grep "must be logged in" err
	key_for_jane demo jane2 # as the owner would give her one
	test_must_fail as_jane jane2 get configmaps 2>err
	grep -i forbidden err
	test_must_fail as_jane jane2 get namespaces
	as_token /apis/kairship.io/v1alpha1/instances >out
	test_must_fail grep "\"name\":\"demo\"" out
	for verb in GET DELETE; do
		as_token /apis/kairship.io/v1alpha1/instances/demo -X $verb >out
		grep "\"code\":7" out
	done
	as_token /apis/clusterpedia.io/v1beta1/resources/clusters/k-demo/api/v1/configmaps >out
	test_must_fail grep "\"name\":\"\(mine\|secret\)\"" out
	eventually registered demo
'

test_expect_success 'the workspace says so, and what is given again counts' '
	unbound() { test -z "$(k get workspace team -o "jsonpath={.spec.resources[*].uid}")"; }
	eventually unbound
	eventually k get events --field-selector reason=RightsRemoved
	k get events | grep "RightsRemoved.*Kairship demo"
	k annotate workspace team a=b
	test_must_fail as_jane jane2 get configmaps
	k patch workspace team --type=merge -p "{\"spec\":{\"resources\":[{\"resourceName\":\"demo\",\"uid\":\"chosen\"}]}}" 2>err && exit 1
	grep "spec.resources\[0\].uid: Invalid value" err
	k patch workspace team --type=merge -p "{\"spec\":{\"resources\":[{\"resourceName\":\"demo\"}]}}"
	eventually as_jane jane2 get configmap secret
'

test_expect_success 'another jane has neither her roles, nor her password, nor her token and certificate' '
	make Group devs "{members: [jane]}"
	make PlatformRole all "{members: [{kind: Group, name: devs}]}"
	eventually as_token /apis/tenancy.kairship.io/v1alpha1/instances -f -o out
	k delete user jane
	make User jane
	test "$(as_token /api -o out -w "%{http_code}")" = 401
	login "correct horse" | grep 401
	denied() { ! as_jane jane2 get configmaps; }
	eventually denied
	echo "another horse" | "$KAIRSHIP" passwd jane
	login "another horse" | grep 201
	as_token /apis/tenancy.kairship.io/v1alpha1/instances | grep "cannot list"
	none() { test -z "$(k get workspace team -o "jsonpath={.spec.members[*].name}")$(k get group devs -o "jsonpath={.spec.members}{.spec.memberUids}" | grep jane)"; }
	eventually none
	# The new one is given something: who holds the old certificate has nothing of it.
	k patch workspace team --type=merge -p "{\"spec\":{\"members\":[{\"name\":\"jane\",\"role\":\"Viewer\"}]}}"
	listed() { as_token /apis/kairship.io/v1alpha1/instances | grep "\"name\":\"demo\""; }
	eventually listed
	test_must_fail as_jane jane2 get configmaps
	key_for_jane demo jane3
	as_jane jane3 get configmap secret
'

test_expect_success 'the same of a group, of which certificates and tokens only say the name' '
	k delete user jane
	k patch workspace team --type=merge -p "{\"spec\":{\"members\":[{\"kind\":\"Group\",\"name\":\"devs\",\"role\":\"Viewer\"}]}}"
	eventually as_jane jane3 get configmap secret
	sleep 1 # certificates say seconds
	k delete group devs
	make Group devs
	denied() { ! as_jane jane3 get configmaps; }
	eventually denied
	empty() { test -z "$(k get workspace team -o "jsonpath={.spec.members[*].name}")"; }
	eventually empty
	k patch workspace team --type=merge -p "{\"spec\":{\"members\":[{\"kind\":\"Group\",\"name\":\"devs\",\"role\":\"Viewer\"}]}}"
	key_for_jane demo jane4
	eventually as_jane jane4 get configmap secret
	test_must_fail as_jane jane3 get configmaps
'

test_expect_success 'an entry that is older than the User of its name is not for them' '
	k patch workspace team --type=merge -p "{\"spec\":{\"members\":[{\"name\":\"ann\",\"role\":\"Viewer\"}]}}" 2>err
	grep "Warning: spec.members\[0\].uid: User \"ann\" does not exist" err
	make User ann
	k label workspace team c=d 2>err
	grep "Warning: .*is newer than this entry" err
	test -z "$(k get workspace team -o "jsonpath={.spec.members[0].uid}")"
'

test_expect_success 'a token of a ServiceAccount goes with the account' '
	k create serviceaccount robot
	k create clusterrolebinding robot --clusterrole=view --serviceaccount=default:robot
	k create token robot >token
	as_token /api/v1/namespaces/default/configmaps -f -o out
	k delete serviceaccount robot
	k create serviceaccount robot
	test "$(as_token /api/v1/namespaces/default/configmaps -o out -w "%{http_code}")" = 401
'

stop_server
start_server

test_expect_success 'nothing of this comes back when the server starts anew' '
	k patch workspace team --type=merge -p "{\"spec\":{\"members\":[{\"kind\":\"Group\",\"name\":\"devs\",\"role\":\"Viewer\"}]}}"
	at="$server/clusters/demo"
	eventually as_jane jane4 --server "$at" get configmap secret
	for f in jane1 jane2 jane3; do
		test_must_fail as_jane $f --server "$at" get configmap secret
	done
'

test_done
