#define _GNU_SOURCE
#include "CApplicationKit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/prctl.h>
#include <sys/prctl.h>
#include <unistd.h>

/// Swift's runtime, stubs/CommandLine.cpp. Weak, because no interface guarantees that it stays.
extern void _swift_stdlib_overrideUnsafeArgvArgc(char **argv, int argc) __attribute__((weak));

/// Makes a vector of pointers that ends with NULL, followed by a copy of the strings. It is never
/// freed, just as the kernel's vector is not.
static char **make_vector(const char *strings, size_t size, size_t count) {
    size_t vector_size = (count + 1) * sizeof(char *);
    char **vector = malloc(vector_size + size);
    if (!vector) return NULL;
    char *copy = (char *)vector + vector_size;
    memcpy(copy, strings, size);
    for (size_t i = 0; i < count; i++) {
        vector[i] = copy;
        copy += strlen(copy) + 1;
    }
    vector[count] = NULL;
    return vector;
}

int cak_set_environment(const char *strings, size_t size, size_t count) {
    static char **vector; /* for leak checkers: setenv(3) replaces `environ` */
    vector = make_vector(strings, size, count);
    if (!vector) return ENOMEM;
    environ = vector;
    return 0;
}

/// Tells the kernel where the command line is now (prctl(2), PR_SET_MM_MAP). The kernel needs the
/// whole map, which is in fields 26 to 28, 45 to 47, 50 and 51 of /proc/self/stat
/// (proc_pid_stat(5)). If this fails, ps(1) shows the prewarm's command line; nothing else differs.
static void tell_kernel(const char *arguments, const char *end) {
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file) return;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    char *at = strrchr(text, ')');
    unsigned long long fields[53] = {0};
    for (unsigned field = 3; at && field < 53; field++) {
        at = strchr(at, ' ');
        if (at) fields[field] = strtoull(++at, NULL, 10);
    }
    if (!fields[26] || !fields[47]) return;
    struct prctl_mm_map map = {
        .start_code = fields[26],
        .end_code = fields[27],
        .start_stack = fields[28],
        .start_data = fields[45],
        .end_data = fields[46],
        .start_brk = fields[47],
        .brk = (unsigned long long)(uintptr_t)sbrk(0),
        .arg_start = (unsigned long long)(uintptr_t)arguments,
        .arg_end = (unsigned long long)(uintptr_t)end,
        .env_start = fields[50],
        .env_end = fields[51],
        .exe_fd = (unsigned)-1,
    };
    prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
}

int cak_set_arguments(const char *strings, size_t size, size_t count, bool visibly) {
    static char **vector;
    vector = make_vector(strings, size, count);
    if (!vector) return ENOMEM;
    if (_swift_stdlib_overrideUnsafeArgvArgc)
        _swift_stdlib_overrideUnsafeArgvArgc(vector, (int)count);
    if (visibly) tell_kernel(vector[0], vector[0] + size);
    return 0;
}
