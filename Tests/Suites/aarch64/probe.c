/* Prints what main can see of the program's start. With an argument, does what that says instead. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void show_file(const char *path) {
    char text[4096];
    int fd = open(path, O_RDONLY);
    long size = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    printf("%s:", path);
    for (long i = 0; i < size; i++) putchar(text[i] == 0 ? '|' : text[i]);
    putchar('\n');
}

static void show_status(void) {
    static const char *const wanted[] = {"Name", "Uid", "Gid", "Groups", "SigBlk", "SigIgn",
                                         "SigCgt", "CapEff", "CapBnd", "NoNewPrivs", "Threads"};
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (!strncmp(line, wanted[i], strlen(wanted[i])) && line[strlen(wanted[i])] == ':')
                fputs(line, stdout);
    if (file) fclose(file);
}

static void show_descriptors(void) {
    for (int fd = 0; fd < 1100; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf("fd %d\n", fd);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "wait")) {
        puts("waits");
        fflush(stdout);
        for (;;) pause();
    }
    if (argc == 3 && !strcmp(argv[1], "write")) {
        int fd = open(argv[2], O_WRONLY | O_CREAT, 0600);
        puts(fd < 0 ? strerror(errno) : "written");
        return 0;
    }
    for (int i = 0; i < argc; i++) printf("argv %s\n", argv[i]);
    for (char **entry = environ; *entry; entry++) printf("env %s\n", *entry);
    char path[4096];
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    mode_t mask = umask(0);
    printf("cwd %s umask %o files %lu/%lu\n", getcwd(path, sizeof path), mask,
           (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
    printf("leads its session %d, name %s, libc %d\n", getsid(0) == getpid(),
           program_invocation_name, getauxval(AT_PAGESZ) == (unsigned long)sysconf(_SC_PAGESIZE));
    show_status();
    show_file("/proc/self/cmdline");
    show_file("/proc/self/oom_score_adj");
    show_file("/proc/self/cgroup");
    show_descriptors();
    return 7;
}
