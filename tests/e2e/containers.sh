# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
#
# For tests that run the image as a container runtime does, after lib.sh:
#
#     make_image "$program" FOLDER     $image is its archive
#     can_contain || …                 $why says why this machine cannot
#     contained NAME POD.json VOLUME=PATH… [NAME=VALUE…] [-- ARG…] &
#
# What POD.json says about its first container holds (python/bundle.py).  A container goes when the
# test ends.

python=${PYTHON:-/usr/bin/python3}

need skopeo skopeo
need runc runc

make_image() { # PROGRAM FOLDER
	mkdir -p "$2"
	"$top/tools/image" "$1" "$2" && image=$(echo "$2"/*.oci.tar)
}

can_contain() {
	why='only root may start containers here'
	[ "$(id -u)" = 0 ]
}

# In the background: the process that this begins in becomes runc, which passes signals on.
contained() { # NAME POD VOLUME=PATH… [NAME=VALUE…] [-- ARG…]
	name=$1
	shift
	"$python" "$top/tests/e2e/python/bundle.py" "$image" "$tmp/bundles/$name" "$@" &&
		exec runc --root "$tmp/runc" run --bundle "$tmp/bundles/$name" "$name-$$"
}

pid_of() { # NAME: of the container's first process
	runc --root "$tmp/runc" state "$1-$$" | sed -n 's/^ *"pid": \([1-9][0-9]*\),/\1/p' | grep .
}

remove_containers() {
	for name in $(runc --root "$tmp/runc" list --quiet 2>/dev/null); do
		runc --root "$tmp/runc" delete --force "$name" 2>/dev/null
	done
	cleanup
}
trap remove_containers EXIT
