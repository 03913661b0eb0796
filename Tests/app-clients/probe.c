/* An app that writes down every callback, in the words of probe.py. PROBE_LOG names the file. */
#include "greenroom-app.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int before_count;
static char before_prewarm[8], before_word[64];
static int argument_count;
static char **arguments;

/* Each line is whole: one write to a file opened for appending. */
static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...) {
    char line[1024];
    va_list values;
    va_start(values, format);
    int size = vsnprintf(line, sizeof line - 1, format, values);
    va_end(values);
    line[size++] = '\n';
    const char *path = getenv("PROBE_LOG");
    int log = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0644) : -1;
    if (log < 0 || write(log, line, (size_t)size) != size) abort();
    close(log);
}

static const char *state(const struct greenroom_app *app) {
    static const char *const names[] = {"ACTIVE", "INACTIVE", "BACKGROUND"};
    return names[greenroom_app_state(app)];
}

static const char *activation(const struct greenroom_app *app, const char *session) {
    static const char *const names[] = {"UNATTACHED", "FOREGROUND_ACTIVE", "FOREGROUND_INACTIVE", "BACKGROUND"};
    return names[greenroom_app_scene_state(app, session) + 1];
}

static const char *names_of(const struct greenroom_content *options) {
    if (!options) return "None";
    if (greenroom_content_value(options, "requested", 0)) return "requested";
    return greenroom_content_value(options, "url", 0) ? "['urls']" : "[]";
}

static const char *or_none(const char *text) { return text ? text : "None"; }

static bool will_finish(struct greenroom_app *app, const struct greenroom_content *options) {
    note("will %s %s", state(app), names_of(options));
    return true;
}

static bool did_finish(struct greenroom_app *app, const struct greenroom_content *options) {
    (void)options;
    static const char *const reasons[] = {"USER", "URL", "QUICK_ACTION"};
    if (getenv("PROBE_SLOW")) usleep(260000);
    struct greenroom_launch_info info = greenroom_app_launch_info(app);
    char words[512] = "[";
    for (int i = 1; i < argument_count; i++) {
        if (i > 1) strcat(words, ", ");
        strcat(strcat(strcat(words, "'"), arguments[i]), "'");
    }
    note("did %s %s %s] %s %s before %d %s %s", reasons[info.reason], info.was_prewarmed ? "prewarmed" : "cold",
        words, or_none(getenv("PROBE_WORD")), or_none(getenv("ActivePrewarm")), before_count, before_prewarm,
        before_word);
    return true;
}

static const char *secret(struct greenroom_app *app) {
    static char text[64];
    int directory = greenroom_app_credentials(app);
    if (directory < 0) return greenroom_app_protected_data_is_available(app) ? "None" : "unavailable";
    int file = openat(directory, "token", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[size > 0 ? size : 0] = 0;
    return text;
}

static void event(struct greenroom_app *app, enum greenroom_event which) {
    static const char *const names[] = {"", "will_enter_foreground", "did_become_active", "will_resign_active",
        "did_enter_background", "will_terminate", "did_receive_memory_warning", "significant_time_change",
        "protected_data_will_become_unavailable", "protected_data_did_become_available"};
    bool is_about_data = which >= GREENROOM_PROTECTED_DATA_WILL_BECOME_UNAVAILABLE;
    note("%s %s%s%s", names[which], state(app), is_about_data ? " " : "", is_about_data ? secret(app) : "");
    bool is_flooding = which == GREENROOM_DID_BECOME_ACTIVE && getenv("PROBE_FLOOD");
    for (int i = 0; is_flooding && i < 20000; i++) greenroom_app_did_draw_first_frame(app);
}

static void scene_event(struct greenroom_app *app, const char *session, enum greenroom_event which) {
    static const char *const names[] = {"", "will_enter_foreground", "did_become_active", "will_resign_active",
        "did_enter_background", "did_disconnect"};
    note("scene %s %s %s", names[which], activation(app, session), state(app));
}

static void scene_will_connect(struct greenroom_app *app, const char *session, const struct greenroom_content *options) {
    note("scene will_connect %s %s", activation(app, session), names_of(options));
}

static bool open_url(struct greenroom_app *app, const char *url) {
    (void)app;
    note("open %s", url);
    return true;
}

static bool perform_action(struct greenroom_app *app, const char *type) {
    (void)app;
    note("action %s", type);
    return true;
}

static void after_launch(struct greenroom_app *app) { note("after launch %s", state(app)); }

int main(int argc, char **argv) {
    before_count = argc;
    snprintf(before_prewarm, sizeof before_prewarm, "%s", or_none(getenv("ActivePrewarm")));
    snprintf(before_word, sizeof before_word, "%s", or_none(getenv("PROBE_WORD")));
    struct greenroom_delegate delegate = {
        .will_finish_launching = will_finish, .did_finish_launching = did_finish, .event = event,
        .open_url = open_url, .perform_action = perform_action, .scene_will_connect = scene_will_connect,
        .scene_event = scene_event, .after_launch = after_launch,
    };
    struct greenroom_app *app = greenroom_app_start(&delegate, NULL, &argc, &argv);
    if (!app) return 1;
    argument_count = argc;
    arguments = argv;
    greenroom_app_run(app);
}
