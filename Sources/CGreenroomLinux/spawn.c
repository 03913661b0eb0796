/* clone3 with a stack of our own and the child's half of a spawn. It cannot be Swift: between clone
 * and exec the child shares the parent's memory, so it may not allocate, lock or touch reference
 * counts. It only makes system calls, has one way out (exit_group) and reports through `struct job`. */
#define _GNU_SOURCE
#include "job.h"
#include "keeper.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

/* The kernel's struct clone_args, whose last members older headers lack. */
struct clone3_args {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
};

/* Enough for the child's frames: GR_SPAWN_DESCRIPTORS_MAX integers and a page to spare. It lies in
 * the parent's own frame, so spawns of several threads do not meet. */
enum { CHILD_STACK = 16 * 1024, KERNEL_SIGNALS = 64, KERNEL_SIGSET = 8 };

/* Raw calls: glibc refuses its two internal signals. The kernel's struct begins with the handler and
 * is all zero bytes for SIG_DFL. */
struct disposition { uintptr_t handler; char rest[56]; };

/* The signals that this process ignores, looked up once (64 system calls): the first spawn comes
 * after start-up, and nobody here begins to ignore a signal later. */
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

/* Handlers belong to the parent's code and ignored signals would survive exec. */
static void reset_dispositions(const struct job *job) {
    static const struct disposition standard;
    for (int s = 1; s <= KERNEL_SIGNALS; s++) {
        if (s == SIGKILL || s == SIGSTOP) continue;
        if (job->has_handlers || (job->ignored >> (s - 1) & 1))
            (void)syscall(SYS_rt_sigaction, s, &standard, NULL, KERNEL_SIGSET);
    }
}

static void join_cgroup(struct job *job) {
    int fd = openat(job->request->cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    TRY(GR_STAGE_CGROUP, fd);
    TRY(GR_STAGE_CGROUP, write(fd, "0", 1));
    close(fd);
}

/* Lowering the score needs CAP_SYS_RESOURCE: without it the app runs at the inherited score. */
static void adjust_oom_score(struct job *job) {
    char digits[12], text[12];
    int value = job->request->oom_score_adjust, n = 0, k = 0;
    unsigned rest = value < 0 ? 0u - (unsigned)value : (unsigned)value;
    if (value < 0) text[n++] = '-';
    do { digits[k++] = (char)('0' + rest % 10); } while ((rest /= 10) != 0);
    while (k > 0) text[n++] = digits[--k];
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == EACCES)) return;
    TRY(GR_STAGE_OOM_SCORE, fd);
    if (write(fd, text, (size_t)n) < 0 && errno != EACCES) fail(job, GR_STAGE_OOM_SCORE);
    close(fd);
}

/* The number of open files is raised before the descriptors are placed and lowered after. */
static void set_limits(struct job *job, bool before_descriptors) {
    const struct gr_spawn_request *r = job->request;
    for (int i = 0; i < r->limit_count; i++) {
        bool early = r->limits[i].resource != RLIMIT_NOFILE || job->raises_descriptor_limit;
        if (early != before_descriptors) continue;
        struct rlimit64 limit = { r->limits[i].soft, r->limits[i].hard };
        TRY(GR_STAGE_LIMITS, syscall(SYS_prlimit64, 0, r->limits[i].resource, &limit, NULL));
    }
}

/* The table was the parent's until now (CLONE_FILES). Copied is what lies below the highest descriptor that is
 * needed here: a parent of a thousand keeps theirs above (`FileDescriptor.moveAside`), or each
 * child would first copy them and then close them again. */
static void take_own_table(struct job *job) {
    int highest = job->cwd;
    if (job->join_cgroup && job->request->cgroup > highest) highest = job->request->cgroup;
    for (int i = 0; i < job->request->fd_count; i++)
        if (job->fds[i].from > highest) highest = job->fds[i].from;
    if (syscall(SYS_close_range, highest + 1, ~0u, CLOSE_RANGE_UNSHARE) == 0) return;
    TRY(GR_STAGE_DESCRIPTORS, syscall(SYS_unshare, CLONE_FILES));
}

static bool is_target(const struct job *job, int fd) {
    for (int i = 0; i < job->request->fd_count; i++)
        if (job->fds[i].to == fd) return true;
    return false;
}

/* A duplicate at a number that is nobody's target; `stage` is blamed where there is no room. */
static int move_aside(struct job *job, int source, int stage) {
    int fd = fcntl(source, F_DUPFD_CLOEXEC, 3);
    while (fd >= 0 && is_target(job, fd)) fd = fcntl(source, F_DUPFD_CLOEXEC, fd + 1);
    TRY(stage, fd);
    return fd;
}

/* No source has the number of a target, as a rule: what came in a message is above 0, 1 and 2. */
static bool are_apart(const struct job *job) {
    int count = job->request->fd_count;
    int highest = count > 0 ? job->fds[count - 1].to : -1;
    for (int i = 0; i < count; i++)
        if (job->fds[i].from <= highest) return false;
    return job->cwd < 0 || job->cwd > highest;
}

/* Every source first moves to a number that is nobody's target, so that no dup2 overwrites a
 * source still needed. Not "above the highest target": that may be the limit itself. */
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
        TRY(GR_STAGE_DESCRIPTORS, dup2(moved[i], (int)to));
        if (to > next)
            TRY(GR_STAGE_DESCRIPTORS, syscall(SYS_close_range, next, to - 1, CLOSE_RANGE_CLOEXEC));
        next = to + 1;
    }
    TRY(GR_STAGE_DESCRIPTORS, syscall(SYS_close_range, next, ~0u, CLOSE_RANGE_CLOEXEC));
}

/* The client's pty: one of the standard descriptors at least is a terminal (ioctl_tty(2)). */
static void take_terminal(struct job *job) {
    int fd = 0;
    while (fd < 2 && ioctl(fd, TIOCSCTTY, 0) < 0) fd++;
    if (fd == 2) TRY(GR_STAGE_SESSION, ioctl(fd, TIOCSCTTY, 0));
}

/* Raw: glibc's setters signal every thread of the process, which here are the parent's. */
static void take_identity(struct job *job) {
    const struct gr_spawn_request *r = job->request;
    TRY(GR_STAGE_GROUPS, syscall(SYS_setgroups, r->group_count, r->groups));
    TRY(GR_STAGE_GROUP, syscall(SYS_setresgid, r->gid, r->gid, r->gid));
    TRY(GR_STAGE_USER, syscall(SYS_setresuid, r->uid, r->uid, r->uid));
}

static int child(void *argument) {
    struct job *job = argument;
    const struct gr_spawn_request *r = job->request;
    take_own_table(job);
    if (job->join_cgroup) join_cgroup(job);
    if (r->tells_listen_pid) gr_tell_listen_pid(r->envp);
    reset_dispositions(job);
    if (r->new_session) TRY(GR_STAGE_SESSION, setsid());
    if (r->umask >= 0) umask((mode_t)r->umask);
    if (r->has_oom_score) adjust_oom_score(job);
    set_limits(job, true);
    gr_enter_namespaces(job);
    gr_make_mounts(job);
    place_descriptors(job);
    if (r->controlling_terminal) take_terminal(job);
    set_limits(job, false);
    gr_bound_capabilities(job);
    gr_keep_capabilities(job);
    if (r->has_identity) take_identity(job);
    /* As the app's user: what ends with the app is ended by the app (check_kill_permission). */
    if (r->controlling_terminal) keep_job_control();
    gr_raise_capabilities(job);
    if (r->no_new_privileges)
        TRY(GR_STAGE_PRIVILEGES, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    /* As the app's user: it must be allowed to enter it. */
    if (job->cwd >= 0) TRY(GR_STAGE_DIRECTORY, fchdir(job->cwd));
    else if (r->cwd) TRY(GR_STAGE_DIRECTORY, chdir(r->cwd));
    uint64_t none = 0;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_SIGSET);
    gr_install_filters(job);
    execve(r->path, r->argv, r->envp);
    fail(job, GR_STAGE_EXECUTE);
}

/* clone3(args, size) or clone(flags, stack, parent_tid). The child starts on another stack, so it
 * cannot return from a C function that made the call; and libc's clone() would do more than the
 * call (a sanitizer's does so much that it fails beside CLONE_VM). */
static long clone_call(long number, long first, long second, long third, int (*start)(void *),
                       void *argument) {
#if defined(__x86_64__)
    long result;
    register void *r12 __asm__("r12") = (void *)start;
    register void *r13 __asm__("r13") = argument;
    __asm__ volatile(
        "syscall\n\t"
        "test %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xor %%ebp, %%ebp\n\t"
        "mov %%r13, %%rdi\n\t"
        "call *%%r12\n\t"
        "ud2\n"
        "1:"
        : "=a"(result)
        : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r12), "r"(r13)
        : "rcx", "r11", "memory", "cc");
    return result;
#elif defined(__aarch64__)
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    register long x8 __asm__("x8") = number;
    register void *x9 __asm__("x9") = (void *)start;
    register void *x10 __asm__("x10") = argument;
    __asm__ volatile(
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x30, xzr\n\t"
        "mov x0, x10\n\t"
        "blr x9\n\t"
        "brk #1\n"
        "1:"
        : "+r"(x0)
        : "r"(x1), "r"(x2), "r"(x8), "r"(x9), "r"(x10)
        : "memory", "cc");
    return x0;
#else
#error "Greenroom runs on x86-64 and aarch64: add this architecture's clone3"
#endif
}

static bool clone3_is_missing(int error) {
    /* ENOSYS: before 5.3 or a filter; EPERM: an older container filter; E2BIG, EINVAL: before 5.7,
     * which has no CLONE_INTO_CGROUP. */
    return error == ENOSYS || error == EPERM || error == E2BIG || error == EINVAL;
}

/* Only clone can make a user namespace for a process that shares memory; the others the child
 * makes itself, so that a failure of theirs has a name of its own. */
static uint64_t clone_flags(const struct gr_spawn_request *r) {
    uint64_t flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD;
    return r->confinement && r->confinement->in_user_namespace ? flags | CLONE_NEWUSER : flags;
}

/* Returns the child's pid or -errno. Falls back to clone(2), where the child joins its cgroup
 * itself: that waits for a grace period of the kernel (7 ms, not 0.1), hence only a fallback. */
static long start_child(struct job *job, int *pidfd, char *stack) {
    static _Atomic bool no_clone3;
    const struct gr_spawn_request *r = job->request;
    struct clone3_args args = {
        .flags = clone_flags(r) | CLONE_CLEAR_SIGHAND,
        .pidfd = (uintptr_t)pidfd, .exit_signal = SIGCHLD,
        .stack = (uintptr_t)stack, .stack_size = CHILD_STACK,
    };
    if (r->cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)r->cgroup;
    }
    if (!r->without_clone3 && !atomic_load_explicit(&no_clone3, memory_order_relaxed)) {
        long result = clone_call(SYS_clone3, (long)&args, sizeof args, 0, child, job);
        if (result >= 0 || !clone3_is_missing((int)-result)) return result;
    }
    job->join_cgroup = r->cgroup >= 0;
    job->has_handlers = true;
    long pid = clone_call(SYS_clone, (long)clone_flags(r) | SIGCHLD,
                          (long)(stack + CHILD_STACK), (long)pidfd, child, job);
    if (pid < 0) return pid;
    if (!r->without_clone3) atomic_store_explicit(&no_clone3, true, memory_order_relaxed);
    return pid;
}

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

struct gr_spawned gr_spawn(const struct gr_spawn_request *request) {
    char stack[CHILD_STACK] __attribute__((aligned(16)));
    struct gr_fd_mapping fds[GR_SPAWN_DESCRIPTORS_MAX];
    if (request->fd_count < 0 || request->fd_count > GR_SPAWN_DESCRIPTORS_MAX)
        return failure(GR_STAGE_DESCRIPTORS, E2BIG);
    if (request->confinement && request->confinement->mount_count > GR_MOUNTS_MAX)
        return failure(GR_STAGE_MOUNTS, E2BIG);
    if (request->fd_count > 0)
        memcpy(fds, request->fds, sizeof *fds * (size_t)request->fd_count);
    sort_by_target(fds, request->fd_count);
    struct job job = { .request = request, .fds = fds, .cwd = request->cwd_fd,
                       .raises_descriptor_limit = raises_descriptor_limit(request),
                       .ignored = ignored_signals(), .step = -1 };

    /* No handler of the parent may run in the child, on this memory. */
    uint64_t all = ~UINT64_C(0), before = 0;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SIGSET);
    /* A change of user id in the child clears "dumpable" of the memory it shares with us. The
     * kernel thereby keeps the new user from tracing it; we take ours back once it has its own. */
    bool changes = request->has_identity || request->confinement;
    int dumpable = changes ? prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) : -1;
    int pidfd = -1;
    long pid = start_child(&job, &pidfd, stack);
    if (dumpable == 1) (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SIGSET);

    if (pid < 0) {
        int error = (int)-pid;
        bool ours = error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
        if (!ours && clone_flags(request) & CLONE_NEWUSER)
            return failure(GR_STAGE_USER_NAMESPACE, error);
        return failure(request->cgroup >= 0 && !ours ? GR_STAGE_CGROUP : GR_STAGE_CLONE, error);
    }
    if (job.error != 0) { /* it never became the app: nobody else is to see it */
        siginfo_t info;
        while (waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0 && errno == EINTR) {}
        close(pidfd);
        struct gr_spawned result = failure(job.stage, job.error);
        result.step = job.step;
        return result;
    }
    return (struct gr_spawned){ .pid = (pid_t)pid, .pidfd = pidfd };
}
