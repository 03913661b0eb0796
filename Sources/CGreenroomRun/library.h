/* The part of the C library that greenroom-run uses, declared by the C library's own headers. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* For Swift, which cannot call variadic functions or read variables that could change. */
int gr_run_open(const char *_Nonnull path, int flags);
int gr_run_fcntl(int fd, int command);
char *_Nullable *_Nonnull gr_run_environ(void);
