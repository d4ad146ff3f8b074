#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make install: what lies where, and that nothing else was touched.
. "$(dirname "$0")/lib.sh"
export DESTDIR="$tmp/dest"

listed() { # the names below DESTDIR, pages and decisions as one each
	(cd "$DESTDIR" && find . ! -type d) | sed "s|^\.||; s|/kairship-[a-z-]*\.1$|/kairship-*.1|
		s|/doc/kairship/[a-zA-Z-]*\.md$|/doc/kairship/*.md|; s|/\(adr\|guide\)/.*|/\1/*|" | sort -u
}

test_expect_success 'it installs below DESTDIR and PREFIX' '
	: >stamp
	PREFIX=/opt/k "$top/tools/install"
	cat >want <<-\END
	/etc/kairship/kairship.yaml
	/opt/k/bin/kairship
	/opt/k/lib/systemd/system/kairship.service
	/opt/k/lib/sysusers.d/kairship.conf
	/opt/k/share/bash-completion/completions/kairship
	/opt/k/share/doc/kairship/*.md
	/opt/k/share/doc/kairship/adr/*
	/opt/k/share/doc/kairship/guide/*
	/opt/k/share/doc/kairship/samples/nginx.yaml
	/opt/k/share/doc/kairship/samples/workspace.yaml
	/opt/k/share/fish/vendor_completions.d/kairship.fish
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
	"$top/tools/install"
	grep 7443 dest/etc/kairship/kairship.yaml
	test -x dest/usr/local/bin/kairship
'

test_done
