/* Queries to the kernel, through calls that Swift cannot make (syscall(2) is variadic). */
#define _GNU_SOURCE
#include "CGreenroomLinux.h"

#include <linux/openat2.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* If the kernel permits the call, it refuses these arguments with EINVAL. */
bool gr_has_clone3(void) { return syscall(SYS_clone3, 0, 0) == -1 && errno == EINVAL; }

bool gr_has_pidfd(void) {
    long fd = syscall(SYS_pidfd_open, getpid(), 0);
    if (fd < 0) return false;
    close((int)fd);
    return true;
}

bool gr_has_close_range(void) {
    return syscall(SYS_close_range, ~0U, ~0U, 0) == 0 || errno != ENOSYS;
}

bool gr_has_memfd(void) {
    int fd = memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return false;
    close(fd);
    return true;
}

unsigned gr_file_type(int descriptor) {
    struct statx status;
    if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) return 0;
    return status.stx_mode & S_IFMT;
}

int gr_look(int folder, const char *name, struct gr_file_status *found) {
    struct statx status;
    int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
    unsigned wanted = STATX_TYPE | STATX_MODE | STATX_UID | STATX_INO | STATX_MNT_ID;
    if (statx(folder, name, flags, wanted, &status) != 0) return -1;
    found->owner = status.stx_uid;
    found->mode = status.stx_mode;
    found->device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
    found->inode = status.stx_ino;
    found->mount = status.stx_mnt_id;
    return 0;
}

int gr_open_without_mounts(const char *path) {
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV };
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}
