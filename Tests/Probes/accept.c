// An app with sockets. Its first argument says what it does:
//   serve        answers each connection with "PID LISTEN_FDS LISTEN_FDNAMES", if LISTEN_PID is its own
//   hold         the same, and keeps each connection until its client has closed it
//   answer       the same for each datagram
//   leave        ends without accepting
//   ignore       runs on without accepting
//   listen PATH  listens at the path, once its standard input has ended
// With -DLIBRARY, the program's library, which opens a file before main and keeps it open.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int answer(const char *pid, const char *count, const char *names) {
    struct sockaddr_storage from;
    char text[256];
    for (;;) {
        socklen_t size = sizeof from;
        if (recvfrom(3, text, sizeof text, 0, (struct sockaddr *)&from, &size) < 0) return 4;
        int length = snprintf(text, sizeof text, "%s %s %s\n", pid, count, names);
        sendto(3, text, (size_t)length, 0, (struct sockaddr *)&from, size);
    }
}

static int serve(int is_datagram, int holds) {
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");
    if (!pid || !count || !names || atoi(pid) != getpid()) return 3;
    if (is_datagram) return answer(pid, count, names);
    for (int number; (number = accept(3, NULL, NULL)) >= 0; close(number)) {
        dprintf(number, "%s %s %s\n", pid, count, names);
        for (char byte; holds && read(number, &byte, 1) > 0;) {}
    }
    return 4;
}

static int listen_at(const char *path) {
    char byte;
    while (read(0, &byte, 1) > 0) {}
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int number = socket(AF_UNIX, SOCK_STREAM, 0);
    if (number < 0 || bind(number, (struct sockaddr *)&address, sizeof address) < 0) return 5;
    if (listen(number, 1) < 0) return 6;
    for (;;) pause();
}

#ifdef LIBRARY
__attribute__((constructor)) static void keep_one(void) { open("/dev/null", O_RDWR); }
#else
int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "serve") == 0) return serve(0, 0);
    if (argc > 1 && strcmp(argv[1], "hold") == 0) return serve(0, 1);
    if (argc > 1 && strcmp(argv[1], "answer") == 0) return serve(1, 0);
    for (; argc > 1 && strcmp(argv[1], "ignore") == 0;) pause();
    if (argc > 2 && strcmp(argv[1], "listen") == 0) return listen_at(argv[2]);
    return 0;
}
#endif
