#include "surroundings.h"

#include "symbols.h"
#include "system.h"
#include "text.h"

#include <stdio.h>

struct file {
    bool is_there;
    dev_t device;
    ino_t inode;
};

static struct {
    struct file directory;
    struct file streams[3];
    unsigned mask;
    uint64_t written;
} before;

static struct file file_of(int result, const struct stat *status) {
    if (result != 0) return (struct file){0};
    return (struct file){.is_there = true, .device = status->st_dev, .inode = status->st_ino};
}

static struct file working_directory(void) {
    struct stat status = {0};
    int result = sys_stat(".", &status);
    return file_of(result, &status);
}

static struct file stream(int number) {
    struct stat status = {0};
    int result = sys_fstat(number, &status);
    return file_of(result, &status);
}

static bool is_same(struct file one, struct file other) {
    return one.is_there == other.is_there && one.device == other.device
        && one.inode == other.inode;
}

/// Reads the umask by setting it. A file that another thread creates in between is open to nobody.
static unsigned current_mask(void) {
    unsigned mask = sys_umask(0777);
    sys_umask(mask);
    return mask;
}

/// How many bytes this process has passed to write(2) and similar calls (proc_pid_io(5)). The
/// shim's messages to the daemon are sent, and do not count. 0 if the kernel does not count.
static uint64_t written_byte_count(void) {
    char text[512];
    int file = sys_open("/proc/self/io", O_RDONLY);
    if (file < 0) return 0;
    long size = sys_read(file, text, sizeof text - 1);
    sys_close(file);
    if (size <= 0) return 0;
    text[size] = 0;
    uint64_t count = 0;
    for (const char *at = text; *at; at++) {
        const char *number = text_after(at, "wchar: ");
        if (number && text_number(&number, &count)) break;
    }
    return count;
}

/// Whether standard output was used. glibc chooses how to buffer it at the first use: by line if it
/// is a terminal. Before the launch it is not one, even if the launch brings a terminal.
static bool standard_output_is_used(void) {
#ifdef __GLIBC__
    const struct _IO_FILE *output = symbol_find("_IO_2_1_stdout_");
    return output && output->_IO_buf_base;
#else
    return false;
#endif
}

void surroundings_remember(const struct traces *traces) {
    before.directory = working_directory();
    for (int number = 0; number < 3; number++) before.streams[number] = stream(number);
    before.mask = current_mask();
    before.written = traces->written ? traces->written : written_byte_count();
}

bool surroundings_are_unchanged(void) {
    bool unchanged = is_same(before.directory, working_directory())
        && before.mask == current_mask() && before.written == written_byte_count()
        && !standard_output_is_used();
    for (int number = 0; number < 3; number++)
        unchanged = unchanged && is_same(before.streams[number], stream(number));
    return unchanged;
}
