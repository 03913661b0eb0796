/* An app from its launch sequence to its end: the loop, and the daemon's messages. */
#define _GNU_SOURCE 1
#include "greenroom-app.h"
#include "app.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

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

/* Ends the process after sending all waiting messages. */
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
    if (event == PROTECTED_DATA_IS_UNAVAILABLE) protected_data_was_taken(app);
    if (event < GREENROOM_WILL_ENTER_FOREGROUND || event > GREENROOM_PROTECTED_DATA_DID_BECOME_AVAILABLE) return;
    if (is_state && has_scenes) return; /* each scene is told its own states */
    bool tells = event == GREENROOM_DID_BECOME_ACTIVE || event == GREENROOM_DID_ENTER_BACKGROUND;
    bool was_in_front = app->state != GREENROOM_BACKGROUND;
    if (tells) app->state = states[event];
    if (event == GREENROOM_PROTECTED_DATA_DID_BECOME_AVAILABLE) app->is_unlocked = true;
    if (event == GREENROOM_WILL_ENTER_FOREGROUND) background_time_without_limit(app);
    if (event == GREENROOM_WILL_TERMINATE) {
        save_before_end(app);
        disconnect_scenes(app);
    }
    CALL(app, event, app, (enum greenroom_event)event);
    if (is_state) app->state = states[event];
    if (was_in_front && event == GREENROOM_DID_ENTER_BACKGROUND) save_state(app);
    if (tells) report_first(app, event == GREENROOM_DID_BECOME_ACTIVE ? STEP_ACTIVE : STEP_BACKGROUND, NULL);
    if (event == GREENROOM_PROTECTED_DATA_WILL_BECOME_UNAVAILABLE) protected_data_was_taken(app);
    if (event == GREENROOM_WILL_TERMINATE) {
        acknowledge(app, cookie, true);
        end(app);
    }
}

/* Whether a message is a step. The cookies of steps count up from 1 in the life of an app, and the daemon
 * repeats a step with the same cookie. */
static bool is_step(const struct gr_header *header) {
    return (header->type == MESSAGE_LIFECYCLE || header->type == MESSAGE_CONNECT_SCENE
            || header->type == MESSAGE_SCENE) && header->cookie != 0 && header->cookie >> 63 == 0;
}

static void handle(struct greenroom_app *app, struct message *message) {
    bool handled = true;
    uint64_t cookie = message->header.cookie;
    if (is_step(&message->header)) {
        /* A restarted daemon repeats a step if it does not know that the app has taken it. */
        if (cookie <= app->last_step) return acknowledge(app, cookie, true);
        app->last_step = cookie;
    }
    switch (message->header.type) {
    case GR_QUIT: end(app);
    case GR_PING: channel_send(app->channel, GR_PONG, 0, cookie, 0, NULL); return;
    case GR_GO: /* a process refuses a second launch */
    case MESSAGE_LAUNCH: channel_send(app->channel, GR_ERROR, EPROTO, cookie, 0, NULL); return;
    case MESSAGE_LIFECYCLE: handle_event(app, message->header.status, cookie); break;
    case MESSAGE_CONNECT_SCENE: handled = connect_scene(app, message); break;
    case MESSAGE_SCENE: move_scene(app, message); break;
    case MESSAGE_DELIVER: handled = deliver(app, message); break;
    case MESSAGE_HANDLE_EVENTS: handle_events(app, message); break;
    case MESSAGE_DISCARD_SCENES: discard_scenes(app, message); break;
    case MESSAGE_CREDENTIALS: take_credentials(app, message); break;
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

/* The next message. Messages that arrived while the launch waited for a different one come first. */
static enum reception next_message(struct greenroom_app *app, struct message *message) {
    if (app->held_count == 0) return channel_receive(app->channel, message, false);
    *message = app->held[0];
    memmove(app->held, app->held + 1, --app->held_count * sizeof *app->held);
    return RECEIVED;
}

static bool run_after_launch(struct greenroom_app *app) {
    /* The launch is over when the app has been told whether it is in the foreground or in the background. */
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

/* --- Values that apps read. */

int greenroom_app_descriptor(const struct greenroom_app *app) { return app->channel >= 0 ? app->watch : -1; }
void *greenroom_app_context(const struct greenroom_app *app) { return app->context; }
const struct greenroom_launch_info *greenroom_app_launch_info(const struct greenroom_app *app) { return &app->info; }
bool greenroom_app_protected_data_is_available(const struct greenroom_app *app) { return app->is_unlocked; }
