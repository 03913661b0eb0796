#define _GNU_SOURCE
#include "CApplicationKit.h"

#include <errno.h>
#include <sys/epoll.h>

extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *_Nullable unused);

int cak_main_queue_descriptor(void) {
    return _dispatch_get_main_queue_handle_4CF();
}

void cak_run_main_queue(void) {
    _dispatch_main_queue_callback_4CF((void *)0);
}

int cak_watch_create(void) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    return set < 0 ? -errno : set;
}

int cak_watch_add(int set, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

int cak_watch_remove(int set, int descriptor) {
    struct epoll_event event = {0};
    return epoll_ctl(set, EPOLL_CTL_DEL, descriptor, &event) < 0 ? -errno : 0;
}

int cak_watch_room(int set, int descriptor, bool is_watched) {
    struct epoll_event event = {.events = EPOLLIN | (is_watched ? EPOLLOUT : 0), .data.fd = descriptor};
    return epoll_ctl(set, EPOLL_CTL_MOD, descriptor, &event) < 0 ? -errno : 0;
}

int cak_watch_wait(int set) {
    struct epoll_event event;
    int count;
    do count = epoll_wait(set, &event, 1, -1);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}
