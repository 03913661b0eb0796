/// The thread that waits for the launch and shows the windows.

#include "../CPrewarm/channel.h"
#include "../CPrewarm/pause.h"
#include "../CPrewarm/system.h"
#include "connections.h"
#include "files.h"
#include "names.h"
#include "withhold.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/// The program is at rest, waiting in its main loop, when it has used less than this much of the
/// processor for that long. A program that never comes to rest is not held: nobody would know what
/// it was about to do when it was frozen.
#define REST_NANOSECONDS 100000000
#define RESTING_USE_NANOSECONDS 1000000
#define LOOK_NANOSECONDS 20000000

// MARK: The launch

static const char *variable(const struct launch *launch, const char *name) {
    size_t length = strlen(name);
    const char *at = launch->memory.strings;
    for (uint32_t i = 0; i < launch->argc + launch->envc; i++) {
        if (i >= launch->argc && !strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
        at += strlen(at) + 1;
    }
    return NULL;
}

static int64_t processor_time(void) {
    return time_by(CLOCK_PROCESS_CPUTIME_ID);
}

static void await_rest(void) {
    int64_t since = processor_time(), rested = 0;
    while (rested < REST_NANOSECONDS) {
        struct timespec pause = {0, LOOK_NANOSECONDS};
        nanosleep(&pause, NULL);
        rested += LOOK_NANOSECONDS;
        int64_t used = processor_time();
        if (used - since < RESTING_USE_NANOSECONDS && !withhold_server_is_grabbed()) continue;
        since = used;
        rested = 0;
    }
}

static bool show(const struct held_window *windows, size_t count, void *launch) {
    const char *identifier = variable(launch, "DESKTOP_STARTUP_ID");
    const char *token = variable(launch, "XDG_ACTIVATION_TOKEN");
    bool has_windows = false, has_surfaces = false;
    for (size_t i = 0; i < count; i++) {
        if (windows[i].is_surface) {
            if (!surfaces_show(windows[i].id, token)) return false;
            has_surfaces = true;
        } else {
            server_show(windows[i].id, windows[i].is_raised, windows[i].is_main, identifier);
            messages_send(windows[i].id, server_send);
            has_windows = true;
        }
    }
    return (!has_windows || server_finish(identifier)) && (!has_surfaces || surfaces_finish());
}

/// Asked before anything is shown, because after that no other process can serve the launch.
static bool displays_answer(void) {
    return (!windows_need_server() || server_answers())
        && (!windows_need_compositor() || surfaces_answer());
}

/// Returns 0, or an errno if the launch must go on in another process.
static int go(struct launch *launch) {
    // A daemon of an earlier version does not know that the program has already read its arguments.
    if (launch->brings_more || !withhold_has_command(launch->memory.strings, launch->argc)) return ENXIO;
    // A call that was not served would be lost. A late window, or old settings, are better than that.
    if (!launch->is_called) {
        if (!displays_answer()) return ETIMEDOUT;
        if (files_have_changed()) return ESTALE;
    }
    withhold_note_launch();
    return windows_release(show, launch) ? 0 : ENXIO;
}

static void *wait_for_launch(void *nothing) {
    bool has_server = false;
    do {
        windows_await_first();
        // Everything that the program has done so far, it has done on a connection to this server.
        if (!has_server && windows_need_server()) {
            if (!server_reach()) withhold_fail(WITHHOLD_OTHER_DISPLAY);
            has_server = true;
        }
        await_rest();
    } while (!windows_are_held() || (windows_need_server() && !has_server) || !names_close());
    if (windows_need_compositor()
        && (withhold_is_only_for_x11() || compositor_focuses_hidden(surfaces_descriptor())))
        withhold_fail(WITHHOLD_OTHER_DISPLAY);
    connections_check();
    files_settle();
    withhold_note_pause();
    struct launch launch = pause_until_launch(GR_PAUSED_BY_CALL, withhold_argument_count());
    int error = go(&launch);
    if (error) {
        // The daemon starts the program in another process.
        channel_send_error(error, launch.cookie);
        sys_exit(0);
    }
    report_start(launch.cookie, 0);
    sys_unmap(launch.memory.strings, launch.memory.mapped);
    files_forget();
    if (has_server) server_leave();
    return nothing;
}

/// The new thread blocks all signals, which are for the program's own threads.
void launch_begin(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &attributes, wait_for_launch, NULL);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (error) withhold_fail(WITHHOLD_OTHER_DISPLAY);
}
