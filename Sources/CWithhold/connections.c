/// The program's connections to displays.

#include "connections.h"

#include "withhold.h"

#include <dirent.h>
#include <dlfcn.h>
#include <linux/limits.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_compositor(const char *path) {
    const char *name = last_part(path), *wanted = getenv("WAYLAND_DISPLAY");
    return !strncmp(name, "wayland-", sizeof "wayland-" - 1)
        || (wanted && *wanted && !strcmp(name, last_part(wanted)));
}

static bool is_x_server(const char *path) {
    return !strncmp(path, "/tmp/.X11-unix/X", sizeof "/tmp/.X11-unix/X" - 1);
}

static bool is_port_of_x_server(in_port_t port) {
    return ntohs(port) >= 6000 && ntohs(port) < 6064;
}

enum display { NO_DISPLAY, X_SERVER, COMPOSITOR };

static enum display display_at(const struct sockaddr *address, socklen_t size) {
    char path[sizeof(struct sockaddr_un)] = {0};
    bool is_x = false;
    if (!address || size < sizeof address->sa_family) return NO_DISPLAY;
    switch (address->sa_family) {
    case AF_UNIX: {
        const char *given = ((const struct sockaddr_un *)(const void *)address)->sun_path;
        size_t start = offsetof(struct sockaddr_un, sun_path);
        if (size <= start) return NO_DISPLAY;
        size_t length = size - start;
        if (length > sizeof path - 1) length = sizeof path - 1;
        // An abstract name begins with a NUL.
        if (*given == 0) given++, length--;
        memcpy(path, given, length);
        if (is_compositor(path)) return COMPOSITOR;
        is_x = is_x_server(path);
        break;
    }
    case AF_INET:
        if (size >= sizeof(struct sockaddr_in))
            is_x = is_port_of_x_server(((const struct sockaddr_in *)(const void *)address)->sin_port);
        break;
    case AF_INET6:
        if (size >= sizeof(struct sockaddr_in6))
            is_x =
                is_port_of_x_server(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
        break;
    }
    return is_x ? X_SERVER : NO_DISPLAY;
}

/// Whether the call comes from the library whose requests to that display are inspected.
static bool is_looked_at(enum display display, const void *caller) {
    const char *library = display == X_SERVER ? "libxcb.so." : "libwayland-client.so.";
    Dl_info object;
    if (!dladdr(caller, &object) || !object.dli_fname) return false;
    return !strncmp(last_part(object.dli_fname), library, strlen(library));
}

/// At most this many connections to displays, each known by the inode of its socket. A program with
/// more is not held.
#define CONNECTION_LIMIT 16
static _Atomic ino_t connections[CONNECTION_LIMIT];
static atomic_uint connection_count;

static ino_t socket_number(int descriptor) {
    struct stat facts;
    return fstat(descriptor, &facts) == 0 && S_ISSOCK(facts.st_mode) ? facts.st_ino : 0;
}

/// The path of the file that a process executes, without the kernel's mark for a deleted file: an
/// upgrade deletes the old one.
static bool executes(const char *process, char *program, size_t size) {
    static const char mark[] = " (deleted)";
    ssize_t length = readlink(process, program, size);
    if (length <= 0 || (size_t)length >= size) return false;
    program[length] = 0;
    char *end = program + length - (sizeof mark - 1);
    if (end > program && !strcmp(end, mark)) *end = 0;
    return true;
}

/// Whether another process that executes the same file made the other end.
static bool leads_to_same_program(int descriptor) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    char process[sizeof "/proc//exe" + 3 * sizeof peer.pid], own[PATH_MAX], other[PATH_MAX];
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0
        || peer.pid == getpid())
        return false;
    snprintf(process, sizeof process, "/proc/%d/exe", peer.pid);
    return executes("/proc/self/exe", own, sizeof own) && executes(process, other, sizeof other)
        && !strcmp(own, other);
}

/// The bridge of GTK to screen readers (at-spi2-atk) listens in a folder of its own when a screen
/// reader runs. It goes on without the socket, and screen readers reach the program by their bus.
static bool is_of_bridge(const char *path) {
    static const char folder[] = "/at-spi2-";
    const char *slash = strrchr(path, '/');
    while (slash && slash > path && *--slash != '/') {}
    return slash && !strncmp(slash, folder, sizeof folder - 1);
}

bool connections_may_listen(int descriptor) {
    // A path may fill its field, without a NUL.
    struct {
        struct sockaddr_un address;
        char end;
    } bytes = {.address.sun_family = AF_UNSPEC};
    socklen_t size = sizeof bytes.address;
    if (getsockname(descriptor, (struct sockaddr *)&bytes.address, &size) != 0) return true;
    // Nobody finds a socket of this family that has no name.
    if (bytes.address.sun_family == AF_UNIX && size <= offsetof(struct sockaddr_un, sun_path))
        return true;
    if (bytes.address.sun_family == AF_UNIX && is_of_bridge(bytes.address.sun_path)) return false;
    withhold_fail(WITHHOLD_OWNS_NAME);
}

void connections_note(int descriptor, const struct sockaddr *address, socklen_t size,
                      const void *caller) {
    enum display display = display_at(address, size);
    if (display == NO_DISPLAY) {
        if (address && size >= sizeof address->sa_family && address->sa_family == AF_UNIX
            && leads_to_same_program(descriptor))
            withhold_fail(WITHHOLD_NAME_TAKEN);
        return;
    }
    unsigned place = atomic_fetch_add(&connection_count, 1);
    if (place >= CONNECTION_LIMIT || !is_looked_at(display, caller))
        withhold_fail(WITHHOLD_OTHER_DISPLAY);
    atomic_store(&connections[place], socket_number(descriptor));
}

static bool is_known(int descriptor) {
    ino_t number = socket_number(descriptor);
    for (size_t i = 0; i < CONNECTION_LIMIT; i++)
        if (atomic_load(&connections[i]) == number) return true;
    return number == 0;
}

void connections_check(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        int descriptor = atoi(entry->d_name);
        struct sockaddr_storage bytes;
        socklen_t size = sizeof bytes;
        memset(&bytes, 0, sizeof bytes);
        if (entry->d_name[0] == '.' || is_known(descriptor)) continue;
        if (getpeername(descriptor, (struct sockaddr *)&bytes, &size) == 0
            && display_at((struct sockaddr *)&bytes, size) != NO_DISPLAY)
            withhold_fail(WITHHOLD_OTHER_DISPLAY);
    }
    closedir(folder);
}
