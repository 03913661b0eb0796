#include "traces.h"

#include "system.h"
#include "text.h"

#define PREFIX "GREENROOM_"

static void read_channel(const char *value, struct traces *traces) {
    uint64_t descriptor, inode;
    if (!text_number(&value, &descriptor) || *value++ != ':') return;
    if (!text_number(&value, &inode) || *value != 0) return;
    if (descriptor > 1u << 20) return;
    traces->channel = (int)descriptor;
    traces->channel_inode = inode;
}

struct traces traces_read(char **environment) {
    struct traces traces = {.channel = -1};
    for (char **entry = environment; *entry; entry++) {
        const char *value;
        if ((value = text_after(*entry, PREFIX "CHANNEL=")))
            read_channel(value, &traces);
        else if ((value = text_after(*entry, PREFIX "EXECUTABLE=")))
            traces.executable = value;
        else if ((value = text_after(*entry, PREFIX "WRITTEN=")))
            (void)text_number(&value, &traces.written);
        else if ((value = text_after(*entry, PREFIX "NAME=")))
            traces.name = value;
        else if ((value = text_after(*entry, PREFIX "LIBRARIES=")))
            traces.libraries = value;
        else if ((value = text_after(*entry, PREFIX "ANNOUNCES=")))
            traces.announces = text_equals(value, "1");
        else if ((value = text_after(*entry, PREFIX "PAUSE="))) {
            traces.pauses_by_call = text_equals(value, "call");
            traces.pauses_on_x11 = text_equals(value, "x11");
        }
    }
    return traces;
}

bool traces_name_this_executable(const struct traces *traces) {
    if (!traces->executable) return true;
    char path[4096];
    long length = sys_readlink("/proc/self/exe", path, sizeof path - 1);
    // Without /proc, the executable is not known. Pausing too early is harmless, but running is
    // not.
    if (length <= 0) return true;
    path[length] = 0;
    const char *rest = text_after(path, traces->executable);
    // The link of an executable that was replaced since exec is "PATH (deleted)". It pauses too,
    // and the daemon discards it, because the daemon compares the identities of files.
    return rest && (*rest == 0 || text_equals(rest, " (deleted)"));
}

static void overwrite(char *text) {
    memset(text, 0, text_length(text));
}

static bool is_separator(char c) {
    return c == ':' || c == ' ';
}

static bool entry_is(const char *entry, size_t length, const char *path) {
    return path && text_length(path) == length && text_after(entry, path);
}

/// Removes the shim's path from a preload list, in place. Returns false if the list had no other
/// entry.
static bool remove_own_entry(char *list, const char *own_path) {
    char *out = list;
    bool removed = false;
    for (char *at = list; *at;) {
        char *end = at;
        while (*end && !is_separator(*end)) end++;
        size_t length = (size_t)(end - at);
        if (!removed && entry_is(at, length, own_path)) {
            removed = true;
        } else if (length > 0) {
            if (out != list) *out++ = ':';
            while (at < end) *out++ = *at++;
        }
        at = *end ? end + 1 : end;
    }
    memset(out, 0, text_length(out));
    return out != list;
}

/// Whether an interpreter's hook reads and removes the entry before it runs anything else.
static bool is_for_the_hook(const char *entry) {
    return text_after(entry, PREFIX "IMPORTS=") || text_after(entry, PREFIX "RECORD=");
}

void traces_scrub(char **environment, const char *own_path, bool has_hook) {
    char **kept = environment;
    char **entry = environment;
    for (; *entry; entry++) {
        const char *preload = text_after(*entry, "LD_PRELOAD=");
        bool keep = !text_after(*entry, PREFIX) || (has_hook && is_for_the_hook(*entry));
        if (preload) keep = remove_own_entry(*entry + (preload - *entry), own_path);
        if (keep)
            *kept++ = *entry;
        else
            overwrite(*entry);
    }
    while (kept < entry) *kept++ = NULL;
}
