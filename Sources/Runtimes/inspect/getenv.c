/// Preloaded only into the process that inspects imports: extension modules read variables by
/// getenv(3), which Python cannot see. Appends each name to the file GREENROOM_INSPECT, a line for
/// each call.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

static char *find(const char *name) {
    size_t length = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, name, length) && (*entry)[length] == '=') return *entry + length + 1;
    return NULL;
}

static char *find_and_log(const char *name) {
    static const char own[] = "GREENROOM_INSPECT";
    static char path[4096];
    if (!path[0]) {
        const char *value = find(own);
        if (value && strlen(value) < sizeof path) strcpy(path, value);
    }
    size_t length = strlen(name);
    char line[256];
    if (path[0] && length + 1 < sizeof line) {
        memcpy(line, name, length);
        line[length] = '\n';
        int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (file >= 0) {
            ssize_t written = write(file, line, length + 1);
            (void)written;
            close(file);
        }
    }
    return find(name);
}

EXPORT char *getenv(const char *name) {
    return find_and_log(name);
}

EXPORT char *secure_getenv(const char *name) {
    return find_and_log(name);
}
