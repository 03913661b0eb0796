/* The worker: a process that makes, in our place, the system calls that may wait for a stranger.
 * Files in /proc about a process are read from that process's memory, or under a lock that the
 * process holds. A page of that memory, or a path, may belong to a file system whose server does
 * not answer (fuse(4)). A pipe is locked while the kernel reads the bytes to be written from such
 * memory. The worker then waits, and may not even be killable. The rules in disposal.c for such
 * processes apply here, too. */
#define _GNU_SOURCE
#include "CGreenroomLinux.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct gr_detached_worker {
    struct worker process;
    struct gr_detached_call *calls;
    size_t count;
    _Atomic bool is_busy;
    struct stat status;
};

BARE static long long nanoseconds(struct timespec time) {
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

BARE static long read_file(const struct gr_detached_call *call) {
    long file = keeper_call(SYS_openat, AT_FDCWD, (long)call->path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return file;
    long count = 0, more = 0;
    do {
        more = keeper_call(SYS_read, file, (long)call->address + count, (long)call->count - count, 0);
        if (more > 0) count += more;
    } while ((more > 0 && (size_t)count < call->count) || more == -EINTR);
    (void)keeper_call(SYS_close, file, 0, 0, 0);
    if (more < 0) return more;
    return (size_t)count < call->count ? count : -EFBIG;
}

/* Adds the watch before it reads the file's status, so that no change in between is missed. */
BARE static long watch(struct gr_detached_call *call, struct stat *status) {
    long number = 0;
    if (call->descriptor >= 0)
        number = keeper_call(SYS_inotify_add_watch, call->descriptor, (long)call->path, call->mask, 0);
    long error = keeper_call(SYS_newfstatat, AT_FDCWD, (long)call->path, (long)status, 0);
    call->is_found = error == 0;
    if (call->is_found) {
        call->file.device = status->st_dev;
        call->file.inode = status->st_ino;
        call->file.byte_count = status->st_size;
        call->file.modified = nanoseconds(status->st_mtim);
        call->file.changed = nanoseconds(status->st_ctim);
    }
    return number;
}

BARE static long page_out(const struct gr_detached_call *call) {
    struct iovec range = { (void *)call->address, call->count };
    /* The fifth argument, the flags, is 0 (keeper.h). */
    return keeper_call(SYS_process_madvise, call->descriptor, (long)&range, 1, MADV_PAGEOUT);
}

BARE static long open_pipe(const struct gr_detached_call *call) {
    long number
        = keeper_call(SYS_openat, AT_FDCWD, (long)call->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    /* Closing the file can take as long as opening it. */
    if (number >= 0) gr_disposal_mark((int)number, GR_DISPOSAL_STRANGERS);
    return number;
}

BARE static bool takes_more(int target) {
    struct pollfd poll = { .fd = target, .events = POLLOUT };
    struct timespec none = { 0, 0 };
    return target < 0 || keeper_call(SYS_ppoll, (long)&poll, 1, (long)&none, 0) != 0;
}

/* Bytes that the target refuses with an error are lost. */
BARE static void write_all(int target, const char *bytes, long count) {
    while (target >= 0 && count > 0) {
        long written = keeper_call(SYS_write, target, (long)bytes, count, 0);
        if (written == -EINTR) continue;
        if (written == -EAGAIN) {
            struct pollfd poll = { .fd = target, .events = POLLOUT };
            (void)keeper_call(SYS_ppoll, (long)&poll, 1, 0, 0);
            continue;
        }
        if (written <= 0) return;
        bytes += written;
        count -= written;
    }
}

/* Moves a page at a time, because a pipe or socket that poll(2) calls writable accepts that much at
 * once. */
BARE static long forward(const struct gr_detached_call *call) {
    char page[4096];
    size_t total = 0;
    while (total < call->count) {
        if (!takes_more(call->target)) return total > 0 ? (long)total : -EAGAIN;
        long count = keeper_call(SYS_read, call->descriptor, (long)page, sizeof page, 0);
        if (count == -EINTR) continue;
        if (count <= 0) {
            if (total > 0 || count == -EAGAIN) break;
            return count == 0 ? -EPIPE : count;
        }
        write_all(call->target, page, count);
        total += (size_t)count;
    }
    return (long)total;
}

BARE static int work(void *argument) {
    struct gr_detached_worker *self = argument;
    worker_begin("greenroom-look", self->process.parent);
    for (;;) {
        if (atomic_load_explicit(&self->is_busy, memory_order_acquire)) {
            for (size_t i = 0; i < self->count; i++) {
                struct gr_detached_call *call = &self->calls[i];
                switch (call->kind) {
                case GR_DETACHED_READ: call->result = read_file(call); break;
                case GR_DETACHED_WATCH: call->result = watch(call, &self->status); break;
                case GR_DETACHED_PAGE_OUT: call->result = page_out(call); break;
                case GR_DETACHED_OPEN_PIPE: call->result = open_pipe(call); break;
                case GR_DETACHED_FORWARD: call->result = forward(call); break;
                }
            }
            uint64_t one = 1;
            atomic_store_explicit(&self->is_busy, false, memory_order_release);
            (void)keeper_call(SYS_write, self->process.report, (long)&one, sizeof one, 0);
        }
        worker_await_wake();
    }
}

struct gr_detached_worker *gr_detached_start(int report) {
    return worker_new(sizeof(struct gr_detached_worker), report, work);
}

void gr_detached_give(struct gr_detached_worker *worker, struct gr_detached_call *calls, size_t count) {
    worker->calls = calls;
    worker->count = count;
    atomic_store_explicit(&worker->is_busy, true, memory_order_release);
    (void)kill(worker->process.pid, WORKER_WAKE);
}

bool gr_detached_is_busy(struct gr_detached_worker *worker) {
    return atomic_load_explicit(&worker->is_busy, memory_order_acquire);
}

bool gr_detached_is_gone(struct gr_detached_worker *worker) {
    if (waitpid(worker->process.pid, NULL, WNOHANG | __WALL) == 0) return false;
    munmap(worker, sizeof *worker);
    return true;
}

void gr_detached_end(struct gr_detached_worker *worker) { worker_free(&worker->process, sizeof *worker); }
