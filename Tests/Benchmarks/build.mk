# The reference programs and the timing client: plain C, built as a distribution would build them.
BENCH_PROGRAMS := $(addprefix $(BENCH)/,probe launch relay cold echo ready)
ifeq ($(shell uname -m),x86_64)
BENCH_PROGRAMS += $(BENCH)/stamp.so
endif
BENCH_CFLAGS := -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion

$(BENCH)/%: Tests/Benchmarks/%.c Tests/Benchmarks/bench.h
	@mkdir -p $(BENCH)
	@$(CLANG) $(BENCH_CFLAGS) -o $@ $<
$(BENCH)/stamp.so: Tests/Benchmarks/stamp.c
	@mkdir -p $(BENCH)
	@$(CLANG) $(BENCH_CFLAGS) -fPIC -shared -o $@ $<
