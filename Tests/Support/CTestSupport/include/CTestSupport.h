/// Calls of the kernel that tests need and that Swift cannot make: fork, control messages, pidfds.
#ifndef GREENROOM_TEST_SUPPORT_H
#define GREENROOM_TEST_SUPPORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cts_spawn {
    const char *path;
    char *const *arguments;
    char *const *environment;
    const int *sources; // descriptors of the caller …
    const int *targets; // … and their numbers in the child, which has no others
    int descriptor_count;
    const char *directory; // may be null
    int umask;             // -1: inherited
    int user;              // -1: inherited; otherwise user and group, no supplementary groups
    int new_session;
    int takes_terminal; // the first terminal of 0, 1, 2 becomes that of the new session
    int no_new_privileges;
    int open_file_limit; // 0: inherited
};

/// Returns the new process, or -errno of the stage that failed. Stores the process's pidfd.
pid_t cts_start(const struct cts_spawn *request, int *pidfd);

/// 1 when the process has ended (status as of waitpid(2)), 0 after the timeout, or -errno.
int cts_wait(pid_t pid, int pidfd, int timeout_milliseconds, int *status);

/// socket(2) and connect(2) to a /path, an @name or an internet address: a descriptor or -errno.
int cts_dial(int type, const char *address, int port);

/// A SOCK_SEQPACKET pair, close-on-exec; 0 or -errno.
int cts_seqpacket_pair(int pair[2]);

/// sendmsg(2) with descriptors: bytes sent or -errno.
ssize_t cts_send(int socket, const void *bytes, size_t size, const int *descriptors, int count);

/// recvmsg(2) after poll(2): bytes received, 0 at the end, or -errno (-ETIMEDOUT).
ssize_t cts_receive(int socket, void *bytes, size_t size, int timeout_milliseconds);

/// Returns a sealed memfd_create(2) descriptor with these bytes, or -errno.
int cts_sealed_memory(const void *bytes, size_t size);

/// open(2) with O_PATH | O_DIRECTORY.
int cts_open_directory(const char *path);

/// poll(2) for readability: 1, 0 or -errno.
int cts_await_readable(int descriptor, int timeout_milliseconds);

int cts_setxattr(const char *path, const char *name, const void *value, size_t size);

/// setfsuid(2): sets the user with whose permissions this thread opens files; returns the previous one.
int cts_set_file_user(int user);

/// A pseudo-terminal: 0 or -errno.
int cts_open_terminal(int *controller, int *terminal);

/// Sets its window size: 0 or -errno.
int cts_window_size(int terminal, int rows, int columns);

/// 1 if the terminal passes keys on as they are typed, without signals and lines; otherwise 0 or -errno.
int cts_is_raw(int terminal);

/// The foreground process group.
pid_t cts_foreground(int terminal);

/// A timerfd that expires once: readable then; a descriptor or -errno.
int cts_timer(int milliseconds);

/// Connects a stream socket as another user, whose identity the listener sees: a descriptor or -errno. For
/// root only. -1 means no extra group.
int cts_connect_as(const char *path, int user, int group, int extra_group);

/// Sets how many unread bytes each socket of another process can hold: 0 or -errno. For root only.
int cts_enlarge_sockets(pid_t process, int byte_count);

/// Mounts a file system that answers no request until the returned descriptor is closed: a descriptor or
/// -errno. For root only.
int cts_mount_silent(const char *path, int user);

#endif
