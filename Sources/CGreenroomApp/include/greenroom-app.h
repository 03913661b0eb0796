/* Apps for Greenroom, in C: pause, launch options, life-cycle events, scenes, state restoration, background
 * time, scheduled work. One small library that needs libc and nothing else (pkg-config greenroom-app; the manual
 * is greenroom-app(3)).
 *
 * An app has Type=application-kit in its manifest. It does what it can before it is launched, then calls
 * greenroom_app_start(): the prewarm stops exactly there. The callbacks, their order and their rules are
 * those of UIKit's application and scene delegates; one that is NULL is not implemented and does not
 * count. Started by hand, without Greenroom, an app makes itself a launch into the foreground.
 *
 *     struct greenroom_delegate delegate = { .did_finish_launching = finished, .open_url = open_url };
 *     struct greenroom_app *app = greenroom_app_start(&delegate, NULL, &argc, &argv);
 *     greenroom_app_run(app);
 *
 * With a loop of one's own (GLib, Qt, epoll): watch greenroom_app_descriptor() for reading, and call
 * greenroom_app_process() once before the loop begins and whenever it is readable. One thread at a time.
 */
#ifndef GREENROOM_APP_H
#define GREENROOM_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GREENROOM_EXPORT __attribute__((visibility("default")))

struct greenroom_app;

enum greenroom_application_state { GREENROOM_ACTIVE, GREENROOM_INACTIVE, GREENROOM_BACKGROUND };

enum greenroom_activation_state {
    GREENROOM_UNATTACHED = -1,
    GREENROOM_FOREGROUND_ACTIVE,
    GREENROOM_FOREGROUND_INACTIVE,
    GREENROOM_SCENE_BACKGROUND
};

/* UIKit's events of the application delegate; the first five of them are those of scenes as well. */
enum greenroom_event {
    GREENROOM_WILL_ENTER_FOREGROUND = 1,
    GREENROOM_DID_BECOME_ACTIVE = 2,
    GREENROOM_WILL_RESIGN_ACTIVE = 3,
    GREENROOM_DID_ENTER_BACKGROUND = 4,
    GREENROOM_WILL_TERMINATE = 5, /* of a scene: it was disconnected */
    GREENROOM_DID_RECEIVE_MEMORY_WARNING = 6,
    GREENROOM_SIGNIFICANT_TIME_CHANGE = 7,
    GREENROOM_PROTECTED_DATA_WILL_BECOME_UNAVAILABLE = 8,
    GREENROOM_PROTECTED_DATA_DID_BECOME_AVAILABLE = 9
};

enum greenroom_reason {
    GREENROOM_REASON_USER, GREENROOM_REASON_URL, GREENROOM_REASON_QUICK_ACTION,
    GREENROOM_REASON_USER_ACTIVITY, GREENROOM_REASON_REMOTE_NOTIFICATION, GREENROOM_REASON_LOCATION,
    GREENROOM_REASON_TIMER, GREENROOM_REASON_SOCKET, GREENROOM_REASON_PATH, GREENROOM_REASON_SYSTEM,
    GREENROOM_REASON_SCHEDULED_TASK
};

/* What an app is launched for, or asked to do: `count` entries "name=value" as they travel, such as
 * "url=notes:1", "action=new-note", "activity=…", "remote-notification=…". */
struct greenroom_content {
    const char *const *entries;
    size_t count;
};

/* The value of the nth entry of that name, NULL if there are fewer. */
GREENROOM_EXPORT const char *greenroom_content_value(const struct greenroom_content *content, const char *name, size_t n);

/* Why this process runs; stays true to its end. Made by the library, which may know more one day. */
struct greenroom_launch_info {
    enum greenroom_reason reason;
    bool is_foreground, was_prewarmed;
    uint64_t requested, paused, resumed; /* CLOCK_MONOTONIC in nanoseconds, 0: not at all */
    /* The app, or this version of it, has never finished a launch here: time for its one-time setup. */
    bool is_first_launch, is_first_launch_of_version;
    const char *version; /* Version= of the manifest; NULL without */
    /* Folders of the app's own (Container=), absolute paths, NULL without: what must stay; what can be made
     * again, and may be gone at the next launch; what is removed after the app's end. */
    const char *state_directory, *cache_directory, *temporary_directory;
};

/* Where the user was: named texts and numbers, 32 KiB in all. What the user made belongs into files. The
 * library makes it, for as long as the callback runs. */
struct greenroom_state;

/* Replaces what had that name; NULL removes it. False without memory, or in an activity if `name` has a '='. */
GREENROOM_EXPORT bool greenroom_state_set(struct greenroom_state *state, const char *name, const char *value);
GREENROOM_EXPORT bool greenroom_state_set_number(struct greenroom_state *state, const char *name, int64_t value);
/* NULL (false) if there is nothing of that name, or not a text (a number). */
GREENROOM_EXPORT const char *greenroom_state_get(const struct greenroom_state *state, const char *name);
GREENROOM_EXPORT bool greenroom_state_get_number(const struct greenroom_state *state, const char *name, int64_t *value);
/* Version= when it was saved (NULL without) and when that was, in microseconds since 1970. Of an app, not of an
 * activity. */
GREENROOM_EXPORT const char *greenroom_state_version(const struct greenroom_state *state);
GREENROOM_EXPORT uint64_t greenroom_state_saved_at(const struct greenroom_state *state);
/* The file: URL that the app was launched to open, NULL without. Where a user who wants it does not want what
 * was there before as well, should_restore_state returns false. */
GREENROOM_EXPORT const char *greenroom_state_launch_document(const struct greenroom_state *state);

struct greenroom_delegate {
    void (*load_interface)(struct greenroom_app *, const char *name);
    /* `options` is NULL for an app with scenes, which finds them in its scene's connection. */
    bool (*will_finish_launching)(struct greenroom_app *, const struct greenroom_content *options);
    bool (*did_finish_launching)(struct greenroom_app *, const struct greenroom_content *options);
    void (*event)(struct greenroom_app *, enum greenroom_event event);
    bool (*open_url)(struct greenroom_app *, const char *url);
    bool (*continue_activity)(struct greenroom_app *, const char *type);
    bool (*perform_action)(struct greenroom_app *, const char *type);
    bool (*receive_remote_notification)(struct greenroom_app *, const char *payload);
    void (*discard_scene)(struct greenroom_app *, const char *session);
    void (*scene_will_connect)(struct greenroom_app *, const char *session, const struct greenroom_content *options);
    void (*scene_event)(struct greenroom_app *, const char *session, enum greenroom_event event);
    void (*scene_open_url)(struct greenroom_app *, const char *session, const char *url);
    void (*scene_continue_activity)(struct greenroom_app *, const char *session, const char *type);
    bool (*scene_perform_action)(struct greenroom_app *, const char *session, const char *type);
    /* What was put off until the launch is over. */
    void (*after_launch)(struct greenroom_app *);

    /* State restoration, of an app without scenes: should_save, will_encode, then each restorable's encode when
     * the app has left the foreground or will end in it; should_restore, each one's decode, each one's finished,
     * did_decode between will_finish_launching and did_finish_launching, or later if protected data was
     * unavailable. Not saved: what was kept before is forgotten. Not restored: it stays until the app saves. */
    bool (*should_save_state)(struct greenroom_app *, struct greenroom_state *);
    void (*will_encode_state)(struct greenroom_app *, struct greenroom_state *);
    bool (*should_restore_state)(struct greenroom_app *, const struct greenroom_state *);
    void (*did_decode_state)(struct greenroom_app *, const struct greenroom_state *);
    /* One of the archive is not registered: make and register it, or leave its state. */
    void (*make_restorable)(struct greenroom_app *, const char *identifier, const struct greenroom_state *);
    /* Of a scene: an activity, with the names type (needed), title, page, target and info.ANYTHING. It is
     * restored after scene_will_connect, unless that is to open a document. */
    bool (*scene_should_save)(struct greenroom_app *, const char *session, struct greenroom_state *activity);
    void (*scene_restore)(struct greenroom_app *, const char *session, const struct greenroom_state *activity);
};

/* Returns when the app is launched: at once if that is cold or by hand; never if it is not. `argc` and
 * `argv` (main's own, or both NULL) then are those of the launch, as are the environment, the working
 * directory, the umask and the standard descriptors. Reports only failure to get memory, by NULL.
 * For other languages: `delegate_size` is that of the delegate as they know it; it grows at its end. */
GREENROOM_EXPORT struct greenroom_app *greenroom_app_start_sized(
    const struct greenroom_delegate *delegate, size_t delegate_size, void *context, int *argc, char ***argv);

static inline struct greenroom_app *greenroom_app_start(
    const struct greenroom_delegate *delegate, void *context, int *argc, char ***argv) {
    return greenroom_app_start_sized(delegate, sizeof *delegate, context, argc, argv);
}

/* Runs the app to its end. */
GREENROOM_EXPORT void greenroom_app_run(struct greenroom_app *app) __attribute__((noreturn));

/* Readable when greenroom_app_process() has something to do; -1 without Greenroom. */
GREENROOM_EXPORT int greenroom_app_descriptor(const struct greenroom_app *app);
GREENROOM_EXPORT void greenroom_app_process(struct greenroom_app *app);

GREENROOM_EXPORT void *greenroom_app_context(const struct greenroom_app *app);
/* Lives as long as the app. */
GREENROOM_EXPORT const struct greenroom_launch_info *greenroom_app_launch_info(const struct greenroom_app *app);
/* With scenes the aggregate of theirs. */
GREENROOM_EXPORT enum greenroom_application_state greenroom_app_state(const struct greenroom_app *app);
/* GREENROOM_UNATTACHED for a session that is not connected. */
GREENROOM_EXPORT enum greenroom_activation_state greenroom_app_scene_state(const struct greenroom_app *app, const char *session);
GREENROOM_EXPORT bool greenroom_app_protected_data_is_available(const struct greenroom_app *app);
/* A credential that the manifest names: its bytes, and in *size their number. They are in memory that stays as it is for
 * as long as the process. NULL with errno: EAGAIN while protected data is unavailable, or could not be read since, and
 * ENOENT if there is none of that name, which is not the same. */
GREENROOM_EXPORT const void *greenroom_app_credential(const struct greenroom_app *app, const char *name, size_t *size);

/* The user sees the app. Once per launch or return to the foreground. */
GREENROOM_EXPORT void greenroom_app_did_draw_first_frame(struct greenroom_app *app);
/* Work that the user waits for and that is not over with the first draw: the launch is measured until it is done
 * too. By a name of the app's own, 128 bytes at most, and 16 at once, before the app has drawn or is active; false
 * otherwise, or if it has begun (is not begun). */
GREENROOM_EXPORT bool greenroom_app_extend_launch_measurement(struct greenroom_app *app, const char *task);
GREENROOM_EXPORT bool greenroom_app_finish_launch_measurement(struct greenroom_app *app, const char *task);
/* Asks for a scene to appear (NULL: a new one), or to go. The effect comes as events. */
GREENROOM_EXPORT void greenroom_app_activate_scene(struct greenroom_app *app, const char *session);
GREENROOM_EXPORT void greenroom_app_destroy_scene(struct greenroom_app *app, const char *session);

/* --- State restoration. */

/* An object that is saved and restored with the app. Each may be NULL. */
struct greenroom_restorable {
    void (*encode)(struct greenroom_app *, void *object, struct greenroom_state *);
    void (*decode)(struct greenroom_app *, void *object, const struct greenroom_state *);
    void (*finished)(struct greenroom_app *, void *object); /* every one has been decoded */
};

/* Takes the place of another of that identifier; `callbacks` NULL removes it. They are copied, `object` is not.
 * False without memory. */
GREENROOM_EXPORT bool greenroom_app_register_restorable(
    struct greenroom_app *app, const char *identifier, const struct greenroom_restorable *callbacks, void *object);
/* What a scene saved last, NULL if there is nothing or while protected data is unavailable. Until the next
 * events are processed. */
GREENROOM_EXPORT const struct greenroom_state *greenroom_app_scene_activity(const struct greenroom_app *app, const char *session);
/* What was handed over is not restored when the callbacks return, until `complete` was called as many times.
 * If the app fails before that, the state is deleted; nothing is saved over it. `session` NULL: the app's. */
GREENROOM_EXPORT void greenroom_app_extend_state_restoration(struct greenroom_app *app, const char *session);
GREENROOM_EXPORT void greenroom_app_complete_state_restoration(struct greenroom_app *app, const char *session);

/* --- Background time. */

/* The time of this task, or run, is about to end: end it now. Called once. */
typedef void greenroom_task_expired(struct greenroom_app *, uint64_t task, void *context);

/* Work that goes on in the background for a while, until it is ended. `name` is for people, and may be NULL as
 * `expired` may. 0 if there is no time (it is about to end) or 64 are open. An app whose tasks have not ended
 * when the time is over is killed. */
GREENROOM_EXPORT uint64_t greenroom_app_begin_background_task(
    struct greenroom_app *app, const char *name, greenroom_task_expired *expired, void *context);
GREENROOM_EXPORT void greenroom_app_end_background_task(struct greenroom_app *app, uint64_t task);
/* Nanoseconds; UINT64_MAX: there is no limit. While a task is open. */
GREENROOM_EXPORT uint64_t greenroom_app_background_time_remaining(const struct greenroom_app *app);

/* --- Scheduled work: what is asked for now and run later, when the app need not be running any more. */

enum greenroom_task_kind {
    GREENROOM_APP_REFRESH, /* short, to bring what is shown up to date */
    GREENROOM_PROCESSING   /* minutes of work, while nobody uses the machine */
};

/* One run. */
struct greenroom_task {
    uint64_t number; /* never 0, and used once */
    const char *identifier;
    enum greenroom_task_kind kind;
    uint64_t deadline; /* CLOCK_MONOTONIC in nanoseconds; its expiration comes before */
};

/* Begins the run: returns soon. `task` is there until the callback returns. */
typedef void greenroom_task_handler(struct greenroom_app *, const struct greenroom_task *task, void *context);

/* What runs for that identifier, one of the manifest's ScheduledTasks=. Once each, before the launch is over: in
 * did_finish_launching at the latest. False if it is not so, or without memory. */
GREENROOM_EXPORT bool greenroom_app_register_task(
    struct greenroom_app *app, const char *identifier, greenroom_task_handler *handler, void *context);
/* Of a run that is not completed. A run without `expired` is completed without success when it expires. */
GREENROOM_EXPORT void greenroom_app_set_task_expiration(
    struct greenroom_app *app, uint64_t number, greenroom_task_expired *expired, void *context);
/* Once per run; anything else does nothing. */
GREENROOM_EXPORT void greenroom_app_complete_task(struct greenroom_app *app, uint64_t number, bool success);

struct greenroom_task_request {
    const char *identifier;
    enum greenroom_task_kind kind;
    uint64_t earliest_begin; /* microseconds since 1970, UTC; 0: at any time */
    bool requires_external_power, requires_network;
};

/* `error`: 0, or EPERM (the manifest does not name it), EDQUOT (one refresh and ten processing requests may be
 * pending), EOPNOTSUPP (the app cannot run in the background), ENOTCONN (no daemon), EAGAIN (256 wait for their
 * answers), ENOMEM, and why, for people. */
typedef void greenroom_answered(struct greenroom_app *, int error, const char *reason, void *context);
/* `requests` are there until the callback returns. `error`: 0, ENOTCONN, EAGAIN or ENOMEM. */
typedef void greenroom_tasks_listed(
    struct greenroom_app *, int error, const struct greenroom_task_request *requests, size_t count, void *context);

/* Takes the place of a pending request of that identifier. `answered` may be NULL; it is called from
 * greenroom_app_process(), or at once without a daemon. */
GREENROOM_EXPORT void greenroom_app_submit_task(
    struct greenroom_app *app, const struct greenroom_task_request *request, greenroom_answered *answered, void *context);
GREENROOM_EXPORT void greenroom_app_list_tasks(struct greenroom_app *app, greenroom_tasks_listed *listed, void *context);
/* What has begun goes on. `identifier` NULL: all of them. */
GREENROOM_EXPORT void greenroom_app_cancel_task(struct greenroom_app *app, const char *identifier);

#ifdef __cplusplus
}
#endif
#endif
