/* Starting a process: clone3 with stacks of our own, and the child's half of a spawn. It cannot be
 * Swift: between clone and exec the child shares the parent's memory, so it may not allocate, lock
 * or touch reference counts (job.h has its rules).
 *
 * Only a process that is made for this purpose waits for the exec:
 *
 *     parent --clone(VM)--> waiter --clone(VM, VFORK, PARENT)--> child
 *
 * Before the child executes the program, it becomes a process of the app's user. From then on that
 * user may stop it, or make it wait for one of the user's file systems, for any length of time. So
 * the parent must not wait for the child. The waiter does: it keeps our identity and does nothing
 * else. It reports when the child has executed the program or has ended. (The child is the parent's
 * own, by CLONE_PARENT.) The waiter is then ready for another spawn, because making one first would
 * delay the program by a tenth. A parent without a loop makes a waiter for each spawn, which ends
 * instead of reporting.
 *
 * If the program runs, the waiter first sends the request's announcement to whoever waits for that
 * (`announce`). The parent last ran on the CPU that the child was then given, so with two CPUs it
 * usually has to wait until the program blocks or ends. The waiter's own CPU is free.
 *
 * CLONE_VFORK is needed even so. Without it, the kernel treats processes that share memory alike:
 * the OOM killer of the app's cgroup would kill the parent together with the child (in_vfork), and
 * the child's OOM score would be set for the parent too (__set_oom_adj).
 *
 * A waiter reports through a pipe. The kernel takes a write to a pipe as a sign that the writer is
 * about to wait, and may run the reader on the writer's CPU. With an eventfd(2), the parent was
 * often woken on the child's CPU, and had to wait for the child there.
 *
 * If we are killed, nobody knows about a spawn under way. So both processes end with their parent.
 * For the child, this is so only until it is about to execute its program, because PR_SET_PDEATHSIG
 * would still be set after an exec. The next spawner ends a child that waits in its execve.
 *
 * Each spawn has one block of memory, with the child's stack and a copy of the request. The block
 * is freed when the child no longer shares our memory and the waiter has reported or ended. A
 * waiter has a block of its own until it ends. */
#define _GNU_SOURCE
#include "clone.h"
#include "job.h"

CHILD_HALF_BEGIN
#include "inherit.h"
#include "keeper.h"
CHILD_HALF_END

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

/* The kernel's struct clone_args; older headers lack its last members. */
struct clone3_args {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
};

/* Enough for the child's frames: GR_SPAWN_DESCRIPTORS_MAX integers, with two pages to spare. */
enum { CHILD_STACK = 16 * 1024, WAITER_STACK = 4 * 1024, KERNEL_SIGNALS = 64, KERNEL_SIGSET = 8 };

struct gr_waiter {
    char stack[WAITER_STACK] __attribute__((aligned(16)));
    int32_t pid, parent;
    int report;                      /* a pipe; -1: it ends after one spawn */
    _Atomic uint32_t turn;           /* the number of spawns that it was given */
    struct gr_spawn *spawn;          /* the last of them */
};

struct gr_spawn {
    char child_stack[CHILD_STACK] __attribute__((aligned(16)));
    struct gr_spawn_request request; /* a copy; what it points to follows this structure */
    volatile bool is_cancelled;      /* by us: a child that finds it set goes no further */
    struct gr_fd_mapping fds[GR_SPAWN_DESCRIPTORS_MAX];
    struct job job;
    bool changes_identity;
    int32_t parent;
    struct gr_waiter *waiter;        /* may have ended, and be freed, unless this spawn owns it */
    bool owns_waiter;                /* the waiter ends after this spawn */
    volatile int32_t pid;            /* set by the child, before anything else; -1 until then */
    volatile int pidfd;              /* set by the kernel, before the child runs */
    volatile long result;            /* of the waiter's clone */
    volatile int announced;          /* enum gr_announced */
    _Atomic bool is_over;            /* the waiter does not use the spawn any more */
};

/* For raw calls, because glibc refuses two signals that it uses itself. The kernel's structure
 * begins with the handler, and is all zero bytes for SIG_DFL. */
struct disposition { uintptr_t handler; char rest[56]; };

/* The signals that this process ignores. They are looked up once (64 system calls), because the
 * first spawn comes after start-up, and this process does not begin to ignore signals later. */
static uint64_t ignored_signals(void) {
    static _Atomic uint64_t known;
    static _Atomic bool is_known;
    if (atomic_load_explicit(&is_known, memory_order_acquire))
        return atomic_load_explicit(&known, memory_order_relaxed);
    uint64_t ignored = 0;
    for (int s = 1; s <= KERNEL_SIGNALS; s++) {
        struct disposition now = { 0 };
        if (syscall(SYS_rt_sigaction, s, NULL, &now, KERNEL_SIGSET) == 0
            && now.handler == (uintptr_t)SIG_IGN)
            ignored |= UINT64_C(1) << (s - 1);
    }
    atomic_store_explicit(&known, ignored, memory_order_relaxed);
    atomic_store_explicit(&is_known, true, memory_order_release);
    return ignored;
}

CHILD_HALF_BEGIN

/* Handlers belong to the parent's code, and ignored signals would survive exec. */
static void reset_dispositions(const struct job *job) {
    static const struct disposition standard;
    for (int s = 1; s <= KERNEL_SIGNALS; s++) {
        if (s == SIGKILL || s == SIGSTOP) continue;
        if (job->has_handlers || (job->ignored >> (s - 1) & 1))
            (void)call(SYS_rt_sigaction, s, &standard, 0, KERNEL_SIGSET);
    }
}

static void join_cgroup(struct job *job) {
    int fd;
    TRY(GR_STAGE_CGROUP, fd = (int)call(SYS_openat, job->request->cgroup, "cgroup.procs",
                                        O_WRONLY | O_CLOEXEC, 0));
    TRY(GR_STAGE_CGROUP, call(SYS_write, fd, "0", 1));
    call_close(fd);
}

/* Lowering the score needs CAP_SYS_RESOURCE. Without it the app runs with the inherited score. */
static void adjust_oom_score(struct job *job) {
    char digits[12], text[12];
    int value = job->request->oom_score_adjust, n = 0, k = 0;
    unsigned rest = value < 0 ? 0u - (unsigned)value : (unsigned)value;
    if (value < 0) text[n++] = '-';
    do { digits[k++] = (char)('0' + rest % 10); } while ((rest /= 10) != 0);
    while (k > 0) text[n++] = digits[--k];
    long fd = call_open("/proc/self/oom_score_adj", O_WRONLY);
    if (fd == -ENOENT || fd == -EACCES) return;
    TRY(GR_STAGE_OOM_SCORE, fd);
    long result = call(SYS_write, fd, text, n);
    if (result != -EACCES) TRY(GR_STAGE_OOM_SCORE, result);
    call_close((int)fd);
}

/* The limit on open files is raised before the descriptors are placed, or lowered after that. */
static void set_limits(struct job *job, bool before_descriptors) {
    const struct gr_spawn_request *r = job->request;
    for (int i = 0; i < r->limit_count; i++) {
        bool early = r->limits[i].resource != RLIMIT_NOFILE || job->raises_descriptor_limit;
        if (early != before_descriptors) continue;
        struct rlimit64 limit = { r->limits[i].soft, r->limits[i].hard };
        TRY(GR_STAGE_LIMITS, call(SYS_prlimit64, 0, r->limits[i].resource, &limit, 0));
    }
}

/* The lowest of our parent's descriptors, from `first` on, that the child needs; -1 if there is
 * none. */
static int next_needed(const struct job *job, int first) {
    const struct gr_spawn_request *r = job->request;
    int others[] = { job->cwd, job->join_cgroup ? r->cgroup : -1, r->owner };
    int next = -1;
    for (int i = 0; i < r->fd_count + 3; i++) {
        if (i >= 3 && job->fds[i - 3].theirs) continue;
        int fd = i < 3 ? others[i] : job->fds[i - 3].from;
        if (fd >= first && (next < 0 || fd < next)) next = fd;
    }
    return next;
}

/* Until now the child has shared the parent's table (CLONE_FILES). The kernel copies all
 * descriptors up to the highest one that the child needs. A parent with a thousand descriptors
 * keeps them above that (`FileDescriptor.moveAside`); otherwise each child would first copy them
 * and then close them. Other descriptors that were copied are closed here, not by the exec, which
 * may come late: if our parent were killed in the meantime, its socket would still listen and its
 * connection would still be open. */
static void take_own_table(struct job *job) {
    int highest = -1, next = 0;
    for (int fd; (fd = next_needed(job, highest + 1)) >= 0;) highest = fd;
    if (call(SYS_close_range, highest + 1, ~0u, CLOSE_RANGE_UNSHARE) < 0)
        TRY(GR_STAGE_DESCRIPTORS, call(SYS_unshare, CLONE_FILES));
    for (int fd; (fd = next_needed(job, next)) >= 0; next = fd + 1)
        if (fd > next) (void)call(SYS_close_range, next, fd - 1, 0);
    (void)call(SYS_close_range, next, ~0u, 0);
}

/* Descriptors that strangers sent are never in our parent's table, because the next child would
 * copy them, and its exec would wait until a stranger's file is flushed. They are in the
 * supervisor's table, and the supervisor has processes that close them (disposal.c). */
static void fetch_theirs(struct job *job) {
    for (int i = 0; i < job->request->fd_count; i++) {
        if (!job->fds[i].theirs) continue;
        int fd = (int)call(SYS_pidfd_getfd, job->request->owner, job->fds[i].from, 0);
        TRY(GR_STAGE_DESCRIPTORS, fd);
        job->fds[i].from = fd;
    }
}

static bool is_target(const struct job *job, int fd) {
    for (int i = 0; i < job->request->fd_count; i++)
        if (job->fds[i].to == fd) return true;
    return false;
}

/* Duplicates a descriptor to a number that is not a target; `stage` is reported if there is no
 * room. */
static int move_aside(struct job *job, int source, int stage) {
    long fd = call(SYS_fcntl, source, F_DUPFD_CLOEXEC, 3);
    while (fd >= 0 && is_target(job, (int)fd)) fd = call(SYS_fcntl, source, F_DUPFD_CLOEXEC, fd + 1);
    TRY(stage, fd);
    return (int)fd;
}

/* Whether no source has the number of another mapping's target. That is the usual case: descriptors
 * that came in a message are above 2, and those that were fetched for 0, 1 and 2 have these
 * numbers, in order. */
static bool are_apart(const struct job *job) {
    for (int i = 0; i < job->request->fd_count; i++)
        if (job->fds[i].from != job->fds[i].to && is_target(job, job->fds[i].from)) return false;
    return job->cwd < 0 || !is_target(job, job->cwd);
}

/* Like dup2(2), except that a descriptor that is already in its place is left unchanged,
 * close-on-exec or not. If it was fetched, it is close-on-exec only because pidfd_getfd makes it
 * so, and that is undone. */
static long place(int source, const struct gr_fd_mapping *mapping) {
    if (source != mapping->to) return call(SYS_dup3, source, mapping->to, 0);
    return call(SYS_fcntl, source, mapping->theirs ? F_SETFD : F_GETFD, 0);
}

/* First moves every source to a number that is not a target, so that no dup overwrites a source
 * that is still needed. A number above the highest target would not always work, because that
 * target may be the highest number allowed. */
static void place_descriptors(struct job *job) {
    int moved[GR_SPAWN_DESCRIPTORS_MAX];
    int count = job->request->fd_count;
    bool apart = are_apart(job);
    for (int i = 0; i < count; i++)
        moved[i] = apart ? job->fds[i].from
                         : move_aside(job, job->fds[i].from, GR_STAGE_DESCRIPTORS);
    if (job->cwd >= 0 && !apart) job->cwd = move_aside(job, job->cwd, GR_STAGE_DIRECTORY);
    unsigned next = 0;
    for (int i = 0; i < count; i++) {
        unsigned to = (unsigned)job->fds[i].to;
        TRY(GR_STAGE_DESCRIPTORS, place(moved[i], &job->fds[i]));
        if (to > next)
            TRY(GR_STAGE_DESCRIPTORS, call(SYS_close_range, next, to - 1, CLOSE_RANGE_CLOEXEC));
        next = to + 1;
    }
    TRY(GR_STAGE_DESCRIPTORS, call(SYS_close_range, next, ~0u, CLOSE_RANGE_CLOEXEC));
}

/* Takes the client's terminal, which is among the standard descriptors (ioctl_tty(2)). Called as
 * the app's user, because with our rights the child could take, and then read, a terminal that the
 * client may only write to. */
static void take_terminal(struct job *job) {
    int fd = 0;
    while (fd < 2 && call(SYS_ioctl, fd, TIOCSCTTY, 0) < 0) fd++;
    if (fd == 2) TRY(GR_STAGE_SESSION, call(SYS_ioctl, fd, TIOCSCTTY, 0));
}

/* A process may use every key in its session keyring, whoever owns the key, and all children of our
 * parent would share one keyring (session-keyring(7)). A keyring that we make here counts against
 * our quota of keys, not against the user's, which is small. If the kernel has no keys, or a filter
 * forbids keys to all of us, nothing is shared. */
static long leave_keyring(void) {
    long result = call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    return result == -ENOSYS || result == -EPERM ? 0 : result;
}

static void take_identity(struct job *job) {
    const struct gr_spawn_request *r = job->request;
    TRY(GR_STAGE_USER, leave_keyring());
    TRY(GR_STAGE_GROUPS, call(SYS_setgroups, r->group_count, r->groups));
    TRY(GR_STAGE_GROUP, call(SYS_setresgid, r->gid, r->gid, r->gid));
    TRY(GR_STAGE_USER, call(SYS_setresuid, r->uid, r->uid, r->uid));
}

/* Called as the app's user, after everything that the manifest asks for. */
static void take_inheritance(struct job *job) {
    const struct gr_inherited *state = job->request->inherited;
    TRY(GR_STAGE_PRIVILEGES, inherit(state));
    if (state->parts & GR_INHERITED_PERSONALITY)
        TRY(GR_STAGE_PRIVILEGES, call(SYS_personality, state->personality));
}

static bool has_parent(int32_t parent) { return call(SYS_getppid) == parent; }

/* A change of identity or capabilities undoes this (prctl(2)). */
static void end_with_parent(struct gr_spawn *spawn, int signal) {
    (void)call(SYS_prctl, PR_SET_PDEATHSIG, signal, 0, 0, 0);
    if (!has_parent(spawn->parent)) fail(&spawn->job, spawn->job.stage, ECANCELED);
}

static int child(void *argument) {
    struct gr_spawn *spawn = argument;
    struct job *job = &spawn->job;
    const struct gr_spawn_request *r = job->request;
    spawn->pid = (int32_t)call(SYS_getpid);
    /* Either the child sees the flag here, or gr_spawn_kill, which sets the flag, sees the child's
     * number and kills it. */
    atomic_thread_fence(memory_order_seq_cst);
    if (spawn->is_cancelled) fail(job, GR_STAGE_CLONE, ECANCELED);
    end_with_parent(spawn, SIGKILL);
    take_own_table(job);
    fetch_theirs(job);
    if (job->join_cgroup) join_cgroup(job);
    if (r->tells_listen_pid) gr_tell_listen_pid(r->envp);
    reset_dispositions(job);
    if (r->new_session) TRY(GR_STAGE_SESSION, call(SYS_setsid));
    if (r->umask >= 0) (void)call(SYS_umask, r->umask);
    if (r->has_oom_score) adjust_oom_score(job);
    set_limits(job, true);
    gr_enter_namespaces(job);
    gr_make_mounts(job);
    place_descriptors(job);
    set_limits(job, false);
    gr_bound_capabilities(job);
    gr_keep_capabilities(job);
    /* From here on, nothing is written, and until the exec the app's user may not read the
     * number. */
    if (r->traced) gr_tell_written(r->envp);
    /* The caller may be in a directory that it could not enter again, and then the app's user could
     * not enter it later either. To enter it here gives no more access than the descriptor does. */
    bool is_there = job->cwd >= 0 && call(SYS_fchdir, job->cwd) == 0;
    if (r->has_identity) take_identity(job);
    if (r->controlling_terminal) {
        take_terminal(job);
        /* This is done as the app's user, because the app's end kills the processes, and the app
         * must be allowed to (check_kill_permission). */
        keep_job_control();
    }
    gr_raise_capabilities(job);
    if (r->no_new_privileges)
        TRY(GR_STAGE_PRIVILEGES, call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (spawn->changes_identity) end_with_parent(spawn, SIGKILL);
    /* This is done as the app's user, who must be allowed to enter a directory that is given by its
     * name. */
    if (job->cwd >= 0 && !is_there) TRY(GR_STAGE_DIRECTORY, call(SYS_fchdir, job->cwd));
    else if (job->cwd < 0 && r->cwd) TRY(GR_STAGE_DIRECTORY, call(SYS_chdir, r->cwd));
    uint64_t none = 0;
    (void)call(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, KERNEL_SIGSET);
    /* A filter may forbid this. The next stop is after execve, before the program's first
     * instruction. */
    if (r->traced) job->trace_error = (int)-call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
    if (r->inherited) take_inheritance(job);
    end_with_parent(spawn, 0); /* before the filters, which may forbid it */
    gr_install_filters(job);
    TRY(GR_STAGE_EXECUTE, call(SYS_execve, r->path, r->argv, r->envp));
    __builtin_unreachable();
}

static bool clone3_is_missing(int error) {
    /* ENOSYS: before 5.3, or a filter; EPERM: an older container's filter; E2BIG, EINVAL: before
     * 5.7, without CLONE_INTO_CGROUP. */
    return error == ENOSYS || error == EPERM || error == E2BIG || error == EINVAL;
}

/* Only clone can make a user namespace for a process that shares memory. The child makes the other
 * namespaces itself, so that a failure of those has its own stage. */
static uint64_t clone_flags(const struct gr_spawn_request *r) {
    uint64_t flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT | CLONE_FILES | CLONE_PIDFD;
    return r->confinement && r->confinement->in_user_namespace ? flags | CLONE_NEWUSER : flags;
}

static _Atomic bool no_clone3;

/* Returns the child's pid, or -errno, when the child has executed its program or ended. Falls back
 * to clone(2), with which the child joins its cgroup itself. Joining waits for a grace period of
 * the kernel (7 ms, not 0.1), so this is only a fallback. With CLONE_PARENT the exit signal is the
 * waiter's: SIGCHLD. */
static long start_child(struct gr_spawn *spawn) {
    const struct gr_spawn_request *r = &spawn->request;
    struct clone3_args args = {
        /* The kernel writes the number before the child runs. */
        .flags = clone_flags(r) | CLONE_CLEAR_SIGHAND | CLONE_PARENT_SETTID,
        .pidfd = (uintptr_t)&spawn->pidfd, .parent_tid = (uintptr_t)&spawn->pid,
        .stack = (uintptr_t)spawn->child_stack, .stack_size = CHILD_STACK,
    };
    if (r->cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)r->cgroup;
    }
    if (!r->without_clone3 && !atomic_load_explicit(&no_clone3, memory_order_relaxed)) {
        long result = clone_call(SYS_clone3, (long)&args, sizeof args, 0, child, spawn);
        if (result >= 0 || !clone3_is_missing((int)-result)) return result;
    }
    spawn->job.join_cgroup = r->cgroup >= 0;
    spawn->job.has_handlers = true;
    long pid = clone_call(SYS_clone, (long)clone_flags(r), (long)(spawn->child_stack + CHILD_STACK),
                          (long)&spawn->pidfd, child, spawn);
    if (pid < 0) return pid;
    if (!r->without_clone3) atomic_store_explicit(&no_clone3, true, memory_order_relaxed);
    return pid;
}

static bool has_ended(int process) {
    struct pollfd entry;
    struct timespec now;
    entry.fd = process;
    entry.events = POLLIN;
    now.tv_sec = now.tv_nsec = 0;
    return call(SYS_ppoll, &entry, 1, &now, NULL, KERNEL_SIGSET) != 0;
}

/* A child that has ended already is left to the parent, which finds out whether the child had executed
 * its program. Members are assigned one by one here and above, because without optimization an
 * initializer calls memset(3), which a sanitizer replaces (rule 4 of job.h). */
static void announce(struct gr_spawn *spawn) {
    const struct gr_announcement *a = spawn->request.announcement;
    if (!a || spawn->result <= 0 || spawn->job.error || spawn->job.stage != GR_STAGE_EXECUTE
        || spawn->is_cancelled || has_ended(spawn->pidfd))
        return;
    int32_t pid = (int32_t)spawn->result;
    char *place = (char *)a->message + a->pid_at;
    for (size_t i = 0; i < sizeof pid; i++) place[i] = (char)(pid >> (8 * i));
    union { char bytes[CMSG_SPACE(2 * sizeof(int))]; struct cmsghdr aligned; } control;
    size_t length = sizeof(int) * (a->channel < 0 ? 1 : 2);
    struct iovec vector;
    vector.iov_base = (void *)a->message;
    vector.iov_len = a->byte_count;
    struct msghdr header;
    header.msg_name = NULL;
    header.msg_namelen = 0;
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(length);
    header.msg_flags = 0;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(length);
    int *descriptors = (int *)(void *)CMSG_DATA(rights);
    descriptors[0] = spawn->pidfd;
    if (a->channel >= 0) descriptors[1] = a->channel;
    spawn->announced = GR_PERHAPS_ANNOUNCED;
    long sent = call(SYS_sendmsg, a->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    spawn->announced = sent < 0 ? GR_NOT_ANNOUNCED : GR_ANNOUNCED;
}

static struct gr_spawn *await_turn(struct gr_waiter *waiter, uint32_t turn) {
    uint32_t now;
    while ((now = atomic_load_explicit(&waiter->turn, memory_order_acquire)) != turn)
        (void)call(SYS_futex, &waiter->turn, FUTEX_WAIT_PRIVATE, now, 0);
    return waiter->spawn;
}

static int wait_for_children(void *argument) {
    struct gr_waiter *waiter = argument;
    (void)call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (uint32_t turn = 1; has_parent(waiter->parent); turn++) {
        struct gr_spawn *spawn = await_turn(waiter, turn);
        spawn->result = start_child(spawn);
        announce(spawn);
        /* After this, the parent may free the spawn. */
        atomic_store_explicit(&spawn->is_over, true, memory_order_release);
        if (waiter->report < 0) break;
        char byte = 0;
        (void)call(SYS_write, waiter->report, &byte, 1);
    }
    for (;;) (void)call(SYS_exit_group, 0);
}

CHILD_HALF_END

static void sort_by_target(struct gr_fd_mapping *fds, int count) {
    for (int i = 1; i < count; i++) {
        struct gr_fd_mapping one = fds[i];
        int k = i;
        for (; k > 0 && fds[k - 1].to > one.to; k--) fds[k] = fds[k - 1];
        fds[k] = one;
    }
}

static bool raises_descriptor_limit(const struct gr_spawn_request *r) {
    struct rlimit now;
    if (getrlimit(RLIMIT_NOFILE, &now) < 0) return false;
    for (int i = 0; i < r->limit_count; i++)
        if (r->limits[i].resource == RLIMIT_NOFILE) return r->limits[i].soft >= now.rlim_cur;
    return false;
}

static struct gr_spawned failure(int stage, int error) {
    return (struct gr_spawned){
        .pid = -1, .pidfd = -1, .error = error, .stage = stage, .step = -1,
    };
}

/* A child that has changed its user id shares our memory until its exec. If that user could trace
 * the child, the user could write to our memory. The kernel forbids tracing while the memory is not
 * "dumpable", and clears that attribute when the user id changes. A parent that is root leaves it
 * cleared from the first such child on: if it were set again while a child is left that we do not
 * know of, that child's user could become root. Any other parent has only children of its own user,
 * and sets the attribute again, because otherwise its children could not write to their own files
 * in /proc. */
static pthread_mutex_t dumpable_lock = PTHREAD_MUTEX_INITIALIZER;
static int strangers, dumpable_before;

static void admit_stranger(void) {
    (void)pthread_mutex_lock(&dumpable_lock);
    if (strangers++ == 0) dumpable_before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    if (geteuid() == 0) (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)pthread_mutex_unlock(&dumpable_lock);
}

static void dismiss_stranger(void) {
    (void)pthread_mutex_lock(&dumpable_lock);
    if (--strangers == 0 && dumpable_before == 1 && geteuid() != 0)
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    (void)pthread_mutex_unlock(&dumpable_lock);
}

/* Memory for the copies of a request. If `place` is NULL, the bytes are only counted. */
struct room { char *place; size_t used; };

static void *put(struct room *room, const void *from, size_t size) {
    char *to = room->place ? room->place + room->used : NULL;
    if (to && size > 0) memcpy(to, from, size);
    room->used += (size + 7) & ~(size_t)7;
    return to;
}

static char *put_string(struct room *room, const char *text) {
    return text ? put(room, text, strlen(text) + 1) : NULL;
}

static char **put_strings(struct room *room, char *const *strings) {
    size_t count = 0;
    while (strings[count]) count++;
    char **copies = put(room, strings, (count + 1) * sizeof *strings);
    for (size_t i = 0; i < count; i++) {
        char *copy = put_string(room, strings[i]);
        if (copies) copies[i] = copy;
    }
    return copies;
}

static struct gr_confinement *put_confinement(struct room *room, const struct gr_confinement *c) {
    struct gr_confinement *copy = put(room, c, sizeof *c);
    struct gr_mount *mounts = put(room, c->mounts, sizeof *mounts * (size_t)c->mount_count);
    struct gr_filter *filters = put(room, c->filters, sizeof *filters * (size_t)c->filter_count);
    for (int i = 0; i < c->mount_count; i++) {
        const char *target = put_string(room, c->mounts[i].target);
        const char *source = put_string(room, c->mounts[i].source);
        if (!copy) continue;
        mounts[i].target = target;
        mounts[i].source = source;
    }
    for (int i = 0; i < c->filter_count; i++) {
        const void *program = put(room, c->filters[i].program, (size_t)c->filters[i].count * 8);
        if (copy) filters[i].program = program;
    }
    if (!copy) return NULL;
    copy->mounts = mounts;
    copy->filters = filters;
    return copy;
}

static struct gr_announcement *put_announcement(
    struct room *room, const struct gr_announcement *a
) {
    struct gr_announcement *copy = put(room, a, sizeof *a);
    const void *message = put(room, a->message, a->byte_count);
    if (copy) copy->message = message;
    return copy;
}

static struct gr_spawn_request put_request(struct room *room, const struct gr_spawn_request *r) {
    struct gr_spawn_request copy = *r;
    copy.path = put_string(room, r->path);
    copy.argv = put_strings(room, r->argv);
    copy.envp = put_strings(room, r->envp);
    copy.cwd = put_string(room, r->cwd);
    copy.limits = put(room, r->limits, sizeof *r->limits * (size_t)r->limit_count);
    copy.groups = put(room, r->groups, sizeof *r->groups * (size_t)r->group_count);
    copy.inherited = r->inherited ? put(room, r->inherited, sizeof *r->inherited) : NULL;
    copy.confinement = r->confinement ? put_confinement(room, r->confinement) : NULL;
    copy.announcement = r->announcement ? put_announcement(room, r->announcement) : NULL;
    return copy;
}

static struct gr_spawn *prepare(const struct gr_spawn_request *request) {
    struct room room = { 0 };
    (void)put_request(&room, request);
    struct gr_spawn *spawn = aligned_alloc(16, (sizeof *spawn + room.used + 15) & ~(size_t)15);
    if (!spawn) return NULL;
    memset(&spawn->request, 0, sizeof *spawn - offsetof(struct gr_spawn, request));
    room = (struct room){ .place = (char *)(spawn + 1) };
    spawn->request = put_request(&room, request);
    if (request->fd_count > 0)
        memcpy(spawn->fds, request->fds, sizeof *spawn->fds * (size_t)request->fd_count);
    spawn->request.fds = spawn->fds;
    sort_by_target(spawn->fds, request->fd_count);
    spawn->job = (struct job){
        .request = &spawn->request, .fds = spawn->fds, .cwd = request->cwd_fd,
        .raises_descriptor_limit = raises_descriptor_limit(request),
        .ignored = ignored_signals(), .stage = GR_STAGE_CLONE, .step = -1,
    };
    spawn->changes_identity = request->has_identity || request->confinement;
    spawn->parent = getpid();
    spawn->pid = spawn->pidfd = -1;
    return spawn;
}

void gr_waiter_free(struct gr_waiter *waiter) { free(waiter); }

/* If the waiter was killed, only the child's end tells that the child no longer shares our memory.
 * A child that clone(2) made may not have written its number yet. */
static bool may_be_shared(const struct gr_spawn *spawn) {
    if (!spawn->waiter || atomic_load_explicit(&spawn->is_over, memory_order_acquire)) return false;
    if (spawn->pid <= 0) return spawn->job.has_handlers;
    struct pollfd process = { .fd = spawn->pidfd, .events = POLLIN };
    return poll(&process, 1, 0) != 1;
}

/* Memory that a process may still use is never freed. */
static void discard(struct gr_spawn *spawn) {
    if (may_be_shared(spawn)) return;
    if (spawn->changes_identity) dismiss_stranger();
    if (spawn->owns_waiter) gr_waiter_free(spawn->waiter);
    free(spawn);
}

/* Makes a waiter whose first spawn is this one. Returns 0 or -errno. */
static long start_waiter(struct gr_spawn *spawn, int report) {
    struct gr_waiter *waiter = aligned_alloc(16, sizeof *waiter);
    if (!waiter) return -ENOMEM;
    waiter->parent = spawn->parent;
    waiter->report = report;
    waiter->spawn = spawn;
    atomic_init(&waiter->turn, 1);
    spawn->waiter = waiter;
    spawn->owns_waiter = report < 0;
    /* No handler of the parent may run in the other processes, because they use this memory. */
    uint64_t all = ~UINT64_C(0), before = 0;
    (void)call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SIGSET);
    /* The waiter shares everything that would take time to copy. */
    long flags = CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND | CLONE_SYSVSEM | SIGCHLD;
    long pid = clone_call(SYS_clone, flags, (long)(waiter->stack + WAITER_STACK), 0,
                          wait_for_children, waiter);
    (void)call(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, KERNEL_SIGSET);
    waiter->pid = (int32_t)pid;
    if (pid >= 0) return 0;
    spawn->waiter = NULL;
    gr_waiter_free(waiter);
    return pid;
}

static void give_turn(struct gr_waiter *waiter, struct gr_spawn *spawn) {
    spawn->waiter = waiter;
    waiter->spawn = spawn;
    (void)atomic_fetch_add_explicit(&waiter->turn, 1, memory_order_release);
    (void)call(SYS_futex, &waiter->turn, FUTEX_WAKE_PRIVATE, 1);
}

struct gr_spawn *gr_spawn_begin(const struct gr_spawn_request *request, struct gr_waiter *waiter,
                                int report, struct gr_spawned *why) {
    if (request->fd_count < 0 || request->fd_count > GR_SPAWN_DESCRIPTORS_MAX) {
        *why = failure(GR_STAGE_DESCRIPTORS, E2BIG);
        return NULL;
    }
    if (request->confinement && request->confinement->mount_count > GR_MOUNTS_MAX) {
        *why = failure(GR_STAGE_MOUNTS, E2BIG);
        return NULL;
    }
    int error = errno;
    struct gr_spawn *spawn = prepare(request);
    if (!spawn) {
        errno = error;
        *why = failure(GR_STAGE_CLONE, ENOMEM);
        return NULL;
    }
    if (spawn->changes_identity) admit_stranger();
    long result = 0;
    if (waiter) give_turn(waiter, spawn);
    else result = start_waiter(spawn, report);
    errno = error;
    if (result == 0) return spawn;
    *why = failure(GR_STAGE_CLONE, (int)-result);
    discard(spawn);
    return NULL;
}

struct gr_waiter *gr_spawn_waiter(const struct gr_spawn *spawn) { return spawn->waiter; }
int32_t gr_waiter_pid(const struct gr_waiter *waiter) { return waiter->pid; }
bool gr_spawn_is_over(const struct gr_spawn *spawn) {
    return atomic_load_explicit(&spawn->is_over, memory_order_acquire);
}
int32_t gr_spawn_pid(const struct gr_spawn *spawn) { return spawn->pid; }
/* A failed clone may have written a number that was closed again. */
int gr_spawn_pidfd(const struct gr_spawn *spawn) { return spawn->pid > 0 ? spawn->pidfd : -1; }

void gr_spawn_kill(struct gr_spawn *spawn) {
    spawn->is_cancelled = true;
    atomic_thread_fence(memory_order_seq_cst);
    int process = gr_spawn_pidfd(spawn);
    if (process >= 0) (void)syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
}

int gr_spawn_announced(const struct gr_spawn *spawn) { return spawn->announced; }
int gr_spawn_stage(const struct gr_spawn *spawn) { return spawn->job.stage; }
int gr_spawn_error(const struct gr_spawn *spawn) { return spawn->job.error; }

static struct gr_spawned clone_failure(const struct gr_spawn_request *r, int error) {
    bool ours = error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
    if (!ours && clone_flags(r) & CLONE_NEWUSER) return failure(GR_STAGE_USER_NAMESPACE, error);
    return failure(r->cgroup >= 0 && !ours ? GR_STAGE_CGROUP : GR_STAGE_CLONE, error);
}

struct gr_spawned gr_spawn_end(struct gr_spawn *spawn) {
    struct gr_spawned result = { .pid = spawn->pid, .pidfd = gr_spawn_pidfd(spawn), .step = -1 };
    if (spawn->result < 0) {
        result = clone_failure(&spawn->request, (int)-spawn->result);
    } else {
        result.error = spawn->job.error;
        result.stage = spawn->job.stage;
        result.step = spawn->job.step;
        result.trace_error = spawn->job.trace_error;
    }
    discard(spawn);
    return result;
}
