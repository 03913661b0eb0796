/// The C library's functions that make processes. Until the pause, the daemon sees by ptrace(2) what the
/// program starts; a held program that is thawed for a moment could start something that is seen.

#include "withhold.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/// posix_spawn(3) has two versions, of which only a search in libc's own scope finds the right one.
#define LIBC "libc.so.6"
#define REFUSE \
    if (withhold_is_on() && withhold_has_paused()) withhold_fail(WITHHOLD_STARTS_PROGRAM)

EXPORT pid_t fork(void) {
    FUNCTION(LIBC, fork);
    REFUSE;
    return real();
}

/// The child must not return to a frame of this function that its parent leaves later.
EXPORT pid_t vfork(void) {
    FUNCTION(LIBC, vfork);
    REFUSE;
    __attribute__((musttail)) return real();
}

#define SPAWN(name) \
    EXPORT int name(pid_t *restrict process, const char *restrict program, \
                    const posix_spawn_file_actions_t *restrict actions, \
                    const posix_spawnattr_t *restrict attributes, char *const words[restrict], \
                    char *const environment[restrict]) { \
        FUNCTION(LIBC, name); \
        REFUSE; \
        return real(process, program, actions, attributes, words, environment); \
    }

SPAWN(posix_spawn)
SPAWN(posix_spawnp)

EXPORT int system(const char *command) {
    FUNCTION(LIBC, system);
    REFUSE;
    return real(command);
}

EXPORT FILE *popen(const char *command, const char *mode) {
    FUNCTION(LIBC, popen);
    REFUSE;
    return real(command, mode);
}
