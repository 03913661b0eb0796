# The code that runs inside interpreters: a library in C and a hook in each language. It needs the headers of
# the C library and of the toolchain, and none of an interpreter.
RUNTIMES_SOURCES := Sources/Runtimes
RUNTIMES := .build/runtimes
RUNTIMES_LIBRARY := $(RUNTIMES)/libgreenroom-runtime.so
RUNTIMES_AGENT := $(RUNTIMES)/libgreenroom-jvm.so
RUNTIMES_FILES := $(sort $(filter-out %.c %.h,$(wildcard $(addprefix $(RUNTIMES_SOURCES)/, \
    python/* perl/* r/* ruby/* node/* jvm/* emacs/*))))
RUNTIMES_AGENT_SOURCES := $(wildcard $(RUNTIMES_SOURCES)/jvm/*.c)
RUNTIMES_INSPECT := $(RUNTIMES)/libgreenroom-inspect.so
RUNTIMES_TRACE := $(RUNTIMES)/libgreenroom-trace.so
RUNTIMES_PRODUCTS := $(RUNTIMES_LIBRARY) $(RUNTIMES_INSPECT) $(RUNTIMES_TRACE) $(if $(RUNTIMES_AGENT_SOURCES),$(RUNTIMES_AGENT))
RUNTIMES_CFLAGS := -std=gnu17 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Werror
# Lazy binding, because an interpreter has only the functions of its own language.
RUNTIMES_LDFLAGS := -shared -fuse-ld=lld -Wl,-z,relro,-z,lazy,-z,noexecstack -Wl,--build-id=sha1
RUNTIMES_CC ?= $(CLANG)

.PHONY: runtimes
runtimes: $(RUNTIMES_PRODUCTS)

# Written to another file and renamed, because a process may be loading the old library now.
$(RUNTIMES_LIBRARY): $(wildcard $(RUNTIMES_SOURCES)/library/*.[ch]) Sources/CPrewarm/wire.h
	@mkdir -p $(@D)
	@$(RUNTIMES_CC) $(RUNTIMES_CFLAGS) $(RUNTIMES_LDFLAGS) -Wl,-soname,$(@F) -o $@.new $(filter %.c,$^)
	@mv -f $@.new $@
$(RUNTIMES_AGENT): $(RUNTIMES_AGENT_SOURCES) $(wildcard $(RUNTIMES_SOURCES)/jvm/*.h) \
    $(foreach part,launch files stamp variables,$(wildcard $(RUNTIMES_SOURCES)/library/$(part).[ch])) \
    $(RUNTIMES_SOURCES)/library/runtime.h Sources/CPrewarm/wire.h
	@mkdir -p $(@D)
	@$(RUNTIMES_CC) $(RUNTIMES_CFLAGS) $(RUNTIMES_LDFLAGS) -Wl,-soname,$(@F) -o $@.new $(filter %.c,$^)
	@mv -f $@.new $@

$(RUNTIMES_INSPECT): $(wildcard $(RUNTIMES_SOURCES)/inspect/*.c)
	@mkdir -p $(@D)
	@$(RUNTIMES_CC) $(RUNTIMES_CFLAGS) $(RUNTIMES_LDFLAGS) -Wl,-soname,$(@F) -o $@.new $(filter %.c,$^)
	@mv -f $@.new $@

$(RUNTIMES_TRACE): $(wildcard $(RUNTIMES_SOURCES)/trace/*.[ch] $(RUNTIMES_SOURCES)/library/stamp.[ch]) $(RUNTIMES_SOURCES)/library/emacs.h
	@mkdir -p $(@D)
	@$(RUNTIMES_CC) $(RUNTIMES_CFLAGS) $(RUNTIMES_LDFLAGS) -Wl,-soname,$(@F) -o $@.new $(filter %.c,$^)
	@mv -f $@.new $@

# FOLDER: the libraries and the hooks, in FOLDER/runtimes.
runtimes_install = install -D -m 644 -t $(1)/runtimes $(RUNTIMES_PRODUCTS) && \
    for file in $(RUNTIMES_FILES); do \
        install -D -m 644 $$file $(1)/runtimes/$${file$(hash)$(RUNTIMES_SOURCES)/}; done
hash := \#
