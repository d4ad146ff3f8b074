#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Logins as objects: they are listed and ended, and what is withdrawn is withdrawn at once.
. "$(dirname "$0")/lib.sh"
start_server
use_newest_kubectl

iam=/apis/iam.kairship.io/v1alpha1

login() { # USER PASSWORD FILE: a kubeconfig with the token
	curl -sk "$server$iam/logins" -H "content-type: application/json" -A "laptop/1" \
		-d "{\"spec\":{\"username\":\"$1\",\"password\":\"$2\"}}" |
		sed -n 's/.*"token": *"\([^"]*\)".*/\1/p' >"$3.token"
	test -s "$3.token"
	cat >"$3" <<-Y
	apiVersion: v1
	kind: Config
	current-context: here
	clusters:
	- {name: here, cluster: {server: "$server", insecure-skip-tls-verify: true}}
	users:
	- {name: $1, user: {token: "$(cat "$3.token")"}}
	- {name: another, user: {token: kept}}
	contexts:
	- {name: here, context: {cluster: here, user: $1}}
	Y
}

code_of() { # TOKEN-FILE PATH
	curl -sk -o out -w "%{http_code}" -H "authorization: Bearer $(cat "$1")" "$server$2"
}

test_expect_success 'a login is a session that its owner and the admin can see' '
	k create -f - <<-Y
	{apiVersion: iam.kairship.io/v1alpha1, kind: User, metadata: {name: jane}}
	Y
	k create -f - <<-Y
	{apiVersion: iam.kairship.io/v1alpha1, kind: User, metadata: {name: joe}}
	Y
	echo "correct horse" | "$KAIRSHIP" passwd jane
	echo "battery staple" | "$KAIRSHIP" passwd joe
	login jane "correct horse" one
	login jane "correct horse" two
	login joe "battery staple" joes
	k get sessions -o wide >out
	test "$(grep -c "jane .*127.0.0.1 .*laptop/1" out)" = 2
	grep "joe .*127.0.0.1" out
	k --kubeconfig one get sessions --field-selector spec.user.name=jane -o name >out
	test "$(wc -l <out)" = 2
	test_must_fail k --kubeconfig one get sessions
	test_must_fail k --kubeconfig one get sessions --field-selector spec.user.name=joe
	test_must_fail k --kubeconfig one delete sessions --all
'

test_expect_success 'logout ends this session and takes its token out of the file' '
	"$KAIRSHIP" logout --kubeconfig one >out
	grep "Logged out" out
	test_must_fail grep -F -f one.token one
	grep "token: .*kept" one
	test "$(stat -c %a one)" = 600
	test "$(code_of one.token /version)" = 401
	grep "this session has ended, log in again" out
	test "$(code_of two.token /version)" = 200
	test "$(k get sessions -o name --field-selector spec.user.name=jane | wc -l)" = 1
	test_must_fail "$KAIRSHIP" logout --kubeconfig one 2>err
	grep "no token" err
	test_must_fail "$KAIRSHIP" logout --kubeconfig kairship-data/admin.kubeconfig 2>err
	grep "no token" err
'

test_expect_success 'a token that has ended is taken out as well' '
	cp two three
	login jane "correct horse" two
	k delete sessions --field-selector spec.user.name=jane
	test "$(code_of two.token /version)" = 401
	KUBECONFIG=two "$KAIRSHIP" logout
	test_must_fail grep -F -f two.token two
'

test_expect_success 'logout --all ends those of one person, on all machines' '
	login jane "correct horse" one
	login jane "correct horse" two
	"$KAIRSHIP" logout --all --kubeconfig one | grep everywhere
	test "$(code_of two.token /version)" = 401
	test "$(code_of joes.token /version)" = 200
	k get sessions -o name >out
	test "$(wc -l <out)" = 1
'

test_expect_success 'another password ends all sessions, however it is set' '
	login jane "correct horse" one
	echo "correct mouse" | "$KAIRSHIP" passwd jane
	test "$(code_of one.token /version)" = 401
	test "$(k get sessions -o name --field-selector spec.user.name=jane | wc -l)" = 0
	login jane "correct mouse" one
	test "$(code_of one.token /version)" = 200
	hash=$(k -n kube-system get secret kairship-password-joe -o "jsonpath={.data.hash}")
	k -n kube-system patch secret kairship-password-jane -p "{\"data\":{\"hash\":\"$hash\"}}"
	test "$(code_of one.token /version)" = 401
	login jane "battery staple" one
'

test_expect_success 'what is no change of the password ends nothing' '
	k -n kube-system label secret kairship-password-jane a=b
	"$KAIRSHIP" reencrypt
	k patch user jane --type=merge -p "{\"spec\":{\"displayName\":\"Jane\"}}"
	test "$(code_of one.token /version)" = 200
'

test_expect_success 'who is disabled is out at once, and so are open watches' '
	k create -f - <<-Y
	apiVersion: iam.kairship.io/v1alpha1
	kind: PlatformRole
	metadata: {name: admins}
	spec: {members: [{kind: User, name: jane}, {kind: User, name: joe}]}
	Y
	k create configmap before
	k_background watched --kubeconfig one get configmaps --watch -o name
	eventually grep configmap/before watched
	k create configmap during
	eventually grep configmap/during watched
	k patch user jane --type=merge -p "{\"spec\":{\"disabled\":true}}"
	test "$(code_of one.token /api/v1/namespaces/default/configmaps)" = 401
	k create configmap after
	gone() { ! kill -0 $background_pid 2>/dev/null; }
	eventually gone
	test_must_fail grep configmap/after watched
'

test_expect_success 'enabled again, one logs in again' '
	k patch user jane --type=merge -p "{\"spec\":{\"disabled\":false}}"
	test "$(code_of one.token /version)" = 401
	login jane "battery staple" again
	test "$(code_of again.token /version)" = 200
	k patch user jane --type=merge -p "{\"spec\":{\"disabled\":true}}"
	test "$(code_of again.token /version)" = 401
'

test_expect_success 'a role that is withdrawn ends a watch, and the one of another goes on' '
	curl -skN --max-time 20 -H "authorization: Bearer $(cat joes.token)" \
		"$server/api/v1/namespaces/default/configmaps?watch=true" >joes.watch &
	pid=$!
	eventually grep "\"name\":\"after\"" joes.watch
	k patch platformrole admins --type=json -p "[{\"op\":\"remove\",\"path\":\"/spec/members/0\"}]"
	k create configmap still
	eventually grep "\"name\":\"still\"" joes.watch
	k patch platformrole admins --type=json -p "[{\"op\":\"remove\",\"path\":\"/spec/members/0\"}]"
	test "$(code_of joes.token /api/v1/namespaces/default/configmaps)" = 403
	k create configmap later
	wait $pid
	test_must_fail grep "\"name\":\"later\"" joes.watch
	tail -n 1 joes.watch | grep "\"type\":\"ERROR\".*Unauthorized"
'

test_expect_success 'sessions outlive a restart' '
	test "$(code_of joes.token /version)" = 200
	touch restart
'
crash_server
start_server
test_expect_success 'and what had ended stays so' '
	test "$(code_of joes.token /version)" = 200
	test "$(code_of two.token /version)" = 401
	k delete user joe
	test "$(code_of joes.token /version)" = 401
'

test_done
