/* Connects scenes, moves them between states, discards them, and requests them from the daemon. */
#define _GNU_SOURCE 1
#include "greenroom-app.h"
#include "app.h"

#include <stdlib.h>
#include <string.h>

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

bool connect_scene(struct greenroom_app *app, const struct message *message) {
    const char *session = message->strings[0];
    struct scene *scene = add_scene(app, session);
    if (!scene) return false;
    report(app, STEP_SCENE_CONFIGURATION, session);
    struct greenroom_content content = content_of(message);
    take_connection_state(scene, message);
    CALL(app, scene_will_connect, app, session, &content);
    /* A user who wants a document does not want to be taken elsewhere. */
    if (!document_of(&content)) (void)restore_scene(app, scene);
    report(app, STEP_SCENE_CONNECTION, session);
    if (!(message->header.flags & CONNECT_FOREGROUND)) {
        scene->state = GREENROOM_SCENE_BACKGROUND;
        app->has_had_scene = true;
    }
    /* A scene has the user's answer to a notification in its options. */
    if (!greenroom_content_value(&content, "notification-response", 0)) (void)deliver_notification(app, &content);
    return true;
}

/* A callback that announces a change ("will") is called before the state changes, and a callback that reports a change
 * ("did") after it. */
void move_scene(struct greenroom_app *app, const struct message *message) {
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

void disconnect_scenes(struct greenroom_app *app) {
    while (app->scene_count > 0) {
        struct scene *scene = &app->scenes[0];
        if (scene->state == GREENROOM_FOREGROUND_ACTIVE)
            CALL(app, scene_event, app, scene->session, GREENROOM_WILL_RESIGN_ACTIVE);
        scene->state = GREENROOM_UNATTACHED;
        CALL(app, scene_event, app, scene->session, GREENROOM_WILL_TERMINATE);
        remove_scene(app, scene);
    }
}

void discard_scenes(struct greenroom_app *app, const struct message *message) {
    for (uint32_t i = 0; i < message->header.argc; i++) {
        struct scene *scene = find_scene(app, message->strings[i]);
        if (scene) remove_scene(app, scene);
        CALL(app, discard_scene, app, message->strings[i]);
    }
}

/* The statuses of a scene request (greenroom-protocol(7)). */
enum scene_wish { SCENE_ACTIVATE = 0, SCENE_DESTROY = 2 };

static void request_scene(struct greenroom_app *app, enum scene_wish wish, const char *session) {
    struct gr_header header = {.type = MESSAGE_REQUEST_SCENE, .status = (int32_t)wish};
    ask(app, (struct request){0}, header, &session, session != NULL, session != NULL);
}

void greenroom_app_activate_scene(struct greenroom_app *app, const char *session) {
    request_scene(app, SCENE_ACTIVATE, session);
}

void greenroom_app_destroy_scene(struct greenroom_app *app, const char *session) {
    request_scene(app, SCENE_DESTROY, session);
}
