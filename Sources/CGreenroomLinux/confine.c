/* The confined part of the child's half of a spawn: namespaces, mounts, capabilities, filters.
 *
 * The rules of the child's half apply (job.h): raw system calls only, one way out. The mounts are
 * made in two passes, so that one does not affect the source of another: first every tree that is
 * to be shown somewhere is cloned as it is outside (open_tree); then everything is put in place,
 * parents before children (the caller sorts). A mount that stays writable keeps exactly the flags
 * that it had outside, because no flag is ever removed from a mount. open_tree(2) and move_mount(2)
 * need Linux 5.2, mount_setattr(2) needs 5.12. A kernel without them refuses, and the app is not
 * run. */
#define _GNU_SOURCE
#include "job.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

CHILD_HALF_BEGIN

enum { TREE_RECURSIVE = 0x8000 /* AT_RECURSIVE, which fcntl.h may lack */ };
/* Values besides descriptors and -errno: */
enum { NO_TREE = -10000, SKIPPED = -10001 };
enum { PATH_LIMIT = 4096 }; /* PATH_MAX */

/* ---- namespaces ---- */

/* Writes a line such as "1000 1000 1": the app keeps its own number, and no other number exists. */
static void map_identity(struct job *job, const char *file, uint32_t number) {
    char digits[12], text[32];
    int k = 0, n = 0;
    do { digits[k++] = (char)('0' + number % 10); } while ((number /= 10) != 0);
    for (int twice = 0; twice < 2; twice++) {
        for (int i = k; i > 0; i--) text[n++] = digits[i - 1];
        text[n++] = ' ';
    }
    text[n++] = '1';
    int fd;
    TRY(GR_STAGE_USER_NAMESPACE, fd = call_open(file, O_WRONLY));
    TRY(GR_STAGE_USER_NAMESPACE, call(SYS_write, fd, text, n));
    call_close(fd);
}

static void map_identities(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    /* Otherwise a process could leave a group whose members are denied access. */
    int fd;
    TRY(GR_STAGE_USER_NAMESPACE, fd = call_open("/proc/self/setgroups", O_WRONLY));
    TRY(GR_STAGE_USER_NAMESPACE, call(SYS_write, fd, "deny", 4));
    call_close(fd);
    map_identity(job, "/proc/self/uid_map", c->own_uid);
    map_identity(job, "/proc/self/gid_map", c->own_gid);
}

/* In a new network namespace the loopback device is down. If it cannot be raised, the app can
 * reach less, but nothing is exposed. */
static void raise_loopback(void) {
    int fd = (int)call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    struct ifreq request = { .ifr_name = "lo" };
    if (call(SYS_ioctl, fd, SIOCGIFFLAGS, &request) == 0) {
        request.ifr_flags |= IFF_UP;
        (void)call(SYS_ioctl, fd, SIOCSIFFLAGS, &request);
    }
    call_close(fd);
}

void gr_enter_namespaces(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (!c) return;
    if (c->in_user_namespace) map_identities(job);
    if (c->namespaces == 0) return;
    TRY(GR_STAGE_NAMESPACES, call(SYS_unshare, c->namespaces));
    if (c->namespaces & CLONE_NEWNET) raise_loopback();
}

/* ---- mounts ---- (each of these functions returns -errno on failure) */

/* Opens the source or target of a mount. Since the path was checked, the owner of a folder in it
 * could have put a link there. */
static int open_path(const struct gr_mount *m, const char *path) {
    if (!m->no_links) return call_open(path, O_PATH);
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
    return (int)call(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Whether the target is a directory; -errno if it cannot be found. */
static int is_directory(const struct gr_mount *m) {
    struct stat status = { 0 }; /* analyzers do not see what the kernel writes */
    int fd = open_path(m, m->target);
    if (fd < 0) return fd;
    int result = (int)call(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH);
    call_close(fd);
    return result < 0 ? result : S_ISDIR(status.st_mode);
}

static int clone_tree(int dir, const char *path) {
    return (int)call(SYS_open_tree, dir, path,
                     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | TREE_RECURSIVE | AT_EMPTY_PATH);
}

static int clone_source(const struct gr_mount *m) {
    int fd = open_path(m, m->source);
    if (fd < 0) return fd;
    int tree = clone_tree(fd, "");
    call_close(fd);
    return tree;
}

static int set_attributes(int dir, const char *path, int flags, uint64_t set, uint64_t propagation) {
    struct mount_attr attr = { .attr_set = set, .propagation = propagation };
    return (int)call(SYS_mount_setattr, dir, path, flags, &attr, sizeof attr);
}

static int attach(const struct gr_mount *m, int tree) {
    int fd = open_path(m, m->target);
    if (fd < 0) return fd;
    int result = (int)call(SYS_move_mount, tree, "", fd, "",
                           MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
    call_close(fd);
    return result;
}

static int set_target_attributes(const struct gr_mount *m) {
    int fd = open_path(m, m->target);
    if (fd < 0) return fd;
    int flags = AT_EMPTY_PATH | (m->late ? 0 : TREE_RECURSIVE);
    int result = set_attributes(fd, "", flags, m->attributes, 0);
    call_close(fd);
    return result;
}

/* Opens the folder of the target. */
static int open_folder(const struct gr_mount *m, const char **name) {
    char folder[PATH_LIMIT];
    int length = 0, slash = 0;
    for (; m->target[length]; length++) {
        if (length == PATH_LIMIT - 1) return -ENAMETOOLONG;
        if (m->target[length] == '/') slash = length;
        folder[length] = m->target[length];
    }
    folder[slash == 0 ? 1 : slash] = '\0';
    *name = m->target + slash + 1;
    return open_path(m, folder);
}

static int make_directory(const struct gr_mount *m) {
    const char *name;
    int folder = open_folder(m, &name);
    if (folder < 0) return folder;
    int result = (int)call(SYS_mkdirat, folder, name, 0755);
    call_close(folder);
    return result;
}

static int make_link(const struct gr_mount *m) {
    const char *name;
    int folder = open_folder(m, &name);
    if (folder < 0) return folder;
    int result = (int)call(SYS_symlinkat, m->source, folder, name);
    call_close(folder);
    return result;
}

static int make_file(const struct gr_mount *m) {
    const char *name;
    int folder = open_folder(m, &name);
    if (folder < 0) return folder;
    int fd = (int)call(SYS_openat, folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
    if (fd >= 0) call_close(fd);
    call_close(folder);
    return fd;
}

/* Makes a tmpfs that is not attached anywhere yet. `mode` is octal. */
static int new_tmpfs(const char *mode, uint64_t attributes) {
    int fs = (int)call(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (fs < 0) return fs;
    int result = (int)call(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", mode, 0);
    if (result == 0) result = (int)call(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
    if (result == 0) result = (int)call(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
    call_close(fs);
    return result;
}

/* Clones the part of a mount that must be taken from the tree as it is outside. */
static int prepare_mount(const struct gr_mount *m) {
    int result;
    switch (m->kind) {
    case GR_MOUNT_BIND: return m->late ? NO_TREE : clone_source(m);
    case GR_MOUNT_HIDE:
        if (m->late) return NO_TREE;
        if ((result = is_directory(m)) < 0) return result;
        /* The mount's options make this a device that nobody can open, not even root (EACCES). */
        return result ? NO_TREE : clone_tree(AT_FDCWD, "/dev/null");
    case GR_MOUNT_ATTRIBUTES:
    case GR_MOUNT_TMPFS:
        result = m->optional ? is_directory(m) : 0;
        return result < 0 ? result : NO_TREE;
    default: return NO_TREE;
    }
}

static int make_target(const struct gr_mount *m, int tree) {
    struct stat status = { 0 };
    int result = (int)call(SYS_fstat, tree, &status);
    if (result < 0) return result;
    return S_ISDIR(status.st_mode) ? make_directory(m) : make_file(m);
}

/* The tree to mount: the prepared one, or one that is made now. */
static int tree_of(const struct gr_mount *m, int prepared) {
    static const uint64_t nothing =
        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    int tree = prepared, result = 0;
    switch (m->kind) {
    case GR_MOUNT_TMPFS: return new_tmpfs(m->source, m->attributes);
    case GR_MOUNT_HIDE:
        if (m->late && (result = is_directory(m)) < 0) return result;
        if (m->late && !result) tree = clone_tree(AT_FDCWD, "/dev/null");
        if (tree == NO_TREE) return new_tmpfs("000", nothing);
        if (tree < 0) return tree;
        result = set_attributes(tree, "", AT_EMPTY_PATH, nothing, 0);
        return result < 0 ? result : tree;
    default: /* GR_MOUNT_BIND */
        if (m->late) tree = clone_source(m);
        if (tree < 0 || m->attributes == 0) return tree;
        int flags = AT_EMPTY_PATH | TREE_RECURSIVE;
        result = set_attributes(tree, "", flags, m->attributes, 0);
        return result < 0 ? result : tree;
    }
}

static int place_mount(const struct gr_mount *m, int prepared) {
    int result = 0;
    switch (m->kind) {
    case GR_MOUNT_ATTRIBUTES: return set_target_attributes(m);
    case GR_MOUNT_SYMLINK: return make_link(m);
    case GR_MOUNT_DIRECTORY: return make_directory(m);
    default: break;
    }
    int tree = tree_of(m, prepared);
    if (tree < 0) return tree;
    if (m->makes_target) result = make_target(m, tree);
    if (result >= 0) result = attach(m, tree);
    if (result >= 0) call_close(tree);
    return result < 0 ? result : 0;
}

static bool is_absence(int result) { return result == -ENOENT || result == -ENOTDIR; }

void gr_make_mounts(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (!c || c->mount_count == 0) return;
    int trees[GR_MOUNTS_MAX];
    /* Mounts that are made outside later still appear here; mounts that are made here do not appear
     * outside. */
    TRY(GR_STAGE_MOUNTS, set_attributes(AT_FDCWD, "/", TREE_RECURSIVE, 0, MS_SLAVE));
    for (int i = 0; i < c->mount_count; i++) {
        job->step = i;
        trees[i] = prepare_mount(&c->mounts[i]);
        if (trees[i] >= 0 || trees[i] == NO_TREE) continue;
        if (!c->mounts[i].optional || !is_absence(trees[i])) fail(job, GR_STAGE_MOUNTS, -trees[i]);
        trees[i] = SKIPPED;
    }
    for (int i = 0; i < c->mount_count; i++) {
        job->step = i;
        if (trees[i] == SKIPPED) continue;
        int result = place_mount(&c->mounts[i], trees[i]);
        bool absent = c->mounts[i].late && c->mounts[i].optional && is_absence(result);
        if (result < 0 && !absent) fail(job, GR_STAGE_MOUNTS, -result);
    }
    job->step = -1;
}

/* ---- capabilities ---- */

/* Called before the user changes, because dropping needs CAP_SETPCAP. A capability that the kernel
 * does not know need not be dropped. */
void gr_bound_capabilities(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (!c || !c->has_bounding_set) return;
    for (int cap = 0; cap < 64; cap++) {
        if (c->bounding_set >> cap & 1) continue;
        long result = call(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
        if (result < 0 && result != -EINVAL) fail(job, GR_STAGE_CAPABILITIES, (int)-result);
    }
}

void gr_keep_capabilities(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (c && c->ambient != 0) TRY(GR_STAGE_CAPABILITIES, call(SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0, 0));
}

/* Called as the app's user. Reduces the capabilities to those that the program will have, before
 * the process enters a directory or executes a file. A program of root gets the bounding set; any
 * other program gets the ambient set. */
void gr_raise_capabilities(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    if (!c) return;
    bool is_root = call(SYS_geteuid) == 0;
    if (is_root && !c->has_bounding_set && c->ambient == 0) return;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { { 0 } };
    TRY(GR_STAGE_CAPABILITIES, call(SYS_capget, &header, data));
    for (int i = 0; i < 2; i++) {
        uint32_t ambient = (uint32_t)(c->ambient >> 32 * i);
        if (c->has_bounding_set) data[i].permitted &= (uint32_t)(c->bounding_set >> 32 * i);
        /* Without SYS_ADMIN a filter needs no_new_privs, which was set before. */
        if (!is_root) data[i].permitted &= ambient;
        data[i].effective = data[i].permitted;
        data[i].inheritable = ambient;
    }
    TRY(GR_STAGE_CAPABILITIES, call(SYS_capset, &header, data));
    for (int cap = 0; cap < 64; cap++)
        if (c->ambient >> cap & 1)
            TRY(GR_STAGE_CAPABILITIES,
                call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0));
}

/* ---- filters ---- */

/* The last stage before exec. Only execve follows, and exit_group if execve fails. No filter may
 * forbid these two (the supervisor ensures that). */
void gr_install_filters(struct job *job) {
    const struct gr_confinement *c = job->request->confinement;
    for (int i = 0; c && i < c->filter_count; i++) {
        struct sock_fprog program = {
            .len = c->filters[i].count, .filter = (struct sock_filter *)c->filters[i].program,
        };
        TRY(GR_STAGE_FILTER, call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    }
}

CHILD_HALF_END
