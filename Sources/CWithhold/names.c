/// The names on the session's message bus that the program is about to own.
///
/// Other programs find the owner of a name, call it, and wait for a window that is not shown. So
/// the name must be watched before the program owns it. The daemon starts greenroom-bus for that,
/// and the thread that asks for the name waits until the daemon says that the name is watched.

#include "names.h"

#include "../CPrewarm/channel.h"
#include "../CPrewarm/system.h"
#include "withhold.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/// How many bytes of a message are inspected: more than any call that asks for a name has.
#define LOOK_SIZE 1024
/// A name has at most this many bytes (D-Bus Specification, "Valid Names").
#define NAME_LIMIT 255
/// Where the parts of a message's header are (D-Bus Specification, "Message Format").
#define METHOD_CALL 1
#define HEADER_SIZE 16
#define FIELDS_SIZE_OFFSET 12

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_closed;

// MARK: The bus

static bool is_path(const struct sockaddr_un *peer, size_t length, const char *path, size_t size,
                    bool is_abstract) {
    const char *own = peer->sun_path;
    if (is_abstract != (length > 0 && *own == 0)) return false;
    if (is_abstract) return length - 1 == size && !memcmp(own + 1, path, size);
    return strnlen(own, length) == size && !memcmp(own, path, size);
}

/// Whether the socket leads to the session's bus, the only one that is watched. An address in a
/// form that no bus in use has counts as another bus.
static bool is_session_bus(int descriptor) {
    struct sockaddr_un peer = {0};
    socklen_t size = sizeof peer;
    if (getpeername(descriptor, (struct sockaddr *)&peer, &size) != 0 || peer.sun_family != AF_UNIX
        || size <= offsetof(struct sockaddr_un, sun_path))
        return false;
    size_t length = size - offsetof(struct sockaddr_un, sun_path);
    const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
    if (address && *address) {
        static const char by_path[] = "unix:path=", by_name[] = "unix:abstract=";
        bool is_abstract = !strncmp(address, by_name, sizeof by_name - 1);
        if (!is_abstract && strncmp(address, by_path, sizeof by_path - 1)) return false;
        address += is_abstract ? sizeof by_name - 1 : sizeof by_path - 1;
        return is_path(&peer, length, address, strcspn(address, ",;"), is_abstract);
    }
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (!folder) return false;
    size_t start = strlen(folder);
    return strnlen(peer.sun_path, length) == start + sizeof "/bus" - 1
        && !memcmp(peer.sun_path, folder, start)
        && !memcmp(peer.sun_path + start, "/bus", sizeof "/bus" - 1);
}

// MARK: Messages

static bool contains(const char *bytes, size_t size, const char *text, size_t length) {
    return memmem(bytes, size, text, length) != NULL;
}
#define CONTAINS(text) contains(bytes, size, text, sizeof(text) - 1)

static uint32_t word_at(const char *bytes, size_t offset) {
    uint32_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static bool is_call(const char *bytes, size_t size) {
    return size >= HEADER_SIZE && bytes[0] == 'l' && bytes[1] == METHOD_CALL;
}

/// The name that the call asks for: the first value of its body, which is a string. Null if the
/// bytes are not a whole call.
static const char *name_in(const char *bytes, size_t size) {
    if (!is_call(bytes, size)) return NULL;
    size_t body = ((size_t)word_at(bytes, FIELDS_SIZE_OFFSET) + HEADER_SIZE + 7) & ~(size_t)7;
    if (body > size || size - body < sizeof(uint32_t)) return NULL;
    size_t length = word_at(bytes, body), start = body + sizeof(uint32_t);
    if (length == 0 || length > NAME_LIMIT || size - start <= length) return NULL;
    return strnlen(bytes + start, length + 1) == length ? bytes + start : NULL;
}

static void ask(const char *name) {
    struct {
        struct gr_header header;
        char name[NAME_LIMIT + 1];
    } request = {.header = {.magic = GR_WIRE_MAGIC, .version = GR_WIRE_VERSION,
                            .type = GR_WANTS_NAME, .argc = 1}};
    size_t size = strlen(name) + 1;
    request.header.string_byte_count = (uint32_t)size;
    memcpy(request.name, name, size);
    size += sizeof request.header;
    long sent;
    do sent = sys_send(channel_number(), &request, size, MSG_NOSIGNAL);
    while (sent == -EINTR);
    if (sent != (long)size) withhold_fail(WITHHOLD_OWNS_NAME);
    struct incoming answer;
    char none[1];
    // The daemon ends the process if the name cannot be watched.
    channel_receive(&answer, none, sizeof none);
    if (answer.header.type != GR_NAME_IS_WATCHED) withhold_fail(WITHHOLD_OWNS_NAME);
}

/// Whether the message tells the owner of a name to come forward, as a second process of the same
/// program does. The interfaces for that are GApplication's, the Desktop Entry Specification's and
/// KDBusService's. In a message, the name of an interface is a string with its length before it.
static bool calls_owner(const char *bytes, size_t size) {
    return is_call(bytes, size)
        && (CONTAINS("\x13\0\0\0org.gtk.Application\0")
            || CONTAINS("\x1b\0\0\0org.freedesktop.Application\0")
            || CONTAINS("\x14\0\0\0org.kde.KDBusService\0"));
}

void names_check(int descriptor, const struct iovec *parts, size_t count) {
    char bytes[LOOK_SIZE];
    size_t size = 0;
    for (size_t i = 0; i < count && size < sizeof bytes; i++) {
        size_t length = parts[i].iov_len;
        if (!parts[i].iov_base) continue;
        if (length > sizeof bytes - size) length = sizeof bytes - size;
        memcpy(bytes + size, parts[i].iov_base, length);
        size += length;
    }
    if (calls_owner(bytes, size)) withhold_fail(WITHHOLD_NAME_TAKEN);
    if (!CONTAINS("RequestName")) return;
    const char *name = name_in(bytes, size);
    if (!name || !is_session_bus(descriptor)) withhold_fail(WITHHOLD_OWNS_NAME);
    pthread_mutex_lock(&mutex);
    if (is_closed) withhold_fail(WITHHOLD_OWNS_NAME);
    ask(name);
    pthread_mutex_unlock(&mutex);
}

bool names_close(void) {
    if (pthread_mutex_trylock(&mutex) != 0) return false;
    is_closed = true;
    pthread_mutex_unlock(&mutex);
    return true;
}
