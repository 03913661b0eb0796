/// The C library's functions that make processes. Until the pause, the daemon sees by ptrace(2) what the
/// program starts; a held program that is thawed for a moment could start something that is seen.

#include "../CPrewarm/channel.h"
#include "withhold.h"

#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/// The daemon sends the order to go as soon as it has thawed the process. 50 ms are enough for that, even on a
/// busy machine, and less than the 200 ms for which a held program is thawed for a moment (HeldNames.swift).
#define LOOK_NANOSECONDS 5000000
#define LOOK_COUNT 10

/// The program is about to make a process. If it is held, it waits for the launch: the program may have been
/// thawed for that, and may already do what the launch asks it to. Without a launch, no process is made.
static void await_launch(void) {
    int looks = 0;
    while (withhold_is_on() && withhold_is_paused()) {
        struct pollfd channel = {.fd = channel_number(), .events = POLLIN};
        // The thread that waits for the launch has not read it yet.
        bool has_order = poll(&channel, 1, 0) == 1;
        if (!has_order && looks++ == LOOK_COUNT) withhold_fail(WITHHOLD_STARTS_PROGRAM);
        struct timespec pause = {0, LOOK_NANOSECONDS};
        nanosleep(&pause, NULL);
    }
}

/// posix_spawn(3) has two versions, of which only a search in libc's own scope finds the right one.
#define LIBC "libc.so.6"

EXPORT pid_t fork(void) {
    FUNCTION(LIBC, fork);
    await_launch();
    return real();
}

/// The child must not return to a frame of this function that its parent leaves later.
EXPORT pid_t vfork(void) {
    FUNCTION(LIBC, vfork);
    await_launch();
    __attribute__((musttail)) return real();
}

#define SPAWN(name) \
    EXPORT int name(pid_t *restrict process, const char *restrict program, \
                    const posix_spawn_file_actions_t *restrict actions, \
                    const posix_spawnattr_t *restrict attributes, char *const words[restrict], \
                    char *const environment[restrict]) { \
        FUNCTION(LIBC, name); \
        await_launch(); \
        return real(process, program, actions, attributes, words, environment); \
    }

SPAWN(posix_spawn)
SPAWN(posix_spawnp)

EXPORT int system(const char *command) {
    FUNCTION(LIBC, system);
    await_launch();
    return real(command);
}

EXPORT FILE *popen(const char *command, const char *mode) {
    FUNCTION(LIBC, popen);
    await_launch();
    return real(command, mode);
}
