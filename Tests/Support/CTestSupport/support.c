#define _GNU_SOURCE
#include "CTestSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { ASIDE = 600 }; // sources wait above the usual targets and below the channel's 1023

static int move_aside(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, ASIDE);
}

static int set_up(const struct cts_spawn *request, int *report) {
    int aside[64];
    if (request->new_session && setsid() < 0) return errno;
    *report = move_aside(*report);
    for (int i = 0; i < request->descriptor_count && i < 64; i++)
        if ((aside[i] = move_aside(request->sources[i])) < 0) return errno;
    for (int i = 3; i < 1024; i++) fcntl(i, F_SETFD, FD_CLOEXEC);
    for (int i = 0; i < 3; i++) close(i);
    for (int i = 0; i < request->descriptor_count && i < 64; i++)
        if (dup2(aside[i], request->targets[i]) < 0) return errno;
    for (int i = 0; request->takes_terminal && i < 3; i++)
        if (ioctl(i, TIOCSCTTY, 0) == 0) break;
    if (request->open_file_limit > 0) {
        rlim_t limit = (rlim_t)request->open_file_limit;
        if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit, limit}) < 0) return errno;
    }
    if (request->directory && chdir(request->directory) < 0) return errno;
    if (request->umask >= 0) umask((mode_t)request->umask);
    if (request->user >= 0) {
        gid_t id = (gid_t)request->user;
        if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0) return errno;
        if (setresuid(id, id, id) < 0) return errno;
    }
    if (request->no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
    for (int number = 1; number < 65; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(request->path, request->arguments, request->environment);
    return errno;
}

pid_t cts_start(const struct cts_spawn *request, int *pidfd) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) < 0) return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        int out = report[1];
        int error = set_up(request, &out);
        if (write(out, &error, sizeof error) < 0) _exit(126);
        _exit(127);
    }
    int error = pid < 0 ? errno : 0;
    close(report[1]);
    if (!error && read(report[0], &error, sizeof error) == (ssize_t)sizeof error)
        waitpid(pid, NULL, 0);
    close(report[0]);
    if (error) return -error;
    *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return pid;
}

int cts_wait(pid_t pid, int pidfd, int timeout_milliseconds, int *status) {
    int ready = cts_await_readable(pidfd, timeout_milliseconds);
    if (ready <= 0) return ready;
    return waitpid(pid, status, 0) == pid ? 1 : -errno;
}

int cts_seqpacket_pair(int pair[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
}

ssize_t cts_send(int socket, const void *bytes, size_t size, const int *descriptors, int count) {
    char control[CMSG_SPACE(sizeof(int) * 253)];
    struct iovec part = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * (size_t)count);
    }
    ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

int cts_await_readable(int descriptor, int timeout_milliseconds) {
    struct pollfd entry = {.fd = descriptor, .events = POLLIN};
    int ready;
    do ready = poll(&entry, 1, timeout_milliseconds);
    while (ready < 0 && errno == EINTR);
    return ready < 0 ? -errno : ready;
}

ssize_t cts_receive(int socket, void *bytes, size_t size, int timeout_milliseconds) {
    int ready = cts_await_readable(socket, timeout_milliseconds);
    if (ready < 0) return ready;
    if (ready == 0) return -ETIMEDOUT;
    ssize_t count = recv(socket, bytes, size, MSG_CMSG_CLOEXEC);
    return count < 0 ? -errno : count;
}

int cts_sealed_memory(const void *bytes, size_t size) {
    int file = memfd_create("strings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -errno;
    if (pwrite(file, bytes, size, 0) != (ssize_t)size) return -errno;
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    return fcntl(file, F_ADD_SEALS, seals) < 0 ? -errno : file;
}

int cts_open_directory(const char *path) {
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return directory < 0 ? -errno : directory;
}

int cts_setxattr(const char *path, const char *name, const void *value, size_t size) {
    return setxattr(path, name, value, size, 0) < 0 ? -errno : 0;
}

int cts_set_file_user(int user) {
    return setfsuid((uid_t)user);
}

int cts_open_terminal(int *controller, int *terminal) {
    if (openpty(controller, terminal, NULL, NULL, NULL) < 0) return -errno;
    fcntl(*controller, F_SETFD, FD_CLOEXEC);
    fcntl(*terminal, F_SETFD, FD_CLOEXEC);
    return 0;
}

int cts_window_size(int terminal, int rows, int columns) {
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    return ioctl(terminal, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

int cts_is_raw(int terminal) {
    struct termios attributes;
    if (tcgetattr(terminal, &attributes) < 0) return -errno;
    return !(attributes.c_lflag & (ICANON | ECHO | ISIG));
}

pid_t cts_foreground(int terminal) {
    return tcgetpgrp(terminal);
}
