/* What Swift cannot do. Every function returns -1 and sets errno on failure unless it says
 * otherwise. Each entry is here because Swift's Glibc module is built without _GNU_SOURCE, and
 * imports neither variadic functions (syscall, fcntl) nor function-like macros (CMSG_*, W*). */
#pragma once

#include "gr_inherited.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "version.h"

#pragma clang assume_nonnull begin

/* ---- spawn.c: the child's half of a spawn shares its parent's memory ---- */

/* At most this many descriptors in one spawn, which bounds the child's stack. */
#define GR_SPAWN_DESCRIPTORS_MAX 256

/* `theirs` means that `from` is a number in the table of the request's `owner`. */
struct gr_fd_mapping { int from, to; bool theirs; };
struct gr_limit { int resource; uint64_t soft, hard; };

/* The stages of a spawn, in the order in which they happen; `stage` is the one that failed. */
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

/* At most this many mounts in one spawn, which bounds the child's stack. */
#define GR_MOUNTS_MAX 192

enum gr_mount_kind {
    GR_MOUNT_BIND = 0,                       /* mounts `source` and all below it, as outside */
    GR_MOUNT_ATTRIBUTES,                     /* adds attributes to `target` and all below it */
    GR_MOUNT_TMPFS,                          /* an empty tmpfs; `source` is its mode in octal */
    GR_MOUNT_HIDE,                           /* makes what is there inaccessible */
    GR_MOUNT_SYMLINK,                        /* not a mount: a link to `source`, in a tmpfs */
    GR_MOUNT_DIRECTORY,                      /* not a mount: a directory, in a tmpfs */
};

struct gr_mount {
    int kind;
    bool optional;                           /* skipped if there is no such path */
    bool late;                               /* BIND, HIDE: looks the path up inside, among the
                                                mounts made before; ATTRIBUTES: not recursive */
    bool makes_target;                       /* BIND: makes the target, in a tmpfs made before */
    bool no_links;                           /* follows no symbolic link on the way to either path */
    uint64_t attributes;                     /* MOUNT_ATTR_*, set and never cleared */
    const char *target;
    const char *source;
};

/* A filter; each of its instructions is a struct sock_filter (8 bytes). */
struct gr_filter { const void *program; uint16_t count; };

struct gr_confinement {
    uint64_t namespaces;                     /* CLONE_NEW*, except that of users */
    bool in_user_namespace;                  /* in which only own_uid and own_gid exist */
    bool has_bounding_set;
    uint32_t own_uid;
    uint32_t own_gid;
    uint64_t bounding_set;                   /* one bit for each capability that stays */
    uint64_t ambient;
    const struct gr_mount *_Nullable mounts; /* parents before children */
    int mount_count;
    int filter_count;
    const struct gr_filter *_Nullable filters;
};

/* A message that is sent when the program runs, by the waiter. Whoever wants to know that the program
 * runs then need not wait for our loop, which on a machine with few processors may have to wait for
 * the program. */
struct gr_announcement {
    int socket;                              /* SOCK_SEQPACKET */
    const void *message;
    size_t byte_count;
    size_t pid_at;                           /* the waiter writes the process's number there */
    int channel;                             /* sent after the process's pidfd; -1: not sent */
};

/* All pointers must stay valid during the call. */
struct gr_spawn_request {
    const char *path;
    char *_Nullable const *_Nonnull argv;
    char *_Nullable const *_Nonnull envp;
    const char *_Nullable cwd;               /* NULL: inherit */
    int cwd_fd;                              /* used instead, a directory's descriptor; -1: none */
    int cgroup;                              /* directory descriptor; -1: inherit */
    const struct gr_fd_mapping *_Nullable fds; /* the child's whole table, each `to` once */
    int fd_count;
    int owner;                               /* pidfd: the owner of the numbers `theirs`; or -1 */
    const struct gr_limit *_Nullable limits;
    int limit_count;
    const uint32_t *_Nullable groups;
    int group_count;
    uint32_t uid;
    uint32_t gid;
    int umask;                               /* -1: inherit */
    int oom_score_adjust;
    bool has_identity, has_oom_score, new_session, no_new_privileges;
    bool controlling_terminal;               /* of the session: the first terminal of 0, 1, 2 */
    bool traced;                             /* by its parent, after its exec (trace.c) */
    const struct gr_confinement *_Nullable confinement;
    bool tells_listen_pid;                   /* the environment has room for LISTEN_PID */
    const struct gr_inherited *_Nullable inherited; /* from the caller; NULL: nothing */
    const struct gr_announcement *_Nullable announcement; /* not for a traced process */
    bool without_clone3;                     /* for tests: as if clone3 were refused */
};

/* The result of a spawn. `error` is 0 if the program runs, or if somebody killed the child before
 * that, at `stage`. `pid` and `pidfd` are -1 if no child was made. A child that failed is ending,
 * but files that it has open may delay its end. `step` is the index of the mount that failed, or
 * else -1. `trace_error` is not 0 if the program runs but is not traced although it should be. */
struct gr_spawned { int32_t pid; int pidfd; int error; int stage; int step; int trace_error; };

/* A spawn under way. */
struct gr_spawn;
/* A process that waits for execs, a child of ours. */
struct gr_waiter;

/* Begins a spawn and returns at once. The request is copied; its descriptors must stay open until
 * the end. `waiter` must have no spawn at present; if it is NULL, a waiter is made. The new waiter
 * writes a byte to the pipe `report` at the end of each of its spawns; if `report` is -1, this
 * spawn is over when the waiter ends (SIGCHLD). If the spawn cannot begin, returns NULL and sets
 * `why`. Never sets errno, and leaves the caller's signal mask as it was. */
struct gr_spawn *_Nullable gr_spawn_begin(const struct gr_spawn_request *request,
                                          struct gr_waiter *_Nullable waiter, int report,
                                          struct gr_spawned *why);
struct gr_waiter *gr_spawn_waiter(const struct gr_spawn *spawn);
int32_t gr_waiter_pid(const struct gr_waiter *waiter);
/* Call this when a waiter that reports has ended. */
void gr_waiter_free(struct gr_waiter *waiter);
/* Whether the child has executed its program, has ended, or was never made. The waiter is then
 * ready for another spawn. */
bool gr_spawn_is_over(const struct gr_spawn *spawn);
/* The child and its pidfd; -1 until the child runs. */
int32_t gr_spawn_pid(const struct gr_spawn *spawn);
int gr_spawn_pidfd(const struct gr_spawn *spawn);
/* Sends SIGKILL to the child. If the child is not made yet, it will end at its first
 * instruction. */
void gr_spawn_kill(struct gr_spawn *spawn);
/* The errno with which the spawn has failed, or else 0. Its child may not have ended yet. */
int gr_spawn_error(const struct gr_spawn *spawn);
/* Whether the announcement was sent. Known when the spawn is over. */
enum gr_announced {
    GR_NOT_ANNOUNCED = 0,
    GR_PERHAPS_ANNOUNCED,                    /* somebody killed the waiter in the meantime */
    GR_ANNOUNCED,
};
int gr_spawn_announced(const struct gr_spawn *spawn);
/* The child's present stage, or the last one that it reached. */
int gr_spawn_stage(const struct gr_spawn *spawn);
/* Call this when the spawn is over, or when both the waiter and the child have ended. A waiter that
 * does not report must have ended. The caller gets the pidfd; everything else of the spawn is
 * freed. */
struct gr_spawned gr_spawn_end(struct gr_spawn *spawn);

/* ---- observe.c: syscall(2) is variadic ---- */

/* Reads the CPUs and priorities of a process; pid 0 means this process. */
int gr_observe_scheduling(int32_t pid, struct gr_inherited *state);

/* Reads the same of this process, and also the limits, the signals, the personality and
 * no_new_privs; the kernel tells the last three only to the process itself. */
int gr_observe_self(struct gr_inherited *state);

/* Puts the descriptors above 2 that are not close-on-exec into `numbers`, at most `limit`, in no
 * order. Returns the number that exist. */
int gr_inherited_descriptors(int *numbers, int limit);

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

/* sendmsg(2) with MSG_NOSIGNAL; `fds` are sent as SCM_RIGHTS. */
long gr_send(int fd, const void *_Nullable bytes, size_t count, const int *_Nullable fds,
             int fd_count);
/* recvmsg(2) with MSG_CMSG_CLOEXEC. Fills in `message`, including every descriptor that was
 * received. */
long gr_receive(int fd, void *_Nullable bytes, size_t count, struct gr_message *message);

/* Reads the next message of a socket without SO_PASSCRED, but not its descriptors, and leaves it in
 * the socket (recvmsg(2), MSG_PEEK). */
long gr_peek(int fd, void *_Nullable bytes, size_t count, bool *has_descriptors);

/* What waits in the queue of a stream socket without SO_PASSCRED. Leaves the queue unchanged
 * (poll(2), SIOCINQ, recvmsg(2), MSG_PEEK). Returns GR_QUEUE_BYTES only if the whole queue was seen
 * to contain only bytes. */
enum gr_queue {
    GR_QUEUE_PERHAPS_DESCRIPTORS = 0,
    GR_QUEUE_BYTES,
    GR_QUEUE_LAST_BYTES,                     /* the other end will send no more */
};
enum gr_queue gr_look_at_queue(int fd);

/* ---- calls.c: variadic, GNU-only or without a wrapper in glibc 2.36 ---- */

int gr_open(const char *path, int flags, uint32_t mode);
int gr_openat(int dir, const char *path, int flags, uint32_t mode);
/* Extended attributes of files (fsetxattr(2), fgetxattr(2)), which Swift's Glibc module hides. */
int gr_set_label(int fd, const char *name, const void *bytes, size_t count);
int gr_read_label(int fd, const char *name, void *bytes, size_t count);

int gr_dup_cloexec(int fd, int lowest);
int gr_set_nonblocking(int fd, bool on);
int gr_set_cloexec(int fd, bool on);
int gr_accept(int fd, bool nonblocking);
int gr_socket(int type, bool nonblocking);
int gr_socketpair(int type, bool nonblocking, int *pair);
/* `path` has at most 107 bytes; ENAMETOOLONG if it is longer. */
int gr_bind(int fd, const char *path);
int gr_connect(int fd, const char *path);
/* Whether any path matches the pattern (glob(3)). Reads at most `limit` names, in all folders
 * together. */
bool gr_matches(const char *pattern, int limit);
int gr_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);
/* SO_PEERPIDFD (Linux 6.5), which the kernel makes close-on-exec. ENOPROTOOPT on older kernels. */
int gr_peer_pidfd(int fd);
int gr_pass_credentials(int fd, bool on);
/* The bytes that the other end has not received, as the kernel counts them (SIOCOUTQ). */
int gr_unread(int fd);
/* Turns SO_PASSRIGHTS off (Linux 6.16), so that nobody can send descriptors to the socket.
 * ENOPROTOOPT on older kernels. */
int gr_refuse_descriptors(int fd);
int gr_pipe(int *pair);
int gr_pidfd_open(int32_t pid);
/* Whether we may take descriptors from that process (pidfd_getfd(2), ptrace(2)). */
bool gr_can_fetch(int pidfd);
int gr_pidfd_send_signal(int pidfd, int signal);
/* waitid(P_PIDFD): how the process ended (code CLD_*, status). */
int gr_pidfd_wait(int pidfd, int *code, int *status);
/* waitid(P_ALL, WNOHANG|WNOWAIT|WEXITED|__WALL): the pid of a child that has ended and stays a zombie,
 * or of a traced thread that has stopped; 0 if there is none. */
int32_t gr_wait_any(int *code, int *status);
/* A timerfd(2) that never expires. Its read(2) fails with ECANCELED after the clock was set. */
int gr_clock_watch(void);
/* PIDFD_GET_INFO of a process that need not be a child. Returns 1 and the wait(2) status if the
 * process has been reaped, and 0 if it has not. Fails with ENOTTY or EINVAL before Linux 6.13, and
 * with ESRCH if there is no answer. */
int gr_pidfd_exit(int pidfd, int *status);
/* An epoll(7) instance for readable descriptors. It is edge-triggered: each is reported once. */
int gr_epoll(void);
int gr_epoll_add(int epoll, int fd, uint64_t key);
/* Returns 1 and the key of a descriptor that became readable, or 0 if there is none. Never
 * waits. */
int gr_epoll_next(int epoll, uint64_t *key);
int gr_memfd(const char *name);
int gr_memfd_seal(int fd, bool against_writing);
int gr_subreaper(void);
int gr_dumpable(void);
/* signalfd(2) for these signals, which are blocked for the calling thread. */
int gr_signalfd(const int *signals, int count);
/* The number of one pending signal; 0 if there is none. */
int gr_signalfd_read(int fd);
int gr_block_signals(const int *signals, int count);
/* Sends the signal to our process group, which stops this process at once even if the signal is
 * blocked. Returns after SIGCONT. */
int gr_stop_group(int signal);
const char *_Nullable gr_error_name(int error);
const char *_Nullable gr_error_text(int error);
uint64_t gr_monotonic_nanoseconds(void);

/* ---- trace.c: ptrace(2) is variadic ---- */

/* All of these functions but gr_signal_thread need a stopped thread. After this one, the thread's
 * execs, children and threads are reported, and the thread is killed if its tracer ends. */
int gr_trace_options(int32_t thread);
/* Lets the thread continue, and receive the signal (0 means none). */
int gr_trace_continue(int32_t thread, int signal);
/* The same, and stops tracing the thread. */
int gr_trace_detach(int32_t thread, int signal);
/* The child or thread that the thread has just made; -1 on failure. */
int32_t gr_trace_child(int32_t thread);
/* tgkill(2) */
int gr_signal_thread(int32_t process, int32_t thread, int signal);

/* ---- terminal.c: ioctl(2) is variadic ---- */

/* Opens a pseudo-terminal. Both ends are close-on-exec, the controller is nonblocking, and nobody
 * gets a controlling terminal. The terminal's end is opened without a path (TIOCGPTPEER), so it
 * works in any namespace. */
int gr_open_pty(int *controller, int *terminal);
/* Copies the window size of one terminal to another, whose foreground group gets SIGWINCH if the
 * size changes. */
int gr_copy_window_size(int from, int to);
/* Sends SIGINT, SIGQUIT or SIGTSTP to the foreground group of the controller's terminal. */
int gr_pty_signal(int controller, int signal);
/* Makes a fatal signal (except SIGKILL) first restore these attributes of the terminal. Null turns
 * that off. Works for one terminal at a time. Ignored signals stay ignored. */
struct termios;
void gr_restore_on_crash(int fd, const struct termios *_Nullable attributes);

/* Sends one datagram to a socket that is named as in $NOTIFY_SOCKET: by a path, or with @ for the
 * abstract namespace. */
int gr_notify(const char *address, const char *text);

/* Gives back the pages of our own and the libraries' program text, because start-up code is not
 * needed again. Pages that are needed again come from the page cache. It does no harm if this
 * fails. */
void gr_drop_text(void);

/* Gives back freed memory, as malloc_trim(3) does. Swift's Glibc module leaves out malloc.h. */
void gr_trim_heap(void);

/* The size in bytes of an extended attribute of the file (getxattr(2)). Swift's Glibc module leaves
 * out sys/xattr.h. */
int gr_attribute_size(const char *path, const char *name);

/* Whether the kernel has these calls and permits them (probe.c). */
bool gr_has_clone3(void);
bool gr_has_pidfd(void);

/// The type bits of an open file (inode(7)), as far as the kernel knows them without asking the
/// server of the file system, for which fstat(2) would wait; 0 if they are unknown. An O_PATH
/// descriptor suffices.
unsigned gr_file_type(int descriptor);

/// The owner, the mode with the type's bits, the device and the inode of a file, as far as the
/// kernel knows them without asking the server of the file system.
struct gr_file_status {
    uint32_t owner;
    uint32_t mode;
    uint64_t device;
    uint64_t inode;
    uint64_t mount; /* the mount's number in /proc/self/mountinfo */
};

/// Reads the status of a name in a folder without following links, or of the folder itself if the
/// name is empty. Returns 0 or -1.
int gr_look(int folder, const char *name, struct gr_file_status *status);
/// Opens a path with O_PATH if it does not cross a mount (openat2(2)). Fails with EXDEV if it does,
/// and with ENOSYS before Linux 5.6.
int gr_open_without_mounts(const char *path);
bool gr_has_close_range(void);
bool gr_has_memfd(void);

/* ---- disposal.c: processes that share our descriptors and our memory ---- */

/* At most this many descriptors wait for one worker. A launch has four, at most 44, and a turn of
 * the loop has a few launches. */
#define GR_DISPOSAL_QUEUE 256

/* What the keeper does with a descriptor if we end while something that a stranger sent is not
 * closed. */
enum gr_disposal_kind {
    GR_DISPOSAL_OWN = 0,                     /* closed first */
    GR_DISPOSAL_CONNECTION,                  /* shut down, so that its client sees our end */
    GR_DISPOSAL_QUEUE_OF_STRANGERS,          /* closed last: messages that wait in it may linger */
    GR_DISPOSAL_STRANGERS,                   /* left to the kernel */
    GR_DISPOSAL_SLOW,                        /* ours, but left to the kernel */
};

struct gr_disposal_worker;

/* Starts the keeper. Call this once. From then on, our descriptors are closed when we end, even if
 * another process shares them. */
int gr_disposal_begin(void);
/* Ends the keeper. Call this only when no worker hangs, because otherwise our table of descriptors
 * would outlive us. */
void gr_disposal_leave(void);
void gr_disposal_mark(int number, enum gr_disposal_kind kind);
/* Starts a process that closes the descriptors that it is given, in order. After
 * gr_disposal_report, it writes to the eventfd `report` whenever its queue has become empty.
 * Returns NULL and sets errno on failure. */
struct gr_disposal_worker *_Nullable gr_disposal_start(int report);
/* A pidfd of the process, which is readable when the process has ended; -1 on failure. */
int gr_disposal_process(struct gr_disposal_worker *worker);
/* Adds a number. Returns false if the queue is full. The process notices the number after
 * `gr_disposal_wake`. */
bool gr_disposal_add(struct gr_disposal_worker *worker, int number);
void gr_disposal_wake(struct gr_disposal_worker *worker);
/* How many of the added numbers the process has closed. */
unsigned gr_disposal_done(struct gr_disposal_worker *worker);
/* Takes back the number that was added at this index; -1 if the worker has begun to close it. */
int gr_disposal_take_back(struct gr_disposal_worker *worker, unsigned index);
void gr_disposal_report(struct gr_disposal_worker *worker);
/* Whether somebody else has ended the process. Numbers that it has not begun to close can still be
 * taken back. */
bool gr_disposal_is_gone(struct gr_disposal_worker *worker);
/* Ends a process that has nothing to do, or is gone. Waits until it is gone, and frees the
 * worker. */
void gr_disposal_end(struct gr_disposal_worker *worker);
/* Closes a client's connection (SOCK_STREAM) if no message waits in it. Returns false if a message
 * waits, or may wait. */
bool gr_close_connection(int number);

/* Closes a unix socket in which messages of strangers may wait. If there are any, a child holds the
 * last descriptor and ends, so that nobody waits while descriptors in these messages linger.
 * SIGCHLD announces the child's end. */
void gr_close_queue(int number);

/* ---- detached.c: a process that makes calls for us that a stranger can block ---- */

enum gr_detached_kind {
    GR_DETACHED_READ = 0,                    /* reads a whole file of less than `count` bytes */
    GR_DETACHED_WATCH,                       /* inotify_add_watch(2), if wanted; then stat(2) */
    GR_DETACHED_PAGE_OUT,                    /* process_madvise(2), MADV_PAGEOUT (Linux 5.10) */
    GR_DETACHED_OPEN_PIPE,                   /* opens a FIFO for nonblocking reading */
    GR_DETACHED_FORWARD,                     /* moves at most `count` bytes from a pipe to `target` */
};

struct gr_detached_call {
    enum gr_detached_kind kind;
    int descriptor;                          /* of inotify(7), a pidfd, or a pipe's reading end */
    int target;                              /* FORWARD: -1 discards the bytes */
    uint32_t mask;
    bool is_found;                           /* WATCH: `file` has what stat(2) returned */
    uintptr_t address;
    size_t count;
    const char *_Nullable path;
    /* A byte count, a watch, or a descriptor that the caller closes; or -errno. For FORWARD, -EPIPE
     * means that the pipe is empty and nobody has it open for writing, and -EAGAIN that the target
     * accepts nothing. */
    long result;
    struct { uint64_t device, inode; int64_t byte_count, modified, changed; } file;
};

struct gr_detached_worker;

/* Call this after gr_disposal_begin. The process writes to the eventfd `report` whenever it has
 * made its calls. Returns NULL and sets errno on failure. */
struct gr_detached_worker *_Nullable gr_detached_start(int report);
/* Gives calls to a worker that is not busy. The calls belong to the worker until it has made
 * them. */
void gr_detached_give(struct gr_detached_worker *worker, struct gr_detached_call *calls, size_t count);
bool gr_detached_is_busy(struct gr_detached_worker *worker);
/* Whether somebody else has ended the process. If so, frees the worker. */
bool gr_detached_is_gone(struct gr_detached_worker *worker);
/* Ends a worker that is not busy, waits until it is gone, and frees it. */
void gr_detached_end(struct gr_detached_worker *worker);

/* A nonblocking eventfd(2). Any number of writes are read as one. */
int gr_eventfd(void);
void gr_eventfd_take(int number);

#pragma clang assume_nonnull end
