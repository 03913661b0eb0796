#define _GNU_SOURCE
#include "CGreenroomLinux.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

int gr_trace_options(int32_t thread) {
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK
                 | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    return (int)ptrace(PTRACE_SETOPTIONS, thread, NULL, options);
}

int gr_trace_continue(int32_t thread, int signal) {
    return (int)ptrace(PTRACE_CONT, thread, NULL, (long)signal);
}

int gr_trace_detach(int32_t thread, int signal) {
    return (int)ptrace(PTRACE_DETACH, thread, NULL, (long)signal);
}

int32_t gr_trace_child(int32_t thread) {
    unsigned long child = 0;
    if (ptrace(PTRACE_GETEVENTMSG, thread, NULL, &child) < 0) return -1;
    return (int32_t)child;
}

int gr_signal_thread(int32_t process, int32_t thread, int signal) {
    return (int)syscall(SYS_tgkill, process, thread, signal);
}
