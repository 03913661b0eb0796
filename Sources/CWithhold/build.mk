# The library that withholds windows (Depth=window). Unlike the shim, it needs a libc; it is linked
# with the shim's sources for the channel and the pause. No header of X is needed.

WITHHOLD := .build/shim/libgreenroom-withhold.so
WITHHOLD_DIRECTORY := Sources/CWithhold
WITHHOLD_SOURCES := $(sort $(wildcard $(WITHHOLD_DIRECTORY)/*.c)) \
	$(addprefix $(SHIM_DIRECTORY)/,arguments.c channel.c descriptors.c pause.c symbols.c text.c traces.c)
WITHHOLD_INPUTS := $(WITHHOLD_SOURCES) $(wildcard $(WITHHOLD_DIRECTORY)/*.h) \
	$(WITHHOLD_DIRECTORY)/exports.map $(WITHHOLD_DIRECTORY)/build.mk $(SHIM_INPUTS)

# The shim's flags, because its string functions must not become calls of themselves. -z initfirst
# as for the shim. The library stays loaded, because its thread may outlive everything else.
WITHHOLD_LDFLAGS := -shared -fuse-ld=lld -Wl,-z,now,-z,relro,-z,initfirst,-z,defs,-z,nodelete \
	-Wl,-z,noexecstack -Wl,--build-id=sha1 -Wl,-soname,libgreenroom-withhold.so \
	-Wl,--version-script=$(WITHHOLD_DIRECTORY)/exports.map -lpthread -ldl

.PHONY: withhold withhold-analyze

withhold: $(WITHHOLD)

# Written to another file and renamed, because a process may be loading the old library now.
$(WITHHOLD): $(WITHHOLD_INPUTS)
	@mkdir -p $(@D)
	$(SHIM_CC) $(SHIM_CFLAGS) $(WITHHOLD_SOURCES) $(WITHHOLD_LDFLAGS) -o $@.$$$$ && mv -f $@.$$$$ $@

withhold-analyze:
	$(SHIM_CC) --analyze --analyzer-output text -Xclang -analyzer-werror \
		$(SHIM_CFLAGS) $(wildcard $(WITHHOLD_DIRECTORY)/*.c)
