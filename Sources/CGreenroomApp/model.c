/* Read access to an app, its scenes and a message's content. Nothing is changed here. */
#include "app.h"

#include <string.h>

struct scene *find_scene(const struct greenroom_app *app, const char *session) {
    for (size_t i = 0; session && i < app->scene_count; i++)
        if (strcmp(app->scenes[i].session, session) == 0) return (struct scene *)&app->scenes[i];
    return NULL;
}

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

bool is_in_front(const struct scene *scene) {
    return scene->state == GREENROOM_FOREGROUND_ACTIVE || scene->state == GREENROOM_FOREGROUND_INACTIVE;
}

struct greenroom_content content_of(const struct message *message) {
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

const char *document_of(const struct greenroom_content *content) {
    const char *url;
    for (size_t i = 0; (url = greenroom_content_value(content, "url", i)); i++)
        if (strncmp(url, "file:", 5) == 0) return url;
    return NULL;
}
