/* Delivers what an app is asked to open or do, or what it is told, with its launch and while it runs. */
#define _GNU_SOURCE 1
#include "greenroom-app.h"
#include "app.h"

bool deliver_to_app(struct greenroom_app *app, const struct greenroom_content *content, bool is_accepted) {
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

bool deliver(struct greenroom_app *app, const struct message *message) {
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
