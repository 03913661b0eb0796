#define _GNU_SOURCE
#include "CApplicationKit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTOR_LIMIT = 28 }; // the wire format's limit

static int channel = -1;
static bool is_prewarmed;

/// Reads GREENROOM_CHANNEL, which is `NUMBER:INODE`. If that descriptor is a file with another
/// inode, it is not the channel.
__attribute__((constructor)) static void find_channel(void) {
    const char *prewarm = getenv("ActivePrewarm");
    is_prewarmed = prewarm && strcmp(prewarm, "1") == 0;
    const char *text = getenv("GREENROOM_CHANNEL");
    if (!text) return;
    char *end;
    long number = strtol(text, &end, 10);
    unsigned long long inode = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
    unsetenv("GREENROOM_CHANNEL");
    struct stat status = {0};
    if (end == text || number < 0 || number > (1 << 20)) return;
    if (fstat((int)number, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
    if (status.st_ino != inode || fcntl((int)number, F_SETFD, FD_CLOEXEC) != 0) return;
    channel = (int)number;
}

int cak_channel(void) {
    return channel;
}

bool cak_is_prewarmed(void) {
    return is_prewarmed;
}

void cak_show_prewarm(bool shows) {
    if (shows) setenv("ActivePrewarm", "1", 1);
    else unsetenv("ActivePrewarm");
}

static bool take_descriptors(struct msghdr *message, int *descriptors, size_t *count) {
    size_t room = *count;
    bool fits = true;
    *count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t received = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < received; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            if (*count < room) {
                descriptors[(*count)++] = descriptor;
            } else {
                close(descriptor);
                fits = false;
            }
        }
    }
    return fits;
}

ssize_t cak_receive(int socket, void *bytes, size_t capacity, int *descriptors, size_t *count,
                    bool wait) {
    char control[CMSG_SPACE(sizeof(int) * DESCRIPTOR_LIMIT)]
        __attribute__((aligned(_Alignof(struct cmsghdr))));
    struct iovec part = {bytes, capacity};
    struct msghdr message;
    ssize_t size;
    do {
        message = (struct msghdr){.msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof control};
        size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        *count = 0;
        return -errno;
    }
    bool is_whole = take_descriptors(&message, descriptors, count)
        && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
    if (is_whole) return size;
    while (*count > 0) close(descriptors[--*count]);
    return -EPROTO;
}

bool cak_wait_writable(int socket, int milliseconds) {
    struct pollfd entry = {.fd = socket, .events = POLLOUT};
    int count;
    do count = poll(&entry, 1, milliseconds);
    while (count < 0 && errno == EINTR);
    return count > 0 && (entry.revents & POLLOUT);
}
