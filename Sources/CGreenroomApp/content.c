/* Delivers what an app is asked to open or do, or what it is told, with its launch and while it runs. */
#define _GNU_SOURCE 1
#include "greenroom-app.h"
#include "app.h"

#include <string.h>

/* The nth entry of that name, with the details that follow it. */
static struct greenroom_content item_of(const struct greenroom_content *content, const char *name, size_t n) {
    size_t length = strlen(name), i = 0;
    for (; i < content->count; i++) {
        const char *entry = content->entries[i];
        if (strncmp(entry, name, length) == 0 && entry[length] == '=' && n-- == 0) break;
    }
    size_t end = i;
    while (end < content->count
        && (end == i || (strncmp(content->entries[end], name, length) == 0 && content->entries[end][length] == '.')))
        end++;
    return (struct greenroom_content){content->entries + i, end - i};
}

const struct greenroom_content *greenroom_app_delivered(const struct greenroom_app *app) {
    return app->delivered.count > 0 ? &app->delivered : NULL;
}

bool deliver_notification(struct greenroom_app *app, const struct greenroom_content *content) {
    const char *value;
    bool handled = true, result;
    app->delivered = *content;
    if ((value = greenroom_content_value(content, "remote-notification", 0)))
        CALL_FOR(handled, app, receive_remote_notification, false, app, value);
    if ((value = greenroom_content_value(content, "local-notification", 0))) {
        CALL_FOR(result, app, receive_local_notification, false, app, value);
        handled = handled && result;
    }
    app->delivered = (struct greenroom_content){0};
    return handled;
}

bool deliver_to_app(struct greenroom_app *app, const struct greenroom_content *content, bool is_accepted) {
    bool handled = true, result;
    const char *value;
    for (size_t i = 0; is_accepted && (value = greenroom_content_value(content, "url", i)); i++) {
        app->delivered = item_of(content, "url", i);
        CALL_FOR(result, app, open_url, false, app, value);
        handled = handled && result;
    }
    for (size_t i = 0; is_accepted && (value = greenroom_content_value(content, "activity", i)); i++) {
        app->delivered = item_of(content, "activity", i);
        CALL_FOR(result, app, continue_activity, false, app, value);
        handled = handled && result;
    }
    if (is_accepted && (value = greenroom_content_value(content, "action", 0))) {
        app->delivered = item_of(content, "action", 0);
        CALL_FOR(result, app, perform_action, false, app, value);
        handled = handled && result;
    }
    app->delivered = (struct greenroom_content){0};
    if ((value = greenroom_content_value(content, "cloudkit-share", 0))) {
        CALL_FOR(result, app, accept_share, false, app, value);
        handled = handled && result;
    }
    return deliver_notification(app, content) && handled;
}

void handle_events(struct greenroom_app *app, const struct message *message) {
    int reason = message->header.status;
    if (reason < GREENROOM_REASON_USER || reason > GREENROOM_REASON_SCHEDULED_TASK) return;
    app->info.reason = (enum greenroom_reason)reason;
    /* Requests and notifications follow in separate messages. */
    bool is_event = reason >= GREENROOM_REASON_LOCATION && reason <= GREENROOM_REASON_SYSTEM;
    struct greenroom_content content = content_of(message);
    if (is_event) CALL(app, handle_events, app, app->info.reason, &content);
}

bool deliver(struct greenroom_app *app, const struct message *message) {
    struct greenroom_content content = content_of(message);
    struct scene *scene = find_scene(app, message_word(message, 0));
    if (!scene) return deliver_to_app(app, &content, true);
    const char *value;
    bool handled = true;
    for (size_t i = 0; (value = greenroom_content_value(&content, "url", i)); i++) {
        app->delivered = item_of(&content, "url", i);
        CALL(app, scene_open_url, app, scene->session, value);
    }
    for (size_t i = 0; (value = greenroom_content_value(&content, "activity", i)); i++) {
        app->delivered = item_of(&content, "activity", i);
        CALL(app, scene_continue_activity, app, scene->session, value);
    }
    if ((value = greenroom_content_value(&content, "action", 0))) {
        app->delivered = item_of(&content, "action", 0);
        CALL_FOR(handled, app, scene_perform_action, false, app, scene->session, value);
    }
    app->delivered = (struct greenroom_content){0};
    bool result;
    if ((value = greenroom_content_value(&content, "cloudkit-share", 0))) {
        CALL_FOR(result, app, scene_accept_share, false, app, scene->session, value);
        handled = handled && result;
    }
    return deliver_notification(app, &content) && handled;
}
