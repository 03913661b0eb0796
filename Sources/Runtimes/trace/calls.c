/// The functions of the C library that are watched. Each is called as it would be; here it is only
/// noted that it was.
#define _GNU_SOURCE
#include "trace.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

/// The C library's function of that name.
#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/// A function whose every call has one effect.
#define WATCHED(result, name, reason, parameters, ...) \
    EXPORT result name parameters; \
    EXPORT result name parameters { \
        NEXT(name); \
        trace_line("does", reason); \
        return next(__VA_ARGS__); \
    }

/// The first characters of a variable's name with which a script speaks to this library: getenv(3) is
/// the one function that every language calls with a text.
static const char gate[] = "greenroom ";

static char *find(const char *name) {
    size_t length = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, name, length) && (*entry)[length] == '=') return *entry + length + 1;
    return NULL;
}

EXPORT char *getenv(const char *name) {
    if (!strncmp(name, gate, sizeof gate - 1)) {
        trace_obey(name + sizeof gate - 1);
        return NULL;
    }
    trace_line("reads", name);
    return find(name);
}

EXPORT char *secure_getenv(const char *name) {
    return getenv(name);
}

// Where the process is.
WATCHED(char *, getcwd, "directory", (char *buffer, size_t size), buffer, size)
WATCHED(char *, get_current_dir_name, "directory", (void), )
WATCHED(int, chdir, "directory", (const char *path), path)
WATCHED(int, fchdir, "directory", (int number), number)
char *__getcwd_chk(char *buffer, size_t size, size_t limit); // of what was built with _FORTIFY_SOURCE
WATCHED(char *, __getcwd_chk, "directory", (char *buffer, size_t size, size_t limit), buffer, size, limit)

// Terminals. An interpreter asks for every file that it opens.
EXPORT int isatty(int number) {
    NEXT(isatty);
    if (number <= 2) trace_line("does", "terminal");
    return next(number);
}

EXPORT int ttyname_r(int number, char *buffer, size_t size) {
    NEXT(ttyname_r);
    trace_line("does", "terminal");
    return next(number, buffer, size);
}

EXPORT int ioctl(int number, unsigned long request, ...) {
    static int (*next)(int, unsigned long, ...);
    if (!next) next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (number <= 2) trace_line("does", "terminal");
    return next(number, request, argument);
}

// Files.
/// Files that describe the machine, not the user.
static bool is_of_machine(const char *path) {
    static const char *const places[] = {"/usr/", "/lib", "/sys/devices/system/", "/proc/cpuinfo",
                                         "/proc/meminfo", "/dev/urandom"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (!strncmp(path, places[i], strlen(places[i]))) return true;
    return false;
}

static void note_open(const char *path, int flags) {
    if (!path || !strcmp(path, "/dev/null")) return;
    if ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC))
        trace_line("does", "writes");
    else if (!is_of_machine(path))
        trace_line("opens", path);
}

static mode_t mode_of(int flags, va_list arguments) {
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPENS(name) \
    EXPORT int name(const char *path, int flags, ...) { \
        NEXT(name); \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = mode_of(flags, arguments); \
        va_end(arguments); \
        note_open(path, flags); \
        return next(path, flags, mode); \
    }
#define OPENS_AT(name) \
    EXPORT int name(int folder, const char *path, int flags, ...) { \
        NEXT(name); \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = mode_of(flags, arguments); \
        va_end(arguments); \
        note_open(path, flags); \
        return next(folder, path, flags, mode); \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

EXPORT int __open_2(const char *path, int flags) {
    return open(path, flags & ~O_CREAT);
}

EXPORT int __open64_2(const char *path, int flags) {
    return open64(path, flags & ~O_CREAT);
}

static void note_stream(const char *path, const char *mode) {
    note_open(path, strpbrk(mode, "wa+") ? O_RDWR : O_RDONLY);
}

EXPORT FILE *fopen(const char *path, const char *mode) {
    NEXT(fopen);
    note_stream(path, mode);
    return next(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode) {
    NEXT(fopen64);
    note_stream(path, mode);
    return next(path, mode);
}

EXPORT DIR *opendir(const char *path) {
    NEXT(opendir);
    note_open(path, O_RDONLY);
    return next(path);
}

WATCHED(int, unlink, "writes", (const char *path), path)
WATCHED(int, mkdir, "writes", (const char *path, mode_t mode), path, mode)
WATCHED(int, rmdir, "writes", (const char *path), path)
WATCHED(int, rename, "writes", (const char *old, const char *new), old, new)
WATCHED(int, symlink, "writes", (const char *old, const char *new), old, new)
WATCHED(int, link, "writes", (const char *old, const char *new), old, new)
WATCHED(int, chmod, "writes", (const char *path, mode_t mode), path, mode)
WATCHED(int, truncate, "writes", (const char *path, off_t size), path, size)
WATCHED(int, mkstemp, "writes", (char *path), path)
WATCHED(int, mkstemp64, "writes", (char *path), path)

EXPORT void openlog(const char *name, int options, int facility) {
    static void (*next)(const char *, int, int);
    if (!next) next = (void (*)(const char *, int, int))dlsym(RTLD_NEXT, "openlog");
    trace_line("does", "writes");
    next(name, options, facility);
}

// Processes and threads. A wrapper of vfork(2) cannot return to its caller twice.
WATCHED(pid_t, fork, "runs", (void), )
EXPORT pid_t vfork(void) {
    return fork();
}
WATCHED(int, execve, "runs", (const char *path, char *const *words, char *const *variables), path, words, variables)
WATCHED(int, execv, "runs", (const char *path, char *const *words), path, words)
WATCHED(int, execvp, "runs", (const char *path, char *const *words), path, words)
WATCHED(int, system, "runs", (const char *command), command)
WATCHED(FILE *, popen, "runs", (const char *command, const char *mode), command, mode)
WATCHED(int, posix_spawn, "runs",
        (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const *words, char *const *variables),
        pid, path, actions, attributes, words, variables)
WATCHED(int, posix_spawnp, "runs",
        (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const *words, char *const *variables),
        pid, path, actions, attributes, words, variables)
WATCHED(int, kill, "runs", (pid_t pid, int number), pid, number)
WATCHED(int, pthread_create, "thread",
        (pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument),
        thread, attributes, body, argument)

// The network.
WATCHED(int, socket, "network", (int domain, int type, int protocol), domain, type, protocol)
WATCHED(int, getaddrinfo, "network",
        (const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found),
        name, service, hints, found)
WATCHED(struct hostent *, gethostbyname, "network", (const char *name), name)

// The time of day; other clocks only measure.
WATCHED(time_t, time, "time", (time_t *seconds), seconds)

EXPORT int gettimeofday(struct timeval *restrict value, void *restrict zone) {
    NEXT(gettimeofday);
    trace_line("does", "time");
    return next(value, zone);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *value) {
    NEXT(clock_gettime);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) trace_line("does", "time");
    return next(clock, value);
}

// The state of the process.
WATCHED(mode_t, umask, "state", (mode_t mask), mask)
WATCHED(unsigned, alarm, "signals", (unsigned seconds), seconds)
