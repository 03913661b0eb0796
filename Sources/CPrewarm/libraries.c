#include "libraries.h"

#include "channel.h"
#include "pause.h"
#include "symbols.h"
#include "system.h"
#include "text.h"

#include <dlfcn.h>

typedef void *(*open_function)(const char *path, int flags);
typedef char *(*error_function)(void);
typedef int (*register_function)(void (*)(void *), void *, void *);

static char *paths; // each ends with a colon or with the list
static size_t byte_count;
static bool announces;
static bool are_harmful;

void libraries_remember(const char *list, bool are_announced) {
    announces = are_announced;
    byte_count = text_length(list) + 1;
    paths = byte_count > 1 ? sys_map(byte_count) : NULL;
    if (paths) memcpy(paths, list, byte_count);
}

/// The number that the next descriptor gets.
static int next_descriptor(void) {
    int number = sys_fcntl(channel_number(), F_DUPFD_CLOEXEC, 0);
    if (number >= 0) sys_close(number);
    return number;
}

/// Tells the daemon which library is opened next, so that it knows which one is at fault if this
/// process does not reach its pause.
static void announce(uint64_t index, enum gr_opening step) {
    if (!announces) return;
    channel_send(GR_OPENING, (struct gr_header){.cookie = index, .status = (int32_t)step});
}

/// Whether the process has more threads than before. One that has ended and was joined is counted
/// until the kernel has removed it, which takes microseconds. A library whose threads stay makes the
/// process wait 10 ms, once: it is left out then.
static bool has_started_threads(uint32_t before) {
    for (int i = 0; i < 100 && thread_count() > before; i++) sys_nanosleep(100000);
    return thread_count() > before;
}

/// Opens one library. Returns false if that has changed what may not change before the pause.
static bool open_one(const char *path, uint64_t index, open_function open, error_function error) {
    const struct link_map *last = symbols_last_object();
    int descriptor = next_descriptor();
    uint32_t threads = thread_count();
    announce(index, GR_OPENING_NEXT);
    // All symbols are bound now: this saves most of the time. After a failure, the loader keeps a
    // message that the program could take for one of its own.
    if (!open(path, RTLD_NOW | RTLD_LOCAL)) {
        error();
        announce(index, GR_OPENING_FAILED);
    }
    are_harmful = next_descriptor() != descriptor || symbols_reach_executable(last);
    // Threads do no harm, because the pause reports them. But no further library is opened.
    return !are_harmful && !has_started_threads(threads);
}

static void open_each(open_function open, error_function error) {
    uint64_t index = 0;
    for (char *path = paths; *path; index++) {
        char *end = path;
        while (*end && *end != ':') end++;
        bool is_last = *end == 0;
        *end = 0;
        if (!open_one(path, index, open, error)) return;
        path = is_last ? end : end + 1;
    }
    announce(index, GR_OPENING_DONE);
}

loader_function libraries_open(loader_function at_exit) {
    if (!paths) return at_exit;
    open_function open = (open_function)symbol_find("dlopen");
    error_function error = (error_function)symbol_find("dlerror");
    register_function on_exit = (register_function)symbol_find("__cxa_atexit");
    if (open && error && on_exit && symbol_find("gnu_get_libc_version")) {
        if (at_exit && on_exit((void (*)(void *))at_exit, NULL, NULL) == 0) at_exit = NULL;
        open_each(open, error);
    }
    sys_unmap(paths, byte_count);
    paths = NULL;
    return at_exit;
}

bool libraries_are_harmless(void) {
    return !are_harmful;
}
