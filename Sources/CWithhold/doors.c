/// The other ways to a display or to a message bus, each of which ends a prewarm.

#include "withhold.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static bool is_wayland(const char *path) {
    const char *name = strrchr(path, '/');
    return !strncmp(name ? name + 1 : path, "wayland-", sizeof "wayland-" - 1);
}

static bool is_x_server(const char *path) {
    return !strncmp(path, "/tmp/.X11-unix/X", sizeof "/tmp/.X11-unix/X" - 1);
}

static bool is_port_of_x_server(in_port_t port) {
    return ntohs(port) >= 6000 && ntohs(port) < 6064;
}

/// Whether the call comes from libxcb, whose requests are looked at.
static bool is_xcb(const void *caller) {
    Dl_info object;
    if (!dladdr(caller, &object) || !object.dli_fname) return false;
    const char *name = strrchr(object.dli_fname, '/');
    return !strncmp(name ? name + 1 : object.dli_fname, "libxcb.so.", sizeof "libxcb.so." - 1);
}

/// Nothing was sent to that address yet.
static void check_address(const struct sockaddr *address, socklen_t size, const void *caller) {
    char path[sizeof(struct sockaddr_un)] = {0};
    bool is_x = false;
    if (!address || size < sizeof address->sa_family) return;
    switch (address->sa_family) {
    case AF_UNIX: {
        const char *given = ((const struct sockaddr_un *)(const void *)address)->sun_path;
        size_t start = offsetof(struct sockaddr_un, sun_path);
        if (size <= start) return;
        size_t length = size - start;
        if (length > sizeof path - 1) length = sizeof path - 1;
        // An abstract name begins with a NUL.
        if (*given == 0) given++, length--;
        memcpy(path, given, length);
        if (is_wayland(path)) withhold_fail(WITHHOLD_OTHER_DISPLAY);
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
    if (is_x && !is_xcb(caller)) withhold_fail(WITHHOLD_OTHER_DISPLAY);
}

/// Messages to a bus are sent with send(2) and sendmsg(2) by libdbus, GLib, sd-bus and what is built
/// on them. Whoever owns a name is found by others, who then wait for a window that is not shown; and
/// a program that finds its name taken tells its owner to come forward. So it ends before it asks.
static void check_bytes(const void *bytes, size_t size) {
    static const char call[] = "RequestName";
    if (bytes && memmem(bytes, size, call, sizeof call - 1)) withhold_fail(WITHHOLD_OWNS_NAME);
}

#define REAL(name) static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))function_of_libc(#name)

EXPORT int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    REAL(connect);
    int result = real(descriptor, address, size);
    int error = errno;
    // GTK looks for a Wayland compositor first, and uses an X server if there is none.
    if ((result == 0 || error == EINPROGRESS) && withhold_is_on())
        check_address(address, size, __builtin_return_address(0));
    errno = error;
    return result;
}

EXPORT ssize_t send(int descriptor, const void *bytes, size_t size, int flags) {
    REAL(send);
    if (withhold_is_on()) check_bytes(bytes, size);
    return real(descriptor, bytes, size, flags);
}

EXPORT ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    REAL(sendmsg);
    if (message && withhold_is_on())
        for (size_t i = 0; i < message->msg_iovlen; i++)
            check_bytes(message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    return real(descriptor, message, flags);
}

/// Programs that open libX11 or libxcb themselves look for their functions by name. The tail call
/// leaves the caller's address in place, by which RTLD_NEXT finds its way.
EXPORT void *dlsym(void *restrict object, const char *restrict name) {
    static void *(*real)(void *, const char *);
    if (!real) real = (void *(*)(void *, const char *))function_of_libc("dlsym");
    if (object != RTLD_NEXT && withhold_is_on()) {
        void *own = withholding_function(name);
        if (own) return own;
    }
    __attribute__((musttail)) return real(object, name);
}
