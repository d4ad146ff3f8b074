#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make install and make package: what lies where; and the Debian package, installed in a copy of this
# machine that is thrown away.  One file, since they share build/release.
. "$(dirname "$0")/lib.sh"
need dpkg-shlibdeps dpkg-dev
need lintian lintian
need ip iproute2
use_newest_kubectl
deb=

# ---- make install ----

listed() { # the names below DESTDIR, pages and decisions as one each
	(cd dest && find . ! -type d) | sed "s|^\.||; s|/kairship-[a-z-]*\.1$|/kairship-*.1|
		s|/doc/kairship/[A-Za-z-]*\.md$|/doc/kairship/*.md|; s#/\(adr\|grafana\|guide\|prometheus\|samples\|proto\|openapi\)/.*#/\1/*#" | sort -u
}

test_expect_success 'it installs below DESTDIR and PREFIX' '
	: >stamp
	DESTDIR="$tmp/dest" PREFIX=/opt/k "$top/tools/install"
	cat >want <<-\END
	/etc/kairship/kairship.yaml
	/opt/k/bin/kairship
	/opt/k/lib/systemd/system/kairship.service
	/opt/k/lib/sysusers.d/kairship.conf
	/opt/k/share/bash-completion/completions/kairship
	/opt/k/share/doc/kairship/*.md
	/opt/k/share/doc/kairship/adr/*
	/opt/k/share/doc/kairship/grafana/*
	/opt/k/share/doc/kairship/guide/*
	/opt/k/share/doc/kairship/prometheus/*
	/opt/k/share/doc/kairship/samples/*
	/opt/k/share/fish/vendor_completions.d/kairship.fish
	/opt/k/share/kairship/openapi/*
	/opt/k/share/kairship/proto/*
	/opt/k/share/kairship/ts/kairship_api.ts
	/opt/k/share/man/man1/kairship-*.1
	/opt/k/share/man/man1/kairship.1
	/opt/k/share/zsh/site-functions/_kairship
	END
	listed | diff want -
'

test_expect_success 'and nowhere else' '
	find /etc /opt /usr -newer stamp -name "*kairship*" >touched
	cat touched
	test ! -s touched
'

test_expect_success 'everybody may read it, and the unit runs what was installed' '
	find dest ! -perm -a=r >closed
	test ! -s closed
	grep "^ExecStart=/opt/k/bin/kairship up$" dest/opt/k/lib/systemd/system/kairship.service
	dest/opt/k/bin/kairship version
	test "$("$top/build/release/kairship" version)" = "$(dest/opt/k/bin/kairship version)"
'

test_expect_success 'a configuration that is there stays' '
	echo "listen: :7443" >dest/etc/kairship/kairship.yaml
	DESTDIR="$tmp/dest" "$top/tools/install"
	grep 7443 dest/etc/kairship/kairship.yaml
	test -x dest/usr/local/bin/kairship
'

# ---- make package ----

test_expect_success 'make package builds it' '
	"$top/tools/package"
	cp "$top"/build/kairship_*.deb .
'
deb=$(ls kairship_*.deb)

test_expect_success 'lintian finds no error' '
	lintian --allow-root --fail-on error "$deb" >out || { cat out; false; }
'

test_expect_success 'OpenSSL and the other libraries are those of Debian' '
	dpkg-deb -f "$deb" Depends >depends
	for library in libc6 libssl3 libnghttp2-14 libsqlite3-0; do
		grep -w -e "$library" depends
	done
	dpkg-deb -x "$deb" tree
	test "$(dpkg-deb -f "$deb" Version)" = "$("$top/build/release/kairship" version | cut -d " " -f 2)-1"
	tree/usr/bin/kairship version
'

test_expect_success 'two builds are the same' '
	sha256sum "$deb" >sum
	"$top/tools/package"
	cp "$top/build/$deb" .
	sha256sum -c sum
'

test_expect_success 'the configuration is one that dpkg keeps, and all else is of root' '
	dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./conffiles | grep -x /etc/kairship/kairship.yaml
	dpkg-deb -c "$deb" >names
	test_must_fail grep -v " root/root " names
	grep usr/share/zsh/vendor-completions/_kairship names
	grep usr/share/man/man1/kairship-up.1.gz names
	grep usr/lib/systemd/system/kairship.service names
'

# ---- installed ----

# A copy of this machine in memory, with its own network: what happens in it leaves no trace.
cat >enter <<'END'
set -e
mount -t tmpfs -o mode=755 tmpfs over
mkdir over/upper over/work over/root
mount -t overlay -o lowerdir=/,upperdir=over/upper,workdir=over/work overlay over/root
mount -t proc proc over/root/proc
mount --rbind /dev over/root/dev
mount -t tmpfs tmpfs over/root/run
mount -t tmpfs -o mode=1777 tmpfs over/root/tmp
cp kairship*.deb inside over/root/run
cp "$1" over/root/run/kubectl
ip link set lo up
exec chroot over/root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/nonexistent \
	sh -c 'cd /run && exec sh inside'
END

# What runs in it: STEP lines say how far it came.
cat >inside <<'END'
set -ex
exec 2>&1
export DEBIAN_FRONTEND=noninteractive KUBECONFIG=/var/lib/kairship/admin.kubeconfig
start() { # as the unit does
	install -d -o kairship -g kairship -m 700 /var/lib/kairship
	command=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/kairship.service)
	# shellcheck disable=SC2086 # words
	setpriv --reuid kairship --regid kairship --clear-groups --no-new-privs \
		env HOME=/var/lib/kairship $command >log 2>&1 &
	pid=$!
	for _ in $(seq 300); do
		[ "$(curl -sk https://127.0.0.1:6443/readyz)" != ok ] || return 0
		kill -0 $pid || break
		sleep 0.1
	done
	cat log
	return 1
}
stop() {
	kill $pid
	wait $pid
}

dpkg -i kairship_*.deb
test "$(getent passwd kairship | cut -d : -f 6)" = /var/lib/kairship
test -e /etc/systemd/system/multi-user.target.wants/kairship.service
start
echo STEP started
grep -q "LISTEN.*:6443" log || ss -Hltn | grep ':6443' | grep -v 127.0.0.1
./kubectl create configmap kept --from-literal=x=1
(
	unset KUBECONFIG
	kairship backup /run/all.kairship
	kairship doctor >doctor || grep 'FAILS' doctor
	grep '0 of' doctor
)
echo STEP found

echo 'log-level: warn' >>/etc/kairship/kairship.yaml
stop
dpkg -i kairship-newer.deb
grep 'log-level: warn' /etc/kairship/kairship.yaml
start
./kubectl get configmap kept
grep 'log-level: "warn"' /var/lib/kairship/options.yaml
stop
echo STEP upgraded

dpkg -r kairship
test -e /etc/kairship/kairship.yaml
dpkg -P kairship >purged 2>&1
grep 'the data are still in /var/lib/kairship' purged
test ! -e /etc/kairship
test ! -e /etc/systemd/system/multi-user.target.wants/kairship.service
test -e /var/lib/kairship/admin.kubeconfig
dpkg -i kairship_*.deb
start
./kubectl get configmap kept
stop
echo STEP purged
END

in_copy() { # FILE.deb of a newer version is made of the same
	dpkg-deb -R "$deb" newer
	sed -i 's/^Version: .*/&+newer/' newer/DEBIAN/control
	dpkg-deb --root-owner-group -Znone -b newer kairship-newer.deb >/dev/null
	mkdir over
	unshare --mount --net --pid --fork --mount-proc --kill-child sh enter "$kubectl" >copy.log 2>&1
}

if [ "$(id -u)" = 0 ] && unshare --mount --net --pid true 2>/dev/null; then
	in_copy || tail -n 60 copy.log | diag
	for step in started found upgraded purged; do
		test_expect_success "installed: $step" 'grep "^STEP $step" copy.log'
	done
else
	test_skip 'installed' 'it takes root and namespaces'
fi

test_done
