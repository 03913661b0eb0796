// The smallest program that reports when its main began: it writes eight bytes of CLOCK_MONOTONIC to
// standard output. `probe wait` then stays until its standard input ends.
#include <string.h>
#include <time.h>
#include <stdint.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t stamp = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
    if (write(1, &stamp, sizeof stamp) != sizeof stamp) return 1;
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        char byte;
        while (read(0, &byte, 1) > 0) {}
    }
    return 0;
}
