// Attaches to the process of argv[1] as a debugger does (ptrace(2)), says so with a byte, and lets it run
// until it is killed itself: the kernel then detaches.
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2 || ptrace(PTRACE_SEIZE, atoi(argv[1]), 0, 0) != 0) return 1;
    if (write(1, "!", 1) != 1) return 1;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
        if (WIFSTOPPED(status)) ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
    }
    return 0;
}
