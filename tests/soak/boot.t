#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Debian package in a machine that boots: installed, running, restarted, and how long that takes.
# It takes root, and a minute for the machine.
. "$(dirname "$0")/../e2e/lib.sh"
need debootstrap debootstrap
need systemd-nspawn systemd-container
[ "$(id -u)" = 0 ] || lacks 'the right to boot it' '(none: be root)'

# What the machine does when it has booted; STEP lines say how far it came.
cat >try.sh <<'END'
exec >/result 2>&1
set -ex
ready() {
	until [ "$(curl -sk https://127.0.0.1:6443/readyz)" = ok ]; do sleep 0.02; done
}
now() { date +%s%N; }

begin=$(now)
dpkg -i /kairship.deb
ready
echo "STEP ready after $((($(now) - begin) / 1000000)) ms"
systemctl is-active kairship
systemctl is-enabled kairship
test "$(stat -c %U:%a /var/lib/kairship)" = kairship:700
test "$(systemctl show -p User kairship)" = User=kairship
kairship backup /all.kairship
echo 'event-ttl: 60' >>/etc/kairship/kairship.yaml
systemctl restart kairship
ready
grep 'event-ttl: 60' /var/lib/kairship/options.yaml
systemctl reload kairship
kairship kubeconfig root >/root.kubeconfig
echo STEP restarted
dpkg -i /kairship.deb # as an upgrade
ready
systemctl disable --now kairship
dpkg -i /kairship.deb
systemctl is-enabled kairship && exit 1
systemctl is-active kairship && exit 1
echo STEP disabled
systemctl start kairship
dpkg -P kairship
systemctl is-active kairship && exit 1
test -e /var/lib/kairship/admin.kubeconfig
echo STEP purged
END

cat >try.service <<'END'
[Unit]
After=basic.target
[Service]
Type=oneshot
ExecStart=/bin/sh /try.sh
ExecStopPost=/bin/systemctl poweroff --force
END

test_expect_success 'a machine with systemd is made, and boots' '
	"$top/tools/package"
	packages=$(dpkg-deb -f "$top"/build/kairship_*.deb Depends | sed "s/([^)]*)//g; s/|[^,]*//g; s/ //g")
	mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages" | head -n 1)
	debootstrap --variant=minbase --include="systemd-sysv,dbus,curl,$packages" \
		"$(. /etc/os-release && echo "$VERSION_CODENAME")" machine "$mirror" >debootstrap.log ||
		{ tail debootstrap.log; false; }
	cp "$top"/build/kairship_*.deb machine/kairship.deb
	cp try.sh machine
	cp try.service machine/etc/systemd/system
	mkdir -p machine/etc/systemd/system/multi-user.target.wants
	ln -s ../try.service machine/etc/systemd/system/multi-user.target.wants
	timeout 120 systemd-nspawn -D machine -b --register=no --keep-unit --private-network \
		--console=pipe >nspawn.log 2>&1 || { tail nspawn.log; false; }
	cat machine/result
'
for step in ready restarted disabled purged; do
	test_expect_success "the package is $step" 'grep "^STEP $step" machine/result || { tail machine/result; false; }'
done
grep '^STEP ready' machine/result | diag

test_done
