/* The wait for the launch, and applying the launch to the process. */
#define _GNU_SOURCE 1
#include "greenroom-app.h"
#include "app.h"

#include "../CGreenroomLinux/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Enters the working directory; if the flag says so, by its path in this process's own mounts. */
static int enter_directory(const struct message *go, int directory) {
    if (!(go->header.flags & GR_DIRECTORY_BY_NAME)) return fchdir(directory);
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t size = readlink(link, path, sizeof path);
    if (size < 0) return -1;
    if (size == (ssize_t)sizeof path) return errno = ENAMETOOLONG, -1;
    path[size] = 0;
    return chdir(path);
}

static bool place_descriptors(struct message *go, int channel) {
    int highest = 2;
    for (size_t i = 0; i < go->descriptor_count; i++) {
        if (go->header.roles[i] == channel) return errno = EPROTO, false;
        if (go->header.roles[i] > highest) highest = go->header.roles[i];
    }
    /* A descriptor may have the number where another one belongs, so all of them first move above the highest
     * place. */
    for (size_t i = 0; i < go->descriptor_count; i++) {
        int moved = fcntl(go->descriptors[i], F_DUPFD_CLOEXEC, highest + 1);
        if (moved < 0) return false;
        close(go->descriptors[i]);
        go->descriptors[i] = moved;
    }
    for (size_t i = 0; i < go->descriptor_count; i++) {
        int role = go->header.roles[i], from = go->descriptors[i];
        int result = role >= 0 ? dup2(from, role)
            : role == GR_ROLE_WORKING_DIRECTORY ? enter_directory(go, from) : 0;
        if (result < 0) return false;
    }
    return true;
}

static bool become_launch(struct message *go, int channel, int *argc, char ***argv) {
    if (!place_descriptors(go, channel)) return false;
    if (go->header.flags & GR_NEW_SESSION) (void)setsid();
    for (int fd = 0; (go->header.flags & GR_CONTROLLING_TERMINAL) && fd < 3; fd++)
        if (isatty(fd) && ioctl(fd, TIOCSCTTY, 0) == 0) {
            keep_job_control(); /* so that ^Z works */
            break;
        }
    if (go->header.umask != GR_UMASK_UNCHANGED) (void)umask((mode_t)go->header.umask);
    /* The strings stay for the life of the process, as the kernel's do, so the message gives them up. */
    if (argv) {
        *argv = malloc((go->header.argc + 1) * sizeof **argv);
        if (!*argv) return false;
        memcpy(*argv, go->strings, go->header.argc * sizeof **argv);
        (*argv)[go->header.argc] = NULL;
    }
    environ = go->strings + go->header.argc;
    go->strings = NULL;
    (void)setenv("ActivePrewarm", "1", 1); /* until the launch is over, as on Apple's systems */
    if (argc && argv) *argc = (int)go->header.argc;
    return true;
}

static uint32_t thread_count(void) {
    struct stat status; /* a directory has one link from each subdirectory, and there is one for each thread */
    return stat("/proc/self/task", &status) == 0 && status.st_nlink >= 2 ? (uint32_t)status.st_nlink - 2 : 0;
}

/* Waits for the launch. Ends the process if it will no longer be launched. */
static void await_launch(struct greenroom_app *app, bool is_prewarmed, int *argc, char ***argv) {
    for (bool has_launch = false;;) {
        struct message message;
        if (channel_receive(app->channel, &message, true) != RECEIVED) exit(0);
        uint64_t cookie = message.header.cookie;
        switch (message.header.type) {
        case GR_QUIT: exit(0);
        case GR_PING: channel_send(app->channel, GR_PONG, 0, cookie, 0, NULL); break;
        case MESSAGE_LAUNCH:
            if (has_launch) message_release(&app->launch);
            has_launch = true;
            take_credentials(app, &message);
            app->launch = message;
            if (is_prewarmed) continue;
            channel_send(app->channel, GR_STARTED, 0, cookie, 0, NULL);
            return;
        case GR_GO:
            if (is_prewarmed) {
                if (!become_launch(&message, app->channel, argc, argv)) {
                    channel_send(app->channel, GR_ERROR, errno, cookie, 0, NULL);
                    exit(1);
                }
                message_release(&message);
                channel_send(app->channel, GR_STARTED, 0, cookie, 0, NULL);
                return;
            }
            /* fall through */
        default: channel_send(app->channel, GR_ERROR, EPROTO, cookie, 0, NULL);
        }
        message_release(&message);
    }
}

static const char *field_of(const struct message *message, const char *name) {
    struct greenroom_content fields = {
        message->strings ? (const char *const *)message->strings + message->header.argc : NULL,
        message->strings ? message->header.envc : 0,
    };
    return greenroom_content_value(&fields, name, 0);
}

static struct greenroom_launch_info info_of(const struct message *launch, bool was_prewarmed, uint64_t reached) {
    const char *requested = field_of(launch, "requested");
    uint32_t flags = launch->header.flags;
    return (struct greenroom_launch_info){
        .reason = (enum greenroom_reason)launch->header.status, .is_foreground = flags & LAUNCH_FOREGROUND,
        .was_prewarmed = was_prewarmed, .requested = requested ? strtoull(requested, NULL, 10) : reached,
        .paused = was_prewarmed ? reached : 0, .resumed = now(),
        .is_first_launch = flags & LAUNCH_FIRST, .is_first_launch_of_version = flags & LAUNCH_FIRST_OF_VERSION,
        .version = field_of(launch, "version"), .state_directory = field_of(launch, "state-directory"),
        .cache_directory = field_of(launch, "cache-directory"),
        .temporary_directory = field_of(launch, "temporary-directory"),
    };
}

struct greenroom_app *greenroom_app_start_sized(
    const struct greenroom_delegate *delegate, size_t delegate_size, void *context, int *argc, char ***argv
) {
    struct greenroom_app *app = calloc(1, sizeof *app);
    if (!app) return NULL;
    /* An app that was built with an older header has fewer callbacks; with a newer header, it has more. */
    memcpy(&app->delegate, delegate, delegate_size < sizeof *delegate ? delegate_size : sizeof *delegate);
    app->background.until = UINT64_MAX;
    app->context = context;
    app->channel = channel_find();
    const char *prewarm = getenv("ActivePrewarm");
    bool is_prewarmed = app->channel >= 0 && prewarm && strcmp(prewarm, "1") == 0;
    app->launch.header.flags = LAUNCH_FOREGROUND | (app->channel < 0 ? LAUNCH_UNLOCKED : 0);
    uint64_t reached = now();
    if (!is_prewarmed) unsetenv("ActivePrewarm");
    else channel_send(app->channel, GR_PAUSED, PAUSED_AT_APPLICATION_MAIN, reached, thread_count(), NULL);
    if (app->channel >= 0) await_launch(app, is_prewarmed, argc, argv);

    app->watch = app->channel >= 0 ? channel_watch(app->channel) : -1;
    app->info = info_of(&app->launch, is_prewarmed, reached);
    app->state = app->info.is_foreground ? GREENROOM_INACTIVE : GREENROOM_BACKGROUND;
    app->is_unlocked = app->launch.header.flags & LAUNCH_UNLOCKED;
    report(app, STEP_MAIN, NULL);
    report(app, STEP_OBJECTS, NULL);
    return app;
}
