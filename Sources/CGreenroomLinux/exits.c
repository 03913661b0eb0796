#define _GNU_SOURCE
#include "CGreenroomLinux.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

// From linux/pidfd.h as of Linux 6.15; the C library's headers may be older.
struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t numbers[11];
    int32_t exit_code;
};
#define GET_INFO _IOWR(0xff, 11, struct pidfd_info)
#define INFO_EXIT (1u << 3)

int gr_pidfd_exit(int pidfd, int *status) {
    struct pidfd_info info = { .mask = INFO_EXIT };
    if (ioctl(pidfd, GET_INFO, &info) < 0) return -1;
    // Linux 6.13 and 6.14 have the call but not this bit, even for a process that has been reaped.
    if (!(info.mask & INFO_EXIT)) return 0;
    *status = info.exit_code;
    return 1;
}

int gr_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

int gr_epoll_add(int epoll, int fd, uint64_t key) {
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = key };
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int gr_epoll_next(int epoll, uint64_t *key) {
    struct epoll_event event;
    int count = epoll_wait(epoll, &event, 1, 0);
    if (count > 0) *key = event.data.u64;
    return count;
}
