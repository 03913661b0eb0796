/* Functions of the C library as system calls, for Swift and for CGreenroomLinux. */
#define _GNU_SOURCE
#include "library.h"
#include "../CGreenroomLinux/system_call.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <termios.h>

/* The size of the kernel's set of signals. */
enum { SET_BYTES = 8 };

static int error;
int *__errno_location(void) { return &error; }

static long checked(long result) {
    if (result >= 0 || result < -4095) return result;
    error = (int)-result;
    return -1;
}

#define CALL(number, a, b, c, d, e, f) checked(system_call( \
    SYS_##number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))

long syscall(long number, ...) {
    long word[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) word[i] = va_arg(list, long);
    va_end(list);
    return checked(system_call(number, word[0], word[1], word[2], word[3], word[4], word[5]));
}

/* ---- Files ---- */

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    unsigned mode = flags & O_CREAT ? va_arg(list, unsigned) : 0;
    va_end(list);
    return (int)CALL(openat, AT_FDCWD, path, flags, mode, 0, 0);
}

int close(int fd) { return (int)CALL(close, fd, 0, 0, 0, 0, 0); }
ssize_t read(int fd, void *bytes, size_t size) { return CALL(read, fd, bytes, size, 0, 0, 0); }
ssize_t write(int fd, const void *bytes, size_t size) { return CALL(write, fd, bytes, size, 0, 0, 0); }

int fcntl(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    return (int)CALL(fcntl, fd, command, argument, 0, 0, 0);
}

char **gr_run_environ(void) { return environ; }
int gr_run_open(const char *path, int flags) { return open(path, flags); }
int gr_run_fcntl(int fd, int command) { return fcntl(fd, command, 0); }

int access(const char *path, int mode) { return (int)CALL(faccessat, AT_FDCWD, path, mode, 0, 0, 0); }
int stat(const char *path, struct stat *status) {
    return (int)CALL(newfstatat, AT_FDCWD, path, status, 0, 0, 0);
}
int lstat(const char *path, struct stat *status) {
    return (int)CALL(newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW, 0, 0);
}
int fstat(int fd, struct stat *status) { return (int)CALL(fstat, fd, status, 0, 0, 0, 0); }
ssize_t readlink(const char *path, char *target, size_t size) {
    return CALL(readlinkat, AT_FDCWD, path, target, size, 0, 0);
}
mode_t umask(mode_t mask) { return (mode_t)CALL(umask, mask, 0, 0, 0, 0, 0); }

/* This function is only for calls with one pointer. */
int ioctl(int fd, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    return (int)CALL(ioctl, fd, request, argument, 0, 0, 0);
}

int isatty(int fd) {
    char settings[64];
    return CALL(ioctl, fd, TCGETS, settings, 0, 0, 0) == 0;
}

/* This function is only for a NULL buffer. */
char *getcwd(char *unused, size_t size) {
    (void)unused, (void)size;
    char *path = malloc(PATH_MAX);
    if (path && CALL(getcwd, path, PATH_MAX, 0, 0, 0, 0) >= 0) return path;
    free(path);
    return NULL;
}

/* The kernel resolves the path. */
char *realpath(const char *path, char *unused) {
    (void)unused;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return NULL;
    char name[32] = "/proc/self/fd/", digits[12];
    size_t at = strlen(name), count = 0;
    for (unsigned rest = (unsigned)fd; count == 0 || rest > 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0) name[at++] = digits[--count];
    name[at] = 0;
    char *target = malloc(PATH_MAX);
    ssize_t size = target ? readlink(name, target, PATH_MAX - 1) : -1;
    close(fd);
    if (size < 0) {
        free(target);
        return NULL;
    }
    target[size] = 0;
    return target;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    return (void *)CALL(mmap, address, size, protection, flags, fd, offset);
}

/* ---- Sockets ---- */

int socket(int family, int type, int protocol) {
    return (int)CALL(socket, family, type, protocol, 0, 0, 0);
}
int connect(int fd, const struct sockaddr *address, socklen_t size) {
    return (int)CALL(connect, fd, address, size, 0, 0, 0);
}
ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    return CALL(sendto, fd, bytes, size, flags, 0, 0);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    return CALL(sendmsg, fd, message, flags, 0, 0, 0);
}
ssize_t recv(int fd, void *bytes, size_t size, int flags) {
    return CALL(recvfrom, fd, bytes, size, flags, 0, 0);
}
int poll(struct pollfd *entries, nfds_t count, int milliseconds) {
    struct timespec limit = { milliseconds / 1000, milliseconds % 1000 * 1000000L };
    return (int)CALL(ppoll, entries, count, milliseconds < 0 ? NULL : &limit, 0, SET_BYTES, 0);
}

/* ---- Signals ---- */

int sigemptyset(sigset_t *set) {
    memset(set, 0, sizeof *set);
    return 0;
}
int sigaddset(sigset_t *set, int signal) {
    *(uint64_t *)set |= UINT64_C(1) << (signal - 1);
    return 0;
}
int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
    return (int)CALL(rt_sigprocmask, how, set, before, SET_BYTES, 0, 0);
}
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    return sigprocmask(how, set, before) < 0 ? errno : 0;
}
int signalfd(int fd, const sigset_t *set, int flags) {
    return (int)CALL(signalfd4, fd, set, SET_BYTES, flags, 0, 0);
}
/* This function is only for SIG_DFL, which needs no restorer (sigreturn(2)). */
void (*signal(int number, void (*handler)(int)))(int) {
    struct { void (*handler)(int); uint64_t rest[3]; } action = { handler, { 0 } };
    return CALL(rt_sigaction, number, &action, NULL, SET_BYTES, 0, 0) < 0 ? SIG_ERR : SIG_DFL;
}
int kill(pid_t pid, int number) { return (int)CALL(kill, pid, number, 0, 0, 0, 0); }

/* ---- The process ---- */

pid_t getpid(void) { return (pid_t)CALL(getpid, 0, 0, 0, 0, 0, 0); }
uid_t getuid(void) { return (uid_t)CALL(getuid, 0, 0, 0, 0, 0, 0); }
int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
    return (int)CALL(prlimit64, 0, resource, limit, NULL, 0, 0);
}
int personality(unsigned long domain) { return (int)CALL(personality, domain, 0, 0, 0, 0, 0); }
int prctl(int option, ...) {
    va_list list;
    va_start(list, option);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long);
    va_end(list);
    return (int)CALL(prctl, option, a, b, c, d, 0);
}
int execve(const char *path, char *const *arguments, char *const *variables) {
    return (int)CALL(execve, path, arguments, variables, 0, 0, 0);
}
void exit(int status) {
    for (;;) (void)CALL(exit_group, status, 0, 0, 0, 0, 0);
}

char *getenv(const char *name) {
    for (char **variable = environ; *variable; variable++) {
        size_t size = 0;
        while (name[size] && (*variable)[size] == name[size]) size++;
        if (!name[size] && (*variable)[size] == '=') return *variable + size + 1;
    }
    return NULL;
}

/* Swift's random numbers. */
void arc4random_buf(void *bytes, size_t size) {
    for (char *at = bytes; size > 0;) {
        long count = CALL(getrandom, at, size, 0, 0, 0, 0);
        if (count < 0 && errno != EINTR) exit(125);
        if (count > 0) at += count, size -= (size_t)count;
    }
}

/* Double(String): no reply to this program's calls has a number with a fraction. A reply that does
 * counts as unreadable, so that greenroomctl takes over. */
const char *_swift_stdlib_strtod_clocale(const char *text, double *number) {
    (void)text, (void)number;
    return NULL;
}

/* For the sizes of hash tables. */
double ceil(double number) {
    double whole = (double)(int64_t)number;
    return whole < number ? whole + 1 : whole;
}
