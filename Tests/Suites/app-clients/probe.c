/* An app that writes down every callback, in the same words as probe.py. PROBE_LOG names the file. */
#include "greenroom-app.h"

#include <errno.h>
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
    if (size < 0 || size >= (int)sizeof line - 1) abort();
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
    static char names[256];
    if (!options) return "None";
    strcpy(names, "[");
    for (size_t i = 0; i < options->count; i++) {
        const char *entry = options->entries[i];
        size_t length = strcspn(entry, "=");
        if (memchr(entry, '.', length)) continue;
        bool is_url = length == 3 && strncmp(entry, "url", 3) == 0;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used - 1, "%s'%.*s'", used > 1 ? ", " : "",
            is_url ? 4 : (int)length, is_url ? "urls" : entry);
    }
    return strcat(names, "]");
}

static const char *or_none(const char *text) { return text ? text : "None"; }

/* --- What is saved and restored. */

struct document {
    const char *name;
    int64_t page;
};

static struct document document = {"document", 7}, made_document;

static void encode(struct greenroom_app *app, void *object, struct greenroom_state *to) {
    struct document *one = object;
    (void)app;
    note("encode %s", one->name);
    greenroom_state_set_number(to, "page", one->page);
}

static void decode(struct greenroom_app *app, void *object, const struct greenroom_state *from) {
    struct document *one = object;
    (void)app;
    greenroom_state_get_number(from, "page", &one->page);
    note("decode %s %d", one->name, (int)one->page);
}

static void finished(struct greenroom_app *app, void *object) {
    (void)app;
    note("finished %s", ((struct document *)object)->name);
}

static const struct greenroom_restorable restorable = {encode, decode, finished};

static bool is_state(const char *what) {
    const char *value = getenv("PROBE_STATE");
    return value && strcmp(value, what) == 0;
}

static bool should_save(struct greenroom_app *app, struct greenroom_state *to) {
    static char large[40001];
    (void)app;
    note("should save");
    greenroom_state_set(to, "where", "a/b=c%");
    if (is_state("large")) greenroom_state_set(to, "large", memset(large, 'x', sizeof large - 1));
    return !is_state("no");
}

static void will_encode(struct greenroom_app *app, struct greenroom_state *to) {
    (void)app;
    note("will encode");
    greenroom_state_set_number(to, "line", 42);
}

static bool should_restore(struct greenroom_app *app, const struct greenroom_state *from) {
    (void)app;
    const char *version = greenroom_state_version(from), *opened = greenroom_state_launch_document(from);
    note("should restore %s %llu %s", version ? version : "None",
        (unsigned long long)greenroom_state_saved_at(from), opened ? opened : "None");
    return !is_state("no");
}

static void make_restorable(struct greenroom_app *app, const char *identifier, const struct greenroom_state *from) {
    (void)from;
    note("make %s", identifier);
    made_document.name = strdup(identifier);
    greenroom_app_register_restorable(app, identifier, &restorable, &made_document);
}

static void did_decode(struct greenroom_app *app, const struct greenroom_state *from) {
    int64_t line = 0;
    greenroom_state_get_number(from, "line", &line);
    const char *where = greenroom_state_get(from, "where");
    note("did decode %s %d %s", where ? where : "None", (int)line, greenroom_state_get(from, "missing") ? "True" : "False");
    if (is_state("extend")) greenroom_app_extend_state_restoration(app, NULL);
}

static bool scene_should_save(struct greenroom_app *app, const char *session, struct greenroom_state *activity) {
    (void)app;
    (void)session;
    note("scene should save");
    greenroom_state_set(activity, "title", "Reading");
    greenroom_state_set(activity, "info.page", "9");
    greenroom_state_set(activity, "type", "org.example.reading");
    return !is_state("no");
}

static void scene_restore(struct greenroom_app *app, const char *session, const struct greenroom_state *activity) {
    (void)app;
    (void)session;
    note("scene restore %s %s %s", greenroom_state_get(activity, "type"), greenroom_state_get(activity, "title"),
        greenroom_state_get(activity, "info.page"));
}

/* --- Background time and scheduled work. */

static uint64_t begun[8], running;
static size_t begun_count;

static const char *limit(struct greenroom_app *app) {
    uint64_t remaining = greenroom_app_background_time_remaining(app);
    return remaining == UINT64_MAX ? "unlimited" : remaining > 0 ? "limited" : "over";
}

static void expires(struct greenroom_app *app, uint64_t task, void *ends) {
    note("expires %d", (int)task);
    if (ends) greenroom_app_end_background_task(app, task);
}

static void begin(struct greenroom_app *app, bool ends) {
    uint64_t task = greenroom_app_begin_background_task(app, "work", expires, ends ? begun : NULL);
    note("began %d %s", (int)task, limit(app));
    if (begun_count == sizeof begun / sizeof *begun) abort();
    begun[begun_count++] = task;
}

static void note_run(const struct greenroom_task *task, const char *deadline) {
    note("run %s %s %llu%s", task->identifier, task->kind == GREENROOM_PROCESSING ? "PROCESSING" : "APP_REFRESH",
        (unsigned long long)task->number, deadline);
}

static void refresh(struct greenroom_app *app, const struct greenroom_task *task, void *context) {
    (void)context;
    char deadline[32];
    snprintf(deadline, sizeof deadline, " %llu", (unsigned long long)task->deadline);
    note_run(task, deadline);
    greenroom_app_complete_task(app, task->number, true);
}

static void run_expires(struct greenroom_app *app, uint64_t number, void *identifier) {
    note("expired %s", (const char *)identifier);
    greenroom_app_complete_task(app, number, false);
}

static void process(struct greenroom_app *app, const struct greenroom_task *task, void *context) {
    (void)context;
    note_run(task, "");
    running = task->number;
    greenroom_app_set_task_expiration(app, running, run_expires, "process");
}

static void leave(struct greenroom_app *app, const struct greenroom_task *task, void *context) {
    (void)app;
    (void)context;
    note_run(task, "");
}

static void submitted(struct greenroom_app *app, int error, const char *reason, void *context) {
    (void)app;
    (void)context;
    note("submitted %s", error ? reason : "None");
}

static void refused(struct greenroom_app *app, int error, const char *reason, void *context) {
    (void)app;
    (void)context;
    (void)reason;
    note("submitted %s", error ? "False" : "True");
}

static void listed(
    struct greenroom_app *app, int error, const struct greenroom_task_request *requests, size_t count, void *context
) {
    (void)app;
    (void)context;
    (void)error;
    for (size_t i = 0; i < count; i++)
        note("pending %s %d %llu %d %d", requests[i].identifier, (int)requests[i].kind,
            (unsigned long long)requests[i].earliest_begin / 1000000, requests[i].requires_external_power,
            requests[i].requires_network);
    note("listed %d", (int)count);
}

static const char *secret(struct greenroom_app *app) {
    static char text[64];
    size_t size;
    const char *value = greenroom_app_credential(app, "token", &size);
    if (!value) return errno == ENOENT ? "None" : errno == EAGAIN ? "unavailable" : "unreadable";
    (void)snprintf(text, sizeof text, "%.*s", (int)size, value);
    return text;
}

static const char *const reasons[] = {"USER", "URL", "QUICK_ACTION", "USER_ACTIVITY", "REMOTE_NOTIFICATION",
    "LOCATION", "TIMER", "SOCKET", "PATH", "SYSTEM", "SCHEDULED_TASK"};

static void obey(struct greenroom_app *app, const char *word) {
    if (strcmp(word, "begin") == 0) begin(app, true);
    if (strcmp(word, "keep") == 0) begin(app, false);
    if (strcmp(word, "end") == 0) {
        if (begun_count == 0) abort();
        greenroom_app_end_background_task(app, begun[--begun_count]);
        note("ended");
    }
    if (strcmp(word, "secret") == 0) note("secret %s", secret(app));
    if (strcmp(word, "reason") == 0) note("reason %s", reasons[greenroom_app_launch_info(app)->reason]);
    if (strcmp(word, "time") == 0) note("time %s", limit(app));
    if (strcmp(word, "submit") == 0)
        greenroom_app_submit_task(app, &(struct greenroom_task_request){.identifier = "refresh"}, submitted, NULL);
    if (strcmp(word, "plan") == 0)
        greenroom_app_submit_task(app, &(struct greenroom_task_request){
            "process", GREENROOM_PROCESSING, 4102444800000000, true, true}, submitted, NULL);
    if (strcmp(word, "wrong") == 0)
        greenroom_app_submit_task(app, &(struct greenroom_task_request){.identifier = "wrong"}, refused, NULL);
    if (strcmp(word, "list") == 0) greenroom_app_list_tasks(app, listed, NULL);
    if (strcmp(word, "cancel") == 0) {
        greenroom_app_cancel_task(app, "process");
        greenroom_app_cancel_task(app, NULL);
        note("cancelled");
    }
    if (strcmp(word, "complete") == 0) {
        greenroom_app_complete_task(app, running, true);
        note("completed");
    }
    if (strcmp(word, "measured") == 0) {
        for (int i = 0; i < 2; i++) note("measured%s", greenroom_app_finish_launch_measurement(app, "page") ? "" : " not");
        if (!greenroom_app_extend_launch_measurement(app, "late")) note("late");
    }
    if (strcmp(word, "restored") == 0) {
        greenroom_app_complete_state_restoration(app, NULL);
        note("restored");
    }
}

/* --- The delegate. */

static bool will_finish(struct greenroom_app *app, const struct greenroom_content *options) {
    note("will %s %s", state(app), names_of(options));
    greenroom_app_register_restorable(app, "document", &restorable, &document);
    greenroom_app_register_task(app, "refresh", refresh, NULL);
    greenroom_app_register_task(app, "process", process, NULL);
    greenroom_app_register_task(app, "leave", leave, NULL);
    for (int i = 0; getenv("PROBE_MEASURE") && i < 2; i++)
        note("extends%s", greenroom_app_extend_launch_measurement(app, "page") ? "" : " not");
    return true;
}

static bool did_finish(struct greenroom_app *app, const struct greenroom_content *options) {
    (void)options;
    if (getenv("PROBE_SLOW")) usleep(260000);
    const struct greenroom_launch_info *info = greenroom_app_launch_info(app);
    char words[512] = "[";
    size_t used = 1;
    for (int i = 1; i < argument_count; i++) {
        int size = snprintf(words + used, sizeof words - used, "%s'%s'", i > 1 ? ", " : "", arguments[i]);
        if (size < 0 || (size_t)size >= sizeof words - used) abort();
        used += (size_t)size;
    }
    note("did %s %s %s] %s %s before %d %s %s", reasons[info->reason], info->was_prewarmed ? "prewarmed" : "cold",
        words, or_none(getenv("PROBE_WORD")), or_none(getenv("ActivePrewarm")), before_count, before_prewarm,
        before_word);
    if (getenv("PROBE_SETUP")) {
        note("setup %d %d %s %s %s %s", info->is_first_launch, info->is_first_launch_of_version,
            or_none(info->version), or_none(info->state_directory), info->cache_directory ? info->cache_directory : "",
            info->temporary_directory ? info->temporary_directory : "");
    }
    return true;
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
    const struct greenroom_state *kept = greenroom_app_scene_activity(app, session);
    note("scene will_connect %s %s%s%s", activation(app, session), names_of(options), kept ? " " : "",
        kept ? greenroom_state_get(kept, "type") : "");
}

static bool open_url(struct greenroom_app *app, const char *url) {
    const char *source = greenroom_content_value(greenroom_app_delivered(app), "url.source", 0);
    bool says_source = getenv("PROBE_SOURCE");
    note("open %s%s%s", url, says_source ? " from " : "", says_source ? or_none(source) : "");
    const char *colon = strchr(url, ':');
    if (colon) obey(app, colon + 1);
    return true;
}

static bool perform_action(struct greenroom_app *app, const char *type) {
    (void)app;
    note("action %s", type);
    return true;
}

static bool receive_local_notification(struct greenroom_app *app, const char *payload) {
    (void)app;
    note("local notification %s", payload);
    return true;
}

static bool accept_share(struct greenroom_app *app, const char *metadata) {
    (void)app;
    note("share %s", metadata);
    return true;
}

static bool scene_accept_share(struct greenroom_app *app, const char *session, const char *metadata) {
    (void)app;
    (void)session;
    note("scene share %s", metadata);
    return true;
}

static bool receive_remote_notification(struct greenroom_app *app, const char *payload) {
    const struct greenroom_content *all = greenroom_app_delivered(app);
    note("notification %s %s", payload, or_none(greenroom_content_value(all, "notification-response", 0)));
    return true;
}

static void handle_events(
    struct greenroom_app *app, enum greenroom_reason reason, const struct greenroom_content *options
) {
    note("events %s %s %s", reasons[reason], names_of(options), reasons[greenroom_app_launch_info(app)->reason]);
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
        .receive_remote_notification = receive_remote_notification, .handle_events = handle_events,
        .receive_local_notification = receive_local_notification,
        .accept_share = accept_share, .scene_accept_share = scene_accept_share,
    };
    if (getenv("PROBE_STATE")) {
        delegate.should_save_state = should_save;
        delegate.will_encode_state = will_encode;
        delegate.should_restore_state = should_restore;
        delegate.did_decode_state = did_decode;
        delegate.make_restorable = make_restorable;
        delegate.scene_should_save = scene_should_save;
        delegate.scene_restore = scene_restore;
    }
    struct greenroom_app *app = greenroom_app_start(&delegate, NULL, &argc, &argv);
    if (!app) return 1;
    argument_count = argc;
    arguments = argv;
    greenroom_app_run(app);
}
