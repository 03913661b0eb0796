#define _GNU_SOURCE
#include "stamp.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void stamp_of(const char *path, char text[STAMP_SIZE]) {
    struct stat status;
    if (!*path)
        strcpy(text, "-");
    else if (stat(path, &status) != 0)
        strcpy(text, "0");
    else
        snprintf(text, STAMP_SIZE, "%llu%09ld%llu", (unsigned long long)status.st_ctim.tv_sec,
                 status.st_ctim.tv_nsec, (unsigned long long)status.st_ino);
}
