/// A program whose library takes 240 ms to be initialized; with -DLIBRARY, the library.
#include <stdio.h>
#include <time.h>

int probe_library(void);
#ifdef LIBRARY
static long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}
__attribute__((constructor)) static void work(void) {
    long end = nanoseconds() + 240000000;
    while (nanoseconds() < end) {}
}
int probe_library(void) { return 0; }
#else
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) puts(argv[i]);
    return probe_library() + argc;
}
#endif
