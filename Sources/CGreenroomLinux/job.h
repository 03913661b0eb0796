/* One spawn, as seen by the child's half. Used by spawn.c, confine.c and listen_pid.c.
 *
 * The rules of the child's half, which is everything between clone and exec:
 *
 * 1. It shares memory with a parent that RUNS. It writes only to its own stack and to its `struct
 *    job`, and reads only those, constants, and the copies that the job points to.
 * 2. System calls are raw (`call`, call.h) and return -errno. It calls no function of a C library,
 *    because those write errno or other thread-local storage of the parent. (The compiler may call
 *    memcpy and memset; gr_spawn_begin has called both by then, so that no linker binds them here.)
 * 3. A call that can fail is made by TRY, which names the stage, or is followed by `fail`, so that
 *    there is one way out. TRY records the stage before the call, so that the last step of a child
 *    that hangs or is killed is known.
 * 4. Its functions are between CHILD_HALF_BEGIN and CHILD_HALF_END, because a sanitizer's
 *    instrumentation and the stack protector would use the parent's state.
 * 5. From take_identity on, the child belongs to the app's user, who may stop it and kill it. Every
 *    step that may wait for that user comes after take_identity, and never has more rights than the
 *    app gets. */
#pragma once

#include "CGreenroomLinux.h"
#include "call.h"

#include <errno.h>

struct job {
    const struct gr_spawn_request *_Nonnull request;
    struct gr_fd_mapping *_Nonnull fds; /* sorted by `to` */
    bool join_cgroup;                 /* clone did not do this */
    bool has_handlers;                /* clone did not clear them */
    uint64_t ignored;                 /* signals, 1 << (number - 1) */
    bool raises_descriptor_limit;
    int cwd;                          /* the directory's descriptor, or -1 */
    volatile int error;               /* not 0: the child has failed, at `stage` */
    volatile int stage;               /* the present stage, or the last one */
    volatile int trace_error;         /* the errno if it cannot be traced; else 0 */
    volatile int step;                /* the index of the mount that is being made; else -1 */
};

CHILD_HALF_BEGIN

static inline _Noreturn void fail(struct job *_Nonnull job, int stage, int error) {
    job->stage = stage;
    job->error = error;
    for (;;) (void)call(SYS_exit_group, 127);
}

CHILD_HALF_END

#define TRY(at, expression) \
    do { \
        job->stage = (at); \
        long result_ = (expression); \
        if (result_ < 0) fail(job, (at), (int)-result_); \
    } while (0)

/* These are in the order in which a child calls them. Each does nothing for an app that is not
 * confined. */
void gr_enter_namespaces(struct job *_Nonnull job);
void gr_make_mounts(struct job *_Nonnull job);
void gr_bound_capabilities(struct job *_Nonnull job);
void gr_keep_capabilities(struct job *_Nonnull job);
void gr_raise_capabilities(struct job *_Nonnull job);
void gr_install_filters(struct job *_Nonnull job);

/* Writes the caller's pid into each "LISTEN_PID=0000000000" of an environment (listen_pid.c). */
void gr_tell_listen_pid(char *_Nullable const *_Nonnull environment);

/* Writes the number of bytes that the caller has written into
 * "GREENROOM_WRITTEN=00000000000000000000" in an environment. */
void gr_tell_written(char *_Nullable const *_Nonnull environment);
