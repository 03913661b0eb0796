/// The functions of the C library that are watched. Each call is noted and passed on unchanged.
#define _GNU_SOURCE
#include "trace.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

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

// The working directory.
WATCHED(char *, getcwd, "directory", (char *buffer, size_t size), buffer, size)
WATCHED(char *, get_current_dir_name, "directory", (void), )
WATCHED(int, chdir, "directory", (const char *path), path)
WATCHED(int, fchdir, "directory", (int number), number)
char *__getcwd_chk(char *buffer, size_t size, size_t limit); // called if built with _FORTIFY_SOURCE
WATCHED(char *, __getcwd_chk, "directory", (char *buffer, size_t size, size_t limit), buffer, size, limit)

// Terminals. An interpreter asks for every file that it opens.
EXPORT int isatty(int number) {
    NEXT(isatty);
    if (number <= 2) trace_question_for_terminal();
    return next(number);
}

EXPORT int ttyname_r(int number, char *buffer, size_t size) {
    NEXT(ttyname_r);
    trace_line("does", "terminal");
    return next(number, buffer, size);
}

WATCHED(char *, ttyname, "terminal", (int number), number)
WATCHED(char *, ctermid, "terminal", (char *buffer), buffer)

EXPORT int tcgetattr(int number, struct termios *settings) {
    NEXT(tcgetattr);
    if (number <= 2) trace_line("does", "terminal");
    return next(number, settings);
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
/// Whether every process finds the same there.
static bool is_of_machine(const char *path) {
    static const char *const places[] = {"/sys/devices/system/", "/proc/cpuinfo", "/proc/meminfo",
                                         "/dev/null"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (!strncmp(path, places[i], strlen(places[i]))) return true;
    return false;
}

static void note_open(const char *path, int flags) {
    if (!path || is_of_machine(path)) return;
    if ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC))
        trace_line("does", "writes");
    else if (!trace_installed_file(path))
        // A module that takes random numbers before the program sets the seed gets others at a launch.
        trace_line(strcmp(path, "/dev/urandom") ? "opens" : "does", strcmp(path, "/dev/urandom") ? path : "state");
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

// Questions about a file. A path below an open folder needs no note, because the opening was noted.
static void note_question(int folder, const char *path) {
    if (!path || !*path || (folder != AT_FDCWD && *path != '/')) return;
    if (!trace_is_above_place(path)) note_open(path, O_RDONLY);
}

/// The standard streams are the launch's.
static void note_stream_number(int number) {
    if (number >= 0 && number <= 2) trace_line("does", "terminal");
}

EXPORT ssize_t read(int number, void *buffer, size_t size) {
    NEXT(read);
    note_stream_number(number);
    return next(number, buffer, size);
}

EXPORT int fcntl(int number, int command, ...) {
    static int (*next)(int, int, ...);
    if (!next) next = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    note_stream_number(number);
    return next(number, command, argument);
}

EXPORT int fcntl64(int number, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return fcntl(number, command, argument);
}

EXPORT int fstat(int number, struct stat *status) {
    NEXT(fstat);
    note_stream_number(number);
    return next(number, status);
}

EXPORT int fstat64(int number, struct stat64 *status) {
    NEXT(fstat64);
    note_stream_number(number);
    return next(number, status);
}

EXPORT off_t lseek(int number, off_t offset, int from) {
    NEXT(lseek);
    note_stream_number(number);
    return next(number, offset, from);
}

EXPORT off64_t lseek64(int number, off64_t offset, int from) {
    NEXT(lseek64);
    note_stream_number(number);
    return next(number, offset, from);
}

#define ASKS(result, name, parameters, ...) \
    EXPORT result name parameters; \
    EXPORT result name parameters { \
        NEXT(name); \
        note_question(AT_FDCWD, path); \
        return next(__VA_ARGS__); \
    }
#define ASKS_AT(result, name, parameters, ...) \
    EXPORT result name parameters; \
    EXPORT result name parameters { \
        NEXT(name); \
        note_question(folder, path); \
        return next(__VA_ARGS__); \
    }
ASKS(int, stat, (const char *restrict path, struct stat *restrict status), path, status)
ASKS(int, stat64, (const char *restrict path, struct stat64 *restrict status), path, status)
ASKS(int, lstat, (const char *restrict path, struct stat *restrict status), path, status)
ASKS(int, lstat64, (const char *restrict path, struct stat64 *restrict status), path, status)
ASKS_AT(int, fstatat, (int folder, const char *restrict path, struct stat *restrict status, int flags),
        folder, path, status, flags)
ASKS_AT(int, fstatat64, (int folder, const char *restrict path, struct stat64 *restrict status, int flags),
        folder, path, status, flags)
ASKS_AT(int, statx,
        (int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict status),
        folder, path, flags, mask, status)
ASKS(int, access, (const char *path, int mode), path, mode)
ASKS(int, eaccess, (const char *path, int mode), path, mode)
ASKS(int, euidaccess, (const char *path, int mode), path, mode)
ASKS_AT(int, faccessat, (int folder, const char *path, int mode, int flags), folder, path, mode, flags)
ASKS(ssize_t, readlink, (const char *restrict path, char *restrict target, size_t size), path, target, size)
ASKS_AT(ssize_t, readlinkat, (int folder, const char *restrict path, char *restrict target, size_t size),
        folder, path, target, size)
ASKS(char *, realpath, (const char *restrict path, char *restrict buffer), path, buffer)
ASKS(char *, __realpath_chk, (const char *restrict path, char *restrict buffer, size_t size), path, buffer, size)
// These open folders within the C library.
ASKS(int, glob, (const char *restrict path, int flags, int (*failed)(const char *, int), void *restrict found),
     path, flags, failed, found)
ASKS(int, glob64, (const char *restrict path, int flags, int (*failed)(const char *, int), void *restrict found),
     path, flags, failed, found)

ASKS(int, scandir,
     (const char *restrict path, struct dirent ***restrict found, int (*filter)(const struct dirent *),
      int (*compare)(const struct dirent **, const struct dirent **)),
     path, found, filter, compare)
ASKS(int, scandir64,
     (const char *restrict path, struct dirent64 ***restrict found, int (*filter)(const struct dirent64 *),
      int (*compare)(const struct dirent64 **, const struct dirent64 **)),
     path, found, filter, compare)

WATCHED(int, creat, "writes", (const char *path, mode_t mode), path, mode)
WATCHED(int, creat64, "writes", (const char *path, mode_t mode), path, mode)
WATCHED(int, mkdirat, "writes", (int folder, const char *path, mode_t mode), folder, path, mode)
WATCHED(int, unlinkat, "writes", (int folder, const char *path, int flags), folder, path, flags)
WATCHED(int, renameat, "writes", (int from, const char *old, int to, const char *new), from, old, to, new)
WATCHED(int, chown, "writes", (const char *path, uid_t user, gid_t group), path, user, group)
WATCHED(int, lchown, "writes", (const char *path, uid_t user, gid_t group), path, user, group)
WATCHED(int, utime, "writes", (const char *path, const struct utimbuf *times), path, times)
WATCHED(int, utimes, "writes", (const char *path, const struct timeval *times), path, times)
WATCHED(int, utimensat, "writes",
        (int folder, const char *path, const struct timespec *times, int flags), folder, path, times, flags)
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
WATCHED(int, getloadavg, "time", (double *loads, int count), loads, count)

EXPORT int gettimeofday(struct timeval *restrict value, void *restrict zone) {
    NEXT(gettimeofday);
    trace_line("does", "time");
    return next(value, zone);
}

EXPORT int timespec_get(struct timespec *value, int base) {
    NEXT(timespec_get);
    trace_line("does", "time");
    return next(value, base);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *value) {
    NEXT(clock_gettime);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) trace_line("does", "time");
    return next(clock, value);
}

// The C library opens these files itself, unseen by this library.
#define READS(result, name, file, parameters, ...) \
    EXPORT result name parameters; \
    EXPORT result name parameters { \
        NEXT(name); \
        note_open(file, O_RDONLY); \
        return next(__VA_ARGS__); \
    }
READS(struct passwd *, getpwnam, "/etc/passwd", (const char *name), name)
READS(struct passwd *, getpwuid, "/etc/passwd", (uid_t user), user)
READS(struct passwd *, getpwent, "/etc/passwd", (void), )
READS(int, getpwnam_r, "/etc/passwd",
      (const char *restrict name, struct passwd *restrict entry, char *restrict buffer, size_t size,
       struct passwd **restrict found),
      name, entry, buffer, size, found)
READS(int, getpwuid_r, "/etc/passwd",
      (uid_t user, struct passwd *restrict entry, char *restrict buffer, size_t size,
       struct passwd **restrict found),
      user, entry, buffer, size, found)
READS(int, getpwent_r, "/etc/passwd",
      (struct passwd *restrict entry, char *restrict buffer, size_t size, struct passwd **restrict found),
      entry, buffer, size, found)
READS(struct group *, getgrnam, "/etc/group", (const char *name), name)
READS(struct group *, getgrgid, "/etc/group", (gid_t group), group)

/// The time zone of the machine. The C library also reads TZ, unseen.
#define READS_ZONE(result, name, parameters, ...) \
    EXPORT result name parameters { \
        NEXT(name); \
        trace_line("reads", "TZ"); \
        note_open("/etc/localtime", O_RDONLY); \
        return next(__VA_ARGS__); \
    }
READS_ZONE(struct tm *, localtime, (const time_t *seconds), seconds)
READS_ZONE(struct tm *, localtime_r, (const time_t *restrict seconds, struct tm *restrict parts), seconds, parts)
READS_ZONE(time_t, mktime, (struct tm *parts), parts)

// The state of the process.
WATCHED(int, nice, "state", (int difference), difference)
WATCHED(int, setpriority, "state", (__priority_which_t which, id_t whose, int priority), which, whose, priority)
WATCHED(int, setitimer, "signals",
        (__itimer_which_t which, const struct itimerval *restrict new, struct itimerval *restrict old),
        which, new, old)

EXPORT int prctl(int option, ...) {
    static int (*next)(int, ...);
    if (!next) next = (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
    va_list arguments;
    va_start(arguments, option);
    unsigned long words[4];
    for (int i = 0; i < 4; i++) words[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    // A name for memory (PR_SET_VMA) only says to which allocator the memory belongs.
    if (option != PR_SET_VMA) trace_line("does", "state");
    return next(option, words[0], words[1], words[2], words[3]);
}

WATCHED(pid_t, setsid, "state", (void), )
WATCHED(int, setpgid, "state", (pid_t pid, pid_t group), pid, group)
WATCHED(mode_t, umask, "state", (mode_t mask), mask)
WATCHED(unsigned, alarm, "signals", (unsigned seconds), seconds)
