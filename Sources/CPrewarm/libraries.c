#include "libraries.h"

#include "channel.h"
#include "symbols.h"
#include "system.h"
#include "text.h"

#include <dlfcn.h>

typedef void *(*open_function)(const char *path, int flags);
typedef char *(*error_function)(void);
typedef int (*register_function)(void (*)(void *), void *, void *);

static char *paths; // each ends with a colon or with the list
static size_t byte_count;
static bool are_harmful;

void libraries_remember(const char *list) {
    byte_count = text_length(list) + 1;
    paths = byte_count > 1 ? sys_map(byte_count) : NULL;
    if (paths) memcpy(paths, list, byte_count);
}

static void open_each(open_function open, error_function error) {
    for (char *path = paths; *path;) {
        char *end = path;
        while (*end && *end != ':') end++;
        bool is_last = *end == 0;
        *end = 0;
        // All symbols are bound now: this saves most of the time. After a failure, the loader keeps
        // a message that the program could take for one of its own.
        if (!open(path, RTLD_NOW | RTLD_LOCAL)) error();
        path = is_last ? end : end + 1;
    }
}

/// The number that the next descriptor gets.
static int next_descriptor(void) {
    int number = sys_fcntl(channel_number(), F_DUPFD_CLOEXEC, 0);
    if (number >= 0) sys_close(number);
    return number;
}

loader_function libraries_open(loader_function at_exit) {
    if (!paths) return at_exit;
    open_function open = (open_function)symbol_find("dlopen");
    error_function error = (error_function)symbol_find("dlerror");
    register_function on_exit = (register_function)symbol_find("__cxa_atexit");
    if (open && error && on_exit && symbol_find("gnu_get_libc_version")) {
        const struct link_map *last = symbols_last_object();
        int descriptor = next_descriptor();
        if (at_exit && on_exit((void (*)(void *))at_exit, NULL, NULL) == 0) at_exit = NULL;
        open_each(open, error);
        are_harmful = next_descriptor() != descriptor || symbols_reach_executable(last);
    }
    sys_unmap(paths, byte_count);
    paths = NULL;
    return at_exit;
}

bool libraries_are_harmless(void) {
    return !are_harmful;
}
