#define _GNU_SOURCE
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

// Functions of the preload shim.
WEAK int greenroom_prewarm_wait(int *argc, char ***argv, char ***envp);
WEAK void greenroom_prewarm_started(int anew);

int launch_argc;
char **launch_argv;
char **launch_environment;

/// Descriptors from 3 on that were open before the pause, as bits: a program that is started anew
/// must not have them. Only the channel has a higher number.
#define DESCRIPTOR_LIMIT 1024
static uint64_t own_descriptors[DESCRIPTOR_LIMIT / 64];

static void remember_own_descriptors(void) {
    for (int number = 3; number < DESCRIPTOR_LIMIT; number++)
        if (fcntl(number, F_GETFD) >= 0) own_descriptors[number / 64] |= UINT64_C(1) << number % 64;
}

static void let_exec_close_own_descriptors(void) {
    for (int number = 3; number < DESCRIPTOR_LIMIT; number++)
        if (own_descriptors[number / 64] >> number % 64 & 1) fcntl(number, F_SETFD, FD_CLOEXEC);
}

/// The interpreter by the name that the daemon used, because a virtual environment is found by the
/// unresolved name.
static const char *interpreter(void) {
    static char path[4096];
    const char *name = (const char *)getauxval(AT_EXECFN);
    if (name && name[0] == '/') {
        // The path may be that of a script whose process has executed its interpreter since.
        struct stat named, running;
        if (stat(name, &named) == 0 && stat("/proc/self/exe", &running) == 0
            && named.st_ino == running.st_ino && named.st_dev == running.st_dev)
            return name;
    }
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return name;
    path[length] = 0;
    // The file has been replaced since; a direct call executes the new one.
    static const char deleted[] = " (deleted)";
    size_t end = sizeof deleted - 1;
    if ((size_t)length > end && !strcmp(path + length - end, deleted)) path[length - (ssize_t)end] = 0;
    return path;
}

bool launch_is_possible(void) {
    return greenroom_prewarm_wait && greenroom_prewarm_started;
}

bool launch_wait(void) {
    if (!launch_is_possible()) return false;
    remember_own_descriptors();
    int result = greenroom_prewarm_wait(&launch_argc, &launch_argv, &launch_environment);
    if (result == 2) launch_start_anew(GR_ANEW_SIGNALS);
    return result == 1;
}

bool launch_has_streams(void) {
    for (int number = 0; number <= 2; number++)
        if (fcntl(number, F_GETFD) < 0) return false;
    return true;
}

void launch_go_on(void) {
    greenroom_prewarm_started(0);
}

void launch_report_anew(enum gr_anew_reason reason) {
    let_exec_close_own_descriptors();
    greenroom_prewarm_started(reason);
}

_Noreturn void launch_start_anew(enum gr_anew_reason reason) {
    const char *path = interpreter();
    launch_report_anew(reason);
    if (path) execve(path, launch_argv, launch_environment);
    dprintf(2, "%s: %s\n", launch_argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

char *launch_take_variable(const char *name) {
    const char *value = getenv(name);
    char *copy = value ? strdup(value) : NULL;
    unsetenv(name);
    return copy;
}

bool launch_read_memory(const void *at, void *into, size_t size) {
    struct iovec local = {into, size}, remote = {(void *)at, size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

void launch_send(const char *path, const char *text) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path) return;
    memcpy(address.sun_path, path, length);
    int number = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (number < 0) return;
    sendto(number, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
           sizeof address);
    close(number);
}

int launch_exchange_file(int descriptor, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno;
    int flags = fcntl(descriptor, F_GETFD);
    int error = dup3(file, descriptor, flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0 ? errno : 0;
    close(file);
    return error;
}

int launch_find_file(const char *path) {
    struct stat wanted, found;
    if (stat(path, &wanted) != 0) return -1;
    for (int number = 3; number < DESCRIPTOR_LIMIT; number++)
        if (fstat(number, &found) == 0 && found.st_ino == wanted.st_ino
            && found.st_dev == wanted.st_dev)
            return number;
    return -1;
}
