// Speaks to an AFL++ fork server, as afl-fuzz does: it waits in the target before main and forks for
// each run (AFL++, docs/afl-fuzz_approach.md; instrumentation/afl-compiler-rt.o.c).
//   forkserver COUNT -- TARGET ARGUMENTS...     prints COUNT times from request to main, in ns
// TARGET is built by AFL++'s compiler and writes its stamp first.
#include "bench.h"

enum { ORDERS = 198, ANSWERS = 199 };

static uint32_t read_word(int fd, const char *what) {
    uint32_t word;
    await_readable(fd, what);
    if (read(fd, &word, sizeof word) != sizeof word) complain(what, "the fork server ended");
    return word;
}

int main(int argc, char **argv) {
    if (argc < 4 || strcmp(argv[2], "--") != 0) complain("usage", "forkserver COUNT -- TARGET...");
    unsigned count = parse_count(argv[1]);
    int orders[2], answers[2], output[2];
    check(pipe2(orders, O_CLOEXEC), "pipe2");
    check(pipe2(answers, O_CLOEXEC), "pipe2");
    check(pipe2(output, O_CLOEXEC), "pipe2");
    pid_t server = fork();
    if (check(server, "fork") == 0) {
        dup2(orders[0], ORDERS);
        dup2(answers[1], ANSWERS);
        dup2(output[1], 1);
        execv(argv[3], argv + 3);
        _exit(127);
    }
    close(orders[0]);
    close(answers[1]);
    read_word(answers[0], "its greeting");
    for (unsigned i = 0; i < count; i++) {
        uint32_t order = 0;
        uint64_t start = now_ns();
        if (write(orders[1], &order, sizeof order) != sizeof order) die("the order");
        read_word(answers[0], "the process");
        uint64_t stamp = read_stamp(output[0]);
        if (read_word(answers[0], "its status") != 0) complain(argv[3], "the program failed");
        printf("%llu\n", (unsigned long long)(stamp - start));
    }
    kill(server, SIGKILL);
    check(waitpid(server, NULL, 0), "waitpid");
    return 0;
}
