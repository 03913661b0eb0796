/* An app in C on GLib's main loop, as in a GTK, GStreamer or libsoup program.
 *
 *     cc glib_loop.c -o glib-loop $(pkg-config --cflags --libs glib-2.0 greenroom-app)
 */
#include "greenroom_source.h"

static gboolean tick(gpointer data) {
    (void)data;
    g_print("tick\n");
    return G_SOURCE_REMOVE;
}

/* Work of the loop that goes on in the background until it is done or the time runs out. */
static guint tidying;

static void stop_tidying(struct greenroom_app *app, uint64_t task, void *unused) {
    (void)unused;
    g_clear_handle_id(&tidying, g_source_remove);
    greenroom_app_end_background_task(app, task);
}

struct tidying {
    struct greenroom_app *app;
    uint64_t task;
    int rest;
};

static gboolean tidy(gpointer data) {
    struct tidying *one = data;
    if (--one->rest > 0) return G_SOURCE_CONTINUE;
    g_print("tidied up\n");
    tidying = 0;
    greenroom_app_end_background_task(one->app, one->task);
    return G_SOURCE_REMOVE;
}

static void begin_tidying(struct greenroom_app *app) {
    uint64_t task = tidying ? 0 : greenroom_app_begin_background_task(app, "tidy up", stop_tidying, NULL);
    if (!task) return;
    struct tidying *one = g_new(struct tidying, 1);
    *one = (struct tidying){app, task, 3};
    tidying = g_timeout_add_full(G_PRIORITY_DEFAULT, 1, tidy, one, g_free);
}

/* The app's state: how many times the user has visited it. */
static int64_t visit = 1;

static bool should_save(struct greenroom_app *app, struct greenroom_state *state) {
    (void)app;
    return greenroom_state_set_number(state, "visit", visit);
}

static bool should_restore(struct greenroom_app *app, const struct greenroom_state *state) {
    (void)app;
    if (!greenroom_state_get_number(state, "visit", &visit)) return false;
    visit++;
    return true;
}

static bool finished(struct greenroom_app *app, const struct greenroom_content *options) {
    (void)options;
    const struct greenroom_launch_info *info = greenroom_app_launch_info(app);
    g_print("launched %s, visit %d\n", info->was_prewarmed ? "prewarmed" : "cold", (int)visit);
    return true;
}

static void event(struct greenroom_app *app, enum greenroom_event event) {
    if (event == GREENROOM_DID_BECOME_ACTIVE) {
        g_print("active\n");
        greenroom_app_did_draw_first_frame(app);
        g_timeout_add(1, tick, NULL);
    }
    if (event == GREENROOM_DID_ENTER_BACKGROUND) {
        g_print("background\n");
        begin_tidying(app);
    }
    if (event == GREENROOM_WILL_TERMINATE) g_print("ends\n");
}

int main(int argc, char **argv) {
    /* Work that needs neither a user nor a display can be done here, during the prewarm. */
    struct greenroom_delegate delegate = {
        .did_finish_launching = finished, .event = event, .should_save_state = should_save,
        .should_restore_state = should_restore,
    };
    struct greenroom_app *app = greenroom_app_start(&delegate, NULL, &argc, &argv);
    if (!app) return 1;
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    GSource *source = greenroom_source_new(app);
    g_source_attach(source, NULL);
    g_source_unref(source);
    g_main_loop_run(loop);
}
