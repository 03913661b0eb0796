// Measures the least time of a call: a message over a stream socket and its answer. Both ends are
// blocking C programs.
//   echo COUNT REQUEST_BYTES REPLY_BYTES      prints COUNT round trips in ns
#include "bench.h"

enum { LARGEST = 65536 };

static void read_exactly(int fd, char *buffer, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t n = read(fd, buffer + have, size - have);
        if (n == 0) exit(0);
        if (n < 0) die("read");
        have += (size_t)n;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) complain("usage", "echo COUNT REQUEST_BYTES REPLY_BYTES");
    unsigned count = parse_count(argv[1]), request = parse_count(argv[2]), reply = parse_count(argv[3]);
    if (request > LARGEST || reply > LARGEST) complain("echo", "a message has at most 65536 bytes");
    static char buffer[LARGEST];

    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    pid_t server = check(fork(), "fork");
    if (server == 0) {
        close(ends[0]);
        for (;;) {
            read_exactly(ends[1], buffer, request);
            if (write(ends[1], buffer, reply) != (ssize_t)reply) die("write");
        }
    }
    close(ends[1]);
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = now_ns();
        if (write(ends[0], buffer, request) != (ssize_t)request) die("write");
        read_exactly(ends[0], buffer, reply);
        printf("%llu\n", (unsigned long long)(now_ns() - start));
    }
    close(ends[0]);
    waitpid(server, NULL, 0);
    return 0;
}
