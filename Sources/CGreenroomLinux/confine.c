/* The confined part of the child's half of a spawn: namespaces, mounts, capabilities, filters.
 *
 * The same rules as in spawn.c hold: system calls only, no allocation, one way out. The mounts are
 * two passes, so that no order of them matters: first every tree that is to be seen somewhere is
 * cloned as it is outside (open_tree), then what was asked for is put in place, parents before
 * children (the caller sorts). What is left writable so keeps exactly the flags it had outside: no
 * flag is ever taken away from a mount. open_tree(2) and move_mount(2) are of Linux 5.2,
 * mount_setattr(2) is of 5.12; a kernel without them refuses, and the app is not run. */
#define _GNU_SOURCE
#include "job.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { TREE_RECURSIVE = 0x8000 /* AT_RECURSIVE, which fcntl.h may lack */ };
/* Beside descriptors, and -1 for an error: */
enum { NO_TREE = -2, SKIPPED = -3 };

/* ---- namespaces ---- */

/* Lines such as "1000 1000 1": the app keeps its own numbers and there are no others. */
static void map_identity(struct job *job, const char *file, uint32_t number) {
    char digits[12], text[32];
    int k = 0, n = 0;
    do { digits[k++] = (char)('0' + number % 10); } while ((number /= 10) != 0);
    for (int twice = 0; twice < 2; twice++) {
        for (int i = k; i > 0; i--) text[n++] = digits[i - 1];
        text[n++] = ' ';
    }
    text[n++] = '1';
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    TRY(GR_STAGE_USER_NAMESPACE, fd);
    TRY(GR_STAGE_USER_NAMESPACE, write(fd, text, (size_t)n));
    close(fd);
}

static void map_identities(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    /* Without it a process could leave a group that denies it something. */
    int fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
    TRY(GR_STAGE_USER_NAMESPACE, fd);
    TRY(GR_STAGE_USER_NAMESPACE, write(fd, "deny", 4));
    close(fd);
    map_identity(job, "/proc/self/uid_map", c->own_uid);
    map_identity(job, "/proc/self/gid_map", c->own_gid);
}

/* A new network namespace has a loopback that is down. Not to have it only takes something away. */
static void raise_loopback(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    struct ifreq request = { .ifr_name = "lo" };
    if (ioctl(fd, SIOCGIFFLAGS, &request) == 0) {
        request.ifr_flags |= IFF_UP;
        (void)ioctl(fd, SIOCSIFFLAGS, &request);
    }
    close(fd);
}

void gr_enter_namespaces(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (!c) return;
    if (c->in_user_namespace) map_identities(job);
    if (c->namespaces == 0) return;
    TRY(GR_STAGE_NAMESPACES, syscall(SYS_unshare, c->namespaces));
    if (c->namespaces & CLONE_NEWNET) raise_loopback();
}

/* ---- mounts ---- */

static int open_tree_of(const char *path) {
    return (int)syscall(SYS_open_tree, AT_FDCWD, path,
                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | TREE_RECURSIVE);
}

static int set_attributes(int dir, const char *path, int flags, uint64_t set, uint64_t propagation) {
    struct mount_attr attr = { .attr_set = set, .propagation = propagation };
    return (int)syscall(SYS_mount_setattr, dir, path, flags, &attr, sizeof attr);
}

static int attach(int tree, const char *target) {
    return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, target,
                        MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS);
}

/* A tmpfs of its own, not yet to be seen anywhere. `mode` is octal. */
static int new_tmpfs(const char *mode, uint64_t attributes) {
    int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (fs < 0) return -1;
    int mount = -1;
    if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", mode, 0) == 0
        && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
    int error = errno;
    close(fs);
    errno = error;
    return mount;
}

/* Whatever of a mount is to be taken from the tree as it is outside. */
static int prepare_mount(const struct gr_mount *m) {
    struct stat status;
    switch (m->kind) {
    case GR_MOUNT_BIND: return m->late ? NO_TREE : open_tree_of(m->source);
    case GR_MOUNT_HIDE:
        if (m->late) return NO_TREE;
        if (stat(m->target, &status) < 0) return -1;
        /* A device that its mount's options let nobody open: EACCES, for root too. */
        return S_ISDIR(status.st_mode) ? NO_TREE : open_tree_of("/dev/null");
    case GR_MOUNT_ATTRIBUTES:
    case GR_MOUNT_TMPFS:
        return m->optional && access(m->target, F_OK) < 0 ? -1 : NO_TREE;
    default: return NO_TREE;
    }
}

static int make_target(const struct gr_mount *m, int tree) {
    struct stat status;
    if (fstat(tree, &status) < 0) return -1;
    if (S_ISDIR(status.st_mode)) return mkdir(m->target, 0755);
    int fd = open(m->target, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
    if (fd >= 0) close(fd);
    return fd;
}

/* What is to be mounted: the prepared tree, or one that is made now. */
static int tree_of(const struct gr_mount *m, int prepared) {
    static const uint64_t nothing =
        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    struct stat status;
    int tree = prepared;
    switch (m->kind) {
    case GR_MOUNT_TMPFS: return new_tmpfs(m->source, m->attributes);
    case GR_MOUNT_HIDE:
        if (m->late && stat(m->target, &status) < 0) return -1;
        if (m->late && !S_ISDIR(status.st_mode)) tree = open_tree_of("/dev/null");
        if (tree == -1) return -1;
        if (tree < 0) return new_tmpfs("000", nothing);
        if (set_attributes(tree, "", AT_EMPTY_PATH, nothing, 0) < 0) return -1;
        return tree;
    default: /* GR_MOUNT_BIND */
        if (m->late) tree = open_tree_of(m->source);
        if (tree < 0 || m->attributes == 0) return tree;
        int flags = AT_EMPTY_PATH | TREE_RECURSIVE;
        return set_attributes(tree, "", flags, m->attributes, 0) < 0 ? -1 : tree;
    }
}

static int place_mount(const struct gr_mount *m, int prepared) {
    switch (m->kind) {
    case GR_MOUNT_ATTRIBUTES:
        return set_attributes(AT_FDCWD, m->target, m->late ? 0 : TREE_RECURSIVE, m->attributes, 0);
    case GR_MOUNT_SYMLINK: return symlink(m->source, m->target);
    case GR_MOUNT_DIRECTORY: return mkdir(m->target, 0755);
    default: break;
    }
    int tree = tree_of(m, prepared);
    if (tree < 0 || (m->makes_target && make_target(m, tree) < 0)) return -1;
    if (attach(tree, m->target) < 0) return -1;
    close(tree);
    return 0;
}

static bool is_absence(int error) { return error == ENOENT || error == ENOTDIR; }

void gr_make_mounts(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (!c || c->mount_count == 0) return;
    int trees[GR_MOUNTS_MAX];
    /* What is mounted outside later is still seen; what is mounted here stays here. */
    TRY(GR_STAGE_MOUNTS, set_attributes(AT_FDCWD, "/", TREE_RECURSIVE, 0, MS_SLAVE));
    for (int i = 0; i < c->mount_count; i++) {
        job->step = i;
        trees[i] = prepare_mount(&c->mounts[i]);
        if (trees[i] != -1) continue;
        if (!c->mounts[i].optional || !is_absence(errno)) fail(job, GR_STAGE_MOUNTS);
        trees[i] = SKIPPED;
    }
    for (int i = 0; i < c->mount_count; i++) {
        job->step = i;
        if (trees[i] == SKIPPED || place_mount(&c->mounts[i], trees[i]) == 0) continue;
        bool absent = c->mounts[i].late && c->mounts[i].optional && is_absence(errno);
        if (!absent) fail(job, GR_STAGE_MOUNTS);
    }
    job->step = -1;
}

/* ---- capabilities ---- */

/* Before the user is taken: dropping needs CAP_SETPCAP. What the kernel does not know cannot be
 * held either. */
void gr_bound_capabilities(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (!c || !c->has_bounding_set) return;
    for (int cap = 0; cap < 64; cap++) {
        if (c->bounding_set >> cap & 1) continue;
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
            fail(job, GR_STAGE_CAPABILITIES);
    }
}

void gr_keep_capabilities(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (c && c->ambient != 0) TRY(GR_STAGE_CAPABILITIES, prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
}

/* As the app's user: what it holds shrinks to the bounding set, and the ambient set is what the
 * program is started with. */
void gr_raise_capabilities(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (!c || (!c->has_bounding_set && c->ambient == 0)) return;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];
    TRY(GR_STAGE_CAPABILITIES, syscall(SYS_capget, &header, data));
    for (int i = 0; i < 2; i++) {
        uint32_t ambient = (uint32_t)(c->ambient >> 32 * i);
        if (c->has_bounding_set) data[i].permitted &= (uint32_t)(c->bounding_set >> 32 * i);
        /* Without SYS_ADMIN a filter needs no_new_privs: that is seen to before. */
        data[i].effective = data[i].permitted;
        data[i].inheritable = ambient;
    }
    TRY(GR_STAGE_CAPABILITIES, syscall(SYS_capset, &header, data));
    for (int cap = 0; cap < 64; cap++)
        if (c->ambient >> cap & 1)
            TRY(GR_STAGE_CAPABILITIES, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0));
}

/* ---- filters ---- */

/* The last thing before exec: what follows are execve and, should it fail, exit_group, which no
 * filter may forbid (the supervisor sees to it). */
void gr_install_filters(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    for (int i = 0; c && i < c->filter_count; i++) {
        struct sock_fprog program = {
            .len = c->filters[i].count, .filter = (struct sock_filter *)c->filters[i].program,
        };
        TRY(GR_STAGE_FILTER, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    }
}
