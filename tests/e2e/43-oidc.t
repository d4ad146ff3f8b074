#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # test bodies are evaluated later

# People whom an OpenID issuer vouches for: a real one, with keys that change, that is down at times.
. "$(dirname "$0")/lib.sh"

need python3 python3
maps=/api/v1/namespaces/default/configmaps
issuer_pid=

issuer() { # as tests/e2e/python/issuer.py
	python3 "$top/tests/e2e/python/issuer.py" "$@"
}

start_issuer() { # [PORT]
	rm -f up
	python3 "$top/tests/e2e/python/issuer.py" serve idp "$@" >up 2>issuer.log &
	issuer_pid=$!
	eventually test -s up
}

stop_issuer() {
	kill "$issuer_pid"
	wait "$issuer_pid" 2>/dev/null
	issuer_pid=
}

stop_all() {
	[ -z "$issuer_pid" ] || kill "$issuer_pid" 2>/dev/null
	cleanup
}
trap stop_all EXIT

code() { # FILE PATH: what the token gets there
	curl -sk --max-time 30 -o body -w "%{http_code}" -H "Authorization: Bearer $(cat "$1")" \
		"$server$2"
}

is() { # CODE FILE PATH
	[ "$(code "$2" "$3")" = "$1" ]
}

within_a_while() { # COMMAND…: it succeeds within half a minute; keys are looked for every ten seconds
	for _ in $(seq 60); do
		! "$@" || return 0
		sleep 0.5
	done
	"$@"
}

mkdir idp
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=idp \
	-addext subjectAltName=IP:127.0.0.1 -keyout idp/tls.key -out idp/tls.crt 2>/dev/null
issuer key idp one
start_issuer
url=https://127.0.0.1:$(cat idp/port)/realms/r

start_server --oidc-issuer-url "$url" --oidc-client-id kairship --oidc-ca-file idp/tls.crt \
	--oidc-username-claim preferred_username --oidc-username-prefix oidc: \
	--oidc-groups-claim groups --oidc-groups-prefix oidc: --oidc-required-claim azp=kairship \
	--oidc-required-claim typ=Bearer
use_newest_kubectl

as_jane() { # PREFIX ARG…: kubectl with a token
	prefix=$1
	shift
	k --kubeconfig /dev/null --server "$server$prefix" --insecure-skip-tls-verify=true \
		--token "$(cat jane)" "$@"
}

test_expect_success 'the keys are not fetched before somebody comes' '
	[ ! -e idp/log ]
'

test_expect_success 'a token is its person, with groups, and rights as RBAC gives them' '
	issuer token idp one >jane
	is 403 jane $maps
	grep "User ..oidc:jane.. cannot list" body
	k create rolebinding jane --clusterrole=view --group=oidc:devs
	is 200 jane $maps
	as_jane "" get configmaps
	! since 28 || as_jane "" auth whoami -o yaml >who
	! since 28 || grep "JTI=11111111-2222-3333-4444-555555555555" who
	[ "$(wc -l <idp/log)" = 2 ]
'

test_expect_success 'each way to be wrong is 401, where nobody needs a credential, too' '
	issuer token idp one exp=-1 >bad && is 401 bad /version
	issuer token idp one nbf=600 >bad && is 401 bad /version
	issuer token idp one "aud=\"other\"" >bad && is 401 bad /version
	issuer token idp one "iss=\"https://elsewhere\"" >bad && is 401 bad /version
	issuer token idp one "azp=\"other\"" >bad && is 401 bad /version
	issuer token idp one typ= >bad && is 401 bad /version
	issuer token idp one "preferred_username=" >bad && is 401 bad /version
	issuer token idp one alg=PS256 >bad && is 401 bad /version
	sed "s/\..*\./.e30./" jane >bad && is 401 bad /version
	mkdir -p forger && cp idp/port forger && issuer key forger one
	issuer token forger one >bad && is 401 bad /version
	is 200 jane /version
	test_must_fail grep -e "$(cut -c 1-60 jane)" server.log
	[ "$(wc -l <idp/log)" = 2 ]
'

test_expect_success 'a token ends when it says' '
	issuer token idp one exp=2 >short
	is 200 short /version
	sleep 2.1
	is 401 short /version
'

test_expect_success 'without a role an instance is as if it were not there' '
	for i in demo other; do
		printf "%s\n" "apiVersion: tenancy.kairship.io/v1alpha1" "kind: Instance" \
			"metadata: {name: $i}" | k create -f -
	done
	is 401 jane /clusters/demo$maps && cp body there
	is 401 jane /clusters/nowhere$maps
	cmp there body
	is 401 jane "/clusters/*/api/v1/configmaps"
'

test_expect_success 'with a role of Global Management it opens, and only there' '
	cat >team.yaml <<-EOF
		apiVersion: iam.kairship.io/v1alpha1
		kind: GProductResource
		metadata: {name: kairship.demo}
		spec: {gproduct: kairship, resourceType: Kairship, resourceName: demo}
		---
		apiVersion: iam.kairship.io/v1alpha1
		kind: Workspace
		metadata: {name: team}
		spec:
		  resources: [{resourceType: Kairship, resourceName: demo}]
		  members: [{kind: Group, name: "oidc:devs", role: Viewer}]
	EOF
	k apply -f team.yaml
	eventually is 200 jane /clusters/demo$maps
	as_jane /clusters/demo get configmaps
	test_must_fail as_jane /clusters/demo create configmap x
	is 403 jane /clusters/demo/api/v1/namespaces/default/secrets
	is 401 jane /clusters/other$maps
	k delete workspaces.iam.kairship.io team
	eventually is 401 jane /clusters/demo$maps
'

test_expect_success 'a new key is found by who comes with it' '
	issuer key idp two
	issuer token idp two >jane2
	within_a_while is 200 jane2 $maps
	is 200 jane $maps
'

test_expect_success 'a key that is made up is looked for once in a while only' '
	lines=$(wc -l <idp/log)
	issuer key forger three
	issuer token forger three >bad
	for _ in $(seq 50); do is 401 bad /version; done
	[ $(($(wc -l <idp/log) - lines)) -le 4 ]
'

test_expect_success 'while the issuer is down, its keys hold; a key that we never saw is 401' '
	kill "$issuer_pid"
	sleep 10.1 # what was remembered is over
	is 200 jane2 $maps
	issuer key idp three
	issuer token idp three >jane3
	is 401 jane3 $maps
'

start_issuer "$(cat idp/port)"
test_expect_success 'when it is back, the new key is known' '
	within_a_while is 200 jane3 $maps
'

stop_server
cat >authn.yaml <<EOF
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: $url
    audiences: [kairship]
    certificateAuthority: |
$(sed 's/^/      /' idp/tls.crt)
  claimValidationRules:
  - expression: 'claims.email_verified'
  claimMappings:
    username: {expression: 'claims.email'}
    groups: {expression: 'claims.realm_access.roles.map(r, "kc:" + r)'}
    extra:
    - {key: example.com/scope, valueExpression: claims.scope}
  userValidationRules:
  - {expression: "user.username.endsWith('@example.com')"}
anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}
EOF

start_server --authentication-config authn.yaml

test_expect_success 'a configuration file maps claims by expressions' '
	issuer token idp one alg=PS256 >jane
	is 403 jane $maps
	grep "User ..jane@example.com.. cannot list" body
	issuer token idp one "email_verified=false" >bad && is 401 bad /version
	issuer token idp one "email=\"jane@elsewhere\"" >bad && is 401 bad /version
	k create clusterrolebinding kc --clusterrole=view --group=kc:dev
	is 200 jane $maps
	! since 28 || as_jane "" auth whoami -o yaml | grep "openid profile email"
'

test_expect_success 'nobody comes but where it says so' '
	[ "$(curl -sk -o /dev/null -w "%{http_code}" $server/livez)" = 200 ]
	[ "$(curl -sk -o /dev/null -w "%{http_code}" $server/version)" = 401 ]
'

test_expect_success 'it is read again when told; what is wrong changes nothing' '
	cp authn.yaml good.yaml
	echo "jwts: []" >>authn.yaml
	kill -HUP $server_pid
	eventually grep "the authentication configuration stays as it was" server.log
	is 200 jane $maps
	sed "s/kc:/idp:/" good.yaml >authn.yaml
	kill -HUP $server_pid
	eventually is 403 jane $maps
'

test_expect_success 'and when the file changes' '
	cp good.yaml authn.yaml
	within_a_while is 200 jane $maps
'

refused() { # ARG…: the server does not start, and says why in the file why
	test_must_fail "$KAIRSHIP" apiserver --data-dir other --listen 127.0.0.1:0 "$@" 2>why
}

test_expect_success 'a server does not start with a configuration that is wrong' '
	sed "s/audiences/nonsense/" good.yaml >wrong.yaml
	refused --authentication-config wrong.yaml
	grep "unknown field" why
	refused --oidc-issuer-url http://x --oidc-client-id y
	grep "URL scheme must be https" why
	refused --oidc-issuer-url https://x
	grep "go together" why
'

stop_issuer
test_done
