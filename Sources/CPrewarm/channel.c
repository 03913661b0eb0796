#include "channel.h"

#include "system.h"
#include "text.h"

static int channel = -1;
static uint64_t channel_inode;

/// Whether the descriptor still is the channel. A constructor may have closed every descriptor, and
/// the number may now belong to another file, so each use asks first.
static bool is_ours(void) {
    struct stat status = {0};
    return channel >= 0 && sys_fstat(channel, &status) == 0 && S_ISSOCK(status.st_mode)
        && status.st_ino == channel_inode;
}

bool channel_open(int descriptor, uint64_t inode) {
    channel = descriptor;
    channel_inode = inode;
    if (is_ours() && sys_fcntl(channel, F_SETFD, FD_CLOEXEC) == 0) return true;
    channel = -1;
    return false;
}

int channel_number(void) {
    return channel;
}

static void take_descriptors(struct msghdr *message, struct incoming *incoming) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        const int *received = (const int *)(const void *)CMSG_DATA(part);
        for (size_t i = 0; i < count && incoming->descriptor_count < GR_WIRE_DESCRIPTOR_LIMIT; i++)
            incoming->descriptors[incoming->descriptor_count++] = received[i];
    }
}

void channel_receive(struct incoming *incoming, char *strings, size_t capacity) {
    char control[CMSG_SPACE(sizeof incoming->descriptors)]
        __attribute__((aligned(_Alignof(struct cmsghdr))));
    struct iovec parts[2] = {
        {.iov_base = &incoming->header, .iov_len = sizeof incoming->header},
        {.iov_base = strings, .iov_len = capacity},
    };
    struct msghdr message;
    long size;
    do {
        message = (struct msghdr){.msg_iov = parts,
                                  .msg_iovlen = 2,
                                  .msg_control = control,
                                  .msg_controllen = sizeof control};
        if (!is_ours()) sys_exit(0);
        size = sys_recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    } while (size == -EINTR);
    if (size <= 0) sys_exit(0);

    size_t received = (size_t)size;
    size_t header = sizeof incoming->header;
    incoming->descriptor_count = 0;
    take_descriptors(&message, incoming);
    incoming->complete = !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && received >= header;
    incoming->string_byte_count = incoming->complete ? received - header : 0;
    if (received < header)
        memset((char *)&incoming->header + received, 0, header - received);
}

void channel_send(enum gr_message_type type, struct gr_header message) {
    message.magic = GR_WIRE_MAGIC;
    message.version = GR_WIRE_VERSION;
    message.type = (uint16_t)type;
    long size;
    do {
        if (!is_ours()) sys_exit(0);
        size = sys_send(channel, &message, sizeof message, MSG_NOSIGNAL);
    } while (size == -EINTR);
    // The daemon repeats an unreported launch in another process, so this process must not go on.
    if (size != (long)sizeof message) sys_exit(0);
}

void channel_send_error(int error, uint64_t cookie) {
    channel_send(GR_ERROR, (struct gr_header){.status = error, .cookie = cookie});
}

void channel_close(void) {
    if (is_ours()) sys_close(channel);
    channel = -1;
}

void incoming_close_descriptors(struct incoming *incoming) {
    for (unsigned i = 0; i < incoming->descriptor_count; i++)
        if (incoming->descriptors[i] >= 0) sys_close(incoming->descriptors[i]);
    incoming->descriptor_count = 0;
}
