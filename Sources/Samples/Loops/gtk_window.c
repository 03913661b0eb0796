/* An app in C with a window of GTK 4. Debian: libgtk-4-dev.
 *
 *     cc gtk_window.c -o gtk-window $(pkg-config --cflags --libs gtk4 greenroom-app)
 */
#include "greenroom_source.h"

#include <gtk/gtk.h>

static GtkWidget *window;
static bool is_drawn = true; /* whether a frame has been drawn since the app became active */

/* The frame is on its way to the screen. */
static void painted(GdkFrameClock *clock, gpointer app) {
    (void)clock;
    if (is_drawn) return;
    is_drawn = true;
    g_print("drawn\n");
    greenroom_app_did_draw_first_frame(app);
}

static void realized(GtkWidget *widget, gpointer app) {
    g_signal_connect(gtk_widget_get_frame_clock(widget), "after-paint", G_CALLBACK(painted), app);
}

static bool finished(struct greenroom_app *app, const struct greenroom_content *options) {
    (void)options;
    g_print("launched %s\n", greenroom_app_launch_info(app)->was_prewarmed ? "prewarmed" : "cold");
    /* Nothing that needs a display is made before the launch. */
    if (!gtk_init_check()) {
        g_printerr("no display\n");
        exit(1);
    }
    window = gtk_window_new();
    gtk_window_set_title(GTK_WINDOW(window), "Greenroom");
    gtk_window_set_default_size(GTK_WINDOW(window), 320, 200);
    gtk_window_set_decorated(GTK_WINDOW(window), FALSE);
    gtk_window_set_child(GTK_WINDOW(window), gtk_label_new("Hello from Greenroom"));
    g_signal_connect(window, "realize", G_CALLBACK(realized), app);
    return true;
}

static gboolean tick(gpointer data) {
    (void)data;
    g_print("tick\n");
    return G_SOURCE_REMOVE;
}

static void event(struct greenroom_app *app, enum greenroom_event event) {
    (void)app;
    if (event == GREENROOM_DID_BECOME_ACTIVE) {
        g_print("active\n");
        is_drawn = false;
        gtk_window_present(GTK_WINDOW(window));
        g_timeout_add(1, tick, NULL);
    }
    if (event == GREENROOM_DID_ENTER_BACKGROUND) {
        g_print("background\n");
        gtk_widget_set_visible(window, FALSE);
    }
    if (event == GREENROOM_WILL_TERMINATE) g_print("ends\n");
}

int main(int argc, char **argv) {
    struct greenroom_delegate delegate = {.did_finish_launching = finished, .event = event};
    struct greenroom_app *app = greenroom_app_start(&delegate, NULL, &argc, &argv);
    if (!app) return 1;
    GSource *source = greenroom_source_new(app);
    g_source_attach(source, NULL);
    g_source_unref(source);
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    g_main_loop_run(loop);
}
