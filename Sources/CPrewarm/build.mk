# The preload shim. It is built by clang alone, because a SwiftPM library would bring the Swift
# runtime into every app. Include this file from the Makefile, or run
# `make -f Sources/CPrewarm/build.mk`.

SHIM := .build/shim/libgreenroom-prewarm.so
SHIM_CC ?= clang
SHIM_DIRECTORY := Sources/CPrewarm
SHIM_SOURCES := $(sort $(wildcard $(SHIM_DIRECTORY)/*.c))
SHIM_INPUTS := $(SHIM_SOURCES) $(wildcard $(SHIM_DIRECTORY)/*.h) $(SHIM_DIRECTORY)/exports.map \
	$(SHIM_DIRECTORY)/build.mk Sources/CGreenroomLinux/keeper.h Sources/CGreenroomLinux/system_call.h \
	Sources/CGreenroomLinux/include/version.h \
	Sources/CGreenroomLinux/inherit.h Sources/CGreenroomLinux/include/gr_inherited.h

# No libc, no stack protector (its canary is in thread-local storage), no calls of string functions
# that are not in the shim, and every symbol is hidden unless exports.map lists it.
SHIM_CFLAGS := -std=gnu11 -O2 -g -fPIC -ffreestanding -fno-builtin -fno-stack-protector \
	-fvisibility=hidden -fno-asynchronous-unwind-tables -D_GNU_SOURCE \
	-Wall -Wextra -Wpedantic -Wno-gnu-zero-variadic-macro-arguments -Werror
# -z initfirst: see prepare_early in entry.c. Both hash styles: old musl reads only the first.
SHIM_LDFLAGS := -shared -nostdlib -fuse-ld=lld -Wl,-z,now,-z,relro,-z,initfirst,-z,defs \
	-Wl,-z,noexecstack -Wl,--hash-style=both -Wl,--build-id=sha1 \
	-Wl,-soname,libgreenroom-prewarm.so -Wl,--version-script=$(SHIM_DIRECTORY)/exports.map

SHIM_AARCH64 := .build/shim/aarch64/libgreenroom-prewarm.so
# Debian: linux-libc-dev-arm64-cross and libc6-dev-arm64-cross.
SHIM_AARCH64_HEADERS ?= /usr/aarch64-linux-gnu/include

.PHONY: shim shim-aarch64 shim-analyze shim-clean

shim: $(SHIM)

# Written to another file and renamed, because a process may be loading the old library now.
$(SHIM): $(SHIM_INPUTS)
	@mkdir -p $(@D)
	$(SHIM_CC) $(SHIM_CFLAGS) $(SHIM_LDFLAGS) -o $@.$$$$ $(SHIM_SOURCES) && mv -f $@.$$$$ $@

shim-aarch64: $(SHIM_AARCH64)

$(SHIM_AARCH64): $(SHIM_INPUTS)
	@mkdir -p $(@D)
	$(SHIM_CC) --target=aarch64-linux-gnu -nostdinc \
		-isystem $(shell $(SHIM_CC) -print-resource-dir)/include \
		-isystem $(SHIM_AARCH64_HEADERS) \
		$(SHIM_CFLAGS) $(SHIM_LDFLAGS) -o $@ $(SHIM_SOURCES)

shim-analyze:
	$(SHIM_CC) --analyze --analyzer-output text -Xclang -analyzer-werror \
		$(SHIM_CFLAGS) $(SHIM_SOURCES)

shim-clean:
	rm -rf .build/shim
