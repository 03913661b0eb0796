/* Lets a process take over the caller's state (gr_inherited.h). The caller cannot give the process
 * more than it has: the process keeps the lower of two limits and the CPUs that both may use, and a
 * priority better than its own has no effect.
 *
 * Raw system calls: this runs between clone and exec (spawn.c) and before a libc is ready
 * (CPrewarm). */
#pragma once

#include "include/gr_inherited.h"
#include "keeper.h"

#include <sys/resource.h>

static inline void inherit_limits(const struct gr_inherited *state) {
    for (int i = 0; i < GR_LIMITS; i++) {
        struct gr_soft_hard own = {0}, new; /* analyzers do not see what the kernel writes */
        if (keeper_call(SYS_prlimit64, 0, i, 0, (long)&own) < 0) continue;
        new.hard = state->limits[i].hard < own.hard ? state->limits[i].hard : own.hard;
        new.soft = state->limits[i].soft < new.hard ? state->limits[i].soft : new.hard;
        if (state->fixed_limits >> i & 1 && own.soft < new.soft) new.soft = own.soft;
        if (new.soft != own.soft || new.hard != own.hard)
            (void)keeper_call(SYS_prlimit64, 0, i, (long)&new, 0);
    }
}

static inline void inherit_affinity(const struct gr_inherited *state) {
    uint64_t own[GR_AFFINITY_WORDS] = {0}, any = 0, lost = 0;
    if (keeper_call(SYS_sched_getaffinity, 0, sizeof own, (long)own, 0) < 0) return;
    for (int i = 0; i < GR_AFFINITY_WORDS; i++) {
        lost |= own[i] & ~state->affinity[i];
        own[i] &= state->affinity[i];
        any |= own[i];
    }
    if (any && lost) (void)keeper_call(SYS_sched_setaffinity, 0, sizeof own, (long)own, 0);
}

static inline void inherit_priorities(const struct gr_inherited *state) {
    enum { PROCESS = 1, CLASS_SHIFT = 13, BEST_EFFORT = 2 };
    /* The kernel's getpriority returns 20 - nice. */
    if (state->nice > 20 - keeper_call(SYS_getpriority, PRIO_PROCESS, 0, 0, 0))
        (void)keeper_call(SYS_setpriority, PRIO_PROCESS, 0, state->nice, 0);
    if (state->io_priority >> CLASS_SHIFT >= BEST_EFFORT)
        (void)keeper_call(SYS_ioprio_set, PROCESS, 0, state->io_priority, 0);
}

/* A signal that already has a handler keeps it: a library has installed the handler, and would have
 * done so even if the caller ignored the signal. */
static inline void inherit_signals(const struct gr_inherited *state) {
    enum { SIGNALS = 64, SET = 8 };
    struct { uintptr_t handler; char rest[56]; } own, ignored = {(uintptr_t)SIG_IGN, {0}};
    for (int s = 1; s <= SIGNALS && state->ignored >> (s - 1); s++) {
        if (!(state->ignored >> (s - 1) & 1)) continue;
        own.handler = 0;
        (void)keeper_call(SYS_rt_sigaction, s, 0, (long)&own, SET);
        if (own.handler == (uintptr_t)SIG_DFL)
            (void)keeper_call(SYS_rt_sigaction, s, (long)&ignored, 0, SET);
    }
    if (state->blocked)
        (void)keeper_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&state->blocked, 0, SET);
}

/* Returns 0, or -errno if the part that confines the process fails. */
static inline long inherit(const struct gr_inherited *state) {
    if (state->parts & GR_INHERITED_LIMITS) inherit_limits(state);
    if (state->parts & GR_INHERITED_AFFINITY) inherit_affinity(state);
    inherit_priorities(state);
    inherit_signals(state);
    if (!(state->parts & GR_INHERITED_NO_NEW_PRIVILEGES)) return 0;
    return keeper_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
}
