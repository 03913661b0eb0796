# `make demo` and `make test` need only a fresh Debian 12 with Swift: each target first installs what it
# needs. GNU make 4.3.
#
#   make demo                        cold against prewarmed on real programs, and one app's whole life
#   make demo-systemd                as a service under a real systemd, in a namespace; as root
#   make test   [REQUIRE_ALL=1]      every test (REQUIRE_ALL: a skipped test is a failure)
#   make check                       format, imports, units, C analysis
#   make bench                       figures beside their C references, from a release build, and which bars are met
#   make order                       after large changes: writes the order in which functions are linked
#   make bench-peers                 the same beside AFL++, s6 and runit, which it installs
#   make bench-windows [WINDOWS=NAMES] [ROUNDS=15] [RELEASES=100]   desktop programs, from the request to their first window; or
#                                    those alone; and a day of held ones
#   make snapshots                   writes the snapshots with which tests compare help texts, errors and pages
#   make fuzz [SECONDS=60 | RUNS=10000000] [JOBS=] [TARGETS=]   sends arbitrary input to each target
#   make torture [KILLS=500] [SECONDS=3600] [SEED=]   clients at work while both daemons are killed
#   make corpus [LIMIT=500] [SEED=]  every installed program (or a sample): watched while prewarmed, then compared; as root
#   make simulate EVENTS= SEED=      the core against random worlds; a seed replays a run
#   make replay [TRACE=] [SEED=] [ABLATE=all] [CHECK=1]   what the predictor saves on generated launches, or on your own
#   make deb [VERSION=]              Debian packages;  make test-deb: in a booted Debian 12 and 13
#   make docs                        the code's documentation, to read in a browser
#   make install [DESTDIR=] [PREFIX=/usr/local] [SYSCONFDIR=/etc]      make uninstall
#   make install-dev                 the libraries and headers for apps in C and Python
#   make test-asan  test-tsan        the Swift tests under a sanitizer
#   make test-aarch64                the code that runs in every app, on an emulated arm64 machine
#   make fresh [QUICK=1]             .ci/run (or check and build) in a fresh Debian 12 with Swift; as root
#   make test-vm                     limits and memory on stock kernels 6.1 and 6.12, booted

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
BINDIR     := $(PREFIX)/bin
LIBEXECDIR := $(PREFIX)/lib/greenroom
DOCDIR     := $(PREFIX)/share/doc/greenroom
MANDIR     ?= $(PREFIX)/share/man
EVENTS     ?= 1000000
SEED       ?=
TRACE      ?=
ABLATE     ?=
CHECK      ?=
KILLS      ?= 500
# SECONDS= only from the command line, because the shell has a variable of that name.
seconds = $(if $(filter command,$(origin SECONDS)),$(SECONDS),$(1))

SWIFT      ?= swift
# Every target, and every script that a target runs, uses Swift's own clang.
TOOLCHAIN  := $(shell SWIFT=$(SWIFT) Tests/Tools/toolchain 2>/dev/null)
ifneq ($(TOOLCHAIN),)
export PATH := $(TOOLCHAIN):$(PATH)
endif
CLANG      ?= clang
DEBUG      := .build/debug
PRODUCT    := .build/product
BENCH      := .build/bench
SHIM       := .build/shim/libgreenroom-prewarm.so
# Swift's backtracer must not keep a crashed test process alive.
export SWIFT_BACKTRACE := enable=no
# Prewarmed instances do not have that variable, so no launch of a client that has it could use one.
AS_USER := env -u SWIFT_BACKTRACE

# The preload shim is linked by clang: SwiftPM would pull the Swift runtime into every app.
-include Sources/CPrewarm/build.mk
include Sources/CWithhold/build.mk
include Sources/Runtimes/build.mk
include Sources/CGreenroomApp/build.mk
include Sources/CGreenroomRun/build.mk
include Tests/Benchmarks/build.mk

.PHONY: help demo demo-systemd test check snapshots docs bench bench-peers bench-windows fuzz simulate replay install \
    uninstall test-asan test-tsan setup setup-demo build release order samples clean units install-dev \
    one-word deb test-deb torture fresh corpus test-vm test-aarch64
help:
	@sed -n '/^#   make/s/^#   //p' $(firstword $(MAKEFILE_LIST))

setup:
	@Tests/Tools/setup build test
setup-demo:
	@Tests/Tools/setup build demo

# --- Building. All programs are in one folder: the daemon looks for the spawner and the shim beside itself,
# in .build/debug as in /usr/lib/greenroom.
# What SwiftPM does not build, and its installation beside the programs in FOLDER.
COMPANIONS := $(SHIM) $(WITHHOLD) $(RUN) $(APP_LIBRARY) $(APP_FOLDER)/probe $(RUNTIMES_PRODUCTS)
companions = install -m 644 $(SHIM) $(WITHHOLD) $(1)/ && install -m 755 $(RUN) $(1)/ && \
    $(call runtimes_install,$(1))
build: setup $(COMPANIONS)
	@$(SWIFT) build --build-tests
	@$(call companions,$(DEBUG))

# The daemon needs libsystemd, which has no static form; the other two are linked statically and start three
# times faster. There are two scratch folders, because a change of flags builds everything again. (glibc's
# linker warnings are about name services and dlopen, which neither program uses.)
export STATIC_NOISE := /in statically linked applications requires at runtime|use of .mktemp./d
# Functions that run are linked next to each other, in the order of config/link/PROGRAM.order (`make order`).
# Otherwise the kernel, which maps 64 KiB around each, makes twice as much of the program resident.
# Executables export nothing, and contain the C++ runtime, which Swift uses: loading it took a tenth of the
# start.
LINK := $(CURDIR)/config/link
STATIC_CXX := $(CURDIR)/.build/out/c++
RELEASE = -c release --static-swift-stdlib -Xswiftc -Xfrontend -Xswiftc -function-sections \
    -Xcc -ffunction-sections -Xswiftc -use-ld=lld -Xswiftc -L$(STATIC_CXX) \
    -Xswiftc -Xclang-linker -Xswiftc -static-libgcc -Xlinker --no-export-dynamic \
    -Xlinker -T$(LINK)/nameless.ld -Xlinker --no-warn-symbol-ordering -Xlinker -z -Xlinker now \
    -Xlinker --symbol-ordering-file=$(LINK)/$(1).order
DAEMON := .build/out/daemon
STATIC := .build/out/static
PROGRAMS := $(DAEMON)/release/greenroomd $(STATIC)/release/greenroom-spawner $(STATIC)/release/greenroomctl
# Programs that are linked with the shared C library, with their functions in the order of greenroomd's list.
link_dynamically = for product in $(1); do \
    $(SWIFT) build $(call RELEASE,greenroomd) --scratch-path $(DAEMON) --product $$product; done
# SwiftPM does not know that a list is an input.
release: setup $(SHIM) $(WITHHOLD) $(RUN) $(RUNTIMES_PRODUCTS)
	@for program in $(PROGRAMS); do \
	    [ ! $(LINK)/$${program##*/}.order -nt $$program ] || rm -f $$program; done
	@mkdir -p $(STATIC_CXX)
	@ln -sf "$$($(CLANG) -print-file-name=libstdc++.a)" $(STATIC_CXX)/
	@$(call link_dynamically,greenroomd greenroom-bus greenroom-foreground greenroom-launchscreen greenroom-history greenroom-conformance)
	@for product in greenroom-spawner greenroomctl; do \
	    $(SWIFT) build $(call RELEASE,$$product) --scratch-path $(STATIC) \
	        -Xswiftc -static-executable --product $$product 2>&1 | sed -E "$$STATIC_NOISE"; done
	@mkdir -p $(PRODUCT)
	@install -s -m 755 $(PROGRAMS) $(RUN) $(addprefix $(DAEMON)/release/greenroom-,bus foreground launchscreen history conformance) $(PRODUCT)/
	@install -m 644 $(SHIM) $(WITHHOLD) $(PRODUCT)/
	@$(call runtimes_install,$(PRODUCT))
# To be run after large changes of the code that runs. For x86-64; needs permission to trace (ptrace).
order: samples $(BENCH)/probe $(BENCH)/launch
	@$(AS_USER) Tests/Benchmarks/order.py --product $(PRODUCT) --bench $(BENCH) --to $(LINK) $(PROGRAMS)

# Apps made with ApplicationKit, which `make demo` shows.
SAMPLES := greenroom-notes greenroom-echo greenroom-fetch
# The same in C and in Python; the module is in the folder of the app that imports it.
OTHER_SAMPLES := greenroom-sums greenroom-reader
samples: release $(APP_LIBRARY)
	@$(call link_dynamically,$(SAMPLES))
	@install -D -s -m 755 -t $(PRODUCT)/samples $(addprefix $(DAEMON)/release/,$(SAMPLES))
	@$(CLANG) $(APP_CFLAGS) -s -o $(PRODUCT)/samples/greenroom-sums Sources/Samples/Sums/sums.c $(APP_FOLDER)/libgreenroom-app.a
	@install -m 755 Sources/Samples/Reader/reader.py $(PRODUCT)/samples/greenroom-reader
	@install -m 644 -t $(PRODUCT)/samples Sources/Python/greenroom_app.py

# --- Testing.
test: build
	@Tests/Tools/test
test-asan: SANITIZER := address
test-tsan: SANITIZER := thread
test-asan test-tsan: setup $(COMPANIONS)
	@Tests/Tools/sanitize build $(SANITIZER)
	@$(call companions,.build/sanitize-$(SANITIZER)/debug)
	@Tests/Tools/sanitize test $(SANITIZER)
check: setup
	@Tests/Checks/check
# Snapshots have the texts that the user sees: look at the difference before committing it.
snapshots: build
	@UPDATE_SNAPSHOTS=1 $(SWIFT) test --skip-build --disable-xctest \
	    --filter '^(GreenroomCommandsTests|ManualTests)' | grep -E '^✘' || true
	@git --no-pager diff --stat -- Tests Sources/Documentation
test-deb: deb
	@Tests/Suites/packages/run
torture: build
	@Tests/Suites/torture/torture --product $(DEBUG) --kills $(KILLS) $(if $(SEED),--seed $(SEED)) \
	    --seconds $(call seconds,3600)
corpus: build
	@Tests/Suites/corpus/corpus --product $(DEBUG) $(if $(LIMIT),--limit $(LIMIT)) $(if $(SEED),--seed $(SEED))
test-vm: release
	@Tests/Suites/vm/run
fresh:
	@Tests/Suites/fresh/run $(if $(QUICK),--quick)
test-aarch64:
	@Tests/Suites/aarch64/run
simulate: setup
	@$(SWIFT) run -c release greenroom-simulate --events $(EVENTS) $(if $(SEED),--seed $(SEED))

# Nothing was tuned on seeds 1 to 20. TRACE= is the name of a generator, or a file: for one, what greenroomctl history
# --json has printed. ABLATE= is a part of the predictor, or all of them: what it saves without it. CHECK=1 fails if the
# predictor is below the bars that it should reach on all generators and seeds (Report.swift).
replay: setup
	@$(SWIFT) run -c release greenroom-replay $(if $(TRACE),--trace $(TRACE)) \
	    $(if $(SEED),--seed $(SEED),--seeds 20) $(if $(ABLATE),--ablate $(ABLATE)) \
	    $(if $(CHECK),--check)

# Uses the symbol graphs of the usual build and the toolchain's own docc: no dependency, no second build.
DOCC ?= $(TOOLCHAIN)/docc
# NAME, FOLDER of its catalogue, IDENTIFIER, SYMBOLS
convert = $(DOCC) convert $(2)/$(1).docc --output-path .build/$(1).doccarchive \
    --additional-symbol-graph-dir $(4) --fallback-display-name $(1) --fallback-bundle-identifier $(3) \
    --transform-for-static-hosting >.build/symbols/$(1).log 2>&1 || { cat .build/symbols/$(1).log >&2; exit 1; }
docs: setup
	@[ -x $(DOCC) ] || { echo "docs: no docc beside $(SWIFT); set DOCC=" >&2; exit 1; }
	@rm -rf .build/symbols .build/Greenroom.doccarchive .build/ApplicationKit.doccarchive && mkdir -p .build/symbols
	@$(SWIFT) package dump-symbol-graph --minimum-access-level public \
	    --skip-synthesized-members >.build/symbols/log
	@for target in Sources/*/; do cp .build/*/symbolgraph/$$(basename $$target)[.@]*json .build/symbols/ \
	    2>/dev/null || true; done
	@$(call convert,Greenroom,Sources/Documentation,io.greenroom,.build/symbols)
	@mkdir -p .build/symbols/kit && cp .build/symbols/ApplicationKit*.json .build/symbols/kit/
	@$(call convert,ApplicationKit,Sources/ApplicationKit,io.greenroom.ApplicationKit,.build/symbols/kit)
	@echo "docs: any web server over .build/Greenroom.doccarchive (for apps: ApplicationKit.doccarchive)," \
	    "for one python3 -m http.server"
fuzz: setup
	@Tests/Suites/fuzz/fuzz $(call seconds,60) $(TARGETS)

demo: setup-demo release samples
	@$(AS_USER) Tests/Demo/demo.sh $(PRODUCT)
demo-systemd: setup release
	@$(AS_USER) Tests/Demo/systemd.sh $(PRODUCT)
bench: export BENCH_BARS := $(BENCH)/bars
bench: setup-demo samples $(BENCH_PROGRAMS)
	@$(call link_dynamically,bench-plain-app bench-kit-app)
	@rm -f $$BENCH_BARS
	@$(AS_USER) Tests/Benchmarks/bench.py --product $(PRODUCT) --programs $(BENCH)
	@$(AS_USER) Tests/Benchmarks/caller.py --product $(PRODUCT) --programs $(BENCH)
	@$(AS_USER) Tests/Benchmarks/caller.py --product $(PRODUCT) --programs $(BENCH) --corpus
	@$(AS_USER) Tests/Benchmarks/rest.py --product $(PRODUCT) --programs $(BENCH)
	@$(AS_USER) Tests/Benchmarks/underway.py --product $(PRODUCT) --programs $(BENCH)
	@$(AS_USER) Tests/Benchmarks/runtimes.py --product $(PRODUCT)
	@$(AS_USER) Tests/Benchmarks/protocol.py --product $(PRODUCT) --programs $(BENCH)
	@$(AS_USER) Tests/Benchmarks/scale.py --product $(PRODUCT) --programs $(BENCH)
	@Tests/Benchmarks/sdk.py --programs $(DAEMON)/release
	@Tests/Benchmarks/bars.py $$BENCH_BARS

bench-peers: release $(BENCH_PROGRAMS)
	@Tests/Tools/setup build peers
	@$(MAKE) --no-print-directory -s $(BENCH_PEERS)
	@$(AS_USER) Tests/Benchmarks/peers.py --product $(PRODUCT) --programs $(BENCH)

bench-windows: release
	@Tests/Benchmarks/windows.py --product $(PRODUCT) $(ROUNDS:%=--rounds %) $(RELEASES:%=--releases %) \
	    $(if $(WINDOWS),--only $(WINDOWS))
	@[ -n "$(WINDOWS)" ] || DAY=whole PRODUCT=$(PRODUCT) Tests/Suites/day/suite
	@[ -n "$(WINDOWS)" ] || ONLY=second PRODUCT=$(PRODUCT) Tests/Suites/profiles/suite

# --- Installing. Builds what is missing; never overwrites a configuration that somebody edited.
MANUAL := $(wildcard Sources/Documentation/man/*.[1578])
# The manual of the library, for authors of apps.
MANUAL_DEV := $(wildcard Sources/Documentation/man/*.3)
COMPLETIONS := bash-completion/completions/greenroomctl zsh/site-functions/_greenroomctl \
    fish/vendor_completions.d/greenroomctl.fish
# Links to the same scripts, for shells that look for one by the program's name.
COMPLETION_LINKS := bash-completion/completions/greenroom-run fish/vendor_completions.d/greenroom-run.fish
UNITS := greenroomd.service greenroomd.socket greenroom-apps.service greenroom-spawner.service greenroom.slice
# Units that only the system's daemon has.
METRICS_UNITS := greenroom-metrics.socket greenroom-metrics@.service
# Units that only users' sessions have.
SESSION_UNITS := greenroom-foreground.service greenroom-launchscreen.service
BUS_SERVICE := io.greenroom.Foreground.service
KWIN_SCRIPT := $(addprefix greenroom-foreground/,metadata.json contents/code/main.js)
VERSION := $(shell sed -n 's/^#define GREENROOM_VERSION "\(.*\)"/\1/p' \
    Sources/CGreenroomLinux/include/version.h)
units:
	@for unit in $(UNITS) $(METRICS_UNITS) $(addprefix user/,$(UNITS) $(SESSION_UNITS)); do \
	    mkdir -p .build/units/$$(dirname $$unit); \
	    sed -e 's|@BINDIR@|$(BINDIR)|g; s|@LIBEXECDIR@|$(LIBEXECDIR)|g; s|@DOCDIR@|$(DOCDIR)|g' \
	        systemd/$$unit > .build/units/$$unit; done

# Make divides lists at blanks, so no folder's name may have one.
one-word:
	@[ $(words x$(DESTDIR) x$(PREFIX) x$(SYSCONFDIR) x$(MANDIR)) = 4 ] || { \
	    echo "DESTDIR, PREFIX, SYSCONFDIR and MANDIR must not contain blanks" >&2; exit 1; }

INSTALLED_COMMANDS := $(addprefix $(PRODUCT)/,greenroomctl greenroom-run)
INSTALLED_PROGRAMS := $(PRODUCT)/greenroomd \
    $(addprefix $(PRODUCT)/greenroom-,spawner bus foreground launchscreen history conformance)
INSTALLED_LIBRARIES := $(addprefix $(PRODUCT)/libgreenroom-,prewarm.so withhold.so)
INSTALLED := $(INSTALLED_COMMANDS) $(INSTALLED_PROGRAMS) $(INSTALLED_LIBRARIES)
# Installs what comes from a pipe, with a mode that does not depend on the umask.
# Some versions of install (uutils) refuse to replace a file by what comes from a pipe.
written := sh -c 'rm -f "$$0" && install -m 644 /dev/stdin "$$0"'
# Programs that are already built are installed without building.
install: one-word $(if $(filter-out $(wildcard $(INSTALLED)),$(INSTALLED)),samples) units
	@install -D -m 755 -t $(DESTDIR)$(BINDIR) $(INSTALLED_COMMANDS)
	@install -D -m 755 -t $(DESTDIR)$(LIBEXECDIR) $(INSTALLED_PROGRAMS)
	@install -m 644 -t $(DESTDIR)$(LIBEXECDIR) $(INSTALLED_LIBRARIES)
	@cd $(PRODUCT) && find runtimes -type f ! -name '*.pyc' \
	    -exec install -D -m 644 '{}' '$(abspath $(DESTDIR)$(LIBEXECDIR))/{}' ';'
	@for sample in $(SAMPLES) $(OTHER_SAMPLES); do for file in $(PRODUCT)/samples/$$sample $(PRODUCT)/$$sample; do \
	    [ ! -e $$file ] || install -D -m 755 -t $(DESTDIR)$(LIBEXECDIR)/samples $$file; done; done
	@[ ! -e $(PRODUCT)/samples/greenroom-reader ] || \
	    install -D -m 644 -t $(DESTDIR)$(LIBEXECDIR)/samples Sources/Python/greenroom_app.py
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/systemd/system $(addprefix .build/units/,$(UNITS) $(METRICS_UNITS))
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/systemd/user \
	    $(addprefix .build/units/user/,$(UNITS) $(SESSION_UNITS))
	@install -d $(DESTDIR)$(PREFIX)/share/dbus-1/services
	@sed 's|@LIBEXECDIR@|$(LIBEXECDIR)|g' systemd/$(BUS_SERVICE) | $(written) \
	    $(DESTDIR)$(PREFIX)/share/dbus-1/services/$(BUS_SERVICE)
	@for file in $(KWIN_SCRIPT); do \
	    install -D -m 644 config/kwin/$$file $(DESTDIR)$(PREFIX)/share/kwin/scripts/$$file; done
	@install -D -m 644 systemd/greenroom.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/greenroom.conf
	@install -D -m 644 systemd/greenroom.tmpfiles $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/greenroom.conf
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/systemd/catalog systemd/greenroom.catalog
	@install -D -m 644 -t $(DESTDIR)$(DOCDIR) README.md LICENSE
	@for page in $(MANUAL); do \
	    install -D -m 644 -t $(DESTDIR)$(MANDIR)/man$${page##*.} $$page; done
	@echo '.so man1/greenroomctl.1' | $(written) $(DESTDIR)$(MANDIR)/man1/greenroom-run.1
	@install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,$(dir $(COMPLETIONS)))
	@for script in $(COMPLETIONS); do \
	    case $$script in bash*) shell=bash ;; zsh*) shell=zsh ;; fish*) shell=fish ;; esac; \
	    $(PRODUCT)/greenroomctl completion $$shell | $(written) $(DESTDIR)$(PREFIX)/share/$$script; done
	@for link in $(COMPLETION_LINKS); do \
	    name=$${link##*/}; ln -sf greenroomctl$${name#greenroom-run} $(DESTDIR)$(PREFIX)/share/$$link; done
	@install -d $(DESTDIR)$(SYSCONFDIR)/greenroom/apps
	@for app in $(wildcard config/apps/*.app); do \
	    install -D -m 644 -t $(DESTDIR)$(DOCDIR)/apps $$app; \
	    sed -i 's|/usr/local/lib/greenroom/|$(LIBEXECDIR)/|' \
	        $(DESTDIR)$(DOCDIR)/apps/$$(basename $$app); done
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/greenroom/profiles config/profiles/*.conf
	@[ ! -e config/greenroom.conf ] || [ -e $(DESTDIR)$(SYSCONFDIR)/greenroom/greenroom.conf ] \
	    || install -m 644 -t $(DESTDIR)$(SYSCONFDIR)/greenroom config/greenroom.conf

# The folder in which Debian's Python looks: below /usr one for all versions, below /usr/local one for each.
PYTHONDIR ?= $(PREFIX)/lib/python$(shell [ $(PREFIX) = /usr ] && echo 3 || \
    /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3)/dist-packages
# For building apps: headers, the library for C, the module for Python.
install-dev: one-word $(APP_LIBRARY)
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/include Sources/CPrewarm/include/greenroom-prewarm.h \
	    Sources/CGreenroomApp/include/greenroom-app.h
	@install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib $(APP_LIBRARY)
	@ln -sf libgreenroom-app.so.0 $(DESTDIR)$(PREFIX)/lib/libgreenroom-app.so
	@install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	@for file in CPrewarm/greenroom-prewarm CGreenroomApp/greenroom-app; do \
	    sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' Sources/$$file.pc.in | $(written) \
	        $(DESTDIR)$(PREFIX)/lib/pkgconfig/$${file##*/}.pc; done
	@install -D -m 644 -t $(DESTDIR)$(PYTHONDIR) Sources/Python/greenroom_app.py
	@install -D -m 644 -t $(DESTDIR)$(MANDIR)/man3 $(MANUAL_DEV)
	@[ -n "$(DESTDIR)" ] || ldconfig || echo "install-dev: as root, run ldconfig, so that programs find the library" >&2

# First disables the units, because links to the removed ones would remain.
uninstall: one-word
	@[ -n "$(DESTDIR)" ] || ! command -v systemctl >/dev/null || { \
	    [ ! -d /run/systemd/system ] || \
	        systemctl stop greenroom-metrics.socket greenroomd.socket greenroomd.service greenroom-apps.service 2>/dev/null || true; \
	    systemctl --quiet disable greenroom-metrics.socket greenroomd.socket greenroomd.service 2>/dev/null || true; \
	    systemctl --quiet --global disable greenroomd.socket greenroomd.service $(SESSION_UNITS) 2>/dev/null || true; }
	@rm -f $(addprefix $(DESTDIR)$(PREFIX)/include/greenroom-,prewarm.h app.h) \
	    $(DESTDIR)$(PREFIX)/lib/libgreenroom-app.* \
	    $(addprefix $(DESTDIR)$(PREFIX)/lib/pkgconfig/greenroom-,prewarm.pc app.pc) \
	    $(DESTDIR)$(PYTHONDIR)/greenroom_app.py
	@rm -f $(DESTDIR)$(BINDIR)/greenroomctl $(DESTDIR)$(BINDIR)/greenroom-run
	@rm -rf $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(DOCDIR) $(DESTDIR)$(PREFIX)/share/greenroom/profiles
	@rm -rf $(DESTDIR)$(PREFIX)/share/kwin/scripts/greenroom-foreground
	@rmdir $(addprefix $(DESTDIR)$(PREFIX)/share/,greenroom kwin/scripts kwin) 2>/dev/null || true
	@rm -f $(addprefix $(DESTDIR)$(PREFIX)/lib/systemd/system/,$(METRICS_UNITS)) \
	    $(addprefix $(DESTDIR)$(PREFIX)/lib/systemd/user/,$(SESSION_UNITS)) \
	    $(DESTDIR)$(PREFIX)/share/dbus-1/services/$(BUS_SERVICE)
	@rm -f $(foreach unit,$(UNITS),$(DESTDIR)$(PREFIX)/lib/systemd/system/$(unit) \
	    $(DESTDIR)$(PREFIX)/lib/systemd/user/$(unit))
	@rm -f $(addprefix $(DESTDIR)$(PREFIX)/lib/,sysusers.d/greenroom.conf tmpfiles.d/greenroom.conf \
	    systemd/catalog/greenroom.catalog)
	@rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/,$(COMPLETIONS) $(COMPLETION_LINKS))
	@rm -f $(foreach page,$(MANUAL) $(MANUAL_DEV),$(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
	    $(DESTDIR)$(MANDIR)/man1/greenroom-run.1
	@for folder in $(DESTDIR)$(SYSCONFDIR)/greenroom $(DESTDIR)/var/lib/greenroom $(DESTDIR)/var/cache/greenroom; do \
	    [ ! -d $$folder ] || echo "kept: $$folder"; done

# The Debian packages, in .build/packages. A package with a higher VERSION= replaces an installed one.
deb: samples
	@mkdir -p .build/packages
	@config/debian/build $(VERSION) $(abspath .build/packages)
	@config/debian/source-package $(VERSION) $(abspath .build/packages)

clean:
	@rm -rf .build
