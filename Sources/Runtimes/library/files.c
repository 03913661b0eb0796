#define _GNU_SOURCE
#include "files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct file {
    char *path;
    bool is_there;
    dev_t device;
    ino_t inode;
    struct timespec changed; // ctime, which nobody can set
};

static struct file *files;
static size_t file_count, capacity;
static bool is_doubtful; // a file may have changed after it was read and before files_watch

static struct timespec start;

/// Reads the clock of the kernel's file times. A file that changes from now on has this time or a
/// later one, and may have been read before the change.
__attribute__((constructor)) static void note_start(void) {
    clock_gettime(CLOCK_REALTIME_COARSE, &start);
}

static bool is_before(struct timespec one, struct timespec other) {
    return one.tv_sec < other.tv_sec
        || (one.tv_sec == other.tv_sec && one.tv_nsec < other.tv_nsec);
}

static struct file state_of(char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return (struct file){.path = path};
    return (struct file){.path = path,
                         .is_there = true,
                         .device = status.st_dev,
                         .inode = status.st_ino,
                         .changed = status.st_ctim};
}

void files_watch(const char *path) {
    if (file_count == capacity) {
        size_t wanted = capacity ? 2 * capacity : 256;
        struct file *grown = realloc(files, wanted * sizeof *files);
        if (grown) files = grown, capacity = wanted;
    }
    char *copy = file_count < capacity ? strdup(path) : NULL;
    if (!copy) {
        is_doubtful = true;
        return;
    }
    struct file file = state_of(copy);
    if (file.is_there && !is_before(file.changed, start)) is_doubtful = true;
    files[file_count++] = file;
}

bool files_are_unchanged(void) {
    bool unchanged = !is_doubtful;
    for (size_t i = 0; i < file_count && unchanged; i++) {
        struct file now = state_of(files[i].path);
        unchanged = now.is_there == files[i].is_there && now.device == files[i].device
            && now.inode == files[i].inode && now.changed.tv_sec == files[i].changed.tv_sec
            && now.changed.tv_nsec == files[i].changed.tv_nsec;
    }
    return unchanged;
}
