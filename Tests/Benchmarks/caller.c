// Measures a program as its caller does: from vfork to the end of waitpid.
//   caller COUNT -- WORDS...                       the program itself
//   caller COUNT SOCKET BEFORE -- WORDS...         through a client of greenroomd: before each sample sends the
//                                                  request BEFORE and awaits its answer, so that an instance is paused
//   caller stamped COUNT ...                       for a program that writes its stamp first (probe)
// Prints for each sample, in ns: the whole time; and for a stamped program the time to its main, and
// the time from its main to the end at the caller.
#include "bench.h"

static char answer[1 << 16];

static void prepare(int fd, const char *before) {
    size_t size = strlen(before) + 1, have = 0;
    if (send(fd, before, size, MSG_NOSIGNAL) != (ssize_t)size) die("send");
    do {
        ssize_t n = recv(fd, answer + have, sizeof answer - have, 0);
        if (n <= 0) die("recv");
        have += (size_t)n;
    } while (answer[have - 1] != 0 && have < sizeof answer);
    if (strstr(answer, "\"error\"")) complain("unexpected answer", answer);
}

static void sample(char **words, int stamped) {
    int output[2];
    check(pipe2(output, O_CLOEXEC), "pipe2");
    uint64_t began = now_ns();
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(output[1], 1);
        execv(words[0], words);
        _exit(127);
    }
    check(pid, "vfork");
    int status;
    check(waitpid(pid, &status, 0), "waitpid");
    uint64_t ended = now_ns();
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127) complain(words[0], "did not run");
    close(output[1]);
    printf("%llu", (unsigned long long)(ended - began));
    if (stamped) {
        uint64_t stamp = read_stamp(output[0]);
        printf(" %llu %llu", (unsigned long long)(stamp - began), (unsigned long long)(ended - stamp));
    }
    printf("\n");
    drain(output[0]);
    close(output[0]);
}

int main(int argc, char **argv) {
    int stamped = argc > 1 && strcmp(argv[1], "stamped") == 0;
    argv += stamped, argc -= stamped;
    int separator = 1;
    while (separator < argc && strcmp(argv[separator], "--") != 0) separator++;
    if ((separator != 2 && separator != 4) || separator + 1 >= argc)
        complain("usage", "caller [stamped] COUNT [SOCKET BEFORE] -- WORDS...");
    unsigned count = parse_count(argv[1]);
    int fd = separator == 4 ? connect_stream(argv[2]) : -1;
    for (unsigned i = 0; i < count; i++) {
        if (fd >= 0) prepare(fd, argv[3]);
        sample(argv + separator + 1, stamped);
    }
    return 0;
}
