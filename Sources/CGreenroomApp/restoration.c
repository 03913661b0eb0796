/* State preservation and restoration, in UIKit's order. */
#define _GNU_SOURCE 1
#include "app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAVED = 0, FORGET = 1, TOO_LARGE = 2 };

/* --- Registered objects. */

static struct restorable *find_restorable(const struct greenroom_app *app, const char *identifier) {
    for (size_t i = 0; i < app->restorable_count; i++)
        if (strcmp(app->restorables[i].identifier, identifier) == 0) return &app->restorables[i];
    return NULL;
}

bool greenroom_app_register_restorable(
    struct greenroom_app *app, const char *identifier, const struct greenroom_restorable *callbacks, void *object
) {
    struct restorable *known = find_restorable(app, identifier);
    if (known) {
        free(known->identifier);
        list_remove(app->restorables, &app->restorable_count, sizeof *known, (size_t)(known - app->restorables));
    }
    if (!callbacks) return true;
    char *copy = strdup(identifier);
    struct restorable *list =
        copy ? list_grow(app->restorables, &app->restorable_count, sizeof *list) : NULL;
    if (!list) return free(copy), false;
    app->restorables = list;
    list[app->restorable_count - 1] = (struct restorable){copy, *callbacks, object};
    return true;
}

/* --- Extensions. */

static struct extension *find_extension(struct greenroom_app *app, const char *session) {
    for (size_t i = 0; i < app->extension_count; i++) {
        const char *other = app->extensions[i].session;
        if (session && other ? strcmp(session, other) == 0 : session == other) return &app->extensions[i];
    }
    return NULL;
}

static void send_report(struct greenroom_app *app, uint16_t type, const char *session) {
    channel_send_strings(app->channel, (struct gr_header){.type = type}, &session, session != NULL, session != NULL);
}

void greenroom_app_extend_state_restoration(struct greenroom_app *app, const char *session) {
    struct extension *known = find_extension(app, session);
    if (known) {
        known->count++;
        return;
    }
    char *copy = session ? strdup(session) : NULL;
    if (app->extension_count == EXTENSION_LIMIT || (session && !copy)) return free(copy);
    app->extensions[app->extension_count++] = (struct extension){copy, 1};
    send_report(app, MESSAGE_EXTEND_RESTORATION, session);
}

void greenroom_app_complete_state_restoration(struct greenroom_app *app, const char *session) {
    struct extension *known = find_extension(app, session);
    if (!known || --known->count > 0) return;
    send_report(app, MESSAGE_COMPLETE_RESTORATION, session);
    free(known->session);
    *known = app->extensions[--app->extension_count];
}

/* --- Saving. */

static void forget(struct greenroom_app *app, const char *session) {
    struct gr_header header = {.type = MESSAGE_SAVE_STATE, .status = FORGET};
    channel_send_strings(app->channel, header, &session, session != NULL, session != NULL);
}

static void tell_too_large(struct greenroom_app *app, const char *session, size_t size) {
    char field[40];
    snprintf(field, sizeof field, "size=%zu", size);
    const char *strings[] = {session ? session : field, field};
    struct gr_header header = {.type = MESSAGE_SAVE_STATE, .status = TOO_LARGE};
    channel_send_strings(app->channel, header, strings, session ? 2 : 1, session != NULL);
}

static void send_state(struct greenroom_app *app, const struct greenroom_state *state, const char *session) {
    size_t count, size;
    char **fields = state_encode(state, &count, &size);
    if (!fields) return;
    const char **strings = malloc((count + 1) * sizeof *strings);
    if (size > ARCHIVE_BYTE_LIMIT) {
        tell_too_large(app, session, size);
    } else if (strings) {
        size_t words = session != NULL;
        strings[0] = session;
        for (size_t i = 0; i < count; i++) strings[words + i] = fields[i];
        struct gr_header header = {.type = MESSAGE_SAVE_STATE, .status = SAVED};
        channel_send_strings(app->channel, header, strings, words + count, words);
    }
    free(strings);
    free(fields);
}

static void encode_restorables(struct greenroom_app *app, struct greenroom_state *state) {
    for (size_t i = 0; i < app->restorable_count; i++) {
        struct restorable one = app->restorables[i];
        state_turn_to(state, one.identifier);
        CALL_OTHER(app, "encode", one.callbacks.encode, app, one.object, state);
    }
}

void save_state(struct greenroom_app *app) {
    if (app->channel < 0 || !app->delegate.should_save_state || find_extension(app, NULL)) return;
    struct greenroom_state *state = state_new(false);
    if (!state) return;
    state_describe(state, app->info.version, 0, NULL);
    bool is_wanted;
    CALL_FOR(is_wanted, app, should_save_state, false, app, state);
    if (is_wanted) {
        CALL(app, will_encode_state, app, state);
        encode_restorables(app, state);
        send_state(app, state, NULL);
    } else {
        forget(app, NULL);
    }
    state_free(state);
}

void save_scene(struct greenroom_app *app, struct scene *scene) {
    if (app->channel < 0 || !app->delegate.scene_should_save || find_extension(app, scene->session)) return;
    struct greenroom_state *activity = state_new(true);
    if (!activity) return;
    bool is_wanted;
    CALL_FOR(is_wanted, app, scene_should_save, false, app, scene->session, activity);
    if (is_wanted && greenroom_state_get(activity, "type")) {
        send_state(app, activity, scene->session);
    } else {
        forget(app, scene->session);
        state_free(activity);
        activity = NULL;
    }
    state_free(scene->activity);
    scene->activity = activity;
}

void save_before_end(struct greenroom_app *app) {
    bool has_scenes = app->launch.header.flags & LAUNCH_SCENES;
    if (!has_scenes && app->state != GREENROOM_BACKGROUND) save_state(app);
    for (size_t i = 0; has_scenes && i < app->scene_count; i++)
        if (is_in_front(&app->scenes[i])) save_scene(app, &app->scenes[i]);
}

/* --- Restoring. */

/* The object to decode: the registered one, or one that the app makes now. */
static struct restorable *restorable_for(
    struct greenroom_app *app, const char *identifier, const struct greenroom_state *state
) {
    if (!find_restorable(app, identifier)) CALL(app, make_restorable, app, identifier, state);
    return find_restorable(app, identifier);
}

static void decode_restorables(struct greenroom_app *app, struct greenroom_state *state) {
    const char *identifier;
    for (size_t i = 0; (identifier = state_object(state, i)); i++) {
        state_turn_to(state, identifier);
        struct restorable *known = restorable_for(app, identifier, state);
        if (!known) continue;
        struct restorable one = *known;
        CALL_OTHER(app, "decode", one.callbacks.decode, app, one.object, state);
    }
    for (size_t i = 0; (identifier = state_object(state, i)); i++) {
        struct restorable *known = find_restorable(app, identifier);
        if (!known) continue;
        struct restorable one = *known;
        CALL_OTHER(app, "finished", one.callbacks.finished, app, one.object);
    }
    state_turn_to(state, "");
}

static bool restore_app(struct greenroom_app *app, const struct message *message) {
    if (message->header.status != 0) return false;
    char **fields = message->strings + message->header.argc;
    struct greenroom_state *state = state_decode(fields, message->header.envc, false);
    if (!state) return false;
    const char *saved_at = message_word(message, 3);
    struct greenroom_content content = {
        app->launch.strings ? (const char *const *)app->launch.strings + app->launch.header.argc : NULL,
        app->launch.content_count,
    };
    state_describe(
        state, message_word(message, 1), saved_at ? strtoull(saved_at, NULL, 10) : 0, document_of(&content));
    bool is_wanted;
    CALL_FOR(is_wanted, app, should_restore_state, false, app, state);
    if (is_wanted) {
        decode_restorables(app, state);
        CALL(app, did_decode_state, app, state);
    }
    state_free(state);
    return is_wanted;
}

static void hold(struct greenroom_app *app, struct message *message) {
    struct message *held = list_grow(app->held, &app->held_count, sizeof *held);
    if (!held) return message_release(message);
    app->held = held;
    held[app->held_count - 1] = *message;
}

/* Restores the announced archive. Other messages that arrive before it are held, so that the order is kept. */
void restore_at_launch(struct greenroom_app *app) {
    if (!(app->launch.header.flags & LAUNCH_ARCHIVE)) return;
    struct message message;
    while (channel_receive(app->channel, &message, true) == RECEIVED) {
        uint64_t cookie = message.header.cookie;
        if (message.header.type == GR_QUIT) exit(0);
        if (message.header.type == MESSAGE_RESTORE_STATE && !message_word(&message, 0)) {
            acknowledge(app, cookie, restore_app(app, &message));
            return message_release(&message);
        }
        if (message.header.type == GR_PING) channel_send(app->channel, GR_PONG, 0, cookie, 0, NULL);
        else hold(app, &message);
    }
    channel_ended(app);
}

bool restore_scene(struct greenroom_app *app, struct scene *scene) {
    if (!scene->activity) return false;
    CALL(app, scene_restore, app, scene->session, scene->activity);
    return app->delegate.scene_restore != NULL;
}

void take_connection_state(struct scene *scene, const struct message *message) {
    char **fields = message->strings + message->header.argc;
    struct greenroom_state *activity = state_decode(fields, message->header.envc, true);
    if (!activity) return;
    state_free(scene->activity);
    scene->activity = activity;
}

bool restore_late(struct greenroom_app *app, const struct message *message) {
    const char *session = message_word(message, 0);
    if (!session) return !(app->launch.header.flags & LAUNCH_SCENES) && restore_app(app, message);
    struct scene *scene = find_scene(app, session);
    if (!scene || message->header.status != 0) return false;
    take_connection_state(scene, message);
    return restore_scene(app, scene);
}

const struct greenroom_state *greenroom_app_scene_activity(const struct greenroom_app *app, const char *session) {
    const struct scene *scene = find_scene(app, session);
    return scene ? scene->activity : NULL;
}
