#define _GNU_SOURCE
#include "CTestSupport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

int cts_connect_as(const char *path, int user, int group, int extra_group) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0) return -errno;
    // These system calls change only this thread. The C library's functions would change all threads.
    gid_t groups[64], wanted = (gid_t)extra_group;
    int count = getgroups(64, groups);
    int result = 0;
    if (syscall(SYS_setgroups, extra_group >= 0 ? 1 : 0, &wanted) < 0) result = -errno;
    if (result == 0 && syscall(SYS_setresgid, -1, group, -1) < 0) result = -errno;
    if (result == 0 && syscall(SYS_setresuid, -1, user, -1) < 0) result = -errno;
    if (result == 0 && connect(number, (struct sockaddr *)&address, sizeof address) < 0)
        result = -errno;
    syscall(SYS_setresuid, -1, 0, -1);
    syscall(SYS_setresgid, -1, 0, -1);
    syscall(SYS_setgroups, count < 0 ? 0 : count, groups);
    if (result == 0) return number;
    close(number);
    return result;
}

int cts_dial(int type, const char *address, int port) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr *to = (struct sockaddr *)&local;
    socklen_t size = (socklen_t)(sizeof(sa_family_t) + strlen(address) + (*address == '/'));
    if (inet_pton(AF_INET, address, &four.sin_addr) == 1) {
        to = (struct sockaddr *)&four;
        size = sizeof four;
    } else if (inet_pton(AF_INET6, address, &six.sin6_addr) == 1) {
        to = (struct sockaddr *)&six;
        size = sizeof six;
    } else {
        if (strlen(address) >= sizeof local.sun_path) return -ENAMETOOLONG;
        strcpy(local.sun_path, address);
        if (*address == '@') local.sun_path[0] = 0;
    }
    int number = socket(to->sa_family, type | SOCK_CLOEXEC, 0);
    if (number < 0) return -errno;
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    // Without its own name, the socket would get no answer to a datagram.
    int failed = to->sa_family == AF_UNIX && type == SOCK_DGRAM
        && bind(number, (struct sockaddr *)&own, sizeof own.sun_family) < 0;
    if (failed || connect(number, to, size) < 0) {
        int error = errno;
        close(number);
        return -error;
    }
    return number;
}

int cts_timer(int milliseconds) {
    int number = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec value = {
        .it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L}};
    if (number < 0 || timerfd_settime(number, 0, &value, NULL) < 0) return -errno;
    return number;
}

#define DESCRIPTORS_LOOKED_AT 256

int cts_enlarge_sockets(pid_t process, int byte_count) {
    int handle = (int)syscall(SYS_pidfd_open, process, 0);
    if (handle < 0) return -errno;
    int error = 0;
    for (int number = 0; number < DESCRIPTORS_LOOKED_AT && !error; number++) {
        int copy = (int)syscall(SYS_pidfd_getfd, handle, number, 0);
        if (copy < 0) {
            if (errno != EBADF) error = -errno;
            continue;
        }
        // Other errors only say that this descriptor is not a socket.
        if (setsockopt(copy, SOL_SOCKET, SO_SNDBUFFORCE, &byte_count, sizeof byte_count) != 0 &&
            errno == EPERM)
            error = -EPERM;
        close(copy);
    }
    close(handle);
    return error;
}

int cts_mount_silent(const char *path, int user) {
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0) return -errno;
    char options[128];
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=0%s", device, user,
             user == 0 ? "" : ",allow_other");
    if (mount("silent", path, "fuse", 0, options) == 0) return device;
    int error = errno;
    close(device);
    return -error;
}
