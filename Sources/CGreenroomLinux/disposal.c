/* Processes that close descriptors from strangers for us. close(2) can take as long as the sender
 * likes: a socket lingers (SO_LINGER), and the server of a file may not answer FLUSH (fuse(4)),
 * which the kernel sends at every close, not only at the last one. So it would not help to pass a
 * descriptor on and close ours. These processes share our table of descriptors (CLONE_FILES): they
 * close our numbers and wait, while we can still be killed.
 *
 * They also share our memory (CLONE_VM), so that nothing is copied and no page faults follow. So
 * they run only C code with raw system calls, because thread-local storage, including errno, is
 * ours. All signals are blocked in them.
 *
 * A process that shares a table keeps it open. If we were killed while one of these processes
 * cannot be killed, our clients and the spawner would never see our end. The keeper, which closes
 * nothing before, then closes the table. */
#define _GNU_SOURCE
#include "clone.h"
#include "CGreenroomLinux.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A lingering socket stops waiting at the next signal; a file that is being flushed keeps
 * waiting. */
enum { LINGER_MICROSECONDS = 1000 };
/* The numbers that a descriptor table has room for before it is shared. */
enum { ROOM = 4096 };

struct gr_disposal_worker {
    struct worker process;
    _Atomic int numbers[GR_DISPOSAL_QUEUE]; /* -1: taken, by the worker or by us */
    _Atomic unsigned added, done;
    _Atomic bool reports;
};

/* The kind of each number, for the keeper. */
static _Atomic unsigned char *kinds;
static size_t kind_count;

static struct { pid_t pid, parent; char stack[WORKER_STACK] __attribute__((aligned(16))); } keeper;

BARE static void set_kind(int number, int kind) {
    if (number >= 0 && (size_t)number < kind_count)
        atomic_store_explicit(&kinds[number], (unsigned char)kind, memory_order_relaxed);
}

BARE static int kind_of(size_t number) {
    return atomic_load_explicit(&kinds[number], memory_order_relaxed);
}

BARE void gr_disposal_mark(int number, enum gr_disposal_kind kind) { set_kind(number, kind); }

/* ---- The keeper ---- */

/* First closes the descriptors whose closing lets others see our end. Those that strangers sent are
 * left to our own exit: an exiting process does not linger, and if it waits for a file, nobody
 * waits for it. Our own slow ones (an inotify(7) instance, a pressure trigger) are left, too: one
 * call closes the lowest number last, so the spawner and the next supervisor would wait for them. */
BARE static void close_all(void) {
    for (size_t first = 0; first < kind_count; first++) {
        if (kind_of(first) != GR_DISPOSAL_OWN) continue;
        size_t last = first;
        while (last + 1 < kind_count && kind_of(last + 1) == GR_DISPOSAL_OWN) last++;
        (void)keeper_call(SYS_close_range, (long)first, (long)last, 0, 0);
        first = last;
    }
    for (size_t i = 0; i < kind_count; i++)
        if (kind_of(i) == GR_DISPOSAL_CONNECTION)
            (void)keeper_call(SYS_shutdown, (long)i, SHUT_RDWR, 0, 0);
    for (size_t i = 0; i < kind_count; i++)
        if (kind_of(i) == GR_DISPOSAL_QUEUE_OF_STRANGERS)
            (void)keeper_call(SYS_close, (long)i, 0, 0, 0);
}

BARE static int keep(void *argument) {
    (void)argument;
    (void)keeper_call(SYS_prctl, PR_SET_NAME, (long)"greenroom-keep", 0, 0);
    (void)keeper_call(SYS_prctl, PR_SET_PDEATHSIG, WORKER_WAKE, 0, 0);
    while (keeper_call(SYS_getppid, 0, 0, 0, 0) == keeper.parent) worker_await_wake();
    close_all();
    for (;;) (void)keeper_call(SYS_exit_group, 0, 0, 0, 0);
}

/* ---- Workers ---- */

BARE static void set_timer(long microseconds) {
    struct { long interval_seconds, interval, seconds, value; } timer
        = { .interval = microseconds, .value = microseconds };
    (void)keeper_call(SYS_setitimer, ITIMER_REAL, (long)&timer, 0, 0);
}

BARE static void close_added(struct gr_disposal_worker *self) {
    unsigned done = atomic_load_explicit(&self->done, memory_order_relaxed);
    while (done != atomic_load_explicit(&self->added, memory_order_acquire)) {
        int number = atomic_exchange_explicit(&self->numbers[done % GR_DISPOSAL_QUEUE], -1,
                                              memory_order_acq_rel);
        if (number >= 0) {
            set_kind(number, GR_DISPOSAL_OWN); /* before anybody else gets the number */
            (void)keeper_call(SYS_close, number, 0, 0, 0);
        }
        atomic_store_explicit(&self->done, ++done, memory_order_release);
    }
}

BARE static int work(void *argument) {
    struct gr_disposal_worker *self = argument;
    worker_begin("greenroom-close", self->process.parent);
    uint64_t alarm = ~(UINT64_C(1) << (SIGALRM - 1));
    (void)keeper_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&alarm, 0, WORKER_SIGSET);
    for (;;) {
        if (atomic_load_explicit(&self->done, memory_order_relaxed)
            != atomic_load_explicit(&self->added, memory_order_acquire)) {
            set_timer(LINGER_MICROSECONDS);
            close_added(self);
            set_timer(0);
            if (atomic_load(&self->reports)) {
                uint64_t one = 1;
                (void)keeper_call(SYS_write, self->process.report, (long)&one, sizeof one, 0);
            }
        }
        worker_await_wake();
    }
}

/* ---- Our own process ---- */

/* Once the table is shared, the kernel lets it grow only after a grace period of RCU (8 to 17 ms),
 * during which the loop would stand still. So it gets room for the descriptors of a thousand
 * instances before that: 8 bytes for each. A table never shrinks. */
static void make_room(size_t limit) {
    int number = eventfd(0, EFD_CLOEXEC);
    int last = fcntl(number, F_DUPFD_CLOEXEC, (int)(limit < ROOM ? limit : ROOM) - 1);
    if (last >= 0) (void)close(last);
    if (number >= 0) (void)close(number);
}

int gr_disposal_begin(void) {
    if (kinds) return 0;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -1;
    /* One byte for each number. Only pages that were touched take memory. */
    size_t count = limit.rlim_cur < (1 << 20) ? limit.rlim_cur : 1 << 20;
    void *bytes = mmap(NULL, count, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) return -1;
    kind_count = count;
    kinds = bytes;
    make_room(count);
    keeper.parent = getpid();
    keeper.pid = (pid_t)worker_start(keep, NULL, keeper.stack + WORKER_STACK);
    return keeper.pid < 0 ? -1 : 0;
}

void gr_disposal_leave(void) {
    worker_kill(keeper.pid);
    keeper.pid = -1;
}

struct gr_disposal_worker *gr_disposal_start(int report) {
    return worker_new(sizeof(struct gr_disposal_worker), report, work);
}

bool gr_disposal_add(struct gr_disposal_worker *worker, int number) {
    unsigned added = atomic_load_explicit(&worker->added, memory_order_relaxed);
    if (added - atomic_load_explicit(&worker->done, memory_order_acquire) >= GR_DISPOSAL_QUEUE)
        return false;
    atomic_store_explicit(&worker->numbers[added % GR_DISPOSAL_QUEUE], number, memory_order_relaxed);
    atomic_store_explicit(&worker->added, added + 1, memory_order_release);
    return true;
}

int gr_disposal_process(struct gr_disposal_worker *worker) { return gr_pidfd_open(worker->process.pid); }

void gr_disposal_wake(struct gr_disposal_worker *worker) {
    if (worker->process.pid > 0) (void)kill(worker->process.pid, WORKER_WAKE);
}

unsigned gr_disposal_done(struct gr_disposal_worker *worker) {
    return atomic_load_explicit(&worker->done, memory_order_acquire);
}

int gr_disposal_take_back(struct gr_disposal_worker *worker, unsigned index) {
    return atomic_exchange_explicit(&worker->numbers[index % GR_DISPOSAL_QUEUE], -1,
                                    memory_order_acq_rel);
}

void gr_disposal_report(struct gr_disposal_worker *worker) { atomic_store(&worker->reports, true); }

bool gr_disposal_is_gone(struct gr_disposal_worker *worker) {
    /* Once the worker is reaped, another process may get its number. */
    if (worker->process.pid > 0 && waitpid(worker->process.pid, NULL, WNOHANG | __WALL) != 0)
        worker->process.pid = -1;
    return worker->process.pid < 0;
}

void gr_disposal_end(struct gr_disposal_worker *worker) { worker_free(&worker->process, sizeof *worker); }

bool gr_close_connection(int number) {
    char none;
    /* Nothing more can arrive, but what has arrived may include descriptors. */
    (void)shutdown(number, SHUT_RDWR);
    if (recv(number, &none, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return false;
    set_kind(number, GR_DISPOSAL_OWN);
    (void)close(number);
    return true;
}

/* ---- Without the shared table: for a process that has children anyway ---- */

static char rest_stack[WORKER_STACK] __attribute__((aligned(16)));

/* Several processes may use this stack, because none of them ever returns. */
BARE static int rest(void *argument) {
    keeper_follow((long)(intptr_t)argument);
    for (;;) (void)keeper_call(SYS_ppoll, 0, 0, 0, 0);
}

static bool is_queue_empty(int number) {
    char none;
    struct iovec vector = { .iov_base = &none, .iov_len = 1 };
    struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };
    (void)shutdown(number, SHUT_RDWR);
    /* A packet without bytes also returns 0, but if it has descriptors, there is no room for them
     * here (MSG_CTRUNC). */
    return recvmsg(number, &header, MSG_PEEK | MSG_DONTWAIT) == 0 && !(header.msg_flags & MSG_CTRUNC);
}

void gr_close_queue(int number) {
    long pid = -1;
    if (!is_queue_empty(number)) {
        uint64_t all = ~UINT64_C(0), before = 0;
        (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, WORKER_SIGSET);
        pid = clone_call(SYS_clone, CLONE_VM | SIGCHLD, (long)(rest_stack + WORKER_STACK), 0, rest,
                         (void *)(intptr_t)getpid());
        (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, WORKER_SIGSET);
    }
    (void)close(number);
    if (pid > 0) (void)kill((pid_t)pid, SIGKILL);
}
