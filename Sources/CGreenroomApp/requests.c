/* Questions to the daemon, and lists. */
#include "app.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *list_grow(void *list, size_t *count, size_t size) {
    void *grown = realloc(list, (*count + 1) * size);
    if (grown) ++*count;
    return grown;
}

void list_remove(void *list, size_t *count, size_t size, size_t index) {
    char *place = (char *)list + index * size;
    memmove(place, place + size, (--*count - index) * size);
}

uint64_t add_request(
    struct greenroom_app *app, greenroom_answered *answered, greenroom_tasks_listed *listed, void *context
) {
    struct request *requests = list_grow(app->requests, &app->request_count, sizeof *requests);
    if (!requests) return 0;
    app->requests = requests;
    requests[app->request_count - 1] = (struct request){++app->last_request, answered, listed, context};
    return app->last_request;
}

static bool take_request(struct greenroom_app *app, uint64_t cookie, struct request *request) {
    for (size_t i = 0; i < app->request_count; i++) {
        if (app->requests[i].cookie != cookie) continue;
        *request = app->requests[i];
        list_remove(app->requests, &app->request_count, sizeof *request, i);
        return true;
    }
    return false;
}

static void tell(struct greenroom_app *app, const struct request *request, int error, const char *reason) {
    CALL_OTHER(app, "answered", request->answered, app, error, reason, request->context);
    CALL_OTHER(app, "listed", request->listed, app, error, NULL, 0, request->context);
}

void answer_request(struct greenroom_app *app, const struct message *message) {
    struct request request;
    if (!take_request(app, message->header.cookie, &request)) return;
    int error = message->header.status;
    const char *reason = message_word(message, 0);
    tell(app, &request, error, error == 0 ? "" : reason ? reason : strerror(error));
}

void abandon_requests(struct greenroom_app *app) {
    struct request request;
    while (app->request_count > 0 && take_request(app, app->requests[0].cookie, &request))
        tell(app, &request, ENOTCONN, "Greenroom does not run any more");
}

/* --- The list of pending requests: for each "task=identifier", then what is set of it. */

static void take_detail(struct greenroom_task_request *request, const char *detail) {
    const char *value = strchr(detail, '=');
    if (!value++) return;
    if (strncmp(detail, "kind=", 5) == 0) request->kind = (enum greenroom_task_kind)atoi(value);
    else if (strncmp(detail, "earliest=", 9) == 0) request->earliest_begin = strtoull(value, NULL, 10);
    else if (strncmp(detail, "power=", 6) == 0) request->requires_external_power = *value == '1';
    else if (strncmp(detail, "network=", 8) == 0) request->requires_network = *value == '1';
}

void list_request(struct greenroom_app *app, const struct message *message) {
    struct request request;
    if (!take_request(app, message->header.cookie, &request)) return;
    size_t count = 0, fields = message->header.envc;
    struct greenroom_task_request *list = calloc(fields + 1, sizeof *list);
    for (size_t i = 0; list && i < fields; i++) {
        const char *field = message->strings[message->header.argc + i];
        if (strncmp(field, "task=", 5) == 0) list[count++].identifier = field + 5;
        else if (strncmp(field, "task.", 5) == 0 && count > 0) take_detail(&list[count - 1], field + 5);
    }
    CALL_OTHER(app, "listed", request.listed, app, list ? 0 : ENOMEM, list, count, request.context);
    free(list);
}
