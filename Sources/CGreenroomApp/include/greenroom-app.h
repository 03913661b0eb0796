/* Apps for Greenroom, in C: pause, launch options, life-cycle events, scenes, state restoration, background
 * time, scheduled work. The library needs only libc (pkg-config greenroom-app). Its manual is greenroom-app(3).
 *
 * An app has Type=application-kit in its manifest. It does what it can do before its launch, and then calls
 * greenroom_app_start(): the prewarm stops exactly there. The callbacks, their order and their rules are
 * those of UIKit's application and scene delegates. A callback that is NULL is not called, and does not
 * count. An app that is started by hand, without Greenroom, behaves as if it had been launched into the
 * foreground.
 *
 *     struct greenroom_delegate delegate = { .did_finish_launching = finished, .open_url = open_url };
 *     struct greenroom_app *app = greenroom_app_start(&delegate, NULL, &argc, &argv);
 *     greenroom_app_run(app);
 *
  * An app with its own event loop (GLib, Qt, epoll) watches greenroom_app_descriptor() for reading, and calls
  * greenroom_app_process() once before the loop begins and whenever the descriptor is readable. Call all functions
  * on one thread.
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

/* UIKit's events of the application delegate. Scenes have the first five too. */
enum greenroom_event {
    GREENROOM_WILL_ENTER_FOREGROUND = 1,
    GREENROOM_DID_BECOME_ACTIVE = 2,
    GREENROOM_WILL_RESIGN_ACTIVE = 3,
    GREENROOM_DID_ENTER_BACKGROUND = 4,
    GREENROOM_WILL_TERMINATE = 5, /* for a scene: it was disconnected */
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

/* What an app is launched for, or asked to do: `count` entries "name=value", as the app channel carries them, such
 * as "url=notes:1", "action=new-note", "activity=…", "remote-notification=…". */
struct greenroom_content {
    const char *const *entries;
    size_t count;
};

/* The value of the nth entry (from 0) of that name; NULL if there are fewer. */
GREENROOM_EXPORT const char *greenroom_content_value(const struct greenroom_content *content, const char *name, size_t n);

/* Everything that came with the URL, activity, action or notification that the current callback handles, such
 * as url.source, activity.title, action.info.NAME, or notification-response, the identifier of what the user
 * chose on a notification. NULL outside those callbacks. */
GREENROOM_EXPORT const struct greenroom_content *greenroom_app_delivered(const struct greenroom_app *app);

/* Why the app was launched. The library makes it; later versions may add members at its end. */
struct greenroom_launch_info {
    enum greenroom_reason reason; /* the latest, if the app was wanted again while it ran or was suspended */
    bool is_foreground, was_prewarmed;
    uint64_t requested, paused, resumed; /* CLOCK_MONOTONIC in nanoseconds; 0 if it did not happen */
    /* No launch of the app, or of this version, has ever finished here: the time for one-time setup. */
    bool is_first_launch, is_first_launch_of_version;
    const char *version; /* Version= in the manifest, or NULL */
    /* The app's own folders (Container=) as absolute paths, or NULL: for files that must stay; for files that the app
     * can make again, and that may be gone at the next launch; for files that are removed after the app has ended. */
    const char *state_directory, *cache_directory, *temporary_directory;
};

/* Says where the user was, as named texts and numbers with at most 32 KiB in all. (What the user created belongs
 * in files.) The library creates it for the duration of a callback. */
struct greenroom_state;

/* Sets the value of a name; NULL removes it. Returns false if there is no memory, or in an activity if `name` has a
 * '='. */
GREENROOM_EXPORT bool greenroom_state_set(struct greenroom_state *state, const char *name, const char *value);
GREENROOM_EXPORT bool greenroom_state_set_number(struct greenroom_state *state, const char *name, int64_t value);
/* The value of a name. NULL (or false) if there is none, or if it is not a text (or a number). */
GREENROOM_EXPORT const char *greenroom_state_get(const struct greenroom_state *state, const char *name);
GREENROOM_EXPORT bool greenroom_state_get_number(const struct greenroom_state *state, const char *name, int64_t *value);
/* The app's Version= when the state was saved, or NULL, and the time at which it was saved, in microseconds since
 * 1970. Only for the state of an app, not for an activity. */
GREENROOM_EXPORT const char *greenroom_state_version(const struct greenroom_state *state);
GREENROOM_EXPORT uint64_t greenroom_state_saved_at(const struct greenroom_state *state);
/* The file: URL that the app was launched to open, or NULL. If that document should be shown without the
 * earlier state, should_restore_state can return false. */
GREENROOM_EXPORT const char *greenroom_state_launch_document(const struct greenroom_state *state);

struct greenroom_delegate {
    void (*load_interface)(struct greenroom_app *, const char *name);
    /* `options` is NULL for an app with scenes, which gets them when its scene is connected. */
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
    /* The launch is over. The app can now do work that it has put off. */
    void (*after_launch)(struct greenroom_app *);

    /* State restoration of an app without scenes. When the app has left the foreground, or is about to end while in
     * it, the library calls should_save, will_encode and each restorable's encode. Between will_finish_launching and
     * did_finish_launching, or later if protected data was unavailable, it calls should_restore, each restorable's
     * decode, each one's finished, and did_decode. If should_save returns false, the state that was saved before is
     * deleted. If should_restore returns false, that state stays until the app saves again. */
    bool (*should_save_state)(struct greenroom_app *, struct greenroom_state *);
    void (*will_encode_state)(struct greenroom_app *, struct greenroom_state *);
    bool (*should_restore_state)(struct greenroom_app *, const struct greenroom_state *);
    void (*did_decode_state)(struct greenroom_app *, const struct greenroom_state *);
    /* An object of the archive is not registered. Make and register it, or ignore its state. */
    void (*make_restorable)(struct greenroom_app *, const char *identifier, const struct greenroom_state *);
    /* The state of a scene is an activity, with the names type (required), title, page, target and info.ANYTHING. It
     * is restored after scene_will_connect, unless the scene is connected to open a document. */
    bool (*scene_should_save)(struct greenroom_app *, const char *session, struct greenroom_state *activity);
    void (*scene_restore)(struct greenroom_app *, const char *session, const struct greenroom_state *activity);

    /* Events of the system wait for the app, which was already running or was suspended: LOCATION, TIMER,
     * SOCKET, PATH or SYSTEM. From now on this is the reason in the launch information. `options` are what a
     * launch would bring. */
    void (*handle_events)(struct greenroom_app *, enum greenroom_reason reason, const struct greenroom_content *options);
    /* The user has opened a local notification, or accepted a share, for which the app comes to the foreground. A
     * share goes to the scene used last if one is connected. */
    bool (*receive_local_notification)(struct greenroom_app *, const char *payload);
    bool (*accept_share)(struct greenroom_app *, const char *metadata);
    bool (*scene_accept_share)(struct greenroom_app *, const char *session, const char *metadata);
};

/* Returns when the app is launched: at once if the launch is cold or by hand, and never if the app is not launched.
 * After the call, `argc` and `argv` (main's own, or both NULL) are those of the launch, and so are the environment,
 * the working directory, the umask and the standard descriptors. Returns NULL if there is no memory.
 * For bindings to other languages, `delegate_size` is the size of the delegate that the binding knows; later versions
 * add members at its end. */
GREENROOM_EXPORT struct greenroom_app *greenroom_app_start_sized(
    const struct greenroom_delegate *delegate, size_t delegate_size, void *context, int *argc, char ***argv);

static inline struct greenroom_app *greenroom_app_start(
    const struct greenroom_delegate *delegate, void *context, int *argc, char ***argv) {
    return greenroom_app_start_sized(delegate, sizeof *delegate, context, argc, argv);
}

/* Runs the app until it ends. */
GREENROOM_EXPORT void greenroom_app_run(struct greenroom_app *app) __attribute__((noreturn));

/* A descriptor that is readable when greenroom_app_process() has something to do; -1 in an app that is run by hand,
 * and after the daemon has closed the channel. */
GREENROOM_EXPORT int greenroom_app_descriptor(const struct greenroom_app *app);
GREENROOM_EXPORT void greenroom_app_process(struct greenroom_app *app);

GREENROOM_EXPORT void *greenroom_app_context(const struct greenroom_app *app);
/* Lives as long as the app. */
GREENROOM_EXPORT const struct greenroom_launch_info *greenroom_app_launch_info(const struct greenroom_app *app);
/* For an app with scenes, the aggregate of their states. */
GREENROOM_EXPORT enum greenroom_application_state greenroom_app_state(const struct greenroom_app *app);
/* GREENROOM_UNATTACHED for a session that is not connected. */
GREENROOM_EXPORT enum greenroom_activation_state greenroom_app_scene_state(const struct greenroom_app *app, const char *session);
GREENROOM_EXPORT bool greenroom_app_protected_data_is_available(const struct greenroom_app *app);
/* The bytes of a credential that the manifest names, and in *size their number. They stay in memory, unchanged, as
 * long as the process exists. On failure, NULL with errno: EAGAIN while protected data is unavailable, or if the daemon
 * has not been able to read it since; ENOENT if there is no credential of that name. */
GREENROOM_EXPORT const void *greenroom_app_credential(const struct greenroom_app *app, const char *name, size_t *size);

/* Reports that the user sees the app now. Call it once for each launch or return to the foreground. */
GREENROOM_EXPORT void greenroom_app_did_draw_first_frame(struct greenroom_app *app);
/* Begins and finishes work for which the user waits and which goes on after the first draw. The measured launch
 * ends when this work is finished too. The app chooses the name, of at most 128 bytes. Beginning returns false
 * if the task has begun already, if 16 are under way, or if the app has drawn or is active; finishing, if the
 * task has not begun. */
GREENROOM_EXPORT bool greenroom_app_extend_launch_measurement(struct greenroom_app *app, const char *task);
GREENROOM_EXPORT bool greenroom_app_finish_launch_measurement(struct greenroom_app *app, const char *task);
/* Asks for a scene to be brought to the foreground (NULL: a new scene), or to be closed. The effect comes as events. */
GREENROOM_EXPORT void greenroom_app_activate_scene(struct greenroom_app *app, const char *session);
GREENROOM_EXPORT void greenroom_app_destroy_scene(struct greenroom_app *app, const char *session);

/* --- State restoration. */

/* The functions of an object that is saved and restored with the app. Each may be NULL. */
struct greenroom_restorable {
    void (*encode)(struct greenroom_app *, void *object, struct greenroom_state *);
    void (*decode)(struct greenroom_app *, void *object, const struct greenroom_state *);
    void (*finished)(struct greenroom_app *, void *object); /* all objects have been decoded */
};

/* Registers an object in place of an earlier one with that identifier; NULL for `callbacks` removes it. The callbacks
 * are copied, `object` is not. Returns false if there is no memory. */
GREENROOM_EXPORT bool greenroom_app_register_restorable(
    struct greenroom_app *app, const char *identifier, const struct greenroom_restorable *callbacks, void *object);
/* The activity that a scene saved last; NULL if there is none, or while protected data is unavailable. It is valid
 * until the next events are processed. */
GREENROOM_EXPORT const struct greenroom_state *greenroom_app_scene_activity(const struct greenroom_app *app, const char *session);
/* Says that the app goes on restoring its state after the callbacks have returned, until `complete` has been
 * called as many times. Until then nothing is saved over the state, and it is deleted if the app fails. NULL
 * for `session` means the app's own state. */
GREENROOM_EXPORT void greenroom_app_extend_state_restoration(struct greenroom_app *app, const char *session);
GREENROOM_EXPORT void greenroom_app_complete_state_restoration(struct greenroom_app *app, const char *session);

/* --- Background time. */

/* The time of this task or run is running out, so the app must end it now. Called once. */
typedef void greenroom_task_expired(struct greenroom_app *, uint64_t task, void *context);

/* Begins work that may go on in the background for a while. `name` is for humans; it and `expired` may be NULL.
 * Returns 0 if the time is about to end, or if 64 tasks are open. If tasks are still open when
 * the time is over, the app is killed. */
GREENROOM_EXPORT uint64_t greenroom_app_begin_background_task(
    struct greenroom_app *app, const char *name, greenroom_task_expired *expired, void *context);
GREENROOM_EXPORT void greenroom_app_end_background_task(struct greenroom_app *app, uint64_t task);
/* The remaining time in nanoseconds; UINT64_MAX if there is no limit. It is exact while a task is open. */
GREENROOM_EXPORT uint64_t greenroom_app_background_time_remaining(const struct greenroom_app *app);

/* --- Scheduled work, which is requested now and run later, even if the app is no longer running. */

enum greenroom_task_kind {
    GREENROOM_APP_REFRESH, /* a short task that updates what the app shows */
    GREENROOM_PROCESSING   /* minutes of work while nobody uses the machine */
};

/* One run of scheduled work. */
struct greenroom_task {
    uint64_t number; /* never 0, and never used again */
    const char *identifier;
    enum greenroom_task_kind kind;
    uint64_t deadline; /* CLOCK_MONOTONIC in nanoseconds; its expiration comes earlier */
};

/* Begins the run, and should return soon. `task` is valid until the callback returns. */
typedef void greenroom_task_handler(struct greenroom_app *, const struct greenroom_task *task, void *context);

/* Registers the handler for an identifier, which is one of the manifest's ScheduledTasks=. Call it once for each, before
 * the launch is over: in did_finish_launching at the latest. Returns false otherwise, or if there is no memory. */
GREENROOM_EXPORT bool greenroom_app_register_task(
    struct greenroom_app *app, const char *identifier, greenroom_task_handler *handler, void *context);
/* Sets the function that is called before the deadline of a run. Without it, the library completes the run as failed. */
GREENROOM_EXPORT void greenroom_app_set_task_expiration(
    struct greenroom_app *app, uint64_t number, greenroom_task_expired *expired, void *context);
/* Completes a run. Does nothing if `number` is not the number of an open run. */
GREENROOM_EXPORT void greenroom_app_complete_task(struct greenroom_app *app, uint64_t number, bool success);

struct greenroom_task_request {
    const char *identifier;
    enum greenroom_task_kind kind;
    uint64_t earliest_begin; /* microseconds since 1970, UTC; 0 means at any time */
    bool requires_external_power, requires_network;
};

/* `error` is 0, or EPERM (the manifest does not name the task), EDQUOT (at most one refresh and ten processing requests
 * may be pending), EOPNOTSUPP (the app cannot run in the background), ENOTCONN (no daemon), EAGAIN (256 requests wait for
 * their answers) or ENOMEM. `reason` says the same in words. */
typedef void greenroom_answered(struct greenroom_app *, int error, const char *reason, void *context);
/* `requests` is valid until the callback returns. `error` is 0, ENOTCONN, EAGAIN or ENOMEM. */
typedef void greenroom_tasks_listed(
    struct greenroom_app *, int error, const struct greenroom_task_request *requests, size_t count, void *context);

/* Submits a request, which replaces a pending one with the same identifier. `answered` may be NULL. It is called from
 * greenroom_app_process(), or at once if there is no daemon. */
GREENROOM_EXPORT void greenroom_app_submit_task(
    struct greenroom_app *app, const struct greenroom_task_request *request, greenroom_answered *answered, void *context);
GREENROOM_EXPORT void greenroom_app_list_tasks(struct greenroom_app *app, greenroom_tasks_listed *listed, void *context);
/* Cancels a pending request; NULL means all of them. A run that has begun goes on. */
GREENROOM_EXPORT void greenroom_app_cancel_task(struct greenroom_app *app, const char *identifier);

#ifdef __cplusplus
}
#endif
#endif
