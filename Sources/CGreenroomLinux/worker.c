/* Starts and ends workers (worker.h). */
#define _GNU_SOURCE
#include "clone.h"
#include "worker.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

BARE static void wake_up(int signal) { (void)signal; }

/* Starts the process with all signals blocked and `wake_up` as the handler of SIGALRM, and restores
 * both for the caller. */
long worker_start(int (*body)(void *), void *argument, char *stack_end) {
    uint64_t all = ~UINT64_C(0), before = 0;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, WORKER_SIGSET);
    struct sigaction awake = { .sa_handler = wake_up }, former;
    (void)sigaction(SIGALRM, &awake, &former);
    /* clone3 is not used, because a unit's RestrictNamespaces= refuses it. No signal announces the
     * end of the process. */
    long pid = clone_call(SYS_clone, CLONE_VM | CLONE_FILES, (long)stack_end, 0, body, argument);
    (void)sigaction(SIGALRM, &former, NULL);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, WORKER_SIGSET);
    if (pid >= 0) return pid;
    errno = (int)-pid;
    return -1;
}

void *worker_new(size_t size, int report, int (*body)(void *)) {
    struct worker *worker
        = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (worker == MAP_FAILED) return NULL;
    worker->report = report;
    worker->parent = getpid();
    long pid = worker_start(body, worker, worker->stack + WORKER_STACK);
    if (pid < 0) {
        int error = errno;
        munmap(worker, size);
        errno = error;
        return NULL;
    }
    worker->pid = (pid_t)pid;
    return worker;
}

void worker_free(struct worker *worker, size_t size) {
    worker_kill(worker->pid);
    munmap(worker, size);
}

void worker_kill(pid_t pid) {
    if (pid <= 0) return;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR) continue;
}
