// An app that never listens and has many descriptors: argv[1] processes with as many sockets as they may have. Prints
// how many descriptors all processes have together, and waits.
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **words) {
    int processes = count > 1 ? atoi(words[1]) : 1;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int last = socket(AF_UNIX, SOCK_STREAM, 0);
    if (last < 0) return 1;
    for (int number; last < 100000 && (number = dup(last)) >= 0;) last = number;
    for (int i = 1; i < processes; i++) {
        if (fork() != 0) continue;
        prctl(PR_SET_PDEATHSIG, 9);
        for (;;) pause();
    }
    char line[32];
    int length = snprintf(line, sizeof line, "%ld\n", (long)(last + 1) * processes);
    (void)!write(1, line, (size_t)length);
    for (;;) pause();
}
