// A preloaded library that makes a program's launch take a tenth of a second before main, as hundreds
// of libraries do. Cold launches and prewarms do the same work.
#include <stdint.h>
#include <time.h>

enum { WORK_NANOSECONDS = 100 * 1000 * 1000 };

static uint64_t worked(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

__attribute__((constructor)) static void work(void) {
    uint64_t end = worked() + WORK_NANOSECONDS;
    while (worked() < end) {}
}
