#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kairship login: from an address, a name and a password to a kubectl that works, and back.
. "$(dirname "$0")/lib.sh"
need openssl openssl
start_server
use_newest_kubectl

port=${server##*:}
hash=sha256:$(openssl x509 -pubkey -noout -in kairship-data/pki/ca.crt |
	openssl pkey -pubin -outform der | openssl dgst -sha256 -hex | sed 's/.* //')

login() { # [OPTION…]: as jane, into the file config
	printf "correct horse\n" |
		"$KAIRSHIP" login "$server" --ca-hash "$hash" --user jane --kubeconfig config "$@"
}

j() { # kubectl with that file
	k --kubeconfig config "$@"
}

says() { # TEXT COMMAND…: it fails, with this in its message
	text=$1
	shift
	test_must_fail "$@" 2>err && grep -e "$text" err
}

sessions() { # how many are there?
	k get sessions -o name | wc -l
}

test_expect_success 'the server prints the hash of its authority' '
	grep "^Authority: $hash$" server.out
'

test_expect_success 'jane is an editor of demo' '
	k create -f - <<-Y
	{apiVersion: iam.kairship.io/v1alpha1, kind: User, metadata: {name: jane}}
	Y
	for i in demo other; do
		printf "apiVersion: tenancy.kairship.io/v1alpha1\nkind: Instance\nmetadata: {name: $i}\n" | k create -f -
	done
	echo "correct horse" | "$KAIRSHIP" passwd jane | grep "jane has a new password"
	echo "correct horse" | says "Create the User first" "$KAIRSHIP" passwd nope
	printf "%s\n" "apiVersion: iam.kairship.io/v1alpha1" "kind: Workspace" "metadata: {name: w}" \
		"spec: {resources: [{resourceName: demo}], members: [{name: jane, role: Editor}]}" >w.yaml
	eventually k apply -f w.yaml
'

test_expect_success 'one command, and kubectl works in the instance' '
	login >out
	grep "Logged in as jane until 20.*kairship-127.0.0.1:$port-demo in config" out
	grep "kubectl --kubeconfig config auth" out
	test "$(stat -c %a config)" = 600
	j create deployment web --image=nginx
	j auth can-i create deployments.apps
	test_must_fail j auth can-i create clusterroles.rbac.authorization.k8s.io
	test "$(j config current-context)" = "kairship-127.0.0.1:$port-demo"
	k get sessions -o wide | grep jane
	test_must_fail j -s "$server/clusters/other" get deployments 2>err
	grep -iE "unauthorized|logged in" err
'

test_expect_success 'again it is the token that changes, and all else in the file stays' '
	j config set-context --current --namespace=mine
	j config set-cluster mine --server=https://192.0.2.9
	j config set-context mine --cluster=mine --user=nobody
	grep "token:" config >before
	login
	grep "token:" config >after
	test "$(wc -l <after)" = 1
	test_must_fail cmp before after
	test "$(j config view --minify -o "jsonpath={.contexts[0].context.namespace}")" = mine
	j config get-contexts mine
	j get deployments -n default
	printf "correct horse\n" | "$KAIRSHIP" login --user jane --kubeconfig config   # no URL
	j get deployments -n default
'

test_expect_success 'logout undoes it: no token, no session, and login works again' '
	sed -n "s/.*token: *//p" config >token
	"$KAIRSHIP" logout --kubeconfig config | grep "Logged out"
	test_must_fail grep -q token: config
	test "$(curl -sk -o out -w "%{http_code}" -H "authorization: Bearer $(cat token)" "$server/clusters/demo/api")" = 401
	grep "this session has ended, log in again" out
	j config get-contexts mine
	login
	j get deployments -n default
'

test_expect_success 'the kubeconfig that kubectl would choose' '
	rm -rf .kube
	printf "correct horse\n" | KUBECONFIG= "$KAIRSHIP" login "$server" --ca-file kairship-data/pki/ca.crt --user jane
	test "$(stat -c %a .kube/config)" = 600
	env -u KUBECONFIG "$kubectl" get deployments
	echo "apiVersion: v1" >one
	printf "correct horse\r\n" >password
	KUBECONFIG=none:one "$KAIRSHIP" login "$server/clusters/demo" --ca-hash "$hash" --user jane \
		--password-file password </dev/null
	test ! -e none
	k --kubeconfig one get deployments
	ln -s one link
	touch one.lock
	{ sleep 0.3; rm one.lock; } &
	login --kubeconfig link
	test -L link
	test ! -e link.lock
'

test_expect_success 'with several instances the one must be named' '
	sed "s/resourceName: demo/&}, {resourceName: other/" w.yaml | k apply -f -
	n=$(sessions)
	says "Say --instance NAME; jane may use demo, other, or root" login
	says "jane has no role in an instance nowhere, and may use demo, other" login --instance nowhere
	test "$(sessions)" = "$n"   # a login that led to nothing is over
	login --instance other
	j get deployments -n default
	login --instance root
	j get sessions --field-selector spec.user.name=jane
	test "$(grep -c "token:" config)" = 1   # all contexts use it
	j --context "kairship-127.0.0.1:$port-demo" get deployments -n default
'

test_expect_success 'on a terminal it asks, and does not show the password' '
	cat >terminal.py <<-P
	import os, pty, sys
	answers = {b"Name: ": b"jane\n", b"Password: ": b"correct horse\n", b"[1] ": b"other\n"}
	pid, fd = pty.fork()
	if pid == 0:
	    os.execv(sys.argv[1], sys.argv[1:])
	seen = b""
	while True:
	    try:
	        got = os.read(fd, 4096)
	    except OSError:
	        break
	    if not got:
	        break
	    seen += got
	    for q in list(answers):
	        if seen.endswith(q):
	            os.write(fd, answers.pop(q))
	sys.stdout.write(seen.decode())
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	P
	timeout 20 python3 terminal.py "$KAIRSHIP" login "$server" --ca-hash "$hash" --kubeconfig asked >out
	grep "2  other" out
	test_must_fail grep "correct horse" out
	grep "kairship-127.0.0.1:$port-other in asked" out
	k --kubeconfig asked get configmaps
'

test_expect_success 'who may use none gets the root instance and is told so' '
	k delete -f w.yaml
	login >out
	grep "jane has a role in no instance yet" out
'

test_expect_success 'a password that is wrong, of nobody or of somebody who is disabled' '
	says "the name or the password is wrong" sh -c "echo wrong | \"$KAIRSHIP\" login $server --ca-hash $hash --user jane"
	grep "kairship passwd NAME" err
	says "the name or the password is wrong" sh -c "echo wrong | \"$KAIRSHIP\" login $server --ca-hash $hash --user nobody"
	says "a password of 1 to" "$KAIRSHIP" login "$server" --ca-hash "$hash" --user jane </dev/null
	says "Say --user NAME" "$KAIRSHIP" login "$server" --ca-hash "$hash" </dev/null
	k patch user jane --type=merge -p "{\"spec\":{\"disabled\":true}}"
	says "or the user is disabled" login
	k patch user jane --type=merge -p "{\"spec\":{\"disabled\":false}}"
	for i in 1 2 3 4 5 6 7 8 9 10; do
		echo "wrong" | "$KAIRSHIP" login "$server" --ca-hash "$hash" --user often 2>err || true
	done
	says "wait a minute" sh -c "echo wrong | \"$KAIRSHIP\" login $server --ca-hash $hash --user often"
'

other=sha256:0000000000000000000000000000000000000000000000000000000000000000

test_expect_success 'nobody is asked for a password before it is known who gets it' '
	: >never
	login() { "$KAIRSHIP" login "$@" --user jane --kubeconfig never </dev/null; }
	says "is not known here" login "$server"
	grep "proves nothing by itself" err
	grep -e "--ca-hash $hash" err
	says "has the key $other" login "$server" --ca-hash "$other"
	says "passwords are sent to https:// only" login "http://127.0.0.1:$port"
	says "Does the server run" login https://127.0.0.1:1
	says "is no address of a server" login https://
	says "neither" login "$server/some/where"
	says "is sha256: and 64 hexadecimal digits" login "$server" --ca-hash abc
	says "exclude each other" login "$server" --ca-hash "$hash" --ca-file x
	says "there is no file nowhere" login "$server" --ca-file nowhere
	test ! -s never
'

start_tls() { # CERTIFICATE KEY: one that answers nothing of ours
	: >other.out
	openssl s_server -accept 127.0.0.1:0 -www -cert "$1" -key "$2" >other.out 2>&1 &
	other_pid=$!
	eventually grep -q "^ACCEPT" other.out
	there=https://$(sed -n "s/^ACCEPT //p" other.out | head -n 1)
}

test_expect_success 'an address that is not a Kairship, and certificates that do not do' '
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \
		-out right.pem -subj /CN=other -addext "subjectAltName=IP:127.0.0.1" -days 1
	openssl req -x509 -key key.pem -out wrong.pem -subj /CN=other -days 1 \
		-addext "subjectAltName=DNS:kairship.example.com"
	start_tls right.pem key.pem
	says "is no Kairship" "$KAIRSHIP" login "$there" --ca-file right.pem --user jane </dev/null
	kill $other_pid
	start_tls wrong.pem key.pem
	says "is for kairship.example.com and not for that name" \
		"$KAIRSHIP" login "$there" --ca-file wrong.pem --user jane </dev/null
	kill $other_pid
	printf "%s\n" "[ca]" "default_ca=d" "[d]" "database=index" "serial=serial" "new_certs_dir=." \
		"default_md=sha256" "policy=p" "x509_extensions=e" "[p]" "commonName=supplied" \
		"[e]" "subjectAltName=IP:127.0.0.1" >ca.cnf
	: >index
	echo 01 >serial
	openssl req -new -key key.pem -subj /CN=other -out over.csr
	openssl ca -batch -selfsign -keyfile key.pem -in over.csr -config ca.cnf -notext -out over.pem \
		-startdate 20200101000000Z -enddate 20200102000000Z
	start_tls over.pem key.pem
	says "was valid until 2020-01-02" "$KAIRSHIP" login "$there" --ca-file over.pem --user jane </dev/null
	kill $other_pid
'

# A server with a certificate of somebody else's: an authority of its own, and one between.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem \
	-subj /CN=corp -days 1 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout leaf.key -subj /CN=leaf \
	-out leaf.csr -addext "subjectAltName=IP:127.0.0.1" 2>/dev/null
openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -copy_extensions copy \
	-out leaf.pem 2>/dev/null
cat leaf.pem ca.pem >chain.pem
stop_server
: >server.out
start_server --tls-cert-file chain.pem --tls-private-key-file leaf.key

test_expect_success 'the hash that the server prints is of the authority that it presents' '
	hash=$(sed -n "s/^Authority: //p" server.out)
	printf "correct horse\n" | "$KAIRSHIP" login "$server" --ca-hash "$hash" --user jane --kubeconfig corp
	k --kubeconfig corp get sessions --field-selector spec.user.name=jane
	sed -n "s/.*certificate-authority-data: //p" corp | base64 -d | cmp - ca.pem
'

test_done
