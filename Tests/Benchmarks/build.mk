# The reference programs and the timing client: plain C, built as a distribution would build them.
BENCH_PROGRAMS := $(addprefix $(BENCH)/,probe launch relay cold echo ready caller floor slow.so)
ifeq ($(shell uname -m),x86_64)
BENCH_PROGRAMS += $(BENCH)/stamp.so $(BENCH)/hold.so
endif
BENCH_CFLAGS := -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion

# Programs to compare with. AFL++'s own compiler builds one of them, where it is installed.
BENCH_PEERS := $(BENCH)/forkserver $(BENCH)/probe-afl

$(BENCH)/%: Tests/Benchmarks/%.c Tests/Benchmarks/bench.h
	@mkdir -p $(BENCH)
	@$(CLANG) $(BENCH_CFLAGS) -o $@ $<
$(BENCH)/floor: Tests/Benchmarks/floor.c Tests/Benchmarks/floor.h Tests/Benchmarks/bench.h
	@mkdir -p $(BENCH)
	@$(CLANG) $(BENCH_CFLAGS) -static -o $@ $<
$(BENCH)/probe-afl: Tests/Benchmarks/probe.c
	@mkdir -p $(BENCH)
	@! command -v afl-clang-fast >/dev/null || AFL_QUIET=1 afl-clang-fast -O2 -o $@ $<
$(BENCH)/stamp.so $(BENCH)/hold.so: Tests/Benchmarks/entry.h Tests/Benchmarks/floor.h
$(BENCH)/stamp.so $(BENCH)/hold.so $(BENCH)/slow.so: $(BENCH)/%.so: Tests/Benchmarks/%.c
	@mkdir -p $(BENCH)
	@$(CLANG) $(BENCH_CFLAGS) -fPIC -shared -o $@ $<
