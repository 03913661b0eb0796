/// Waits for the end of its stdin, says READY=1 (sd_notify(3)), writes `said`, and waits for a
/// signal.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(void) {
    char byte;
    while (read(0, &byte, 1) > 0) continue;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path) return 1;
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int number = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (number < 0) return 1;
    sendto(number, "READY=1", 7, 0, (struct sockaddr *)&address, sizeof address);
    dprintf(1, "said\n");
    for (;;) pause();
}
