/// Watches the files of settings that a held program has read. What the program shows at its launch
/// must be what a program that starts then would show, and a program that writes its settings when
/// it ends must not undo what another instance of it has written meanwhile. The kernel keeps the
/// changes (inotify(7)) until the launch asks for them, so nothing runs for this.
///
/// Settings are what lies in the folder of settings (XDG Base Directory Specification), and the files
/// in the home itself whose names begin with a dot. Data and caches, such as the list of recent files,
/// change all the time, and toolkits follow them.

#include "files.h"

#include "withhold.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/// More files of settings than any program reads. The rest is not watched.
#define FILE_LIMIT 256
/// More files than any program looks for in vain.
#define ABSENT_LIMIT 64
/// Above the numbers of a program's own descriptors, which get what they would get without this.
#define LEAST_DESCRIPTOR 200
#define CHANGES (IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
#define ARRIVALS (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int watcher = -1;
static unsigned file_count;
/// Files that are not there: the watch of the folder in which they would appear, and their names.
static struct {
    int watch;
    char name[NAME_MAX + 1];
} absent[ABSENT_LIMIT];
static unsigned absent_count;

/// The length of the folder's path at the beginning of `path`; 0 if the path leads elsewhere.
static size_t folder_length(const char *path, const char *folder) {
    size_t length = folder ? strlen(folder) : 0;
    return length > 1 && !strncmp(path, folder, length) && path[length] == '/' ? length : 0;
}

/// dconf's programs hear of changes while they run. The display's and the session's secrets are no
/// settings.
static bool is_followed(const char *rest) {
    static const char *const followed[] = {"/dconf/", "/.Xauthority", "/.ICEauthority"};
    for (size_t i = 0; i < sizeof followed / sizeof *followed; i++)
        if (!strncmp(rest, followed[i], strlen(followed[i]))) return true;
    return false;
}

/// The length of the path of the folder of settings that the file belongs to; 0 if it is none of
/// settings.
static size_t settings_length(const char *path) {
    const char *home = getenv("HOME"), *settings = getenv("XDG_CONFIG_HOME");
    char usual[PATH_MAX];
    if (*path != '/') return 0;
    if ((!settings || *settings != '/') && home
        && (size_t)snprintf(usual, sizeof usual, "%s/.config", home) < sizeof usual)
        settings = usual;
    size_t length = folder_length(path, settings);
    if (length) return is_followed(path + length) ? 0 : length;
    length = folder_length(path, home);
    if (!length || path[length + 1] != '.' || strchr(path + length + 1, '/')) return 0;
    return is_followed(path + length) ? 0 : length;
}

/// Watches the nearest folder that is there for the next part of the path.
static void await_file(const char *path, size_t least) {
    char folder[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof folder || absent_count == ABSENT_LIMIT) return;
    memcpy(folder, path, length + 1);
    for (char *slash; (slash = strrchr(folder, '/')) && slash >= folder + least;) {
        *slash = 0;
        const char *name = slash + 1;
        int watch = inotify_add_watch(watcher, folder, ARRIVALS);
        if (watch >= 0 && strlen(name) <= NAME_MAX) {
            absent[absent_count].watch = watch;
            memcpy(absent[absent_count++].name, name, strlen(name) + 1);
            return;
        }
        if (errno != ENOENT) return;
    }
}

void files_note(const char *path) {
    size_t least = settings_length(path);
    if (!least) return;
    int error = errno;
    pthread_mutex_lock(&mutex);
    if (watcher < 0) {
        int low = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        watcher = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
        if (low >= 0) close(low);
    }
    if (watcher >= 0 && file_count < FILE_LIMIT) {
        file_count++;
        // A folder is listed, and its files are opened next.
        if (inotify_add_watch(watcher, path, CHANGES) < 0 && errno == ENOENT)
            await_file(path, least);
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
}

/// Whether the file that the event is about is one that was read, or that the program has looked for.
static bool is_change(const struct inotify_event *event) {
    bool is_folder = false, is_awaited = false;
    for (unsigned i = 0; i < absent_count; i++) {
        if (absent[i].watch != event->wd) continue;
        is_folder = true;
        if (event->len && !strcmp(event->name, absent[i].name)) is_awaited = true;
    }
    return is_awaited || !is_folder;
}

static bool has_change(const char *bytes, size_t size) {
    bool has_changed = false;
    pthread_mutex_lock(&mutex);
    for (const char *at = bytes; at < bytes + size;) {
        const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
        if (is_change(event)) has_changed = true;
        at += sizeof *event + event->len;
    }
    pthread_mutex_unlock(&mutex);
    return has_changed;
}

bool files_have_changed(void) {
    char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool has_changed = false;
    pthread_mutex_lock(&mutex);
    int from = watcher;
    pthread_mutex_unlock(&mutex);
    while (from >= 0) {
        ssize_t size = read(from, bytes, sizeof bytes);
        if (size > 0 && has_change(bytes, (size_t)size)) has_changed = true;
        if (size > 0 || (size < 0 && errno == EINTR)) continue;
        // The program has closed all descriptors, and nobody knows what has changed.
        return has_changed || size == 0 || errno != EAGAIN;
    }
    return has_changed;
}

void files_settle(void) {
    files_have_changed();
}

void files_forget(void) {
    pthread_mutex_lock(&mutex);
    if (watcher >= 0) close(watcher);
    watcher = -1;
    pthread_mutex_unlock(&mutex);
}

// MARK: The functions that open files

static bool reads(int flags) {
    return (flags & O_ACCMODE) != O_WRONLY && !(flags & (O_DIRECTORY | O_PATH)) && withhold_is_on();
}

static bool takes_mode(int flags) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define OPEN(name) EXPORT int name(const char *path, int flags, ...) { \
    static int (*real)(const char *, int, ...); \
    if (!real) real = (int (*)(const char *, int, ...))function_of_libc(#name); \
    mode_t mode = 0; \
    if (takes_mode(flags)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    } \
    if (path && reads(flags)) files_note(path); \
    return real(path, flags, mode); \
}
OPEN(open)
OPEN(open64)

#define OPENAT(name) EXPORT int name(int folder, const char *path, int flags, ...) { \
    static int (*real)(int, const char *, int, ...); \
    if (!real) real = (int (*)(int, const char *, int, ...))function_of_libc(#name); \
    mode_t mode = 0; \
    if (takes_mode(flags)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    } \
    if (path && reads(flags)) files_note(path); \
    return real(folder, path, flags, mode); \
}
OPENAT(openat)
OPENAT(openat64)

/// What open(2) is in a program that was compiled with checks (_FORTIFY_SOURCE).
#define CHECKED(name) EXPORT int name(const char *path, int flags) { \
    static int (*real)(const char *, int); \
    if (!real) real = (int (*)(const char *, int))function_of_libc(#name); \
    if (path && reads(flags)) files_note(path); \
    return real(path, flags); \
}
int __open_2(const char *, int);
int __open64_2(const char *, int);
CHECKED(__open_2)
CHECKED(__open64_2)

#define STREAM(name) EXPORT FILE *name(const char *restrict path, const char *restrict mode) { \
    static FILE *(*real)(const char *, const char *); \
    if (!real) real = (FILE * (*)(const char *, const char *))function_of_libc(#name); \
    if (path && mode && *mode == 'r' && withhold_is_on()) files_note(path); \
    return real(path, mode); \
}
STREAM(fopen)
STREAM(fopen64)
