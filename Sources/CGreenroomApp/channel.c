#define _GNU_SOURCE 1
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int channel_find(void) {
    const char *text = getenv("GREENROOM_CHANNEL");
    if (!text) return -1;
    char *end;
    long number = strtol(text, &end, 10);
    unsigned long long inode = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
    bool is_number = end != text && number >= 0 && number < 1 << 20;
    unsetenv("GREENROOM_CHANNEL");
    struct stat status;
    /* If the descriptor now is another file, it is not the channel. */
    if (!is_number || fstat((int)number, &status) != 0 || status.st_ino != inode) return -1;
    return fcntl((int)number, F_SETFD, FD_CLOEXEC) == 0 ? (int)number : -1;
}

void message_release(struct message *message) {
    while (message->descriptor_count > 0) close(message->descriptors[--message->descriptor_count]);
    free(message->strings);
    message->strings = NULL;
}

const char *message_word(const struct message *message, size_t n) {
    const char *word = n < message->header.argc ? message->strings[n] : NULL;
    return word && *word ? word : NULL;
}

/* --- The outbox: messages for which the socket has no room yet, in order. Without it, an app that sends many
 * messages at once could lose an acknowledgement. A process has one channel. */

enum { DRAIN_MILLISECONDS = 5000 };
struct packet {
    struct packet *next;
    size_t size;
    char bytes[];
};
static struct packet *outbox_first, **outbox_end = &outbox_first;
static size_t outbox_count;
static int watch = -1;

/* Returns false if the socket has no room now. A datagram that can never be sent counts as sent. */
static bool try_send(int channel, const struct msghdr *packet) {
    ssize_t sent;
    do sent = sendmsg(channel, packet, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS);
}

static void watch_room(int channel, bool is_watched) {
    struct epoll_event event = {.events = EPOLLIN | (is_watched ? EPOLLOUT : 0)};
    if (watch >= 0) (void)epoll_ctl(watch, EPOLL_CTL_MOD, channel, &event);
}

static void keep(const struct iovec *parts, int channel) {
    size_t size = parts[0].iov_len + parts[1].iov_len;
    struct packet *packet = malloc(sizeof *packet + size);
    if (!packet) return;
    packet->next = NULL;
    packet->size = size;
    memcpy(packet->bytes, parts[0].iov_base, parts[0].iov_len);
    if (parts[1].iov_len) memcpy(packet->bytes + parts[0].iov_len, parts[1].iov_base, parts[1].iov_len);
    *outbox_end = packet;
    outbox_end = &packet->next;
    if (outbox_count++ == 0) watch_room(channel, true);
}

void channel_flush(int channel) {
    if (!outbox_first) return;
    while (outbox_first) {
        struct packet *packet = outbox_first;
        struct iovec part = {packet->bytes, packet->size};
        if (!try_send(channel, &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1})) return;
        outbox_first = packet->next;
        outbox_count--;
        free(packet);
    }
    outbox_end = &outbox_first;
    watch_room(channel, false);
}

void channel_drain(int channel) {
    channel_flush(channel);
    struct pollfd entry = {.fd = channel, .events = POLLOUT};
    while (outbox_first && poll(&entry, 1, DRAIN_MILLISECONDS) > 0 && (entry.revents & POLLOUT)) channel_flush(channel);
}

int channel_watch(int channel) {
    struct epoll_event event = {.events = EPOLLIN | (outbox_first ? EPOLLOUT : 0)};
    watch = epoll_create1(EPOLL_CLOEXEC);
    if (watch >= 0) (void)epoll_ctl(watch, EPOLL_CTL_ADD, channel, &event);
    return watch;
}

void channel_send(int channel, uint16_t type, int32_t status, uint64_t cookie, uint32_t threads, const char *word) {
    if (channel < 0) return;
    struct gr_header header = {
        .magic = GR_WIRE_MAGIC, .version = GR_WIRE_VERSION, .type = type, .argc = word != NULL,
        .string_byte_count = word ? (uint32_t)strlen(word) + 1 : 0, .status = status, .cookie = cookie,
        .threads = threads,
    };
    struct iovec parts[] = {{&header, sizeof header}, {(void *)(uintptr_t)word, header.string_byte_count}};
    struct msghdr packet = {.msg_iov = parts, .msg_iovlen = word ? 2 : 1};
    if (!outbox_first && try_send(channel, &packet)) return;
    bool may_be_lost = type != MESSAGE_ACKNOWLEDGED && type != GR_PONG && type != GR_ERROR;
    if (may_be_lost && outbox_count >= OUTBOX_LIMIT) return;
    keep(parts, channel);
}

char *channel_packet(
    struct gr_header header, const char *const *strings, size_t count, size_t words, size_t *size
) {
    size_t string_size = 0;
    for (size_t i = 0; i < count; i++) string_size += strlen(strings[i]) + 1;
    char *bytes = string_size > GR_WIRE_INLINE_STRING_LIMIT ? NULL : malloc(sizeof header + string_size);
    if (!bytes) return NULL;
    header.magic = GR_WIRE_MAGIC;
    header.version = GR_WIRE_VERSION;
    header.argc = (uint32_t)words;
    header.envc = (uint32_t)(count - words);
    header.string_byte_count = (uint32_t)string_size;
    memcpy(bytes, &header, sizeof header);
    char *end = bytes + sizeof header;
    for (size_t i = 0; i < count; i++) end = stpcpy(end, strings[i]) + 1;
    *size = sizeof header + string_size;
    return bytes;
}

void channel_send_packet(int channel, const char *bytes, size_t size) {
    if (channel < 0) return;
    struct iovec parts[] = {{(void *)(uintptr_t)bytes, size}, {NULL, 0}};
    if (!outbox_first && try_send(channel, &(struct msghdr){.msg_iov = parts, .msg_iovlen = 1})) return;
    keep(parts, channel);
}

void channel_send_strings(
    int channel, struct gr_header header, const char *const *strings, size_t count, size_t words
) {
    size_t size;
    char *bytes = channel < 0 ? NULL : channel_packet(header, strings, count, words, &size);
    if (bytes) channel_send_packet(channel, bytes, size);
    free(bytes);
}

static void take_descriptors(struct msghdr *packet, struct message *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(packet); part; part = CMSG_NXTHDR(packet, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            if (message->descriptor_count < GR_WIRE_DESCRIPTOR_LIMIT)
                message->descriptors[message->descriptor_count++] = descriptor;
            else close(descriptor);
        }
    }
}

/* Makes a vector of the strings, followed by their bytes. NULL with errno if they do not match the header. */
static char **lay_out(const char *bytes, size_t size, size_t count) {
    size_t terminators = 0;
    for (size_t i = 0; i < size; i++) terminators += bytes[i] == 0;
    if (terminators != count || (size > 0 && bytes[size - 1] != 0)) return errno = EPROTO, NULL;
    char **vector = malloc((count + 1) * sizeof *vector + size);
    if (!vector) return NULL;
    char *copy = (char *)(vector + count + 1);
    if (size > 0) memcpy(copy, bytes, size);
    for (size_t i = 0; i < count; i++) {
        vector[i] = copy;
        copy += strlen(copy) + 1;
    }
    vector[count] = NULL;
    return vector;
}

static bool is_known(uint16_t type) {
    return type == GR_GO || type == GR_PING || type == GR_QUIT
        || (type >= MESSAGE_LAUNCH && type <= MESSAGE_HANDLE_EVENTS) || type == MESSAGE_RESTORE_STATE
        || (type >= MESSAGE_BACKGROUND_TIME && type <= MESSAGE_EXPIRE_TASK);
}

/* Whether a field is content, and not one of the other fields of a launch or a connection. */
static bool is_content(const char *entry) {
    static const char *const others[] = {
        "requested=", "version=", "state-directory=", "cache-directory=", "temporary-directory=", "restored=",
        "restored.",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(entry, others[i], strlen(others[i])) == 0) return false;
    return true;
}

/* Moves the fields of the content to the front, in order. Returns how many there are. */
static size_t content_first(char **fields, size_t count) {
    size_t contents = 0;
    for (size_t i = 0; i < count; i++) {
        char *entry = fields[i];
        if (!is_content(entry)) continue;
        memmove(fields + contents + 1, fields + contents, (i - contents) * sizeof *fields);
        fields[contents++] = entry;
    }
    return contents;
}

/* Reads the strings of a launch from the last descriptor, where they are if a datagram is too small. */
static int take_long_strings(struct message *message) {
    uint32_t size = message->header.string_byte_count;
    size_t last = message->descriptor_count - 1;
    if (message->descriptor_count == 0 || message->header.roles[last] != GR_ROLE_STRINGS
        || size > GR_WIRE_STRING_LIMIT)
        return EPROTO;
    char *bytes = malloc(size ? size : 1);
    if (!bytes) return ENOMEM;
    ssize_t got = pread(message->descriptors[last], bytes, size, 0);
    close(message->descriptors[last]);
    message->descriptor_count--;
    message->strings = got == (ssize_t)size
        ? lay_out(bytes, size, (size_t)message->header.argc + message->header.envc) : (errno = EPROTO, NULL);
    int code = message->strings ? 0 : errno;
    free(bytes);
    return code;
}

static int decode(const char *bytes, size_t size, struct message *message) {
    if (size < sizeof message->header) return EPROTO;
    memcpy(&message->header, bytes, sizeof message->header);
    const struct gr_header *header = &message->header;
    if (header->magic != GR_WIRE_MAGIC || header->version != GR_WIRE_VERSION
        || header->descriptor_count != message->descriptor_count)
        return EPROTO;
    if (!is_known(header->type)) return ENOSYS;
    if (header->type == GR_GO && (header->flags & GR_STRINGS_IN_DESCRIPTOR)) return take_long_strings(message);
    if (size - sizeof *header != header->string_byte_count) return EPROTO;
    message->strings =
        lay_out(bytes + sizeof *header, header->string_byte_count, (size_t)header->argc + header->envc);
    if (!message->strings) return errno;
    bool has_content = header->type == MESSAGE_LAUNCH || header->type == MESSAGE_CONNECT_SCENE;
    message->content_count =
        has_content ? content_first(message->strings + header->argc, header->envc) : header->envc;
    bool needs_word = header->type == MESSAGE_CONNECT_SCENE || header->type == MESSAGE_SCENE
        || header->type == MESSAGE_RUN_TASK;
    return needs_word && !message_word(message, 0) ? EPROTO : 0;
}

enum reception channel_receive(int channel, struct message *message, bool wait) {
    static char buffer[sizeof(struct gr_header) + GR_WIRE_INLINE_STRING_LIMIT];
    char control[CMSG_SPACE(sizeof(int) * GR_WIRE_DESCRIPTOR_LIMIT)] __attribute__((aligned(16)));
    for (;;) {
        struct iovec part = {buffer, sizeof buffer};
        struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
            .msg_controllen = sizeof control};
        ssize_t size = recvmsg(channel, &packet, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return NOTHING;
        if (size <= 0) return ENDED;
        *message = (struct message){0};
        take_descriptors(&packet, message);
        int code = packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? EPROTO : decode(buffer, (size_t)size, message);
        if (code == 0) return RECEIVED;
        message_release(message);
        channel_send(channel, GR_ERROR, code, (size_t)size >= sizeof message->header ? message->header.cookie : 0, 0, NULL);
    }
}
