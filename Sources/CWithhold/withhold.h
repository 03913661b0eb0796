/// The parts of the library that withholds a program's windows.
///
/// It is preloaded, instead of the preload shim, into a program that is prewarmed to its first
/// window (Depth=window), and speaks on the channel as the shim does. The program runs main as far
/// as its main loop; each top-level window that it maps is noted and not shown. When the program
/// has come to rest, a thread of the library reports the pause. At the launch, that thread shows
/// the windows in their order, by its own connection to an X server, or by sending the program's
/// withheld commits to a Wayland compositor, and reports STARTED. From then on the library does
/// nothing.
///
/// Anything that could show something earlier, or that others could notice, ends the process
/// instead (`withhold_fail`), before anything is shown, and so does the loss of the channel.
#ifndef GREENROOM_WITHHOLD_H
#define GREENROOM_WITHHOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/// A connection of libxcb, and a display of libX11.
typedef struct xcb_connection_t xcb_connection_t;
typedef struct _XDisplay Display;

/// xcb_void_cookie_t and the others, which have the same form.
typedef struct {
    unsigned sequence;
} cookie;

// MARK: The process (entry.c)

/// Whether windows are withheld: the process is prewarmed, and not launched yet. A fork of it is
/// another process.
bool withhold_is_on(void);

/// Reports why the program cannot be held, and ends the process. The numbers are those of
/// `WithholdingFailure` in GreenroomAppChannel.
enum withhold_failure {
    WITHHOLD_OTHER_DISPLAY = 93, // EPROTONOSUPPORT: uses the display in a way that is not withheld
    WITHHOLD_NAME_TAKEN = 17,    // EEXIST: another process of the program owns its name or socket
    WITHHOLD_OWNS_NAME = 98,     // EADDRINUSE: is about to own a name or a socket that nobody can watch
    WITHHOLD_IS_NOTICED = 114,   // EALREADY: is about to show an icon in a panel, or a notification
    WITHHOLD_STARTS_PROGRAM = 10, // ECHILD: is about to make a process while it is held
};
__attribute__((noreturn)) void withhold_fail(enum withhold_failure reason);

/// A function of the program's libraries, but not of this one; null if it is not loaded.
void *function_of(const char *library, const char *name);
void *function_of_libc(const char *name);
/// Makes `real` the library's function of that name.
#define FUNCTION(library, name) static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))function_of(library, #name)
#define LIBX11 "libX11.so.6"
#define LIBXCB "libxcb.so.1"
#define LIBWAYLAND "libwayland-client.so.0"

/// The program begins (1) or ends (-1) a grab of the X server. A program with a grab is not at
/// rest: if it were frozen, every other client would have to wait.
void withhold_note_server_grab(int change);
bool withhold_server_is_grabbed(void);

/// Between the pause and the launch, nobody but this library sees what the program starts.
void withhold_note_pause(void);
void withhold_note_launch(void);
bool withhold_is_paused(void);

/// From now on nothing is withheld.
void withhold_end(void);

int withhold_argument_count(void);

/// Whether the profile does not let the program be held as a client of a Wayland compositor.
bool withhold_is_only_for_x11(void);

/// Whether the words, each of which ends with a NUL, are those with which the program was started.
bool withhold_has_command(const char *strings, uint32_t count);

// MARK: The X server (server.c)

/// Connects to the server of the program's windows. Returns false if that fails, or if DISPLAY names
/// another server.
bool server_reach(void);

/// A display that does not answer for this long cannot show a window now. Then the launch goes on in
/// another process, before the daemon gives up the wait (StartDeadlineSec=) and blames the program.
#define ANSWER_NANOSECONDS 1000000000

/// The time by that clock, in nanoseconds.
static inline int64_t time_by(clockid_t clock) {
    struct timespec time = {0, 0};
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/// Whether the server answers: it is not stopped, nor grabbed by another client.
bool server_answers(void);

/// Whether the socket leads to the X server of the first window.
bool is_own_server(int server);

/// Whether this is the connection with which windows are shown: its requests are not inspected.
bool is_own_connection(const xcb_connection_t *connection);

/// Maps the window. The window belongs to the launch with that identifier (DESKTOP_STARTUP_ID),
/// unless the identifier is null or empty.
void server_show(uint32_t window, bool is_raised, bool is_main, const char *identifier);

/// Sends the event to that window (XSendEvent(3)).
void server_send(uint32_t window, uint32_t mask, const void *event);

/// Announces the end of the launch, and returns when the server has done everything that it was
/// sent; false if it could not, or if a window that was to be shown is gone.
bool server_finish(const char *identifier);

void server_leave(void);

// MARK: The Wayland compositor (compositor.c, surfaces.c)

/// Whether the compositor at the other end of the socket may give the focus to a held window, or does not say
/// which one it is.
bool compositor_focuses_hidden(int display);

/// The socket that leads to the program's compositor; -1 if there are several, or none.
int surfaces_descriptor(void);

/// Sends the withheld requests of the surface. The surface is activated with that token
/// (XDG_ACTIVATION_TOKEN), unless the token is null or empty.
bool surfaces_show(uint32_t surface, const char *token);

/// Whether the compositor takes what it is sent within `ANSWER_NANOSECONDS`.
bool surfaces_answer(void);

/// Returns when the compositor has taken everything that it was sent.
bool surfaces_finish(void);

// MARK: The windows (windows.c)

/// More top-level windows than any program shows at its start. A program with more is not held.
#define WINDOW_LIMIT 64

struct held_window {
    uint32_t id;     // of the window in the X server, or of the surface in the Wayland connection
    bool is_surface;
    bool is_raised;
    bool is_main;    // the window manager manages it
};

enum held {
    NOT_HELD,
    HELD,
    HELD_AS_FIRST,
};

/// Notes that the program maps a top-level window, unless windows are no longer withheld. A window
/// is noted once, however often it is mapped.
///
/// - server: a socket that leads to the window's X server.
/// - is_main: false for a window that the window manager does not manage. Only a managed window
///   counts as the program's first.
enum held windows_hold(int server, uint32_t window, bool is_raised, bool is_main);

/// The window is no longer mapped, or is gone. Waits while windows are being shown. Returns
/// whether it was held.
bool windows_drop(uint32_t window);

/// The same for the windows of a Wayland client, all of which the compositor manages.
enum held windows_hold_surface(uint32_t surface);
bool windows_drop_surface(uint32_t surface);

/// Whether the window of the X server is held.
bool windows_have(uint32_t window);

/// No window is shown between these two calls. A thread may lock several times.
void windows_lock(void);
void windows_unlock(void);

/// Waits until the program holds a window.
void windows_await_first(void);
bool windows_are_held(void);

/// Whether a window of the X server is held, or one of a Wayland compositor.
bool windows_need_server(void);
bool windows_need_compositor(void);

/// Calls `show` with all windows that are held, and ends the withholding. Returns false, with the
/// windows withheld as before, if there is none, or if `show` does.
bool windows_release(bool (*show)(const struct held_window *windows, size_t count, void *context),
                     void *context);

// MARK: The launch (launch.c)

/// Begins the thread that reports the pause and waits for the launch. Called once, by the thread of
/// the program that maps its first window.
void launch_begin(void);

// MARK: Functions by name (requests.c, wayland.c)

/// This library's replacement for a library's function, if that library is loaded and has the
/// function.
void *withholding_function(const char *name);
void *withholding_function_of_wayland(const char *name);

// MARK: Messages (messages.c)

/// The size of an event in the X protocol.
#define EVENT_SIZE 32

/// Whether the event, which the program sends to that window, must not be sent.
bool messages_withhold(xcb_connection_t *connection, uint32_t window, uint32_t mask,
                       const void *event);

struct client_message;
int XSendEvent(Display *, unsigned long, int, long, struct client_message *);
int XIconifyWindow(Display *, unsigned long, int);

/// Sends the messages that the program sent for a window while it was held.
void messages_send(uint32_t window, void (*send)(uint32_t root, uint32_t mask, const void *event));

#endif
