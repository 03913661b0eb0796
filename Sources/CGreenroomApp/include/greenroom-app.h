/* Apps for Greenroom, in C: pause, launch options, life-cycle events, scenes. One small library that
 * needs libc and nothing else (link with -lgreenroom-app).
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
    GREENROOM_REASON_TIMER, GREENROOM_REASON_SOCKET, GREENROOM_REASON_PATH, GREENROOM_REASON_SYSTEM
};

/* What an app is launched for, or asked to do: `count` entries "name=value" as they travel, such as
 * "url=notes:1", "action=new-note", "activity=…", "remote-notification=…". */
struct greenroom_content {
    const char *const *entries;
    size_t count;
};

/* The value of the nth entry of that name, NULL if there are fewer. */
GREENROOM_EXPORT const char *greenroom_content_value(const struct greenroom_content *content, const char *name, size_t n);

/* Why this process runs; stays true to its end. CLOCK_MONOTONIC in nanoseconds, 0: not at all. */
struct greenroom_launch_info {
    enum greenroom_reason reason;
    bool is_foreground, was_prewarmed;
    uint64_t requested, paused, resumed;
};

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
};

/* Returns when the app is launched: at once if that is cold or by hand; never if it is not. `argc` and
 * `argv` (main's own, or both NULL) then are those of the launch, as are the environment, the working
 * directory, the umask and the standard descriptors. Reports only failure to get memory, by NULL. */
GREENROOM_EXPORT struct greenroom_app *greenroom_app_start(
    const struct greenroom_delegate *delegate, void *context, int *argc, char ***argv);

/* Runs the app to its end. */
GREENROOM_EXPORT void greenroom_app_run(struct greenroom_app *app) __attribute__((noreturn));

/* Readable when greenroom_app_process() has something to do; -1 without Greenroom. */
GREENROOM_EXPORT int greenroom_app_descriptor(const struct greenroom_app *app);
GREENROOM_EXPORT void greenroom_app_process(struct greenroom_app *app);

GREENROOM_EXPORT void *greenroom_app_context(const struct greenroom_app *app);
GREENROOM_EXPORT struct greenroom_launch_info greenroom_app_launch_info(const struct greenroom_app *app);
/* With scenes the aggregate of theirs. */
GREENROOM_EXPORT enum greenroom_application_state greenroom_app_state(const struct greenroom_app *app);
/* GREENROOM_UNATTACHED for a session that is not connected. */
GREENROOM_EXPORT enum greenroom_activation_state greenroom_app_scene_state(const struct greenroom_app *app, const char *session);
GREENROOM_EXPORT bool greenroom_app_protected_data_is_available(const struct greenroom_app *app);
/* A directory with a file per credential that the manifest names, for openat(2); -1 if there is none, which
 * means nothing while protected data is unavailable. */
GREENROOM_EXPORT int greenroom_app_credentials(const struct greenroom_app *app);

/* The user sees the app. Once per launch or return to the foreground. */
GREENROOM_EXPORT void greenroom_app_did_draw_first_frame(struct greenroom_app *app);
/* Asks for a scene to appear (NULL: a new one), or to go. The effect comes as events. */
GREENROOM_EXPORT void greenroom_app_activate_scene(struct greenroom_app *app, const char *session);
GREENROOM_EXPORT void greenroom_app_destroy_scene(struct greenroom_app *app, const char *session);

#ifdef __cplusplus
}
#endif
#endif
