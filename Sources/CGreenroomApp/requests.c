/* Requests to the daemon. Each is kept until it is answered. */
#include "app.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t asked_again = (uint64_t)1 << 63;

static int refusal(const struct greenroom_app *app) {
    return app->channel < 0 ? ENOTCONN : app->request_count == REQUEST_LIMIT ? EAGAIN : ENOMEM;
}

static const char *explanation(int error) {
    return error == ENOTCONN ? "Greenroom does not run this app"
        : error == EAGAIN ? "too many requests wait for their answers" : strerror(error);
}

static void tell(struct greenroom_app *app, const struct request *request, int error, const char *reason) {
    CALL_OTHER(app, "answered", request->answered, app, error, reason, request->context);
    CALL_OTHER(app, "listed", request->listed, app, error, NULL, 0, request->context);
}

void ask(
    struct greenroom_app *app, struct request request, struct gr_header header, const char *const *strings,
    size_t count, size_t words
) {
    request.cookie = header.cookie = app->last_request + 1;
    if (app->channel >= 0 && app->request_count < REQUEST_LIMIT)
        request.packet = channel_packet(header, strings, count, words, &request.size);
    struct request *requests =
        request.packet ? list_grow(app->requests, &app->request_count, sizeof *requests) : NULL;
    if (!requests) {
        free(request.packet);
        return tell(app, &request, refusal(app), explanation(refusal(app)));
    }
    app->requests = requests;
    requests[app->request_count - 1] = request;
    app->last_request++;
    channel_send_packet(app->channel, request.packet, request.size);
}

/* A restarted daemon has lost the requests that the former one had read. Sends all unanswered requests again. */
static void ask_again(struct greenroom_app *app) {
    for (size_t i = 0; i < app->request_count; i++) {
        struct request *request = &app->requests[i];
        uint64_t cookie = request->cookie | asked_again;
        memcpy(request->packet + offsetof(struct gr_header, cookie), &cookie, sizeof cookie);
        channel_send_packet(app->channel, request->packet, request->size);
    }
    tell_launch_steps(app);
}

static bool take_request(struct greenroom_app *app, uint64_t cookie, struct request *request) {
    for (size_t i = 0; i < app->request_count; i++) {
        if (app->requests[i].cookie != cookie) continue;
        *request = app->requests[i];
        free(request->packet);
        list_remove(app->requests, &app->request_count, sizeof *request, i);
        return true;
    }
    return false;
}

void answer_request(struct greenroom_app *app, const struct message *message) {
    struct request request;
    if (message->header.cookie == 0) return ask_again(app);
    if (!take_request(app, message->header.cookie, &request)) return;
    int error = message->header.status;
    const char *reason = message_word(message, 0);
    tell(app, &request, error, error == 0 ? "" : reason ? reason : explanation(error));
}

/* Answers all requests with an error, because the daemon will no longer answer them. */
static void abandon_requests(struct greenroom_app *app) {
    struct request request;
    while (app->request_count > 0 && take_request(app, app->requests[0].cookie, &request))
        tell(app, &request, ENOTCONN, explanation(ENOTCONN));
}

/* --- The list of pending requests: each is "task=identifier", followed by its details. */

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

void channel_ended(struct greenroom_app *app) {
    if (app->channel >= 0) close(app->channel);
    app->channel = -1;
    abandon_requests(app);
}
