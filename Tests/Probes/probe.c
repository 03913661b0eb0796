/// Prints everything a program can easily learn about itself, a line per fact, so that two runs can
/// be compared: one started by exec, one resumed from its prewarm. Facts that differ between any
/// two processes (numbers of processes, addresses, times) are left out.
///
/// `probe ...` prints; `probe --wait ...` prints and then waits for the end of its stdin.
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void print_file(const char *label, const char *path) {
    static char text[1 << 20];
    size_t size = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = 0;
    while (file >= 0 && (count = read(file, text + size, sizeof text - size)) > 0)
        size += (size_t)count;
    if (file >= 0) close(file);
    printf("%s(%zu)=", label, size);
    for (size_t i = 0; i < size; i++) putchar(text[i] == 0 || text[i] == '\n' ? '|' : text[i]);
    putchar('\n');
}

static void print_arguments(int argc, char **argv, char **envp) {
    printf("argc=%d\n", argc);
    for (int i = 0; argv[i]; i++) printf("argv[%d]=%s\n", i, argv[i]);
    printf("environ==envp: %d, envp behind argv: %d\n", environ == envp, envp == argv + argc + 1);
    printf("strings in one row: %d\n",
           !envp[0] || envp[0] == argv[argc - 1] + strlen(argv[argc - 1]) + 1);
    int count = 0;
    for (; environ[count]; count++) printf("environ[%d]=%s\n", count, environ[count]);
    printf("getenv PATH=%s A=%s\n", getenv("PATH"), getenv("A"));
    printf("setenv works: %d\n", setenv("PROBE_NEW", "1", 1) == 0 && getenv("PROBE_NEW") != NULL);
    Elf64_auxv_t *auxiliary = (Elf64_auxv_t *)(envp + count + 1);
    for (; auxiliary->a_type != AT_NULL; auxiliary++) {
        if (auxiliary->a_type == AT_PAGESZ) printf("AT_PAGESZ=%lu\n", auxiliary->a_un.a_val);
        if (auxiliary->a_type == AT_SECURE) printf("AT_SECURE=%lu\n", auxiliary->a_un.a_val);
        if (auxiliary->a_type == AT_EXECFN)
            printf("AT_EXECFN=%s\n", (const char *)auxiliary->a_un.a_val);
    }
    printf("program_invocation_name=%s short=%s\n", program_invocation_name,
           program_invocation_short_name);
}

static void print_descriptors(void) {
    for (int number = 0; number < 1100; number++) {
        struct stat status;
        if (fstat(number, &status) < 0) continue;
        char link[64], target[512] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", number);
        ssize_t size = readlink(link, target, sizeof target - 1);
        if (size > 0) target[size] = 0;
        char *inode = strchr(target, '[');
        if (inode && !S_ISREG(status.st_mode)) *inode = 0; // pipe:[123]
        printf("fd %d: type %o, flags %o, close-on-exec %d, %s\n", number, status.st_mode >> 12,
               fcntl(number, F_GETFL), fcntl(number, F_GETFD), target);
    }
}

static void print_limits(void) {
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit;
        if (getrlimit(resource, &limit) == 0)
            printf("limit %d: %ld %ld\n", resource, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
}

static void print_signals(void) {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number < 65; number++) {
        struct sigaction action = {0};
        sigaction(number, NULL, &action);
        if (action.sa_handler != SIG_DFL || sigismember(&mask, number) == 1)
            printf("signal %d: ignored %d, caught %d, blocked %d\n", number,
                   action.sa_handler == SIG_IGN,
                   action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL,
                   sigismember(&mask, number));
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("alternate stack: %d\n", stack.ss_flags);
}

static void print_identity(void) {
    uid_t r, e, s;
    gid_t gr, ge, gs, groups[64];
    getresuid(&r, &e, &s);
    getresgid(&gr, &ge, &gs);
    int count = getgroups(64, groups);
    printf("uid %u %u %u gid %u %u %u groups %d:", r, e, s, gr, ge, gs, count);
    for (int i = 0; i < count; i++) printf(" %u", groups[i]);
    putchar('\n');
    static const char *const wanted[] = {
        "Name:", "Umask:", "TracerPid:", "NSpid", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:",
        "CapAmb:", "NoNewPrivs:", "Seccomp:", "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:",
        "SigCgt:", "Cpus_allowed:", "Mems_allowed:",
        "Threads:", "THP_enabled:"};
    char line[512];
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0 && wanted[i][0] != 'N')
                printf("%s", line);
    if (status) fclose(status);
}

static void print_session(void) {
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    printf("session leader %d, group leader %d, terminals %d%d%d, /dev/tty %d, foreground %d\n",
           getsid(0) == getpid(), getpgrp() == getpid(), isatty(0), isatty(1), isatty(2),
           terminal >= 0, terminal >= 0 && tcgetpgrp(terminal) == getpgrp());
    printf("children to wait for: %d\n", waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD);
    if (terminal >= 0) close(terminal);
}

static void print_attributes(void) {
    char path[4096];
    printf("cwd=%s\n", getcwd(path, sizeof path) ? path : "?");
    mode_t mask = umask(0);
    umask(mask);
    printf("umask=%03o\n", mask);
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    printf("exe=%.*s\n", (int)size, path);
    printf("nice=%d policy=%d dumpable=%d parent-death=", getpriority(PRIO_PROCESS, 0),
           sched_getscheduler(0), prctl(PR_GET_DUMPABLE));
    int number = 0;
    prctl(PR_GET_PDEATHSIG, &number);
    printf("%d subreaper=", number);
    prctl(PR_GET_CHILD_SUBREAPER, &number);
    printf("%d slack=%d keepcaps=%d securebits=%d\n", number, prctl(PR_GET_TIMERSLACK),
           prctl(PR_GET_KEEPCAPS), prctl(PR_GET_SECUREBITS));
}

int main(int argc, char **argv, char **envp) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    print_file("cmdline", "/proc/self/cmdline");
    print_file("environ", "/proc/self/environ");
    print_file("comm", "/proc/self/comm");
    print_file("oom_score_adj", "/proc/self/oom_score_adj");
    print_file("cgroup", "/proc/self/cgroup");
    print_descriptors();
    print_arguments(argc, argv, envp);
    print_limits();
    print_signals();
    print_identity();
    print_session();
    print_attributes();
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "--wait") == 0)
        while (read(0, (char[1]){0}, 1) > 0) continue;
    return 0;
}
