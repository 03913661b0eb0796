/* Declarations that the parts of the library share. Each part is a file:
 *
  *   pause.c          the wait for the launch, and applying the launch to the process
  *   app.c            the launch sequence, the daemon's messages, the loop
  *   model.c          read access to the app, its scenes and a message's content
  *   telling.c        reports about the launch and about callbacks
  *   scenes.c         scenes
  *   content.c        what the app is asked to open or do
  *   state.c, restoration.c   the saved state, and when it is saved and restored
  *   background.c, scheduled.c   background time, scheduled work
  *   requests.c       requests to the daemon
  *   credentials.c, measuring.c, channel.c, list.c   credentials; measured launches; bytes; lists
 *
 * Calls go one way: no two files need each other (Tests/Checks/circles). */
#pragma once

#include "channel.h"
#include "greenroom-app.h"

enum { SCENE_LIMIT = 64, EXTENSION_LIMIT = SCENE_LIMIT + 1 };

struct scene {
    char *session;
    enum greenroom_activation_state state;
    struct greenroom_state *activity; /* the latest one; NULL if there is none, or while it cannot be read */
};

struct restorable {
    char *identifier;
    struct greenroom_restorable callbacks;
    void *object;
};

/* A restoration that is not complete. `session` is NULL for the app's own state. */
struct extension {
    char *session;
    unsigned count;
};

struct background_task {
    uint64_t identifier;
    greenroom_task_expired *expired;
    void *context;
    bool was_told;
};

enum { KNOWN_RUN_COUNT = 16 };

struct background {
    struct background_task tasks[BACKGROUND_TASK_LIMIT]; /* in the order in which they began */
    size_t count;
    uint64_t last_identifier;
    uint64_t until; /* UINT64_MAX means no limit */
    bool is_expiring;
};

struct registration {
    char *identifier;
    greenroom_task_handler *handler;
    void *context;
};

struct run {
    struct greenroom_task task;
    char *identifier;
    greenroom_task_expired *expired;
    void *context;
    bool was_told;
};

struct scheduled {
    struct registration *registrations;
    size_t registration_count;
    struct run *runs; /* the runs that are not completed */
    size_t run_count;
    uint64_t known[KNOWN_RUN_COUNT]; /* a ring of the latest runs, which a restarted daemon may repeat */
    size_t known_next;
};

/* A request that is not answered yet. At most one of the two callbacks is set. */
struct request {
    uint64_t cookie;
    char *packet;
    size_t size;
    greenroom_answered *answered;
    greenroom_tasks_listed *listed;
    void *context;
};

struct greenroom_app {
    struct greenroom_delegate delegate;
    void *context;
    int channel, watch;
    struct message launch;
    struct greenroom_launch_info info;
    const char *credentials, *credentials_end; /* NULL before they have come */
    bool is_unlocked, is_launched, is_processing, was_after_launch, has_had_scene;
    bool has_reached[STEP_AFTER_LAUNCH + 1];
    uint64_t reached_at[STEP_AFTER_LAUNCH + 1], drawn_at; /* the first time of each; 0 before that */
    enum greenroom_application_state state; /* the state of an app that has had no scene */
    struct scene scenes[SCENE_LIMIT];
    size_t scene_count;
    struct message *held; /* messages that arrived while the launch sequence waited for a different one */
    size_t held_count;
    struct restorable *restorables;
    size_t restorable_count;
    struct extension extensions[EXTENSION_LIMIT];
    size_t extension_count;
    struct background background;
    struct scheduled scheduled;
    struct request *requests;
    size_t request_count;
    uint64_t last_request, last_step;
    char *launch_tasks[LAUNCH_TASK_LIMIT];
    size_t launch_task_count;
    bool has_drawn;
    struct greenroom_content delivered; /* what the callback under way is about; empty otherwise */
};

/* --- model.c */

struct scene *find_scene(const struct greenroom_app *app, const char *session);
bool is_in_front(const struct scene *scene);
struct greenroom_content content_of(const struct message *message);
/* The file that the user wants to see; NULL if there is none. */
const char *document_of(const struct greenroom_content *content);

/* --- list.c */

/* Adds room for one element at the end of a list; NULL if there is no memory. */
void *list_grow(void *list, size_t *count, size_t size);
void list_remove(void *list, size_t *count, size_t size, size_t index);

/* --- telling.c */

uint64_t now(void); /* CLOCK_MONOTONIC, nanoseconds */
void acknowledge(struct greenroom_app *app, uint64_t cookie, bool handled);
/* Reports a step of the launch: each time, or only the first time. */
void report(struct greenroom_app *app, int step, const char *session);
void report_first(struct greenroom_app *app, int step, const char *session);
/* Reports a callback that was called at `began` and has returned, if it took too long. */
void tell_if_slow(struct greenroom_app *app, uint64_t began, const char *name);
/* Reports the launch again to a restarted daemon. */
void tell_launch_steps(struct greenroom_app *app);

/* Calls the delegate if it has the callback. */
#define CALL(app, callback, ...) \
    do { \
        uint64_t began_ = now(); \
        if ((app)->delegate.callback) (app)->delegate.callback(__VA_ARGS__); \
        tell_if_slow(app, began_, #callback); \
    } while (0)
#define CALL_FOR(result, app, callback, missing, ...) \
    do { \
        uint64_t began_ = now(); \
        result = (app)->delegate.callback ? (app)->delegate.callback(__VA_ARGS__) : (missing); \
        tell_if_slow(app, began_, #callback); \
    } while (0)
/* Calls a function that is not the delegate's. */
#define CALL_OTHER(app, name, function, ...) \
    do { \
        uint64_t began_ = now(); \
        if (function) (function)(__VA_ARGS__); \
        tell_if_slow(app, began_, name); \
    } while (0)

/* --- scenes.c */

/* Returns whether there was room for the scene. */
bool connect_scene(struct greenroom_app *app, const struct message *message);
void move_scene(struct greenroom_app *app, const struct message *message);
void discard_scenes(struct greenroom_app *app, const struct message *message);
/* Tells all scenes that they are disconnected: the app is about to end. */
void disconnect_scenes(struct greenroom_app *app);

/* --- content.c */

/* Delivers content to the scene that the message names, or to the app. Returns whether it was handled. */
bool deliver(struct greenroom_app *app, const struct message *message);
/* Delivers a notification to the app, if the content has one. */
bool deliver_notification(struct greenroom_app *app, const struct greenroom_content *content);
void handle_events(struct greenroom_app *app, const struct message *message);
bool deliver_to_app(struct greenroom_app *app, const struct greenroom_content *content, bool is_accepted);

/* --- credentials.c */

/* Takes the credentials that came with a message. */
void take_credentials(struct greenroom_app *app, struct message *message);
void protected_data_was_taken(struct greenroom_app *app);

/* --- state.c */

struct greenroom_state *state_new(bool is_activity);
void state_free(struct greenroom_state *state);
/* Reads the fields of a message; NULL if there are none, or if there is no memory. */
struct greenroom_state *state_decode(char **fields, size_t count, bool is_activity);
/* Makes the fields of a message in one allocation; NULL if there is no memory. */
char **state_encode(const struct greenroom_state *state, size_t *count, size_t *byte_count);
/* Sets the object whose names are used from now on; "" is the application. */
void state_turn_to(struct greenroom_state *state, const char *object);
/* The nth object that has values; NULL if there are fewer. */
const char *state_object(const struct greenroom_state *state, size_t n);
void state_describe(struct greenroom_state *state, const char *version, uint64_t saved_at, const char *document);

/* --- restoration.c */

void restore_at_launch(struct greenroom_app *app);
/* Returns whether the app wanted the state. */
bool restore_late(struct greenroom_app *app, const struct message *message);
void take_connection_state(struct scene *scene, const struct message *message);
bool restore_scene(struct greenroom_app *app, struct scene *scene);
void save_state(struct greenroom_app *app);
void save_scene(struct greenroom_app *app, struct scene *scene);
/* Saves the state of an app that ends in the foreground, because it does not pass through the background. */
void save_before_end(struct greenroom_app *app);

/* --- background.c, scheduled.c, requests.c */

void background_time_changed(struct greenroom_app *app, uint64_t until);
void background_time_expires(struct greenroom_app *app, uint64_t instant);
void background_time_without_limit(struct greenroom_app *app);
void run_task(struct greenroom_app *app, const struct message *message);
void expire_task(struct greenroom_app *app, uint64_t number);
/* Sends a request. `request` has the callback, which is called at once if there is no daemon. The other
 * parameters are those of channel_packet(). */
void ask(
    struct greenroom_app *app, struct request request, struct gr_header header, const char *const *strings,
    size_t count, size_t words);
void answer_request(struct greenroom_app *app, const struct message *message);
void list_request(struct greenroom_app *app, const struct message *message);
/* Called when the daemon has closed the channel. The app continues without the daemon. */
void channel_ended(struct greenroom_app *app);
