/// Watches the files of settings that a held program has read. What the program shows at its launch
/// must be what a program that starts then would show, and a program that writes its settings when
/// it ends must not undo what another instance of it has written meanwhile. The kernel keeps the
/// changes (inotify(7)) until the launch asks for them, so nothing runs for this.
///
/// Settings are what lies in the folder of settings (XDG Base Directory Specification), and the files
/// in the home itself whose names begin with a dot. Data and caches, such as the list of recent files,
/// change all the time, and toolkits follow them. Relative paths, and those below the descriptor of a
/// folder (openat(2)), are not seen.

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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// More files of settings than any program reads or looks for.
#define FILE_LIMIT 256
/// Above the numbers of a program's own descriptors, which get what they would get without this.
#define LEAST_DESCRIPTOR 200
#define CHANGES (IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
#define ARRIVALS (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int watcher = -1;
/// The files, each once. A missing file has the watch of the nearest folder that exists, and the
/// name that would appear there, which is a part of `path`.
static struct file {
    char *path;
    int folder; // -1 for a file that is there
    const char *name;
    size_t name_length;
} files[FILE_LIMIT];
static unsigned file_count;
/// Something is not watched, so nobody knows whether it has changed.
static bool is_incomplete;
/// The program has been launched.
static bool is_over;

/// The length of the folder's path at the beginning of `path`; 0 if the path leads elsewhere.
static size_t folder_length(const char *path, const char *folder) {
    size_t length = folder ? strlen(folder) : 0;
    while (length > 1 && folder[length - 1] == '/') length--;
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

static bool is_setting(const char *path) {
    const char *home = getenv("HOME"), *settings = getenv("XDG_CONFIG_HOME");
    char usual[PATH_MAX];
    if (*path != '/') return false;
    if ((!settings || *settings != '/') && home
        && (size_t)snprintf(usual, sizeof usual, "%s/.config", home) < sizeof usual)
        settings = usual;
    size_t length = folder_length(path, settings);
    if (length) return !is_followed(path + length);
    length = folder_length(path, home);
    return length && path[length + 1] == '.' && !strchr(path + length + 1, '/')
        && !is_followed(path + length);
}

/// Whether a file that cannot be watched for that reason cannot be read either.
static bool is_out_of_reach(int error) {
    return error == EACCES || error == ENOTDIR;
}

/// (access(2) is one of the functions below.)
static bool is_there(const char *path) {
    return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/// Watches the nearest folder that is there for the next part of the path.
static void await_file(struct file *file) {
    char folder[PATH_MAX];
    size_t length = strlen(file->path), name_end = length;
    errno = ENAMETOOLONG;
    if (length < sizeof folder) memcpy(folder, file->path, length + 1), errno = ENOENT;
    while (errno == ENOENT && name_end) {
        size_t slash = (size_t)(strrchr(folder, '/') - folder), end = slash ? slash : 1;
        char first = folder[end];
        folder[end] = 0;
        file->name = file->path + slash + 1;
        file->name_length = name_end - slash - 1;
        if ((file->folder = inotify_add_watch(watcher, folder, ARRIVALS)) >= 0) {
            // It may have appeared before the folder was watched.
            folder[end] = first;
            if (is_there(folder)) is_incomplete = true;
            return;
        }
        name_end = slash;
    }
    if (!is_out_of_reach(errno)) is_incomplete = true;
}

/// Returns whether the file is there.
static bool watch(struct file *file) {
    file->folder = -1;
    // A folder is listed, and its files are opened next.
    if (inotify_add_watch(watcher, file->path, CHANGES) >= 0) return true;
    if (errno == ENOENT) await_file(file);
    else if (!is_out_of_reach(errno)) is_incomplete = true;
    return false;
}

/// The program may have closed all descriptors, and have opened something of its own by that number.
static bool has_watcher(void) {
    static const char wanted[] = "anon_inode:inotify";
    char path[sizeof "/proc/self/fd/" + 3 * sizeof watcher], found[sizeof wanted];
    if (watcher < 0) return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", watcher);
    return readlink(path, found, sizeof found) == sizeof wanted - 1
        && !memcmp(found, wanted, sizeof wanted - 1);
}

static void end_watcher(void) {
    if (has_watcher()) close(watcher);
    watcher = -1;
}

static void begin_watcher(void) {
    int low = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    watcher = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
    if (low >= 0) close(low);
    if (watcher < 0) is_incomplete = true;
}

static bool is_noted(const char *path) {
    for (unsigned i = 0; i < file_count; i++)
        if (!strcmp(files[i].path, path)) return true;
    return false;
}

/// The program reads that file, or has found that it is not there (`is_missed`). If it is one of
/// settings, it is watched.
static void note(const char *path, bool is_missed) {
    if (!is_setting(path)) return;
    int error = errno;
    pthread_mutex_lock(&mutex);
    if (!is_over && !is_incomplete && !is_noted(path)) {
        if (watcher < 0) begin_watcher();
        char *copy = file_count < FILE_LIMIT ? strdup(path) : NULL;
        if (copy) {
            struct file *file = &files[file_count++];
            file->path = copy;
            if (watch(file) && is_missed) is_incomplete = true;
        } else is_incomplete = true;
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
}

/// Whether the event is about a file that was read, or one that the program has looked for and that is
/// there now. (A folder may appear without the file. That happens in every new home, when a first
/// program makes the folder of settings.)
static bool is_change(const struct inotify_event *event) {
    bool is_folder = false;
    for (unsigned i = 0; i < file_count; i++) {
        const struct file *file = &files[i];
        if (file->folder < 0 || file->folder != event->wd) continue;
        is_folder = true;
        if (event->len && strlen(event->name) == file->name_length
            && !memcmp(event->name, file->name, file->name_length) && is_there(file->path))
            return true;
    }
    return !is_folder;
}

static bool has_change(const char *bytes, size_t size) {
    bool has_changed = false;
    pthread_mutex_lock(&mutex);
    for (const char *at = bytes; at < bytes + size && !has_changed;) {
        const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
        has_changed = is_change(event);
        at += sizeof *event + event->len;
    }
    pthread_mutex_unlock(&mutex);
    return has_changed;
}

bool files_have_changed(void) {
    char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    pthread_mutex_lock(&mutex);
    bool has_changed = is_incomplete || (file_count && !has_watcher());
    int from = watcher;
    pthread_mutex_unlock(&mutex);
    while (from >= 0 && !has_changed) {
        ssize_t size = read(from, bytes, sizeof bytes);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) break;
        has_changed = size <= 0 || has_change(bytes, (size_t)size);
    }
    return has_changed;
}

/// Everything is watched anew, because the program may have replaced a file that it had read, or made
/// one that it had looked for.
void files_settle(void) {
    pthread_mutex_lock(&mutex);
    if (file_count && !is_incomplete) {
        end_watcher();
        begin_watcher();
        for (unsigned i = 0; i < file_count; i++) watch(&files[i]);
    }
    pthread_mutex_unlock(&mutex);
}

void files_forget(void) {
    pthread_mutex_lock(&mutex);
    end_watcher();
    is_over = true;
    for (unsigned i = 0; i < file_count; i++) free(files[i].path);
    file_count = 0;
    pthread_mutex_unlock(&mutex);
}

// MARK: The functions that open files

static bool reads(int flags) {
    return (flags & O_ACCMODE) != O_WRONLY && !(flags & (O_DIRECTORY | O_PATH)) && withhold_is_on();
}

static bool takes_mode(int flags) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define OPENS(name, parameters, types, arguments) EXPORT int name parameters { \
    static int (*real) types; \
    if (!real) real = (int (*) types)function_of_libc(#name); \
    mode_t mode = 0; \
    if (takes_mode(flags)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    } \
    if (path && reads(flags)) note(path, false); \
    return real arguments; \
}
#define OPEN(name) \
    OPENS(name, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode))
#define OPEN_BELOW(name) \
    OPENS(name, (int folder, const char *path, int flags, ...), \
          (int, const char *, int, ...), (folder, path, flags, mode))
OPEN(open)
OPEN(open64)
OPEN_BELOW(openat)
OPEN_BELOW(openat64)

/// What open(2) is in a program that was compiled with checks (_FORTIFY_SOURCE).
#define CHECKED(name) EXPORT int name(const char *path, int flags) { \
    static int (*real)(const char *, int); \
    if (!real) real = (int (*)(const char *, int))function_of_libc(#name); \
    if (path && reads(flags)) note(path, false); \
    return real(path, flags); \
}
int __open_2(const char *, int);
int __open64_2(const char *, int);
CHECKED(__open_2)
CHECKED(__open64_2)

#define STREAM(name) EXPORT FILE *name(const char *restrict path, const char *restrict mode) { \
    static FILE *(*real)(const char *, const char *); \
    if (!real) real = (FILE * (*)(const char *, const char *))function_of_libc(#name); \
    if (path && mode && *mode == 'r' && withhold_is_on()) note(path, false); \
    return real(path, mode); \
}
STREAM(fopen)
STREAM(fopen64)

// MARK: The functions that look whether a file is there

/// A file that is there is opened next.
static int note_absent(const char *path, int result) {
    if (result != 0 && errno == ENOENT && path && withhold_is_on()) note(path, true);
    return result;
}

#define LOOK(name, parameters, types, arguments) EXPORT int name parameters { \
    static int (*real) types; \
    if (!real) real = (int (*) types)function_of_libc(#name); \
    return note_absent(path, real arguments); \
}
#define LOOK_AT(name, facts) \
    LOOK(name, (const char *restrict path, struct facts *restrict to), \
         (const char *, struct facts *), (path, to))
#define LOOK_BELOW(name, facts) \
    LOOK(name, (int folder, const char *restrict path, struct facts *restrict to, int flags), \
         (int, const char *, struct facts *, int), (folder, path, to, flags))
LOOK(access, (const char *path, int mode), (const char *, int), (path, mode))
LOOK(faccessat, (int folder, const char *path, int mode, int flags),
     (int, const char *, int, int), (folder, path, mode, flags))
LOOK_AT(stat, stat)
LOOK_AT(stat64, stat64)
LOOK_AT(lstat, stat)
LOOK_AT(lstat64, stat64)
LOOK_BELOW(fstatat, stat)
LOOK_BELOW(fstatat64, stat64)
LOOK(statx, (int folder, const char *restrict path, int flags, unsigned mask,
             struct statx *restrict to),
     (int, const char *, int, unsigned, struct statx *), (folder, path, flags, mask, to))
