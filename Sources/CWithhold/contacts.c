/// Notes the hosts that the program reaches. A connection may be over before the program is held,
/// so its sockets do not show them all. Attempts that fail count, because they may succeed on
/// another machine.
///
/// Each host is a line of a file in the folder of the session ($XDG_RUNTIME_DIR), which only a
/// measurement makes. Where there is none, nothing is noted. What a program sends by its own system
/// calls is not seen, nor what the C library sends to resolve a name; so names are noted as well.

#include "contacts.h"

#include "../CPrewarm/system.h"
#include "../CPrewarm/text.h"
#include "withhold.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/// The reader shows fewer. Further hosts are not noted.
#define CONTACT_LIMIT 32
/// A host's name has at most 253 characters (RFC 1035).
#define LINE_SIZE 300

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/// The hashes of the lines.
static uint64_t contacts[CONTACT_LIMIT];
static unsigned contact_count;

static void write_line(const char *line, size_t size) {
    const char *folder = getenv("XDG_RUNTIME_DIR");
    char path[PATH_MAX];
    if (!folder || *folder != '/'
        || (size_t)snprintf(path, sizeof path, "%s/greenroom-contacts", folder) >= sizeof path)
        return;
    // Functions of the C library could end the thread here (pthread_cancel(3)).
    int file = sys_open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return;
    struct stat status = {0};
    // What is not noted is not worth an end of the program, as by a pipe that nobody reads.
    if (sys_fstat(file, &status) == 0 && S_ISREG(status.st_mode)) syscall(SYS_write, file, line, size);
    sys_close(file);
}

static void note(const char *line, size_t size) {
    uint64_t hash = text_hash(EMPTY_HASH, line, size);
    pthread_mutex_lock(&mutex);
    bool is_new = contact_count < CONTACT_LIMIT;
    for (unsigned i = 0; i < contact_count; i++) is_new &= contacts[i] != hash;
    if (is_new) contacts[contact_count++] = hash;
    pthread_mutex_unlock(&mutex);
    if (is_new) write_line(line, size);
}

/// Whether the address leads to this machine. The address of all is this machine's, too (ip(7)).
static bool is_own(const struct in6_addr *address) {
    const uint8_t *last = address->s6_addr + 12;
    if (IN6_IS_ADDR_V4MAPPED(address)) return *last == 127 || !(last[0] | last[1] | last[2] | last[3]);
    return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address);
}

static const char *protocol_of(int descriptor) {
    int protocol = 0;
    socklen_t size = sizeof protocol;
    getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &size);
    return protocol == IPPROTO_TCP ? "tcp" : protocol == IPPROTO_UDP ? "udp" : "ip";
}

static void note_address(int descriptor, const struct sockaddr *address, socklen_t size) {
    char text[INET6_ADDRSTRLEN], line[LINE_SIZE];
    if (!address || size < sizeof address->sa_family) return;
    if (address->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in *to = (const struct sockaddr_in *)(const void *)address;
        const uint8_t *bytes = (const uint8_t *)&to->sin_addr;
        if (*bytes == 127 || to->sin_addr.s_addr == INADDR_ANY) return;
        inet_ntop(AF_INET, bytes, text, sizeof text);
        size = (socklen_t)snprintf(line, sizeof line, "%s %s:%d\n", protocol_of(descriptor), text,
                                   ntohs(to->sin_port));
    } else if (address->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
        const struct sockaddr_in6 *to = (const struct sockaddr_in6 *)(const void *)address;
        if (is_own(&to->sin6_addr)) return;
        inet_ntop(AF_INET6, &to->sin6_addr, text, sizeof text);
        size = (socklen_t)snprintf(line, sizeof line, "%s [%s]:%d\n", protocol_of(descriptor), text,
                                   ntohs(to->sin6_port));
    } else return;
    note(line, size);
}

void contacts_note(int descriptor, const struct sockaddr *address, socklen_t size) {
    int error = errno;
    note_address(descriptor, address, size);
    errno = error;
}

/// Whether nobody else is asked for the host: the name is an address, or this machine's.
static bool is_known(const char *name) {
    struct in6_addr address;
    struct utsname own;
    return inet_pton(AF_INET, name, &address) == 1 || strchr(name, ':') || !strcmp(name, "localhost")
        || (uname(&own) == 0 && !strcmp(name, own.nodename));
}

void contacts_note_host(const char *name) {
    char line[LINE_SIZE];
    int error = errno, size = snprintf(line, sizeof line, "name %s\n", name);
    if (size > 0 && (size_t)size < sizeof line && !is_known(name)) note(line, (size_t)size);
    errno = error;
}
