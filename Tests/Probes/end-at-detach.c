/// end-at-detach PID: kills a process, all of whose system calls it watches, at the end of its next
/// PTRACE_DETACH. It writes a line when it watches.

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool begins_to_detach(pid_t pid) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return false;
    return info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_ptrace
        && info.entry.args[0] == PTRACE_DETACH;
}

int main(int argc, char **argv) {
    pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
    if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD) < 0) return 1;
    if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0) return 1;
    bool detaches = false, watches = false;
    for (int status; waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);) {
        bool at_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
        if (at_call && detaches) return kill(pid, SIGKILL) < 0;
        if (at_call) detaches = begins_to_detach(pid);
        bool is_signal = !at_call && status >> 16 == 0;
        if (ptrace(PTRACE_SYSCALL, pid, 0, is_signal ? WSTOPSIG(status) : 0) < 0) return 1;
        if (!watches && write(1, "watching\n", 9) != 9) return 1;
        watches = true;
    }
    return 1;
}
