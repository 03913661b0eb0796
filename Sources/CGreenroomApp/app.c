#define _GNU_SOURCE 1
#include "greenroom-app.h"
#include "app.h"

#include "../CGreenroomLinux/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static struct greenroom_content content_of(const struct message *message) {
    return (struct greenroom_content){
        message->strings ? (const char *const *)message->strings + message->header.argc : NULL,
        message->strings ? message->content_count : 0,
    };
}

const char *greenroom_content_value(const struct greenroom_content *content, const char *name, size_t n) {
    size_t length = strlen(name);
    for (size_t i = 0; content && i < content->count; i++) {
        const char *entry = content->entries[i];
        if (strncmp(entry, name, length) != 0 || entry[length] != '=') continue;
        if (n-- == 0) return entry + length + 1;
    }
    return NULL;
}

/* --- Telling the daemon. */

void acknowledge(struct greenroom_app *app, uint64_t cookie, bool handled) {
    if (cookie != 0) channel_send(app->channel, MESSAGE_ACKNOWLEDGED, !handled, cookie, 0, NULL);
}

static void report(struct greenroom_app *app, int step, const char *session) {
    uint64_t time = now();
    if (app->reached_at[step] == 0) app->reached_at[step] = time;
    channel_send(app->channel, MESSAGE_STEP, step, time, 0, session);
}

void tell_launch_steps(struct greenroom_app *app) {
    enum { COUNT = STEP_AFTER_LAUNCH + 3, SIZE = 48 };
    char texts[COUNT][SIZE];
    const char *fields[COUNT];
    size_t count = 0;
    for (int step = 0; step <= STEP_AFTER_LAUNCH; step++)
        if (app->reached_at[step]) (void)snprintf(texts[count++], SIZE, "step.%d=%" PRIu64, step, app->reached_at[step]);
    if (app->info.paused) (void)snprintf(texts[count++], SIZE, "paused=%" PRIu64, app->info.paused);
    if (app->drawn_at) (void)snprintf(texts[count++], SIZE, "drawn=%" PRIu64, app->drawn_at);
    for (size_t i = 0; i < count; i++) fields[i] = texts[i];
    struct gr_header header = {.type = MESSAGE_LAUNCH_STEPS, .cookie = app->info.requested};
    channel_send_strings(app->channel, header, fields, count, 0);
}

static void report_first(struct greenroom_app *app, int step, const char *session) {
    if (app->has_reached[step]) return;
    app->has_reached[step] = true;
    report(app, step, session);
}

void tell_if_slow(struct greenroom_app *app, uint64_t began, const char *name) {
    uint64_t elapsed = now() - began;
    if (elapsed > SLOW_NANOSECONDS) channel_send(app->channel, MESSAGE_OVERRAN, 0, elapsed, 0, name);
}

/* --- Scenes. */

struct scene *find_scene(const struct greenroom_app *app, const char *session) {
    for (size_t i = 0; session && i < app->scene_count; i++)
        if (strcmp(app->scenes[i].session, session) == 0) return (struct scene *)&app->scenes[i];
    return NULL;
}

static struct scene *add_scene(struct greenroom_app *app, const char *session) {
    struct scene *known = find_scene(app, session);
    if (known || app->scene_count == SCENE_LIMIT) return known;
    char *copy = strdup(session);
    if (!copy) return NULL;
    app->scenes[app->scene_count] = (struct scene){copy, GREENROOM_UNATTACHED, NULL};
    return &app->scenes[app->scene_count++];
}

static void remove_scene(struct greenroom_app *app, struct scene *scene) {
    free(scene->session);
    state_free(scene->activity);
    *scene = app->scenes[--app->scene_count];
}

static bool connect_scene(struct greenroom_app *app, const struct message *message) {
    const char *session = message->strings[0];
    struct scene *scene = add_scene(app, session);
    if (!scene) return false;
    report(app, STEP_SCENE_CONFIGURATION, session);
    struct greenroom_content content = content_of(message);
    take_connection_state(scene, message);
    CALL(app, scene_will_connect, app, session, &content);
    /* Who wants a document does not want to be somewhere else. */
    if (!document_of(&content)) (void)restore_scene(app, scene);
    report(app, STEP_SCENE_CONNECTION, session);
    if (!(message->header.flags & CONNECT_FOREGROUND)) {
        scene->state = GREENROOM_SCENE_BACKGROUND;
        app->has_had_scene = true;
    }
    return true;
}

/* A state is left when the callback that announces it has returned, and entered before the one that tells. */
static void move_scene(struct greenroom_app *app, const struct message *message) {
    static const enum greenroom_activation_state states[] = {
        [GREENROOM_WILL_ENTER_FOREGROUND] = GREENROOM_FOREGROUND_INACTIVE,
        [GREENROOM_DID_BECOME_ACTIVE] = GREENROOM_FOREGROUND_ACTIVE,
        [GREENROOM_WILL_RESIGN_ACTIVE] = GREENROOM_FOREGROUND_INACTIVE,
        [GREENROOM_DID_ENTER_BACKGROUND] = GREENROOM_SCENE_BACKGROUND,
        [GREENROOM_WILL_TERMINATE] = GREENROOM_UNATTACHED,
    };
    int event = message->header.status;
    struct scene *scene = find_scene(app, message->strings[0]);
    if (!scene || event < GREENROOM_WILL_ENTER_FOREGROUND || event > GREENROOM_WILL_TERMINATE) return;
    bool tells = event == GREENROOM_DID_BECOME_ACTIVE || event == GREENROOM_DID_ENTER_BACKGROUND;
    bool was_in_front = is_in_front(scene);
    if (event == GREENROOM_WILL_ENTER_FOREGROUND) background_time_without_limit(app);
    if (tells || event == GREENROOM_WILL_TERMINATE) scene->state = states[event];
    CALL(app, scene_event, app, scene->session, (enum greenroom_event)event);
    scene->state = states[event];
    if (was_in_front && event == GREENROOM_DID_ENTER_BACKGROUND) save_scene(app, scene);
    app->has_had_scene = true;
    if (tells) report_first(app, event == GREENROOM_DID_BECOME_ACTIVE ? STEP_ACTIVE : STEP_BACKGROUND, scene->session);
    if (event == GREENROOM_WILL_TERMINATE) remove_scene(app, scene);
}

/* --- Requests. */

static bool deliver_to_app(struct greenroom_app *app, const struct greenroom_content *content, bool is_accepted) {
    bool handled = true, result;
    const char *value;
    for (size_t i = 0; is_accepted && (value = greenroom_content_value(content, "url", i)); i++) {
        CALL_FOR(result, app, open_url, false, app, value);
        handled = handled && result;
    }
    for (size_t i = 0; is_accepted && (value = greenroom_content_value(content, "activity", i)); i++) {
        CALL_FOR(result, app, continue_activity, false, app, value);
        handled = handled && result;
    }
    if (is_accepted && (value = greenroom_content_value(content, "action", 0))) {
        CALL_FOR(result, app, perform_action, false, app, value);
        handled = handled && result;
    }
    if ((value = greenroom_content_value(content, "remote-notification", 0))) {
        CALL_FOR(result, app, receive_remote_notification, false, app, value);
        handled = handled && result;
    }
    return handled;
}

static bool deliver(struct greenroom_app *app, const struct message *message) {
    struct greenroom_content content = content_of(message);
    struct scene *scene = find_scene(app, message_word(message, 0));
    if (!scene) return deliver_to_app(app, &content, true);
    const char *value;
    bool handled = true;
    for (size_t i = 0; (value = greenroom_content_value(&content, "url", i)); i++)
        CALL(app, scene_open_url, app, scene->session, value);
    for (size_t i = 0; (value = greenroom_content_value(&content, "activity", i)); i++)
        CALL(app, scene_continue_activity, app, scene->session, value);
    if ((value = greenroom_content_value(&content, "action", 0)))
        CALL_FOR(handled, app, scene_perform_action, false, app, scene->session, value);
    return handled;
}

/* --- The launch sequence. */

static void finish_launching(struct greenroom_app *app) {
    bool has_scenes = app->launch.header.flags & LAUNCH_SCENES, will, did;
    report(app, STEP_EVENT_LOOP, NULL);
    const char *interface = message_word(&app->launch, 0);
    if (interface && !has_scenes) {
        CALL(app, load_interface, app, interface);
        report(app, STEP_INTERFACE, NULL);
    }
    struct greenroom_content content = content_of(&app->launch);
    const struct greenroom_content *options = has_scenes ? NULL : &content;
    CALL_FOR(will, app, will_finish_launching, true, app, options);
    report(app, STEP_WILL, NULL);
    restore_at_launch(app);
    report(app, STEP_RESTORATION, NULL);
    CALL_FOR(did, app, did_finish_launching, true, app, options);
    report(app, STEP_DID, NULL);
    unsetenv("ActivePrewarm");
    report(app, STEP_NOTIFICATION, NULL);
    app->is_launched = true;
    if (!has_scenes) (void)deliver_to_app(app, &content, will && did);
    bool is_notification = greenroom_content_value(&content, "remote-notification", 0) != NULL;
    acknowledge(app, app->launch.header.cookie, (will && did) || is_notification);
}

/* When what it had to say is said. */
static _Noreturn void end(struct greenroom_app *app) {
    if (app->channel >= 0) channel_drain(app->channel);
    exit(0);
}

static void handle_event(struct greenroom_app *app, int event, uint64_t cookie) {
    bool is_state = event <= GREENROOM_DID_ENTER_BACKGROUND, has_scenes = app->launch.header.flags & LAUNCH_SCENES;
    static const enum greenroom_application_state states[] = {
        [GREENROOM_WILL_ENTER_FOREGROUND] = GREENROOM_INACTIVE, [GREENROOM_DID_BECOME_ACTIVE] = GREENROOM_ACTIVE,
        [GREENROOM_WILL_RESIGN_ACTIVE] = GREENROOM_INACTIVE, [GREENROOM_DID_ENTER_BACKGROUND] = GREENROOM_BACKGROUND,
    };
    if (event < GREENROOM_WILL_ENTER_FOREGROUND || event > GREENROOM_PROTECTED_DATA_DID_BECOME_AVAILABLE) return;
    if (is_state && has_scenes) return; /* scenes hear of their own */
    bool tells = event == GREENROOM_DID_BECOME_ACTIVE || event == GREENROOM_DID_ENTER_BACKGROUND;
    bool was_in_front = app->state != GREENROOM_BACKGROUND;
    if (tells) app->state = states[event];
    if (event == GREENROOM_PROTECTED_DATA_DID_BECOME_AVAILABLE) app->is_unlocked = true;
    if (event == GREENROOM_WILL_ENTER_FOREGROUND) background_time_without_limit(app);
    if (event == GREENROOM_WILL_TERMINATE) save_before_end(app);
    CALL(app, event, app, (enum greenroom_event)event);
    if (is_state) app->state = states[event];
    if (was_in_front && event == GREENROOM_DID_ENTER_BACKGROUND) save_state(app);
    if (tells) report_first(app, event == GREENROOM_DID_BECOME_ACTIVE ? STEP_ACTIVE : STEP_BACKGROUND, NULL);
    if (event == GREENROOM_PROTECTED_DATA_WILL_BECOME_UNAVAILABLE) app->is_unlocked = false;
    if (event == GREENROOM_WILL_TERMINATE) {
        acknowledge(app, cookie, true);
        end(app);
    }
}

/* Steps count up from 1 in the life of an app, and are told again with the same cookie. */
static bool is_step(const struct gr_header *header) {
    return (header->type == MESSAGE_LIFECYCLE || header->type == MESSAGE_CONNECT_SCENE
            || header->type == MESSAGE_SCENE) && header->cookie != 0 && header->cookie >> 63 == 0;
}

static void handle(struct greenroom_app *app, struct message *message) {
    bool handled = true;
    uint64_t cookie = message->header.cookie;
    if (is_step(&message->header)) {
        /* A daemon that was restarted does not know that it was done. */
        if (cookie <= app->last_step) return acknowledge(app, cookie, true);
        app->last_step = cookie;
    }
    switch (message->header.type) {
    case GR_QUIT: end(app);
    case GR_PING: channel_send(app->channel, GR_PONG, 0, cookie, 0, NULL); return;
    case GR_GO: /* there is one launch in the life of a process */
    case MESSAGE_LAUNCH: channel_send(app->channel, GR_ERROR, EPROTO, cookie, 0, NULL); return;
    case MESSAGE_LIFECYCLE: handle_event(app, message->header.status, cookie); break;
    case MESSAGE_CONNECT_SCENE: handled = connect_scene(app, message); break;
    case MESSAGE_SCENE: move_scene(app, message); break;
    case MESSAGE_DELIVER: handled = deliver(app, message); break;
    case MESSAGE_DISCARD_SCENES:
        for (uint32_t i = 0; i < message->header.argc; i++) {
            struct scene *scene = find_scene(app, message->strings[i]);
            if (scene) remove_scene(app, scene);
            CALL(app, discard_scene, app, message->strings[i]);
        }
        break;
    case MESSAGE_CREDENTIALS:
        take_credentials(app, message);
        break;
    case MESSAGE_RESTORE_STATE: handled = restore_late(app, message); break;
    case MESSAGE_ANSWER: answer_request(app, message); return;
    case MESSAGE_PENDING_TASKS: list_request(app, message); return;
    case MESSAGE_BACKGROUND_TIME: background_time_changed(app, cookie); return;
    case MESSAGE_BACKGROUND_TIME_EXPIRES: background_time_expires(app, cookie); return;
    case MESSAGE_RUN_TASK: run_task(app, message); return;
    case MESSAGE_EXPIRE_TASK: expire_task(app, cookie); return;
    }
    acknowledge(app, cookie, handled);
}

static void become_foreground_by_hand(struct greenroom_app *app) {
    handle_event(app, GREENROOM_DID_BECOME_ACTIVE, 0);
}

void channel_ended(struct greenroom_app *app) {
    if (app->channel >= 0) close(app->channel);
    app->channel = -1;
    abandon_requests(app);
}

/* What came while the launch waited for something else comes first. */
static enum reception next_message(struct greenroom_app *app, struct message *message) {
    if (app->held_count == 0) return channel_receive(app->channel, message, false);
    *message = app->held[0];
    memmove(app->held, app->held + 1, --app->held_count * sizeof *app->held);
    return RECEIVED;
}

static bool run_after_launch(struct greenroom_app *app) {
    /* The launch is over when the app has been told whether it is in front. */
    bool is_over = app->launch.header.flags & LAUNCH_SCENES
        ? app->has_had_scene : app->has_reached[STEP_ACTIVE] || app->has_reached[STEP_BACKGROUND];
    if (app->was_after_launch || !is_over || greenroom_app_state(app) == GREENROOM_INACTIVE) return false;
    app->was_after_launch = true;
    if (!app->delegate.after_launch) return false;
    CALL(app, after_launch, app);
    report(app, STEP_AFTER_LAUNCH, NULL);
    return true;
}

void greenroom_app_process(struct greenroom_app *app) {
    if (app->is_processing) return;
    app->is_processing = true;
    if (!app->is_launched) {
        finish_launching(app);
        if (app->channel < 0) become_foreground_by_hand(app);
    }
    if (app->channel >= 0) channel_flush(app->channel);
    do {
        struct message message;
        enum reception reception = NOTHING;
        while ((app->channel >= 0 || app->held_count > 0)
            && (reception = next_message(app, &message)) == RECEIVED) {
            handle(app, &message);
            message_release(&message);
        }
        if (reception == ENDED) channel_ended(app);
    } while (run_after_launch(app));
    app->is_processing = false;
}

void greenroom_app_run(struct greenroom_app *app) {
    for (;;) {
        greenroom_app_process(app);
        struct pollfd entry = {.fd = greenroom_app_descriptor(app), .events = POLLIN};
        (void)poll(&entry, 1, -1);
    }
}

/* --- The pause. */

static bool place_descriptors(struct message *go, int channel) {
    int highest = 2;
    for (size_t i = 0; i < go->descriptor_count; i++) {
        if (go->header.roles[i] == channel) return errno = EPROTO, false;
        if (go->header.roles[i] > highest) highest = go->header.roles[i];
    }
    /* They may lie where others belong: all move out of the way first. */
    for (size_t i = 0; i < go->descriptor_count; i++) {
        int moved = fcntl(go->descriptors[i], F_DUPFD_CLOEXEC, highest + 1);
        if (moved < 0) return false;
        close(go->descriptors[i]);
        go->descriptors[i] = moved;
    }
    for (size_t i = 0; i < go->descriptor_count; i++) {
        int role = go->header.roles[i], from = go->descriptors[i];
        int result = role >= 0 ? dup2(from, role) : role == GR_ROLE_WORKING_DIRECTORY ? fchdir(from) : 0;
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
    /* The strings stay for good, as the kernel's do: the message gives them up. */
    if (argv) {
        *argv = malloc((go->header.argc + 1) * sizeof **argv);
        if (!*argv) return false;
        memcpy(*argv, go->strings, go->header.argc * sizeof **argv);
        (*argv)[go->header.argc] = NULL;
    }
    environ = go->strings + go->header.argc;
    go->strings = NULL;
    (void)setenv("ActivePrewarm", "1", 1); /* until the launch is over, as Apple has it */
    if (argc && argv) *argc = (int)go->header.argc;
    return true;
}

static uint32_t thread_count(void) {
    struct stat status; /* a directory has a link from each subdirectory: one per thread here */
    return stat("/proc/self/task", &status) == 0 && status.st_nlink >= 2 ? (uint32_t)status.st_nlink - 2 : 0;
}

/* Ends the process if nobody will launch it any more. */
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
    /* An app that was built with an older header has fewer callbacks, one built with a newer one more. */
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

/* --- What apps look at. */

int greenroom_app_descriptor(const struct greenroom_app *app) { return app->channel >= 0 ? app->watch : -1; }
void *greenroom_app_context(const struct greenroom_app *app) { return app->context; }
const struct greenroom_launch_info *greenroom_app_launch_info(const struct greenroom_app *app) { return &app->info; }
bool greenroom_app_protected_data_is_available(const struct greenroom_app *app) { return app->is_unlocked; }

enum greenroom_application_state greenroom_app_state(const struct greenroom_app *app) {
    if (!app->has_had_scene) return app->state;
    bool is_inactive = false;
    for (size_t i = 0; i < app->scene_count; i++) {
        enum greenroom_activation_state state = app->scenes[i].state;
        if (state == GREENROOM_FOREGROUND_ACTIVE) return GREENROOM_ACTIVE;
        is_inactive = is_inactive || state == GREENROOM_FOREGROUND_INACTIVE;
    }
    return is_inactive ? GREENROOM_INACTIVE : GREENROOM_BACKGROUND;
}

enum greenroom_activation_state greenroom_app_scene_state(const struct greenroom_app *app, const char *session) {
    struct scene *scene = find_scene(app, session);
    return scene ? scene->state : GREENROOM_UNATTACHED;
}

static void request_scene(struct greenroom_app *app, int32_t kind, const char *session) {
    struct gr_header header = {.type = MESSAGE_REQUEST_SCENE, .status = kind};
    ask(app, (struct request){0}, header, &session, session != NULL, session != NULL);
}

void greenroom_app_activate_scene(struct greenroom_app *app, const char *session) { request_scene(app, 0, session); }
void greenroom_app_destroy_scene(struct greenroom_app *app, const char *session) { request_scene(app, 2, session); }
