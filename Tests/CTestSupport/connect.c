#define _GNU_SOURCE
#include "CTestSupport.h"

#include <errno.h>
#include <string.h>
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
    // The system calls change this thread alone; the C library's functions would change all.
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

int cts_timer(int milliseconds) {
    int number = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec value = {
        .it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L}};
    if (number < 0 || timerfd_settime(number, 0, &value, NULL) < 0) return -errno;
    return number;
}
