/* Scheduled work, which the app requests and the daemon runs later. */
#define _GNU_SOURCE 1
#include "app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, FAILURE = 1, NO_HANDLER = 2, LIST = 0, CANCEL = 1, CANCEL_ALL = 2 };

static struct registration *find_registration(const struct greenroom_app *app, const char *identifier) {
    for (size_t i = 0; i < app->scheduled.registration_count; i++)
        if (strcmp(app->scheduled.registrations[i].identifier, identifier) == 0)
            return &app->scheduled.registrations[i];
    return NULL;
}

bool greenroom_app_register_task(
    struct greenroom_app *app, const char *identifier, greenroom_task_handler *handler, void *context
) {
    struct scheduled *scheduled = &app->scheduled;
    if (app->is_launched || !handler || find_registration(app, identifier)) return false;
    char *copy = strdup(identifier);
    struct registration *list =
        copy ? list_grow(scheduled->registrations, &scheduled->registration_count, sizeof *list) : NULL;
    if (!list) return free(copy), false;
    scheduled->registrations = list;
    list[scheduled->registration_count - 1] = (struct registration){copy, handler, context};
    return true;
}

/* --- Runs. */

static struct run *find_run(const struct greenroom_app *app, uint64_t number) {
    for (size_t i = 0; i < app->scheduled.run_count; i++)
        if (app->scheduled.runs[i].task.number == number) return &app->scheduled.runs[i];
    return NULL;
}

/* Whether a run is known. A restarted daemon repeats runs. */
static bool is_known(struct scheduled *scheduled, uint64_t number) {
    for (size_t i = 0; i < KNOWN_RUN_COUNT; i++)
        if (scheduled->known[i] == number) return true;
    scheduled->known[scheduled->known_next++ % KNOWN_RUN_COUNT] = number;
    return false;
}

static void tell_completed(struct greenroom_app *app, uint64_t number, int32_t status) {
    struct gr_header header = {.type = MESSAGE_COMPLETED_TASK, .cookie = number, .status = status};
    channel_send_strings(app->channel, header, NULL, 0, 0);
}

static struct run *add_run(struct greenroom_app *app, const struct message *message) {
    char *identifier = strdup(message->strings[0]);
    struct run *runs = identifier ? list_grow(app->scheduled.runs, &app->scheduled.run_count, sizeof *runs) : NULL;
    if (!runs) return free(identifier), NULL;
    app->scheduled.runs = runs;
    struct greenroom_content fields = {
        (const char *const *)message->strings + message->header.argc, message->header.envc,
    };
    const char *deadline = greenroom_content_value(&fields, "deadline", 0);
    struct run *run = &runs[app->scheduled.run_count - 1];
    *run = (struct run){
        .task = {
            message->header.cookie, identifier, (enum greenroom_task_kind)message->header.status,
            deadline ? strtoull(deadline, NULL, 10) : UINT64_MAX,
        },
        .identifier = identifier,
    };
    return run;
}

void run_task(struct greenroom_app *app, const struct message *message) {
    uint64_t number = message->header.cookie;
    if (is_known(&app->scheduled, number)) return;
    app->info.reason = GREENROOM_REASON_SCHEDULED_TASK;
    const struct registration *known = find_registration(app, message->strings[0]);
    if (!known) return tell_completed(app, number, NO_HANDLER);
    const struct run *run = add_run(app, message);
    if (!run) return tell_completed(app, number, FAILURE);
    struct greenroom_task task = run->task;
    task.identifier = known->identifier; /* the run's own copy is freed when it is completed */
    CALL_OTHER(app, "task", known->handler, app, &task, known->context);
}

void greenroom_app_set_task_expiration(
    struct greenroom_app *app, uint64_t number, greenroom_task_expired *expired, void *context
) {
    struct run *run = find_run(app, number);
    if (!run) return;
    run->expired = expired;
    run->context = context;
}

void greenroom_app_complete_task(struct greenroom_app *app, uint64_t number, bool success) {
    struct run *run = find_run(app, number);
    if (!run) return;
    free(run->identifier);
    list_remove(app->scheduled.runs, &app->scheduled.run_count, sizeof *run, (size_t)(run - app->scheduled.runs));
    tell_completed(app, number, success ? SUCCESS : FAILURE);
}

void expire_task(struct greenroom_app *app, uint64_t number) {
    struct run *run = find_run(app, number);
    if (!run || run->was_told) return;
    run->was_told = true;
    if (!run->expired) return greenroom_app_complete_task(app, number, false);
    greenroom_task_expired *expired = run->expired;
    void *context = run->context;
    CALL_OTHER(app, "expired", expired, app, number, context);
}

/* --- Requests. */

void greenroom_app_submit_task(
    struct greenroom_app *app, const struct greenroom_task_request *request, greenroom_answered *answered, void *context
) {
    char earliest[32];
    snprintf(earliest, sizeof earliest, "earliest=%llu", (unsigned long long)request->earliest_begin);
    const char *strings[] = {request->identifier, earliest};
    struct gr_header header = {
        .type = MESSAGE_SUBMIT_TASK, .status = (int32_t)request->kind,
        .flags = (request->requires_external_power ? NEEDS_POWER : 0u) | (request->requires_network ? NEEDS_NETWORK : 0u),
    };
    ask(app, (struct request){.answered = answered, .context = context}, header, strings,
        request->earliest_begin ? 2 : 1, 1);
}

void greenroom_app_list_tasks(struct greenroom_app *app, greenroom_tasks_listed *listed, void *context) {
    struct gr_header header = {.type = MESSAGE_TASK_REQUESTS, .status = LIST};
    ask(app, (struct request){.listed = listed, .context = context}, header, NULL, 0, 0);
}

void greenroom_app_cancel_task(struct greenroom_app *app, const char *identifier) {
    struct gr_header header = {.type = MESSAGE_TASK_REQUESTS, .status = identifier ? CANCEL : CANCEL_ALL};
    channel_send_strings(app->channel, header, &identifier, identifier != NULL, identifier != NULL);
}
