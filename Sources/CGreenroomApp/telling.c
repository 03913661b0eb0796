/* Reports to the daemon: steps of the launch, acknowledgements, and callbacks that took too long. */
#define _GNU_SOURCE 1
#include "app.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void acknowledge(struct greenroom_app *app, uint64_t cookie, bool handled) {
    if (cookie != 0) channel_send(app->channel, MESSAGE_ACKNOWLEDGED, !handled, cookie, 0, NULL);
}

void report(struct greenroom_app *app, int step, const char *session) {
    uint64_t time = now();
    if (app->reached_at[step] == 0) app->reached_at[step] = time;
    channel_send(app->channel, MESSAGE_STEP, step, time, 0, session);
}

void tell_launch_steps(struct greenroom_app *app) {
    enum { COUNT = STEP_AFTER_LAUNCH + 3, SIZE = 48 };
    char texts[COUNT][SIZE];
    const char *fields[COUNT];
    size_t count = 0;
    for (int step = 0; step <= STEP_AFTER_LAUNCH; step++)
        if (app->reached_at[step]) (void)snprintf(texts[count++], SIZE, "step.%d=%" PRIu64, step, app->reached_at[step]);
    if (app->info.paused) (void)snprintf(texts[count++], SIZE, "paused=%" PRIu64, app->info.paused);
    if (app->drawn_at) (void)snprintf(texts[count++], SIZE, "drawn=%" PRIu64, app->drawn_at);
    for (size_t i = 0; i < count; i++) fields[i] = texts[i];
    struct gr_header header = {.type = MESSAGE_LAUNCH_STEPS, .cookie = app->info.requested};
    channel_send_strings(app->channel, header, fields, count, 0);
}

void report_first(struct greenroom_app *app, int step, const char *session) {
    if (app->has_reached[step]) return;
    app->has_reached[step] = true;
    report(app, step, session);
}

void tell_if_slow(struct greenroom_app *app, uint64_t began, const char *name) {
    uint64_t elapsed = now() - began;
    if (elapsed > CALLBACK_NANOSECONDS) channel_send(app->channel, MESSAGE_OVERRAN, 0, elapsed, 0, name);
}
