#define _GNU_SOURCE
#include "CGreenroomLinux.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

int gr_open(const char *path, int flags, uint32_t mode) {
    return open(path, flags | O_CLOEXEC, mode);
}

int gr_openat(int dir, const char *path, int flags, uint32_t mode) {
    return openat(dir, path, flags | O_CLOEXEC, mode);
}

int gr_set_label(int fd, const char *name, const void *bytes, size_t count) {
    return fsetxattr(fd, name, bytes, count, 0);
}

int gr_read_label(int fd, const char *name, void *bytes, size_t count) {
    return (int)fgetxattr(fd, name, bytes, count);
}

int gr_dup_cloexec(int fd, int lowest) { return fcntl(fd, F_DUPFD_CLOEXEC, lowest); }

int gr_set_nonblocking(int fd, bool on) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return -1;
    return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

int gr_set_cloexec(int fd, bool on) { return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0); }

static int socket_flags(int type, bool nonblocking) {
    return type | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0);
}

int gr_accept(int fd, bool nonblocking) {
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0));
    /* Without this, our read would make the kernel drop a byte that was sent with MSG_OOB and close
     * the descriptors that came with it, in our process (SO_LINGER in socket(7)). MSG_PEEK would
     * not show the byte either. */
    int on = 1;
    if (client >= 0) (void)setsockopt(client, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
    return client;
}

int gr_socket(int type, bool nonblocking) {
    return socket(AF_UNIX, socket_flags(type, nonblocking), 0);
}

int gr_socketpair(int type, bool nonblocking, int *pair) {
    return socketpair(AF_UNIX, socket_flags(type, nonblocking), 0, pair);
}

static int address(const char *path, struct sockaddr_un *out) {
    size_t length = strlen(path);
    if (length >= sizeof out->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(out->sun_path, path, length + 1);
    return 0;
}

int gr_bind(int fd, const char *path) {
    struct sockaddr_un sun;
    if (address(path, &sun) < 0) return -1;
    return bind(fd, (struct sockaddr *)&sun, sizeof sun);
}

int gr_connect(int fd, const char *path) {
    struct sockaddr_un sun;
    if (address(path, &sun) < 0) return -1;
    return connect(fd, (struct sockaddr *)&sun, sizeof sun);
}

int gr_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -1;
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int gr_peer_pidfd(int fd) {
    int peer = -1;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer, &size) < 0) return -1;
    return peer;
}

int gr_pass_credentials(int fd, bool on) {
    int value = on;
    return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &value, sizeof value);
}

int gr_unread(int fd) {
    int count = 0;
    return ioctl(fd, SIOCOUTQ, &count) < 0 ? -1 : count;
}

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

int gr_refuse_descriptors(int fd) {
    int value = 0;
    return setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof value);
}

int gr_pipe(int *pair) { return pipe2(pair, O_CLOEXEC); }

int gr_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void gr_eventfd_take(int number) {
    eventfd_t count;
    (void)eventfd_read(number, &count);
}

int gr_pidfd_open(int32_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

bool gr_can_fetch(int pidfd) {
    /* The kernel checks the permission before the number, so EBADF means that it is granted. */
    long copy = syscall(SYS_pidfd_getfd, pidfd, 0, 0);
    if (copy < 0) return errno == EBADF;
    close((int)copy);
    return true;
}

int gr_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

int gr_pidfd_wait(int pidfd, int *code, int *status) {
    siginfo_t info = { 0 };
    if (waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0) return -1;
    *code = info.si_code;
    *status = info.si_status;
    return 0;
}

int32_t gr_wait_any(int *code, int *status) {
    siginfo_t info = { 0 };
    /* Traced threads are reported even if not asked for; older kernels report them only with
     * __WALL. */
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) return -1;
    *code = info.si_code;
    *status = info.si_status;
    return info.si_pid;
}

int gr_clock_watch(void) {
    int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0) return -1;
    struct itimerspec never = {.it_value = {.tv_sec = INT32_MAX * (time_t)1000}};
    if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int gr_memfd(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int gr_memfd_seal(int fd, bool against_writing) {
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    return fcntl(fd, F_ADD_SEALS, against_writing ? seals | F_SEAL_WRITE : seals);
}

int gr_subreaper(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

int gr_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

static sigset_t set_of(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < count; i++) sigaddset(&set, signals[i]);
    return set;
}

int gr_block_signals(const int *signals, int count) {
    sigset_t set = set_of(signals, count);
    int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (error == 0) return 0;
    errno = error;
    return -1;
}

int gr_signalfd(const int *signals, int count) {
    if (gr_block_signals(signals, count) < 0) return -1;
    sigset_t set = set_of(signals, count);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int gr_signalfd_read(int fd) {
    struct signalfd_siginfo info;
    ssize_t count = read(fd, &info, sizeof info);
    if (count == (ssize_t)sizeof info) return (int)info.ssi_signo;
    return count < 0 && errno != EAGAIN ? -1 : 0;
}

int gr_stop_group(int signal) {
    sigset_t set = set_of(&signal, 1), before;
    if (kill(0, signal) < 0) return -1;
    if (sigprocmask(SIG_UNBLOCK, &set, &before) < 0) return -1;
    return sigprocmask(SIG_SETMASK, &before, NULL);
}

const char *gr_error_name(int error) { return strerrorname_np(error); }
const char *gr_error_text(int error) { return strerrordesc_np(error); }

uint64_t gr_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int gr_notify(const char *name, const char *text) {
    struct sockaddr_un sun;
    if (address(name, &sun) < 0) return -1;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    if (name[0] == '@') sun.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    ssize_t sent = sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&sun, size);
    int error = errno;
    close(fd);
    errno = error;
    return sent < 0 ? -1 : 0;
}

static _Thread_local int names_left;

static struct dirent *next_name(void *folder) { return names_left-- > 0 ? readdir(folder) : NULL; }
static void *open_names(const char *path) { return names_left > 0 ? opendir(path) : NULL; }
static void close_names(void *folder) { (void)closedir(folder); }
static int status_of_link(const char *path, struct stat *status) { return lstat(path, status); }
static int status_of(const char *path, struct stat *status) { return stat(path, status); }

bool gr_matches(const char *pattern, int limit) {
    glob_t found = {
        .gl_closedir = close_names,
        .gl_readdir = next_name,
        .gl_opendir = open_names,
        .gl_lstat = status_of_link,
        .gl_stat = status_of,
    };
    names_left = limit;
    int result = glob(pattern, GLOB_NOSORT | GLOB_BRACE | GLOB_ALTDIRFUNC, NULL, &found);
    bool matches = result == 0 && found.gl_pathc > 0;
    globfree(&found);
    return matches;
}

// Drops only segments that cannot be written. The kernel reads them from the file again, and nothing
// is lost: relocations change only writable segments (RELRO).
static int drop_segments(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size, (void)data;
    // The vDSO is not a file.
    if (strncmp(object->dlpi_name, "linux-", 6) == 0) return 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W)) continue;
        uintptr_t start = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
        (void)madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void gr_drop_text(void) { (void)dl_iterate_phdr(drop_segments, NULL); }

void gr_trim_heap(void) { (void)malloc_trim(0); }

int gr_attribute_size(const char *path, const char *name) {
    return (int)getxattr(path, name, NULL, 0);
}
