#define _GNU_SOURCE
#include "CGreenroomLinux.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int gr_observe_scheduling(int32_t pid, struct gr_inherited *state) {
    *state = (struct gr_inherited){ .parts = GR_INHERITED_AFFINITY };
    if (syscall(SYS_sched_getaffinity, pid, sizeof state->affinity, state->affinity) < 0) return -1;
    state->nice = 20 - (int32_t)syscall(SYS_getpriority, PRIO_PROCESS, pid);
    long priority = syscall(SYS_ioprio_get, 1, pid);
    if (priority > 0) state->io_priority = (uint32_t)priority;
    return 0;
}

/* Uses raw calls, because glibc refuses two of the 64 signals and takes twice as long. */
int gr_observe_self(struct gr_inherited *state) {
    enum { SIGNALS = 64, SET = 8 };
    if (gr_observe_scheduling(0, state) < 0) return -1;
    for (int i = 0; i < GR_LIMITS; i++)
        if (syscall(SYS_prlimit64, 0, i, NULL, &state->limits[i]) < 0) return -1;
    state->parts |= GR_INHERITED_LIMITS;
    for (int s = 1; s <= SIGNALS; s++) {
        struct { uintptr_t handler; char rest[56]; } now = { 0 };
        if (syscall(SYS_rt_sigaction, s, NULL, &now, SET) == 0 && now.handler == (uintptr_t)SIG_IGN)
            state->ignored |= UINT64_C(1) << (s - 1);
    }
    (void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &state->blocked, SET);
    int personality_now = personality(0xffffffff);
    if (personality_now > 0) {
        state->personality = (uint32_t)personality_now;
        state->parts |= GR_INHERITED_PERSONALITY;
    }
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        state->parts |= GR_INHERITED_NO_NEW_PRIVILEGES;
    return 0;
}

/* getdents64(2) */
struct entry { uint64_t inode; int64_t next; uint16_t size; uint8_t type; char name[]; };

static bool is_inherited(int number) {
    if (number <= 2) return false;
    int flags = fcntl(number, F_GETFD);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

/* Since Linux 6.2, the folder's size is the number of open descriptors. It is faster to search for
 * that many than to list them, because for a listing the kernel makes an inode for each. */
static int inherited_by_number(int *numbers, int limit) {
    enum { HIGHEST = 256 };
    struct stat folder;
    if (stat("/proc/self/fd", &folder) < 0 || folder.st_size <= 0) return -1;
    int count = 0;
    for (int number = 0, left = (int)folder.st_size; left > 0; number++) {
        if (number == HIGHEST) return -1;
        if (fcntl(number, F_GETFD) < 0) continue;
        left--;
        if (!is_inherited(number)) continue;
        if (count < limit) numbers[count] = number;
        count++;
    }
    return count;
}

int gr_inherited_descriptors(int *numbers, int limit) {
    int quick = inherited_by_number(numbers, limit);
    if (quick >= 0) return quick;
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return -1;
    int count = 0;
    _Alignas(struct entry) char entries[4096];
    for (long size; (size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
        for (long at = 0; at < size;) {
            const struct entry *entry = (const struct entry *)(entries + at);
            at += entry->size;
            int number = 0;
            for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; digit++)
                number = number * 10 + (*digit - '0');
            if (!is_inherited(number)) continue;
            if (count < limit) numbers[count] = number;
            count++;
        }
    close(folder);
    return count;
}
