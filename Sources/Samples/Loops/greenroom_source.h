/* An app's channel in GLib's main loop: copy this file unchanged, and attach the source before the loop runs.
 *
 *     GSource *source = greenroom_source_new(app);
 *     g_source_attach(source, NULL);
 *     g_source_unref(source);
 */
#pragma once

#include <glib.h>
#include <greenroom-app.h>

struct greenroom_source {
    GSource source;
    struct greenroom_app *app;
    gpointer tag;
    gboolean has_begun;
};

/* The launch sequence runs first, whether or not the descriptor is readable. */
static gboolean prepare(GSource *source, int *timeout) {
    *timeout = -1;
    return !((struct greenroom_source *)source)->has_begun;
}

static gboolean check(GSource *source) {
    struct greenroom_source *one = (struct greenroom_source *)source;
    return !one->has_begun || (one->tag && g_source_query_unix_fd(source, one->tag) != 0);
}

static gboolean dispatch(GSource *source, GSourceFunc unused, gpointer data) {
    struct greenroom_source *one = (struct greenroom_source *)source;
    (void)unused;
    (void)data;
    one->has_begun = TRUE;
    greenroom_app_process(one->app);
    /* Without a daemon there are no more events, and the app continues alone. */
    return greenroom_app_descriptor(one->app) >= 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static GSource *greenroom_source_new(struct greenroom_app *app) {
    static GSourceFuncs functions = {.prepare = prepare, .check = check, .dispatch = dispatch};
    GSource *source = g_source_new(&functions, sizeof(struct greenroom_source));
    struct greenroom_source *one = (struct greenroom_source *)source;
    one->app = app;
    if (greenroom_app_descriptor(app) >= 0)
        one->tag = g_source_add_unix_fd(source, greenroom_app_descriptor(app), G_IO_IN | G_IO_HUP | G_IO_ERR);
    return source;
}
