#define _GNU_SOURCE
#include "CGreenroomLinux.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
    char bytes[CMSG_SPACE(sizeof(int) * GR_MESSAGE_DESCRIPTORS_MAX)
               + CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr aligned;
};

long gr_send(int fd, const void *bytes, size_t count, const int *fds, int fd_count) {
    if (fd_count < 0 || fd_count > GR_MESSAGE_DESCRIPTORS_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (fd_count == 0) return send(fd, bytes, count, MSG_NOSIGNAL);
    struct iovec vector = { .iov_base = (void *)bytes, .iov_len = count };
    union control control;
    size_t length = sizeof(int) * (size_t)fd_count;
    memset(&control, 0, CMSG_SPACE(length));
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = CMSG_SPACE(length),
    };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(length);
    memcpy(CMSG_DATA(rights), fds, length);
    return sendmsg(fd, &header, MSG_NOSIGNAL);
}

long gr_receive(int fd, void *bytes, size_t count, struct gr_message *message) {
    struct iovec vector = { .iov_base = bytes, .iov_len = count };
    union control control;
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof control,
    };
    message->fd_count = 0;
    message->has_credentials = false;
    message->byte_count = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
    if (message->byte_count < 0) return -1;
    message->data_truncated = (header.msg_flags & MSG_TRUNC) != 0;
    message->control_truncated = (header.msg_flags & MSG_CTRUNC) != 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
        if (c->cmsg_level != SOL_SOCKET) continue;
        if (c->cmsg_type == SCM_RIGHTS) {
            size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            memcpy(message->fds + message->fd_count, CMSG_DATA(c), n * sizeof(int));
            message->fd_count += (int)n;
        } else if (c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred peer;
            memcpy(&peer, CMSG_DATA(c), sizeof peer);
            message->has_credentials = true;
            message->pid = peer.pid;
            message->uid = peer.uid;
            message->gid = peer.gid;
        }
    }
    return message->byte_count;
}

long gr_peek(int fd, void *bytes, size_t count, bool *has_descriptors) {
    struct iovec vector = { .iov_base = bytes, .iov_len = count };
    /* There is room only for the bytes. */
    struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };
    long length = recvmsg(fd, &header, MSG_PEEK);
    *has_descriptors = length >= 0 && (header.msg_flags & MSG_CTRUNC) != 0;
    return length;
}

/* A queue longer than PEEKED_PARTS times this (8 MiB) is not examined. */
#define PEEKED_BYTES 8192
#define PEEKED_PARTS 1024

enum gr_queue gr_look_at_queue(int fd) {
    /* This comes first, because after the end nothing is added. */
    struct pollfd end = { .fd = fd, .events = POLLRDHUP };
    bool is_over = poll(&end, 1, 0) > 0;
    int waiting = 0;
    if (ioctl(fd, SIOCINQ, &waiting) < 0) return GR_QUEUE_PERHAPS_DESCRIPTORS;
    if (waiting > 0) {
        /* All parts use the same bytes, because nobody reads them. */
        char bytes[PEEKED_BYTES];
        struct iovec parts[PEEKED_PARTS];
        for (int i = 0; i < PEEKED_PARTS; i++)
            parts[i] = (struct iovec){ .iov_base = bytes, .iov_len = sizeof bytes };
        struct msghdr header = { .msg_iov = parts, .msg_iovlen = PEEKED_PARTS };
        long seen = recvmsg(fd, &header, MSG_PEEK | MSG_DONTWAIT);
        /* A peek stops after descriptors and before urgent data (MSG_OOB). */
        if (seen < waiting || (header.msg_flags & MSG_CTRUNC)) return GR_QUEUE_PERHAPS_DESCRIPTORS;
    }
    return is_over ? GR_QUEUE_LAST_BYTES : GR_QUEUE_BYTES;
}
