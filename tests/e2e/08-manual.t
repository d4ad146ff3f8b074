#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Man pages and completion, as the programs that read them see them.
. "$(dirname "$0")/lib.sh"
need man man-db
need mandoc mandoc
need bash bash
need zsh zsh
need fish fish

test_expect_success 'they are written, a page for each subcommand' '
	SOURCE_DATE_EPOCH=1700000000 "$KAIRSHIP" --manual share
	"$KAIRSHIP" --help | sed -n "s/^  \([a-z-]*\)   *[A-Z].*/\1/p" | sort >commands
	test "$(wc -l <commands)" -gt 15
	ls share/man/man1 | sed -n "s/^kairship-\(.*\)\.1$/\1/p" | sort | diff commands -
	head -n 1 share/man/man1/kairship-up.1 | grep "2023-11-14"
'

check_pages() {
	for page in share/man/man1/*; do
		mandoc -T lint "$page"
		LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 3>&1 >/dev/null 2>&3
		man -l "$page" | grep -q ^SYNOPSIS || echo "$page: no synopsis"
	done
}

test_expect_success 'man and mandoc find nothing wrong in the pages' '
	check_pages >lint.out 2>/dev/null
	cat lint.out
	test ! -s lint.out
	MANWIDTH=80 man -l share/man/man1/kairship-up.1 >text
	grep -e "--data-dir DIR" text
	grep -A 6 -e "--event-ttl SECONDS" text | grep "(default: 3600)"
	man -l share/man/man1/kairship.1 | grep "kairship-backup(1)"
'

test_expect_success 'bash completes' '
	cat >try.bash <<-\END
	. share/bash-completion/completions/kairship
	compopt() { :; }
	for line; do
		read -ra COMP_WORDS <<<"$line"
		[[ $line != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_kairship
		echo "$line: ${COMPREPLY[*]}"
	done
	END
	mkdir folder && : >file.txt
	bash try.bash "kairship u" "kairship up --data-d" "kairship up --data-dir f" "kairship up --listen " \
		"kairship up --tls-cert-file fi" "kairship backup fi" "kairship join fi" "kairship up --data-dir = fo" >out
	cat >want <<-\END
	kairship u: up unjoin uncordon
	kairship up --data-d: --data-dir
	kairship up --data-dir f: folder
	kairship up --listen : 
	kairship up --tls-cert-file fi: file.txt
	kairship backup fi: file.txt
	kairship join fi: 
	kairship up --data-dir = fo: folder
	END
	diff want out
'

test_expect_success 'fish completes' '
	ask() {
		fish --no-config -c "source share/fish/vendor_completions.d/kairship.fish; complete -C \"$1\"" |
			cut -f 1
	}
	test "$(ask "kairship u" | sort | tr "\n" " ")" = "uncordon unjoin up "
	test "$(ask "kairship up --data-d")" = --data-dir
	test "$(ask "kairship up --data-dir fo")" = folder/
	test "$(ask "kairship up --tls-cert-file fi")" = file.txt
	test -z "$(ask "kairship up --listen fi")"
	test "$(ask "kairship backup fi")" = file.txt
'

# A terminal that somebody types into.
cat >try.zsh <<END
zmodload zsh/zpty
zpty shell zsh -f -i
typed() {
	local seen= more
	zpty -w shell "\$1"
	while [[ \$seen != *"RAN \$2"* ]] && zpty -r shell more; do seen+=\$more; done
	echo "\$2"
}
zpty -w shell 'fpath=($PWD/share/zsh/site-functions \$fpath); autoload -U compinit; compinit -u -D'
zpty -w shell 'kairship() { print RAN "\$@"; }'
typed \$'kairship unj\t' unjoin
typed \$'kairship up --data-d\t' 'up --data-dir'
typed \$'kairship backup fi\t' 'backup file.txt'
zpty -d shell
END

test_expect_success 'zsh completes' '
	timeout 60 zsh -f try.zsh
'

test_done
