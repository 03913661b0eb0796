/* The measurement of launches: the first draw, and tasks by which the app extends its launch. */
#define _GNU_SOURCE 1
#include "app.h"

#include <stdlib.h>
#include <string.h>

static void tell(struct greenroom_app *app, const char *task, bool is_finished) {
    struct gr_header header = {.type = MESSAGE_LAUNCH_TASK, .cookie = now(), .status = is_finished};
    channel_send_strings(app->channel, header, &task, 1, 1);
}

static char **find(struct greenroom_app *app, const char *task) {
    for (size_t i = 0; i < app->launch_task_count; i++)
        if (strcmp(app->launch_tasks[i], task) == 0) return &app->launch_tasks[i];
    return NULL;
}

bool greenroom_app_extend_launch_measurement(struct greenroom_app *app, const char *task) {
    size_t size = strlen(task);
    bool is_over = app->has_drawn || app->has_reached[STEP_ACTIVE];
    if (size == 0 || size > LAUNCH_TASK_NAME_BYTE_LIMIT || is_over || find(app, task)
        || app->launch_task_count == LAUNCH_TASK_LIMIT)
        return false;
    char *copy = strdup(task);
    if (!copy) return false;
    app->launch_tasks[app->launch_task_count++] = copy;
    tell(app, task, false);
    return true;
}

bool greenroom_app_finish_launch_measurement(struct greenroom_app *app, const char *task) {
    char **known = find(app, task);
    if (!known) return false;
    tell(app, task, true);
    free(*known);
    *known = app->launch_tasks[--app->launch_task_count];
    return true;
}

void greenroom_app_did_draw_first_frame(struct greenroom_app *app) {
    uint64_t time = now();
    app->has_drawn = true;
    if (app->drawn_at == 0) app->drawn_at = time;
    channel_send(app->channel, MESSAGE_FIRST_FRAME, 0, time, 0, NULL);
}
