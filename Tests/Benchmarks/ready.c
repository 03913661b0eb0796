// Measures the time from exec to READY=1.
//   ready COUNT -- PROGRAM ARGUMENTS...      prints COUNT times in ns
// The program gets NOTIFY_SOCKET. When it is ready, it is told to end (SIGTERM) and waited for.
#include "bench.h"

int main(int argc, char **argv) {
    if (argc < 4 || strcmp(argv[2], "--") != 0) complain("usage", "ready COUNT -- PROGRAM...");
    unsigned count = parse_count(argv[1]);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    // The kernel chooses an abstract address, so there is nothing to clean up.
    int fd = check(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
    check(bind(fd, (struct sockaddr *)&address, sizeof address.sun_family), "bind");
    socklen_t size = sizeof address;
    check(getsockname(fd, (struct sockaddr *)&address, &size), "getsockname");
    char name[128] = "@";
    memcpy(name + 1, address.sun_path + 1, size - sizeof address.sun_family - 1);
    setenv("NOTIFY_SOCKET", name, 1);

    for (unsigned i = 0; i < count; i++) {
        uint64_t start = now_ns();
        pid_t pid = vfork();
        if (pid == 0) {
            execvp(argv[3], argv + 3);
            _exit(127);
        }
        check(pid, "vfork");
        char message[4096];
        do {
            await_readable(fd, "READY=1");
            ssize_t n = recv(fd, message, sizeof message - 1, 0);
            if (n < 0) die("recv");
            message[n] = 0;
        } while (!strstr(message, "READY=1"));
        printf("%llu\n", (unsigned long long)(now_ns() - start));
        kill(pid, SIGTERM);
        check(waitpid(pid, NULL, 0), "waitpid");
    }
    return 0;
}
