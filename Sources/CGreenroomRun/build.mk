# greenroom-run: Embedded Swift without a C library, because an app waits for its start
# (Decisions, "Client and manual"). SwiftPM has one mode for all targets, so the sources that it shares
# with greenroomctl are compiled here a second time. Include this file from the Makefile.

RUN := .build/run/greenroom-run
RUN_CC ?= clang
RUN_SWIFTC ?= swiftc
RUN_C := Sources/CGreenroomRun
RUN_MODULES := .build/run/modules

RUN_VARLINK := $(wildcard Sources/Varlink/JSON/*.swift Sources/Varlink/Connection/*.swift) \
	Sources/Varlink/Limits.swift Sources/Varlink/Service/CallError.swift
RUN_CONTROL := $(filter-out %/InterfaceText.swift %/Control+Service.swift, \
	$(wildcard Sources/GreenroomControl/*/*.swift))
RUN_LINUX := Sources/GreenroomLinux/Processes/InheritedState.swift
RUN_SWIFT := $(wildcard Sources/greenroom-run/*.swift Sources/GreenroomCommands/Attached/Shared/*.swift)
RUN_C_SOURCES := $(wildcard $(RUN_C)/*.c) $(addprefix Sources/CGreenroomLinux/,calls.c exits.c message.c observe.c)
RUN_INPUTS := $(RUN_VARLINK) $(RUN_CONTROL) $(RUN_LINUX) $(RUN_SWIFT) $(RUN_C_SOURCES) \
	$(wildcard $(RUN_C)/*.h $(RUN_C)/*/* Sources/CGreenroomLinux/*.h Sources/CGreenroomLinux/include/*) \
	$(RUN_C)/build.mk

RUN_SWIFTFLAGS := -enable-experimental-feature Embedded -Osize -wmo -parse-as-library \
	-swift-version 6 -package-name greenroom -strict-memory-safety -warnings-as-errors \
	-enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
	-enable-upcoming-feature MemberImportVisibility \
	-enable-upcoming-feature NonisolatedNonsendingByDefault \
	-enable-upcoming-feature InferIsolatedConformances \
	-Xfrontend -disable-stack-protector -Xfrontend -function-sections \
	-I $(RUN_MODULES) -Xcc -fmodule-map-file=$(RUN_C)/glibc/module.modulemap \
	-Xcc -fmodule-map-file=$(RUN_MODULES)/CGreenroomLinux.modulemap
RUN_CFLAGS := -std=gnu11 -O2 -ffreestanding -fno-builtin -fno-stack-protector -fno-pic \
	-ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -ISources/CGreenroomLinux/include \
	-Wall -Wextra -Werror
# Two segments instead of four, because the program's start and end pay for each. Nothing would make a RELRO
# segment read-only here: that is the C library's work.
RUN_LDFLAGS := -static -nostdlib -fuse-ld=lld -Wl,--gc-sections -Wl,-z,noexecstack \
	-Wl,-z,norelro -Wl,--no-rosegment -Wl,--build-id=sha1
# Tables for comparing strings that are not ASCII.
RUN_UNICODE = $(dir $(realpath $(shell command -v $(RUN_SWIFTC))))../lib/swift/embedded/$(shell \
	uname -m)-unknown-linux-gnu/libswiftUnicodeDataTables.a

# MODULE, SOURCES
run_module = $(RUN_SWIFTC) $(RUN_SWIFTFLAGS) -module-name $(1) -emit-module \
	-emit-module-path $(RUN_MODULES)/$(1).swiftmodule -c $(2) -o $(RUN_MODULES)/$(1).o

.PHONY: run-client
run-client: $(RUN)

$(RUN): $(RUN_INPUTS)
	@mkdir -p $(RUN_MODULES)
	@echo 'module CGreenroomLinux { header "$(CURDIR)/Sources/CGreenroomLinux/include/CGreenroomLinux.h" export * }' \
	    >$(RUN_MODULES)/CGreenroomLinux.modulemap
	$(call run_module,Varlink,$(RUN_VARLINK))
	$(call run_module,GreenroomControl,$(RUN_CONTROL))
	$(call run_module,GreenroomLinux,$(RUN_LINUX))
	$(call run_module,GreenroomRun,$(RUN_SWIFT))
	$(RUN_CC) $(RUN_CFLAGS) $(RUN_LDFLAGS) -o $@.$$$$ $(RUN_C_SOURCES) \
	    $(addprefix $(RUN_MODULES)/,Varlink.o GreenroomControl.o GreenroomLinux.o GreenroomRun.o) \
	    $(RUN_UNICODE) && mv -f $@.$$$$ $@
