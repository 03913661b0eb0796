/* One spawn as the child's half sees it; shared by spawn.c and confine.c. */
#pragma once

#include "CGreenroomLinux.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

struct job {
    const struct gr_spawn_request *request;
    const struct gr_fd_mapping *fds;  /* sorted by `to` */
    bool join_cgroup;                 /* clone did not do it */
    bool has_handlers;                /* clone did not clear them */
    uint64_t ignored;                 /* signals, 1 << (number - 1) */
    bool raises_descriptor_limit;
    int cwd;                          /* the directory's descriptor, or -1 */
    volatile int error, stage;
    volatile int step;                /* of the mounts, where one of them failed; else -1 */
};

static inline _Noreturn void fail(struct job *job, int stage) {
    job->error = errno;
    job->stage = stage;
    /* Not libc's _exit: a sanitizer would end its own work there, in memory that is our parent's. */
    for (;;) (void)syscall(SYS_exit_group, 127);
}

#define TRY(stage, call) \
    do { \
        if ((call) < 0) fail(job, stage); \
    } while (0)

/* In the order in which a child calls them; each does nothing for an app that is not confined. */
void gr_enter_namespaces(struct job *job);
void gr_make_mounts(struct job *job);
void gr_bound_capabilities(struct job *job);
void gr_keep_capabilities(struct job *job);
void gr_raise_capabilities(struct job *job);
void gr_install_filters(struct job *job);
