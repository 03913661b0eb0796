/* A process that shares our table of descriptors and our memory (CLONE_FILES, CLONE_VM), for calls
 * that a stranger can make take any time (disposal.c, detached.c). */
#pragma once

#include "keeper.h"

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

/* A sanitizer in this code would use state of our thread. */
#define BARE __attribute__((disable_sanitizer_instrumentation, no_stack_protector))

enum {
    WORKER_STACK = 16 * 1024,
    WORKER_SIGSET = 8,
    /* Wakes the process: there is work, or the parent is gone. */
    WORKER_WAKE = SIGHUP,
};

/* The common beginning of every kind of worker. */
struct worker {
    int report; /* the descriptor that the worker writes to */
    pid_t pid, parent;
    char stack[WORKER_STACK] __attribute__((aligned(16)));
};

/* Returns the pid, or -1 and errno. The new process has all signals blocked, and no signal
 * announces its end. */
long worker_start(int (*body)(void *), void *argument, char *stack_end);

/* Maps `size` zero bytes, which begin with a struct worker, and starts `body` with their address.
 * Returns NULL and errno if that fails. */
void *worker_new(size_t size, int report, int (*body)(void *));

/* Kills the worker and unmaps the `size` bytes. */
void worker_free(struct worker *worker, size_t size);

/* Kills a process that worker_start made, and waits until it is gone. Does nothing if the pid is
 * not positive. */
void worker_kill(pid_t pid);

/* A worker calls this first. It sets the process's name, and makes the process end with its
 * parent. */
BARE static inline void worker_begin(const char *name, long parent) {
    (void)keeper_call(SYS_prctl, PR_SET_NAME, (long)name, 0, 0);
    keeper_follow(parent);
}

BARE static inline void worker_await_wake(void) {
    uint64_t wake = UINT64_C(1) << (WORKER_WAKE - 1);
    (void)keeper_call(SYS_rt_sigtimedwait, (long)&wake, 0, 0, WORKER_SIGSET);
}
