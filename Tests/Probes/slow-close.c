/* Is killed while it has a descriptor that takes a minute to close and is marked as slow: a socket
 * with SO_LINGER and data that nobody reads (socket(7)). Descriptor 3 is closed with it. A child
 * has the other end of the socket, and stays until its standard input ends. */
#include "../../Sources/CGreenroomLinux/disposal.c"
#include "../../Sources/CGreenroomLinux/worker.c"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

int gr_pidfd_open(int32_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

static int checked(int result, const char *what) {
    if (result >= 0) return result;
    perror(what);
    exit(1);
}

/* Returns the address of a socket that listens in the child. */
static struct sockaddr_in listen_in_child(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
    checked(bind(listener, (struct sockaddr *)&address, size), "bind");
    checked(listen(listener, 1), "listen");
    checked(getsockname(listener, (struct sockaddr *)&address, &size), "getsockname");
    if (checked(fork(), "fork") == 0) {
        char byte;
        close(3);
        while (read(0, &byte, 1) > 0) continue;
        _exit(0);
    }
    close(listener);
    return address;
}

int main(void) {
    static const char bytes[1 << 16];
    struct sockaddr_in address = listen_in_child();
    struct linger linger = { .l_onoff = 1, .l_linger = 60 };
    int slow = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
    checked(connect(slow, (struct sockaddr *)&address, sizeof address), "connect");
    checked(setsockopt(slow, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), "SO_LINGER");
    while (send(slow, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
    checked(gr_disposal_begin(), "gr_disposal_begin");
    gr_disposal_mark(slow, GR_DISPOSAL_SLOW);
    raise(SIGKILL);
    return 1;
}
