#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The image that tools/image makes: the same twice, small, and a server as a container runtime starts it.
. "$(dirname "$0")/lib.sh"
. "$top/tests/e2e/containers.sh"
program=${KAIRSHIP_RELEASE:-$top/build/release/kairship}
need "$program" "(none: run tools/build release kairship)"
use_newest_kubectl

about() { # FIELD: of the image's configuration
	skopeo inspect --config "oci-archive:$image" |
		"$python" -c "import json, sys; print(json.load(sys.stdin)['config']$1)"
}
field() { # PID NAME: of /proc/PID/status
	sed -n "s/^$2:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$1/status"
}

make_image "$program" one >said
test_expect_success 'the image is made, the same twice' '
	make_image "$program" two
	cmp one/*.oci.tar "$image"
	skopeo inspect --format "{{.Digest}}" "oci-archive:$image" | grep -xf - said
	export SOURCE_DATE_EPOCH=86400
	make_image "$program" two
	skopeo inspect "oci-archive:$image" | grep "created\": \"1970-01-02T00:00:00Z"
'

test_expect_success 'it is small, and says what it is' '
	test "$(wc -c <"$image")" -le 15000000
	test "$(about "[\"User\"]")" = 65532:65532
	about "[\"Entrypoint\"]" | grep -x "\[./usr/bin/kairship.\]"
	about "[\"Labels\"][\"org.opencontainers.image.version\"]" >version
	"$program" version | grep "^kairship $(cat version) "
	about "[\"Labels\"][\"org.opencontainers.image.licenses\"]" | grep Apache-2.0
'

test_expect_success 'it can be copied to where Docker takes it, too' '
	skopeo copy --quiet "oci-archive:$image" docker-archive:docker.tar:kairship:1
	skopeo inspect docker-archive:docker.tar | grep "org.opencontainers.image.version\": \"$(cat version)\""
'

if ! can_contain; then
	test_skip 'it runs as a container' "$why"
	test_done
fi

# lib.sh starts this as its server, whose data are in $tmp.
server_in_container() {
	contained server pod.json data="$tmp" -- "$@"
}
cat >pod.json <<-END
	{"metadata": {"name": "kairship"}, "spec": {"containers": [{
	  "volumeMounts": [{"name": "data", "mountPath": "/var/lib/kairship"}],
	  "securityContext": {"runAsNonRoot": true, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
	    "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}}]}}
END
chown 65532:65532 "$tmp"
KAIRSHIP=server_in_container
start_server
pid=$(pid_of server)

test_expect_success 'it serves, without rights and with a root that it cannot write' '
	k create configmap hello
	test "$(field $pid Uid) $(field $pid Gid)" = "65532 65532"
	test "$(field $pid CapBnd)" = 0000000000000000
	test "$(field $pid NoNewPrivs)" = 1
	awk "\$5 == \"/\" && \$6 ~ /^ro(,|$)/" /proc/$pid/mountinfo | grep .
	test ! -e bundles/server/rootfs/bin/sh
'

test_expect_success 'it shuts itself in, inside of the filter of the runtime' '
	grep "\"msg\":\"sandbox\",\"mode\":\"auto\"" server.log >line
	test "$(sed "s/.*\"calls\":\([0-9]*\).*/\1/" line)" -gt 30
	test "$(sed "s/.*\"landlock\":\([0-9]*\).*/\1/" line)" -gt 0
	test "$(field $pid Seccomp_filters)" -ge 2
'

mkdir -p volume/.config && echo "listen: nowhere" >volume/.config/kairship.yaml && chown -R 65532:65532 volume
contained plain pod.json data=volume KAIRSHIP_LISTEN=127.0.0.1:0 >plain.log 2>&1 &
plain=$!
test_expect_success 'without arguments it is a server, with the options of its own file' '
	eventually test -f volume/admin.kubeconfig
	at=$(sed -n "s/^ *server: \"\{0,1\}\([^\"]*\).*/\1/p" volume/admin.kubeconfig)
	test "$(curl -sk "$at/livez")" = ok
'
kill "$plain" && wait "$plain"

test_expect_success 'it knows time zones, and each of their names' '
	for zone in Europe/Zurich Asia/Calcutta; do
		k create -f - <<-EOF
			{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"generateName": "c-"},
			 "spec": {"schedule": "0 4 * * *", "timeZone": "$zone", "jobTemplate": {"spec": {"template":
			 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}}}}
		EOF
	done
'

# A controller-manager that trusts what the image trusts, and has the server's name only.
sed "s|https://127.0.0.1:|https://localhost:|; /certificate-authority-data/d" \
	kairship-data/admin.kubeconfig >by-name
sed 's|"volumeMounts": \[|&{"name": "authorities", "mountPath": "/etc/ssl/certs/ca-certificates.crt"}, |' \
	pod.json >manager.json
api /healthz >/dev/null
manages() { # VOLUME=FILE…
	rm -f manager.log # the last one's has the words, too
	contained manager manager.json data="$tmp" authorities="$tmp/certificate-authority" "$@" -- \
		controller-manager --kubeconfig by-name >manager.log 2>&1 &
	manager=$!
	eventually grep 'waiting: another works\|"leading"' manager.log || return 1
	kill "$manager" && wait "$manager"
}

test_expect_success 'names are looked up in /etc/hosts, and authorities are those of /etc/ssl' manages

printf 'nameserver 127.53.29.1\n' >resolv.conf
: >hosts
"$python" "$top/tests/e2e/python/nameserver.py" 127.53.29.1 127.0.0.1 &
names=$!
test_expect_success 'names are looked up in DNS' 'manages hosts="$tmp/hosts" resolv.conf="$tmp/resolv.conf"'
kill "$names"

test_done
