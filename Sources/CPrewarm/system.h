/// System calls without a C library. They return the kernel's result, which is -errno on failure.
///
/// A preloaded object that called libc would depend on the libc that the program uses, and on that
/// libc being initialized, which it is not yet when the shim's constructor runs.
#ifndef GREENROOM_SYSTEM_H
#define GREENROOM_SYSTEM_H

#include "../CGreenroomLinux/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

/// exit_group(2)
__attribute__((noreturn)) static inline void sys_exit(int status) {
    for (;;) system_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

/// open(2), always close-on-exec
static inline int sys_open(const char *path, int flags) {
    return (int)system_call(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, 0, 0, 0);
}

/// close(2)
static inline void sys_close(int descriptor) {
    system_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
}

/// read(2)
static inline long sys_read(int descriptor, void *buffer, size_t size) {
    return system_call(SYS_read, descriptor, (long)buffer, (long)size, 0, 0, 0);
}

/// pread(2)
static inline long sys_pread(int descriptor, void *buffer, size_t size, size_t offset) {
    return system_call(SYS_pread64, descriptor, (long)buffer, (long)size, (long)offset, 0, 0);
}

/// readlink(2)
static inline long sys_readlink(const char *path, char *buffer, size_t size) {
    return system_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)buffer, (long)size, 0, 0);
}

/// fstat(2)
static inline int sys_fstat(int descriptor, struct stat *status) {
    return (int)system_call(SYS_fstat, descriptor, (long)status, 0, 0, 0, 0);
}

/// stat(2)
static inline int sys_stat(const char *path, struct stat *status) {
    return (int)system_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)status, 0, 0, 0);
}

/// fcntl(2)
static inline int sys_fcntl(int descriptor, int command, long argument) {
    return (int)system_call(SYS_fcntl, descriptor, command, argument, 0, 0, 0);
}

/// dup3(2)
static inline int sys_dup3(int from, int to, int flags) {
    return (int)system_call(SYS_dup3, from, to, flags, 0, 0, 0);
}

/// ioctl(2)
static inline int sys_ioctl(int descriptor, unsigned long request, long argument) {
    return (int)system_call(SYS_ioctl, descriptor, (long)request, argument, 0, 0, 0);
}

/// fchdir(2)
static inline int sys_fchdir(int descriptor) {
    return (int)system_call(SYS_fchdir, descriptor, 0, 0, 0, 0, 0);
}

/// chdir(2)
static inline int sys_chdir(const char *path) {
    return (int)system_call(SYS_chdir, (long)path, 0, 0, 0, 0, 0);
}

/// umask(2); returns the former mask
static inline unsigned sys_umask(unsigned mask) {
    return (unsigned)system_call(SYS_umask, mask, 0, 0, 0, 0, 0);
}

/// setsid(2)
static inline int sys_setsid(void) {
    return (int)system_call(SYS_setsid, 0, 0, 0, 0, 0, 0);
}

/// getsid(2)
static inline int sys_getsid(void) {
    return (int)system_call(SYS_getsid, 0, 0, 0, 0, 0, 0);
}

/// getpid(2)
static inline int sys_getpid(void) {
    return (int)system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/// brk(2): the current end of the heap
static inline uint64_t sys_brk(void) {
    return (uint64_t)system_call(SYS_brk, 0, 0, 0, 0, 0, 0);
}

/// prctl(2)
static inline int sys_prctl(int option, long a, long b, long c) {
    return (int)system_call(SYS_prctl, option, a, b, c, 0, 0);
}

/// sendto(2) without an address
static inline long sys_send(int descriptor, const void *bytes, size_t size, int flags) {
    return system_call(SYS_sendto, descriptor, (long)bytes, (long)size, flags, 0, 0);
}

/// recvmsg(2)
static inline long sys_recvmsg(int descriptor, struct msghdr *message, int flags) {
    return system_call(SYS_recvmsg, descriptor, (long)message, flags, 0, 0, 0);
}

/// mmap(2) of private, zeroed, writable memory; null if there is none
static inline void *sys_map(size_t size) {
    long address = system_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return address < 0 && address > -4096 ? NULL : (void *)address;
}

/// munmap(2)
static inline void sys_unmap(void *address, size_t size) {
    system_call(SYS_munmap, (long)address, (long)size, 0, 0, 0, 0);
}

#define SIGNAL_COUNT 64

/// The kernel's struct sigaction, which begins with the handler on every machine.
struct sys_signal_action {
    uintptr_t handler;
    char rest[56];
};

/// rt_sigaction(2): the handler of a signal; SIG_DFL if it has none
static inline uintptr_t sys_signal_handler(int signal) {
    struct sys_signal_action action = {0};
    system_call(SYS_rt_sigaction, signal, 0, (long)&action, 8, 0, 0);
    return action.handler;
}

/// rt_sigaction(2): SIG_IGN or SIG_DFL. SIGKILL and SIGSTOP cannot change.
static inline void sys_set_signal_handler(int signal, uintptr_t handler) {
    struct sys_signal_action action = {.handler = handler};
    system_call(SYS_rt_sigaction, signal, (long)&action, 0, 8, 0, 0);
}

/// rt_sigprocmask(2)
static inline void sys_set_signal_mask(uint64_t mask) {
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
}

/// clock_gettime(2): CLOCK_MONOTONIC in nanoseconds
static inline uint64_t sys_monotonic_nanoseconds(void) {
    struct timespec now = {0, 0};
    system_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// nanosleep(2): for up to a second
static inline void sys_nanosleep(long nanoseconds) {
    struct timespec time = {0, nanoseconds};
    system_call(SYS_nanosleep, (long)&time, 0, 0, 0, 0, 0);
}

/// prlimit(2): a soft limit of this process; 0 if it cannot be read
static inline uint64_t sys_soft_limit(int resource) {
    struct rlimit limit = {0, 0};
    if (system_call(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) != 0) return 0;
    return limit.rlim_cur;
}

#endif
