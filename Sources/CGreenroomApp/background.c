/* Background time: tasks that keep an app from being suspended for a while. */
#include "app.h"

#include <string.h>

static void tell(struct greenroom_app *app, uint16_t type, uint64_t identifier, const char *name) {
    struct gr_header header = {.type = type, .cookie = identifier};
    channel_send_strings(app->channel, header, &name, name != NULL, name != NULL);
}

uint64_t greenroom_app_begin_background_task(
    struct greenroom_app *app, const char *name, greenroom_task_expired *expired, void *context
) {
    struct background *background = &app->background;
    if (background->is_expiring || background->count == BACKGROUND_TASK_LIMIT) return 0;
    uint64_t identifier = ++background->last_identifier;
    background->tasks[background->count++] = (struct background_task){identifier, expired, context, false};
    tell(app, MESSAGE_BEGIN_BACKGROUND_TASK, identifier, name && *name ? name : NULL);
    return identifier;
}

void greenroom_app_end_background_task(struct greenroom_app *app, uint64_t task) {
    struct background *background = &app->background;
    for (size_t i = 0; i < background->count; i++) {
        if (background->tasks[i].identifier != task) continue;
        list_remove(background->tasks, &background->count, sizeof *background->tasks, i);
        return tell(app, MESSAGE_END_BACKGROUND_TASK, task, NULL);
    }
}

uint64_t greenroom_app_background_time_remaining(const struct greenroom_app *app) {
    uint64_t until = app->background.until, instant = now();
    return until == UINT64_MAX ? UINT64_MAX : until > instant ? until - instant : 0;
}

void background_time_without_limit(struct greenroom_app *app) {
    app->background.until = UINT64_MAX;
    app->background.is_expiring = false;
    for (size_t i = 0; i < app->background.count; i++) app->background.tasks[i].was_told = false;
}

void background_time_changed(struct greenroom_app *app, uint64_t until) {
    if (until == UINT64_MAX) return background_time_without_limit(app);
    app->background.until = until;
}

void background_time_expires(struct greenroom_app *app, uint64_t instant) {
    struct background *background = &app->background;
    background->until = instant;
    background->is_expiring = true;
    /* A handler ends its own task and may end others, so the search begins again after each. */
    for (size_t i = 0; i < background->count;) {
        struct background_task *task = &background->tasks[i++];
        if (task->was_told) continue;
        task->was_told = true;
        CALL_OTHER(app, "expired", task->expired, app, task->identifier, task->context);
        i = 0;
    }
}
