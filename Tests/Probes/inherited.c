/// Prints all that a process inherits from whoever executes it, a line per fact, so that a program
/// that was called can be compared with one that was launched. Facts that differ between any two
/// processes (numbers of processes, pipes, times) are left out.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static void print_bytes(const char *label, const char *text) {
    printf("%s=", label);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte > 0x7e || byte == '\\') printf("\\x%02x", byte);
        else putchar(byte);
    }
    putchar('\n');
}

static void print_descriptors(void) {
    for (int number = 0; number < 2048; number++) {
        struct stat status;
        if (fstat(number, &status) < 0) continue;
        printf("descriptor %d: type=%o flags=%o", number, status.st_mode & S_IFMT,
               fcntl(number, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
        printf(" close-on-exec=%d", fcntl(number, F_GETFD) & FD_CLOEXEC);
        if (S_ISREG(status.st_mode))
            printf(" inode=%ju at=%jd", (uintmax_t)status.st_ino,
                   (intmax_t)lseek(number, 0, SEEK_CUR));
        putchar('\n');
    }
}

static void print_limits(void) {
    for (int resource = 0; resource < 16; resource++) {
        struct rlimit limit;
        getrlimit(resource, &limit);
        printf("limit %d: %jd %jd\n", resource, (intmax_t)limit.rlim_cur,
               (intmax_t)limit.rlim_max);
    }
}

/// The lines of /proc/self/status about what is inherited.
static void print_status(void) {
    static const char *const names[] = {"SigBlk:", "SigIgn:", "NoNewPrivs:", "Cpus_allowed:"};
    FILE *file = fopen("/proc/self/status", "re");
    char line[1024];
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(line, names[i], strlen(names[i])) == 0) fputs(line, stdout);
    if (file) fclose(file);
}

int main(int argc, char **argv) {
    static char text[1 << 16]; // nothing is written before everything was looked at
    setvbuf(stdout, text, _IOFBF, sizeof text);
    print_descriptors();
    for (int i = 0; i < argc; i++) print_bytes("argument", argv[i]);
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "_=", 2) != 0) print_bytes("variable", *variable);
    print_limits();
    print_status();
    errno = 0;
    printf("nice=%d\n", getpriority(PRIO_PROCESS, 0));
    printf("io priority=%ld\n", syscall(SYS_ioprio_get, 1, 0));
    printf("personality=%x\n", personality(0xffffffff));
    mode_t mask = umask(0);
    printf("umask=%o\n", mask);
    char path[4096];
    print_bytes("directory", getcwd(path, sizeof path) ? path : strerror(errno));
    struct stat status;
    printf("directory's inode=%ju\n", stat(".", &status) == 0 ? (uintmax_t)status.st_ino : 0);
    return 0;
}
