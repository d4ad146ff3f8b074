# SPDX-License-Identifier: Apache-2.0
#
# The verbs.  meson does the building (meson.build), tools/ holds what is longer than a line.
#
#   make                 builds build/kairship
#   make up              builds and runs it until Ctrl-C (ARGS="--listen 0.0.0.0:6443 …")
#   make up DETACH=1     the same in the background; make down stops it
#   make image           builds it and packs it as an image for containers (docs/image.md)
#   make check           in a minute: builds without sanitizers, runs what the last changes can have broken
#   make test            lint and all tests, with sanitizers (STAGES="unit e2e" for some of them)
#   make soak            the long form of the tests that are about time and chance
#   make bench           measures it beside etcd and nginx
#   make fuzz            runs every fuzz target (SECONDS=60 each)
#   make coverage        says how many branches of store, parsers and authorization the tests take
#   make fmt, make lint  formats the sources, checks them
#   make install         installs it below PREFIX (/usr/local), in DESTDIR if that is set
#   make package         makes a Debian package of it, build/kairship_VERSION_ARCH.deb
#   make clean           removes build/

SECONDS ?= 60
# What runs from a clone is not the server of this machine (docs/configuration.md).
export KAIRSHIP_CONFIG ?= /dev/null

.PHONY: all up down check test soak bench fuzz coverage fmt lint install package clean
all:
	@tools/deps build
	@tools/build release kairship
	@ln -sf release/kairship build/kairship
	@echo "built build/kairship"

ifdef DETACH
up: all
	@tools/background up --demo $(ARGS)
else
up: all
	@exec build/kairship up --demo $(ARGS)
endif

down:
	@tools/background down

.PHONY: image
image: all
	@tools/deps image
	@tools/image

check:
	@tools/deps build test
	@tools/check

test:
	@tools/deps build test
	@tools/test $(STAGES)

soak:
	@tools/deps build test soak
	@SOAK=1 tools/test $(STAGES)

bench: all
	@tools/deps bench
	@tools/build release kairship-bench
	@tools/bench

fuzz:
	@tools/deps build fuzz
	@tools/fuzz $(SECONDS)

coverage:
	@tools/deps build test
	@tools/coverage $(GROUPS)

fmt:
	@tools/deps fmt
	@echo "formatting with clang-format 14"
	@tools/files '*.c' '*.h' | xargs clang-format-14 -i

lint:
	@tools/deps build lint
	@tools/lint

install:
	@tools/deps build
	@tools/install

package:
	@tools/deps build package
	@tools/package

clean:
	@echo "removing build/"
	@rm -rf build
