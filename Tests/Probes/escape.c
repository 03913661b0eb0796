/* Tries what a sandbox forbids, one act for each word, and says how it went: "act: done" or the
 * error's name. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tries to create a file, and removes it again. */
static int touch(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd >= 0) unlink(path);
    else if (errno == EEXIST) fd = open(path, O_WRONLY);
    if (fd >= 0) close(fd);
    return fd;
}

static int readable(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd >= 0) close(fd);
    return fd;
}

static int with_setuid(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return -1;
    close(fd);
    return chmod(path, 04700);
}

static int open_setuid(const char *path) {
    unlink(path);
    return open(path, O_WRONLY | O_CREAT, 04700);
}

static int becomes_executable(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? -1 : mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static int writable_and_executable(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? -1 : 0;
}

static int rename_host(void) {
    struct utsname names;
    uname(&names);
    return sethostname(names.nodename, strlen(names.nodename));
}

/* Whether the process is in the network with that name, such as "net:[4026531840]". */
static int sees_network(const char *others) {
    char own[64] = "";
    if (readlink("/proc/self/ns/net", own, sizeof own - 1) < 0) return -1;
    errno = ENETDOWN;
    return strcmp(own, others) == 0 ? 0 : -1;
}

static int has_capability(int number) {
    int result = prctl(PR_CAPBSET_READ, number, 0, 0, 0);
    if (result == 0) errno = EPERM;
    return result == 1 ? 0 : -1;
}

static int is_ambient(int number) {
    int result = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0);
    if (result == 0) errno = EPERM;
    return result == 1 ? 0 : -1;
}

static int gains_privileges(void) {
    int result = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    errno = EPERM;
    return result == 0 ? 0 : -1;
}

static int realtime(void) {
    struct sched_param parameter = { .sched_priority = 1 };
    int result = sched_setscheduler(0, SCHED_FIFO, &parameter);
    if (result == 0) {
        parameter.sched_priority = 0;
        sched_setscheduler(0, SCHED_OTHER, &parameter);
    }
    return result;
}

/* Other ways to make a file with the setuid or setgid bit; `path` is free. */
static int with_bit(const char *way, const char *path) {
    unlink(path), rmdir(path);
    if (strcmp(way, "creat-setuid") == 0) return creat(path, 04700);
    if (strcmp(way, "mkdir-setgid") == 0) return mkdir(path, 02700);
    if (strcmp(way, "mknod-setuid") == 0) return mknod(path, S_IFREG | 04700, 0);
    struct { uint64_t flags, mode, resolve; } how = { O_WRONLY | O_CREAT, 04700, 0 };
    if (strcmp(way, "openat2-setuid") == 0)
        return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return fd;
    if (strcmp(way, "fchmod-setuid") == 0) return fchmod(fd, 04700);
    if (strcmp(way, "fchmodat2-setuid") == 0) {
        int result = (int)syscall(452, AT_FDCWD, path, 04700, 0);
        return result < 0 && errno == ENOSYS ? 0 : result; /* before 6.6 */
    }
    return -2;
}

static int realtime_by_attributes(void) {
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority;
             uint64_t runtime, deadline, period; } wanted = { 48, SCHED_FIFO, 0, 0, 1, 0, 0, 0 };
    int result = (int)syscall(SYS_sched_setattr, 0, &wanted, 0);
    struct sched_param none = { 0 };
    if (result == 0) sched_setscheduler(0, SCHED_OTHER, &none);
    return result;
}

static int executable_by_key(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? -1 : (int)syscall(SYS_pkey_mprotect, page, 4096,
                                                  PROT_READ | PROT_EXEC, -1);
}

/* Tries to create a folder, and removes it again. */
static int folder(const char *path) {
    int result = mkdir(path, 0700);
    if (result == 0) rmdir(path);
    return result;
}

/* Asks greenroomd at a socket for the list of apps. With `by_child`, a child connects the socket,
   and ends before the call is sent. */
static int controls(const char *path, bool by_child) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return -1;
    if (by_child) {
        pid_t child = fork();
        if (child == 0) _exit(connect(fd, (struct sockaddr *)&address, sizeof address) ? errno : 0);
        int status = 0;
        waitpid(child, &status, 0);
        if (WEXITSTATUS(status)) return errno = WEXITSTATUS(status), -1;
    } else if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        return -1;
    }
    static const char call[] = "{\"method\":\"io.greenroom.Control.List\"}";
    char reply[4096] = "";
    (void)!send(fd, call, sizeof call, MSG_NOSIGNAL);
    ssize_t count = recv(fd, reply, sizeof reply - 1, 0);
    if (count <= 0) return -1;
    if (strstr(reply, "PermissionDenied")) return errno = EPERM, -1;
    return strstr(reply, "apps") ? 0 : (errno = EPROTO, -1);
}

static int attempt(const char *act, const char *argument) {
    if (strcmp(act, "control") == 0) return controls(argument, false);
    if (strcmp(act, "control-by-child") == 0) return controls(argument, true);
    if (strstr(act, "-setuid") && strcmp(act, "open-setuid") != 0) return with_bit(act, argument);
    if (strcmp(act, "mkdir-setgid") == 0) return with_bit(act, argument);
    if (strcmp(act, "realtime-attributes") == 0) return realtime_by_attributes();
    if (strcmp(act, "w-then-x-key") == 0) return executable_by_key();
    if (strcmp(act, "mkdir") == 0) return folder(argument);
    if (strcmp(act, "tmpfile") == 0) return open(argument, O_TMPFILE | O_WRONLY, 04700);
    int number = atoi(argument);
    if (strcmp(act, "write") == 0) return touch(argument);
    if (strcmp(act, "read") == 0) return readable(argument);
    if (strcmp(act, "exists") == 0) return access(argument, F_OK);
    if (strcmp(act, "setuid") == 0) return with_setuid(argument);
    if (strcmp(act, "open-setuid") == 0) return open_setuid(argument);
    if (strcmp(act, "socket") == 0) return socket(number, SOCK_DGRAM, 0);
    if (strcmp(act, "socketpair") == 0) {
        int pair[2];
        return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    }
    if (strcmp(act, "wx") == 0) return writable_and_executable();
    if (strcmp(act, "w-then-x") == 0) return becomes_executable();
    if (strcmp(act, "personality") == 0)
        return personality(*argument ? strtoul(argument, NULL, 0) : ADDR_NO_RANDOMIZE) < 0 ? -1 : 0;
    if (strcmp(act, "hostname") == 0) return rename_host();
    if (strcmp(act, "network") == 0) return sees_network(argument);
    if (strcmp(act, "capability") == 0) return has_capability(number);
    if (strcmp(act, "ambient") == 0) return is_ambient(number);
    if (strcmp(act, "privileges") == 0) return gains_privileges();
    if (strcmp(act, "realtime") == 0) return realtime();
    if (strcmp(act, "unshare") == 0) return unshare(number);
    if (strcmp(act, "setns") == 0) {
        int fd = open("/proc/self/ns/uts", O_RDONLY);
        return fd < 0 ? -1 : setns(fd, 0);
    }
    if (strcmp(act, "clone3") == 0) {
        /* The size is too small: a kernel that has clone3 answers EINVAL. */
        int result = (int)syscall(SYS_clone3, NULL, 0);
        return result < 0 && errno == EINVAL ? 0 : result;
    }
    if (strcmp(act, "uring") == 0) {
        int result = (int)syscall(SYS_io_uring_setup, 0, NULL);
        return result < 0 && (errno == EINVAL || errno == EFAULT) ? 0 : result;
    }
    if (strcmp(act, "mount") == 0) {
        /* If this succeeds, it is undone, because nothing may be left on the machine. */
        int result = mount("none", "/mnt", "tmpfs", 0, NULL);
        return result < 0 ? result : umount2("/mnt", MNT_DETACH);
    }
    if (strcmp(act, "umount") == 0) return umount2(argument, MNT_DETACH);
    if (strcmp(act, "chroot") == 0) {
        /* A system call, because an analyser wants a chdir after chroot(). */
        return (int)syscall(SYS_chroot, "/");
    }
    if (strcmp(act, "syslog") == 0) return (int)syscall(SYS_syslog, 10, NULL, 0);
    if (strcmp(act, "settime") == 0) {
        /* The time is impossible: a kernel that allows the call answers EINVAL. */
        struct timespec time = { 0, -1 };
        int result = (int)syscall(SYS_clock_settime, 0, &time);
        return result < 0 && errno == EINVAL ? 0 : result;
    }
    if (strcmp(act, "timex") == 0) {
        /* The tick is impossible, with the same effect. */
        struct timex time = { .modes = ADJ_TICK, .tick = 1 };
        int result = adjtimex(&time);
        return result < 0 && errno == EINVAL ? 0 : result;
    }
    if (strcmp(act, "module") == 0) {
        int result = (int)syscall(SYS_delete_module, "greenroom-has-no-such-module", 0);
        return result < 0 && (errno == ENOENT || errno == ENOSYS) ? 0 : result;
    }
    fprintf(stderr, "escape: no act %s\n", act);
    exit(64);
}

/* getpid(2) by the system calls of 32-bit programs. Other machines have none. */
static int call_of_other_architecture(void) {
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
    return result > 0 ? 0 : -1;
#else
    return errno = ENOSYS, -1;
#endif
}

/* Prints a file of this process's cgroup, such as a limit. */
static void print_of_cgroup(const char *name) {
    char line[512] = "", path[1024], text[64] = "";
    FILE *own = fopen("/proc/self/cgroup", "r");
    while (own && fgets(line, sizeof line, own) && strncmp(line, "0::", 3) != 0) line[0] = 0;
    if (own) fclose(own);
    line[strcspn(line, "\n")] = 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", *line ? line + 3 : "", name);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file)) strcpy(text, "?");
    if (file) fclose(file);
    text[strcspn(text, "\n")] = 0;
    printf("%s\n", text);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals) *equals = '\0';
        const char *argument = equals ? equals + 1 : "";
        if (strcmp(argv[i], "cgroup") == 0) {
            print_of_cgroup(argument);
            continue;
        }
        errno = 0;
        int result = strcmp(argv[i], "foreign") == 0 ? call_of_other_architecture()
                                                     : attempt(argv[i], argument);
        const char *name = result >= 0 ? "done" : strerrorname_np(errno);
        printf("%s\n", name ? name : "?");
        fflush(stdout);
    }
    return 0;
}
