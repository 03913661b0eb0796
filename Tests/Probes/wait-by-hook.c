/// Waits as an interpreter's hook does, and goes on as the last argument says: `on`, `anew`, `end`.
#define _GNU_SOURCE
#include "../../Sources/CPrewarm/wire.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static void handle(int number) {
    (void)number;
}

static bool is_blocked(int number) {
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, number);
}

static bool is_ignored(int number) {
    struct sigaction action;
    sigaction(number, NULL, &action);
    return action.sa_handler == SIG_IGN;
}

int main(int argc, char **argv, char **envp) {
    int (*hook_wait)(int *, char ***, char ***) = dlsym(RTLD_DEFAULT, "greenroom_prewarm_wait");
    void (*hook_started)(int) = dlsym(RTLD_DEFAULT, "greenroom_prewarm_started");
    if (!hook_wait) {
        printf("%s A=%s OWN=%s PIPE=%d blocked=%d\n", argv[1], variable("A"), variable("OWN"),
               is_ignored(SIGPIPE), is_blocked(SIGUSR2));
        return 0;
    }
    char imports[64], record[64], other[64];
    snprintf(imports, sizeof imports, "%s", variable("GREENROOM_IMPORTS"));
    snprintf(record, sizeof record, "%s", variable("GREENROOM_RECORD"));
    snprintf(other, sizeof other, "%s", variable("GREENROOM_OTHER"));
    for (char *at = imports; *at; at++)
        if (*at == '\n') *at = ',';
    unsetenv("GREENROOM_IMPORTS");
    unsetenv("GREENROOM_RECORD");
    // Changes its process as an interpreter does.
    setenv("OWN", "1", 1);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, handle);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_BLOCK, &mask, NULL);

    int waited = hook_wait(&argc, &argv, &envp);
    if (!strcmp(argv[1], "end")) _exit(3);
    printf("waited %d IMPORTS=%s RECORD=%s OTHER=%s\n", waited, imports, record, other);
    fflush(stdout);
    if (waited == 2 || !strcmp(argv[1], "anew")) {
        hook_started(waited == 2 ? GR_ANEW_SIGNALS : GR_ANEW_CHANGED);
        execve("/proc/self/exe", argv, envp);
        return 1;
    }
    hook_started(0);
    printf("%s A=%s OWN=%s\n", argv[1], variable("A"), variable("OWN"));
    return 0;
}
