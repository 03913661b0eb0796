/// The other ways to a display or to a message bus, each of which ends a prewarm, and the ways to
/// other hosts.

#include "connections.h"
#include "contacts.h"
#include "names.h"
#include "withhold.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>

static bool contains(const void *bytes, size_t size, const char *text, size_t length) {
    return memmem(bytes, size, text, length) != NULL;
}
#define CONTAINS(text) contains(bytes, size, text, sizeof(text) - 1)

/// libdbus, GLib, sd-bus and what is built on them send messages to a bus with send(2) and
/// sendmsg(2). A program needs no name (names.c) for an icon in a panel or for a notification,
/// which the user would see at once. In a message, the name of the called method is a string with
/// its length before it and a NUL after it.
static void check_bytes(const void *bytes, size_t size) {
    if (!bytes) return;
    if (CONTAINS("\x1a\0\0\0RegisterStatusNotifierItem") || CONTAINS("\xf\0\0\0AddNotification")
        || (CONTAINS("\6\0\0\0Notify\0") && CONTAINS("org.freedesktop.Notifications")))
        withhold_fail(WITHHOLD_IS_NOTICED);
}

#define REAL(name) static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))function_of_libc(#name)

EXPORT int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    REAL(connect);
    if (withhold_is_on()) contacts_note(descriptor, address, size);
    int result = real(descriptor, address, size);
    int error = errno;
    if ((result == 0 || error == EINPROGRESS) && withhold_is_on())
        connections_note(descriptor, address, size, __builtin_return_address(0));
    errno = error;
    return result;
}

EXPORT int listen(int descriptor, int backlog) {
    REAL(listen);
    if (withhold_is_on() && !connections_may_listen(descriptor)) {
        errno = EADDRINUSE;
        return -1;
    }
    return real(descriptor, backlog);
}

EXPORT ssize_t send(int descriptor, const void *bytes, size_t size, int flags) {
    REAL(send);
    if (withhold_is_on()) {
        check_bytes(bytes, size);
        names_check(descriptor, &(struct iovec){(void *)bytes, size}, 1);
    }
    return real(descriptor, bytes, size, flags);
}

EXPORT ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    REAL(sendmsg);
    if (message && withhold_is_on()) {
        for (size_t i = 0; i < message->msg_iovlen; i++)
            check_bytes(message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
        names_check(descriptor, message->msg_iov, message->msg_iovlen);
        contacts_note(descriptor, message->msg_name, message->msg_namelen);
    }
    return real(descriptor, message, flags);
}

EXPORT ssize_t sendto(int descriptor, const void *bytes, size_t size, int flags,
                      const struct sockaddr *address, socklen_t address_size) {
    REAL(sendto);
    if (withhold_is_on()) {
        check_bytes(bytes, size);
        names_check(descriptor, &(struct iovec){(void *)bytes, size}, 1);
        contacts_note(descriptor, address, address_size);
    }
    return real(descriptor, bytes, size, flags, address, address_size);
}

EXPORT int sendmmsg(int descriptor, struct mmsghdr *messages, unsigned count, int flags) {
    REAL(sendmmsg);
    for (unsigned i = 0; messages && i < count && withhold_is_on(); i++)
        contacts_note(descriptor, messages[i].msg_hdr.msg_name, messages[i].msg_hdr.msg_namelen);
    return real(descriptor, messages, count, flags);
}

EXPORT int getaddrinfo(const char *restrict host, const char *restrict service,
                       const struct addrinfo *restrict hints, struct addrinfo **restrict found) {
    REAL(getaddrinfo);
    if (host && withhold_is_on()) contacts_note_host(host);
    return real(host, service, hints, found);
}

/// Programs that open libX11 or libxcb themselves look for their functions by name. The tail call
/// keeps the caller's address, which RTLD_NEXT needs.
EXPORT void *dlsym(void *restrict object, const char *restrict name) {
    static void *(*real)(void *, const char *);
    if (!real) real = (void *(*)(void *, const char *))function_of_libc("dlsym");
    if (object != RTLD_NEXT && withhold_is_on()) {
        void *own = withholding_function(name);
        if (own) return own;
    }
    __attribute__((musttail)) return real(object, name);
}
