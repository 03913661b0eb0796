/// Which compositor a Wayland client talks to: asked by a connection of this library's own, because another
/// thread of the program may be waiting for what comes on the program's.

#include "../CPrewarm/system.h"
#include "withhold.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/// Messages of wayland.xml, and the numbers that this client gives to its objects.
enum { DISPLAY = 1, REGISTRY = 2, CALLBACK = 3 };
enum { SYNC = 0, GET_REGISTRY = 1, GLOBAL = 0 };
#define HEADER_SIZE 8
#define MESSAGE_LIMIT 4096
#define PATIENCE_SECONDS 5

static bool receive(int socket, void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t count = recv(socket, (char *)bytes + done, size - done, 0);
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}

/// Whether the compositor has the interface; also true if it does not say.
static bool has_interface(int socket, const char *name) {
    uint32_t requests[] = {DISPLAY, (HEADER_SIZE + 4) << 16 | GET_REGISTRY, REGISTRY,
                           DISPLAY, (HEADER_SIZE + 4) << 16 | SYNC, CALLBACK};
    uint32_t header[2], words[MESSAGE_LIMIT / 4];
    size_t length = strlen(name) + 1;
    if (sys_send(socket, requests, sizeof requests, MSG_NOSIGNAL) != sizeof requests) return true;
    for (;;) {
        if (!receive(socket, header, sizeof header)) return true;
        size_t size = header[1] >> 16;
        if (size < HEADER_SIZE || size - HEADER_SIZE > sizeof words) return true;
        size -= HEADER_SIZE;
        if (!receive(socket, words, size)) return true;
        if (header[0] == CALLBACK) return false;
        // The number of the interface, the length of its name, and the name.
        if (header[0] == REGISTRY && (header[1] & 0xffff) == GLOBAL && size >= 8 + length
            && words[1] == length && !memcmp(words + 2, name, length))
            return true;
    }
}

/// Mutter, the only compositor with this interface, manages a window from before its first commit with a buffer.
/// When another window is closed, it gives the focus to that window, which nobody sees.
bool compositor_focuses_hidden(int display) {
    static int (*join)(int, const struct sockaddr *, socklen_t);
    struct sockaddr_un address;
    socklen_t size = sizeof address;
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    if (!join) join = (__typeof__(join))function_of_libc("connect");
    if (getpeername(display, (struct sockaddr *)&address, &size) != 0) return true;
    int own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (own < 0) return true;
    setsockopt(own, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool does = join(own, (struct sockaddr *)&address, size) != 0 || has_interface(own, "gtk_shell1");
    close(own);
    return does;
}
