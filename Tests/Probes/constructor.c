/// Starts a child in a constructor, which appends its environment and descriptors to the file that
/// PROBE_OUTPUT names. An executable, or with -DLIBRARY a library for `uses-library.c`.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void start_child(void) {
    if (!getenv("PROBE_OUTPUT")) return;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c",
              "exec 3>&-; { env; for f in /proc/self/fd/*; do readlink $f; done; } "
              ">> \"$PROBE_OUTPUT\"; echo child done >> \"$PROBE_OUTPUT\"",
              (char *)0);
        _exit(127);
    }
    waitpid(child, NULL, 0);
}

#ifdef LIBRARY
int probe_library(void) { return 0; }
#else
int main(void) { return 0; }
#endif
