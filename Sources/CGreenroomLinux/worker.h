/* A process that shares our table of descriptors and our memory (CLONE_FILES, CLONE_VM), and does what may take as
 * long as a stranger likes (disposal.c, detached.c). */
#pragma once

#include "keeper.h"

#include <signal.h>

/* In here a sanitizer would use what belongs to our thread. */
#define BARE __attribute__((disable_sanitizer_instrumentation, no_stack_protector))

enum {
    WORKER_STACK = 16 * 1024,
    WORKER_SIGSET = 8,
    /* Told to look: there is work, or the parent is gone. */
    WORKER_WAKE = SIGHUP,
};

/* Its pid, or -1 and errno. The new process has all signals blocked, and no signal tells of its end. */
long worker_start(int (*body)(void *), void *argument, char *stack_end);

/* The first that a worker does: it is called so, and ends with its parent. */
BARE static inline void worker_begin(const char *name, long parent) {
    (void)keeper_call(SYS_prctl, PR_SET_NAME, (long)name, 0, 0);
    keeper_follow(parent);
}

BARE static inline void worker_await_wake(void) {
    uint64_t wake = UINT64_C(1) << (WORKER_WAKE - 1);
    (void)keeper_call(SYS_rt_sigtimedwait, (long)&wake, 0, 0, WORKER_SIGSET);
}
