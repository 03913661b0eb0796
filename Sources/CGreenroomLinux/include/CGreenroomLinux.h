/* What Swift cannot say. Every function returns -1 and sets errno on failure unless it says
 * otherwise. Swift's Glibc module is built without _GNU_SOURCE, does not import variadic functions
 * (syscall, fcntl) nor function-like macros (CMSG_*, W*): that is why each entry is here. */
#pragma once

#include "gr_inherited.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "version.h"

#pragma clang assume_nonnull begin

/* ---- spawn.c: the child's half of a spawn shares its parent's memory ---- */

/* Descriptors that one spawn can place in the child: a bound on the child's stack. */
#define GR_SPAWN_DESCRIPTORS_MAX 256

/* `theirs`: `from` is a number in the table of the request's `owner`. */
struct gr_fd_mapping { int from, to; bool theirs; };
struct gr_limit { int resource; uint64_t soft, hard; };

/* Steps of a spawn in the order in which they happen; `stage` of a failure. */
enum gr_stage {
    GR_STAGE_NONE = 0,
    GR_STAGE_CLONE,
    GR_STAGE_CGROUP,
    GR_STAGE_SESSION,
    GR_STAGE_OOM_SCORE,
    GR_STAGE_LIMITS,
    GR_STAGE_USER_NAMESPACE,
    GR_STAGE_NAMESPACES,
    GR_STAGE_MOUNTS,
    GR_STAGE_DESCRIPTORS,
    GR_STAGE_CAPABILITIES,
    GR_STAGE_GROUPS,
    GR_STAGE_GROUP,
    GR_STAGE_USER,
    GR_STAGE_PRIVILEGES,
    GR_STAGE_DIRECTORY,
    GR_STAGE_FILTER,
    GR_STAGE_EXECUTE,
};

/* Mounts of one spawn: a bound on the child's stack. */
#define GR_MOUNTS_MAX 192

enum gr_mount_kind {
    GR_MOUNT_BIND = 0,                       /* `source` as it is outside, with all below it */
    GR_MOUNT_ATTRIBUTES,                     /* more of them for `target` and all below it */
    GR_MOUNT_TMPFS,                          /* empty; `source` is its mode in octal */
    GR_MOUNT_HIDE,                           /* nobody gets at what is there */
    GR_MOUNT_SYMLINK,                        /* not a mount: a link in a tmpfs, to `source` */
    GR_MOUNT_DIRECTORY,                      /* nor this */
};

struct gr_mount {
    int kind;
    bool optional;                           /* passed over where there is no such path */
    bool late;                               /* BIND, HIDE: what is there by then, not outside;
                                                ATTRIBUTES: this mount alone, made before */
    bool makes_target;                       /* BIND: in a tmpfs made before */
    uint64_t attributes;                     /* MOUNT_ATTR_*, set and never cleared */
    const char *target;
    const char *source;
};

/* Of struct sock_filter (8 bytes each). */
struct gr_filter { const void *program; uint16_t count; };

struct gr_confinement {
    uint64_t namespaces;                     /* CLONE_NEW* beside that of users */
    bool in_user_namespace;                  /* in which there are own_uid and own_gid alone */
    bool has_bounding_set;
    uint32_t own_uid;
    uint32_t own_gid;
    uint64_t bounding_set;                   /* capabilities that stay, a bit each */
    uint64_t ambient;
    const struct gr_mount *_Nullable mounts; /* parents before children */
    int mount_count;
    int filter_count;
    const struct gr_filter *_Nullable filters;
};

/* All pointers stay valid for the call. */
struct gr_spawn_request {
    const char *path;
    char *_Nullable const *_Nonnull argv;
    char *_Nullable const *_Nonnull envp;
    const char *_Nullable cwd;               /* NULL: inherit */
    int cwd_fd;                              /* directory descriptor instead; -1: none */
    int cgroup;                              /* directory descriptor; -1: inherit */
    const struct gr_fd_mapping *_Nullable fds; /* the complete table of the child, distinct `to` */
    int fd_count;
    int owner;                               /* pidfd of the process that has what is `theirs`; or -1 */
    const struct gr_limit *_Nullable limits;
    int limit_count;
    const uint32_t *_Nullable groups;
    int group_count;
    uint32_t uid;
    uint32_t gid;
    int umask;                               /* -1: inherit */
    int oom_score_adjust;
    bool has_identity, has_oom_score, new_session, no_new_privileges;
    bool controlling_terminal;               /* of the new session: the first terminal of 0, 1, 2 */
    bool traced;                             /* by its parent, from its exec on (trace.c) */
    const struct gr_confinement *_Nullable confinement;
    bool tells_listen_pid;                   /* the environment has room for LISTEN_PID */
    const struct gr_inherited *_Nullable inherited; /* of the caller; NULL: nothing */
    bool without_clone3;                     /* tests: as on a kernel or under a filter without it */
};

/* How a spawn ended. `error` is 0 where the program runs, or was not reached because somebody killed the
 * child at `stage`. `pid` and `pidfd` are -1 where there never was a child; one that failed ends now, or
 * as soon as what it has open lets it. `step`: the index of the mount in question, else -1.
 * `trace_error`: it runs, and is not traced though it should be. */
struct gr_spawned { int32_t pid; int pidfd; int error; int stage; int step; int trace_error; };

/* A spawn under way. */
struct gr_spawn;

/* Begins one and returns at once. The request is copied; its descriptors stay open until the end. NULL:
 * it could not begin, and `why` tells more. Never sets errno. The caller's signal mask is as before on
 * return. */
struct gr_spawn *_Nullable gr_spawn_begin(const struct gr_spawn_request *request,
                                          struct gr_spawned *why);
/* The process that waits for the exec: a child of ours, whose end (SIGCHLD) is the end of the spawn. */
int32_t gr_spawn_waiter(const struct gr_spawn *spawn);
/* The child, and its pidfd; -1 until it runs. */
int32_t gr_spawn_pid(const struct gr_spawn *spawn);
int gr_spawn_pidfd(const struct gr_spawn *spawn);
/* SIGKILL to the process, or, where it is not made yet, its end at its first instruction. */
void gr_spawn_kill(struct gr_spawn *spawn);
/* Why it has failed, though its process may not have ended: errno; else 0. */
int gr_spawn_error(const struct gr_spawn *spawn);
/* What the child does now, or did last: a stage. */
int gr_spawn_stage(const struct gr_spawn *spawn);
/* Call it when the waiter has exited with status 0, or both it and the child have ended; the pidfd passes
 * to the caller, and nothing else is left of the spawn. */
struct gr_spawned gr_spawn_end(struct gr_spawn *spawn);

/* ---- observe.c: syscall(2) is variadic ---- */

/* The limits, CPUs and priorities of a process, 0 being the own. */
int gr_observe(int32_t pid, struct gr_inherited *state);

/* And the signals, the personality and no_new_privs, which only the process itself is asked for. */
int gr_observe_self(struct gr_inherited *state);

/* ---- message.c: CMSG_* macros ---- */

/* The kernel's limit on descriptors in one message (SCM_MAX_FD). */
#define GR_MESSAGE_DESCRIPTORS_MAX 253

struct gr_message {
    long byte_count;                         /* of the datagram or read; -1: error */
    int fd_count;
    int fds[GR_MESSAGE_DESCRIPTORS_MAX];
    bool has_credentials, data_truncated, control_truncated;
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

/* sendmsg(2) with MSG_NOSIGNAL; `fds` go as SCM_RIGHTS. */
long gr_send(int fd, const void *_Nullable bytes, size_t count, const int *_Nullable fds,
             int fd_count);
/* recvmsg(2) with MSG_CMSG_CLOEXEC; `message` is filled, every received descriptor is in it. */
long gr_receive(int fd, void *_Nullable bytes, size_t count, struct gr_message *message);

/* The next message, which stays where it is, without its descriptors, of a socket without SO_PASSCRED:
 * recvmsg(2), MSG_PEEK. */
long gr_peek(int fd, void *_Nullable bytes, size_t count, bool *has_descriptors);

/* ---- calls.c: variadic, GNU-only or without a wrapper in glibc 2.36 ---- */

int gr_open(const char *path, int flags, uint32_t mode);
int gr_openat(int dir, const char *path, int flags, uint32_t mode);
/* Attributes of files (fsetxattr(2), fgetxattr(2)), which Swift's Glibc module does not show. */
int gr_set_label(int fd, const char *name, const void *bytes, size_t count);
int gr_read_label(int fd, const char *name, void *bytes, size_t count);

int gr_dup_cloexec(int fd, int lowest);
int gr_set_nonblocking(int fd, bool on);
int gr_set_cloexec(int fd, bool on);
int gr_accept(int fd, bool nonblocking);
int gr_socket(int type, bool nonblocking);
int gr_socketpair(int type, bool nonblocking, int *pair);
/* `path` of up to 107 bytes; ENAMETOOLONG beyond. */
int gr_bind(int fd, const char *path);
int gr_connect(int fd, const char *path);
/* Whether a path matches (glob(3)), among the first `limit` names of all folders together. */
bool gr_matches(const char *pattern, int limit);
int gr_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);
/* SO_PEERPIDFD (6.5), close-on-exec by the kernel: ENOPROTOOPT on older kernels. */
int gr_peer_pidfd(int fd);
int gr_pass_credentials(int fd, bool on);
/* Bytes, as the kernel counts them, that the other end has not received (SIOCOUTQ). */
int gr_unread(int fd);
/* SO_PASSRIGHTS off (6.16): nobody can send descriptors to it. ENOPROTOOPT on older kernels. */
int gr_refuse_descriptors(int fd);
int gr_pipe(int *pair);
int gr_pidfd_open(int32_t pid);
/* Whether we may take descriptors out of that process (pidfd_getfd(2), ptrace(2)). */
bool gr_can_fetch(int pidfd);
int gr_pidfd_send_signal(int pidfd, int signal);
/* waitid(P_PIDFD): how it ended (code CLD_*, status). */
int gr_pidfd_wait(int pidfd, int *code, int *status);
/* waitid(P_ALL, WNOHANG|WEXITED|__WALL): the pid of one child that has ended, or of a traced thread that
   has stopped; 0 if there is none. */
int32_t gr_wait_any(bool reap, int *code, int *status);
/* A timerfd(2) that never comes due, and whose read(2) fails with ECANCELED once the clock was set. */
int gr_clock_watch(void);
/* PIDFD_GET_INFO of a process that need not be a child: 1 and its wait(2) status once it was reaped,
   0 before that, -1 and ENOTTY or EINVAL where the kernel is older than 6.13, ESRCH without an answer. */
int gr_pidfd_exit(int pidfd, int *status);
/* An epoll(7) instance for readable descriptors, edge-triggered: each tells once. */
int gr_epoll(void);
int gr_epoll_add(int epoll, int fd, uint64_t key);
/* 1 and the key of one that became readable, 0 if none has; never waits. */
int gr_epoll_next(int epoll, uint64_t *key);
int gr_memfd(const char *name);
int gr_memfd_seal(int fd, bool against_writing);
int gr_subreaper(void);
int gr_dumpable(void);
/* signalfd(2) of the n signals, which are blocked for the calling thread. */
int gr_signalfd(const int *signals, int count);
/* The number of one pending signal, 0 if none is. */
int gr_signalfd_read(int fd);
int gr_block_signals(const int *signals, int count);
/* To our process group, and taken by us at once though it is blocked: returns when continued. */
int gr_stop_group(int signal);
bool gr_signal_is_ignored(int signal);
const char *_Nullable gr_error_name(int error);
const char *_Nullable gr_error_text(int error);
uint64_t gr_monotonic_nanoseconds(void);

/* ---- trace.c: ptrace(2) is variadic ---- */

/* Of a thread that is stopped, all of them. What it executes, its children and its threads are reported
 * from now on, and it is killed should its tracer end. */
int gr_trace_options(int32_t thread);
/* Lets it go on, and receive the signal (0: none). */
int gr_trace_continue(int32_t thread, int signal);
/* The same, traced no longer. */
int gr_trace_detach(int32_t thread, int signal);
/* The child or thread that it has just made; -1. */
int32_t gr_trace_child(int32_t thread);
/* tgkill(2) */
int gr_signal_thread(int32_t process, int32_t thread, int signal);

/* ---- terminal.c: ioctl(2) is variadic ---- */

/* A pseudo-terminal, both ends close-on-exec, the controller not blocking; nobody's controlling
 * terminal. The terminal's end is had without its path (TIOCGPTPEER): it works in any name space. */
int gr_open_pty(int *controller, int *terminal);
/* Copies the window size of one terminal to another, whose foreground hears of a change (SIGWINCH). */
int gr_copy_window_size(int from, int to);
/* Sends SIGINT, SIGQUIT or SIGTSTP to the foreground of the pty that this is the controller of. */
int gr_pty_signal(int controller, int signal);
/* A fatal signal (not SIGKILL) first gives the terminal these attributes. Null: no longer. For one
 * terminal at a time; signals that are ignored stay so. */
struct termios;
void gr_restore_on_crash(int fd, const struct termios *_Nullable attributes);

/* One datagram to a socket named as in $NOTIFY_SOCKET: a path, or @ for the abstract name space. */
int gr_notify(const char *address, const char *text);

/* Gives back the pages of our own program text and of the libraries', whose start-up part is not
 * needed again: they are read anew from the page cache where they are. Nothing is lost if it fails. */
void gr_drop_text(void);

/* Whether the kernel has these and lets us make them (probe.c). */
bool gr_has_clone3(void);
bool gr_has_pidfd(void);

/// Type bits of what a descriptor is of (inode(7)), as far as the kernel knows them by itself: fstat(2) would wait
/// for whoever serves the file system. 0: not known. O_PATH will do.
unsigned gr_file_type(int descriptor);

/// Owner, mode with the type's bits, and device of a file, as far as the kernel knows them by itself.
struct gr_file_status {
    uint32_t owner;
    uint32_t mode;
    uint64_t device;
    uint64_t mount; /* its number in /proc/self/mountinfo */
};

/// Of the name in a folder, links not followed, or of the descriptor itself where the name is empty: 0 or -1.
int gr_look(int folder, const char *name, struct gr_file_status *status);
/// O_PATH of a path that crosses no mount (openat2(2)): EXDEV if it does, ENOSYS before Linux 5.6.
int gr_open_without_mounts(const char *path);
bool gr_has_close_range(void);
bool gr_has_memfd(void);

/* ---- disposal.c: processes that share our descriptors and our memory ---- */

/* Numbers that wait for one worker: a launch has four, or up to 44; a turn of the loop some launches. */
#define GR_DISPOSAL_QUEUE 256

/* What becomes of a number when we end and something that a stranger sent is not closed yet. */
enum gr_disposal_kind {
    GR_DISPOSAL_OWN = 0,                     /* closed, first */
    GR_DISPOSAL_CONNECTION,                  /* shut down: its client sees us go */
    GR_DISPOSAL_QUEUE_OF_STRANGERS,          /* closed, last: messages that wait in it may linger */
    GR_DISPOSAL_STRANGERS,                   /* left to the kernel */
};

struct gr_disposal_worker;

/* Starts the keeper, once: from now on our end closes our descriptors, whatever else shares them. */
int gr_disposal_begin(void);
/* Ends the keeper. Only when no worker hangs: else our table of descriptors would outlive us. */
void gr_disposal_leave(void);
void gr_disposal_mark(int number, enum gr_disposal_kind kind);
/* A process that closes what it is given, in order. It writes to the eventfd `report` whenever its queue is empty
 * again, once it was told to. NULL: errno. */
struct gr_disposal_worker *_Nullable gr_disposal_start(int report);
/* Its pidfd, which tells of its end; -1: errno. */
int gr_disposal_process(struct gr_disposal_worker *worker);
/* False: its queue is full. It hears of it by `gr_disposal_wake`. */
bool gr_disposal_add(struct gr_disposal_worker *worker, int number);
void gr_disposal_wake(struct gr_disposal_worker *worker);
/* How many of those that were added it has closed. */
unsigned gr_disposal_done(struct gr_disposal_worker *worker);
/* The number that was added as this one, unless the worker has begun to close it: then -1. */
int gr_disposal_take_back(struct gr_disposal_worker *worker, unsigned index);
void gr_disposal_report(struct gr_disposal_worker *worker);
/* Somebody else has ended it. What it had not begun with can still be taken back. */
bool gr_disposal_is_gone(struct gr_disposal_worker *worker);
/* For one that has nothing to do, or is gone: waits until it is, and forgets it. */
void gr_disposal_end(struct gr_disposal_worker *worker);
/* Closes a connection of a client (SOCK_STREAM) in which no message waits. False: one does, or cannot be told. */
bool gr_close_connection(int number);

/* Closes a unix socket in which messages of strangers may wait: then a child has the last descriptor, and ends.
 * What it lets go of lingers for nobody. Its end is told by SIGCHLD. */
void gr_close_queue(int number);

/* ---- detached.c: a process that makes calls for us that may wait for a stranger ---- */

enum gr_detached_kind {
    GR_DETACHED_READ = 0,                    /* a whole file, to `count` bytes at `address`: less than that fits */
    GR_DETACHED_WATCH,                       /* inotify_add_watch(2), unless there is no descriptor; then stat(2) */
    GR_DETACHED_PAGE_OUT,                    /* process_madvise(2), MADV_PAGEOUT (Linux 5.10) */
};

struct gr_detached_call {
    enum gr_detached_kind kind;
    int descriptor;                          /* of inotify(7), or a pidfd */
    uint32_t mask;
    bool is_found;                           /* WATCH: `file` is what stat(2) says */
    uintptr_t address;
    size_t count;
    const char *_Nullable path;
    long result;                             /* the call's: bytes, a watch; or -errno */
    struct { uint64_t device, inode; int64_t byte_count, modified, changed; } file;
};

struct gr_detached_worker;

/* After gr_disposal_begin. It writes to the eventfd `report` whenever it has made its calls. NULL: errno. */
struct gr_detached_worker *_Nullable gr_detached_start(int report);
/* To one that is not busy. The calls are its own until it has made them. */
void gr_detached_give(struct gr_detached_worker *worker, struct gr_detached_call *calls, size_t count);
bool gr_detached_is_busy(struct gr_detached_worker *worker);
/* Somebody else has ended it; forgets it then. */
bool gr_detached_is_gone(struct gr_detached_worker *worker);
/* For one that is not busy: waits until it is gone. */
void gr_detached_end(struct gr_detached_worker *worker);

/* An eventfd(2), which blocks nobody; reading it, any number of writes are one. */
int gr_eventfd(void);
void gr_eventfd_take(int number);

#pragma clang assume_nonnull end
