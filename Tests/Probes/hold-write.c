/* Holds the process with the number in the first argument before its next write(2), until standard
 * input ends. Says "traced" when it traces the process, and "held" when the process is held
 * (ptrace(2)). */
#include <errno.h>
#include <linux/ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static long trace(int request, pid_t pid, unsigned long address, void *data) {
    long result = syscall(SYS_ptrace, request, pid, address, data);
    if (result >= 0) return result;
    perror("ptrace");
    exit(1);
}

static void say(const char *word) {
    puts(word);
    fflush(stdout);
}

static int is_before_write(pid_t pid) {
    struct ptrace_syscall_info info;
    trace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
    return info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_write;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    pid_t pid = atoi(arguments[1]);
    int status;
    char byte;
    trace(PTRACE_SEIZE, pid, 0, (void *)PTRACE_O_TRACESYSGOOD);
    /* A process that waits for its child (vfork(2)) stops when the child has gone on. */
    trace(PTRACE_INTERRUPT, pid, 0, NULL);
    say("traced");
    do {
        while (waitpid(pid, &status, __WALL) < 0)
            if (errno != EINTR) return 1;
        if (!WIFSTOPPED(status)) return 1;
        if (is_before_write(pid)) break;
        trace(PTRACE_SYSCALL, pid, 0, NULL);
    } while (1);
    say("held");
    while (read(0, &byte, 1) > 0) continue;
    return 0;
}
