/// The connection with which windows are shown: any client may map any window, and the program's own
/// connection belongs to the program's threads.

#include "withhold.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static xcb_connection_t *_Atomic own;

bool is_own_connection(const xcb_connection_t *connection) {
    return connection && connection == atomic_load(&own);
}

/// What xcb_setup_roots_iterator(3) returns. A screen begins with its root window.
typedef struct {
    uint32_t *screen;
    int left, index;
} screens;

static struct {
    xcb_connection_t *(*connect)(const char *, int *);
    int (*has_error)(xcb_connection_t *);
    int (*descriptor)(xcb_connection_t *);
    int (*flush)(xcb_connection_t *);
    cookie (*map)(xcb_connection_t *, uint32_t);
    cookie (*configure)(xcb_connection_t *, uint32_t, uint16_t, const void *);
    cookie (*change)(xcb_connection_t *, uint8_t, uint32_t, uint32_t, uint32_t, uint8_t, uint32_t,
                     const void *);
    cookie (*property)(xcb_connection_t *, uint8_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);
    void *(*property_reply)(xcb_connection_t *, cookie, void **);
    void *(*wait)(xcb_connection_t *);
    void *(*queued)(xcb_connection_t *);
    cookie (*intern)(xcb_connection_t *, uint8_t, uint16_t, const char *);
    void *(*intern_reply)(xcb_connection_t *, cookie, void **);
    cookie (*focus)(xcb_connection_t *);
    void *(*focus_reply)(xcb_connection_t *, cookie, void **);
    int (*poll_for_reply)(xcb_connection_t *, unsigned, void **, void **);
    cookie (*send)(xcb_connection_t *, uint8_t, uint32_t, uint32_t, const void *);
    uint32_t (*generate)(xcb_connection_t *);
    cookie (*create)(xcb_connection_t *, uint8_t, uint32_t, uint32_t, int16_t, int16_t, uint16_t,
                     uint16_t, uint16_t, uint16_t, uint32_t, uint32_t, const void *);
    const void *(*setup)(xcb_connection_t *);
    screens (*screens_of)(const void *);
    void (*next)(screens *);
    void (*disconnect)(xcb_connection_t *);
} xcb;

static bool find_functions(void) {
    const struct {
        const char *name;
        void *at;
    } names[] = {
        {"xcb_connect", &xcb.connect},
        {"xcb_connection_has_error", &xcb.has_error},
        {"xcb_get_file_descriptor", &xcb.descriptor},
        {"xcb_flush", &xcb.flush},
        {"xcb_map_window", &xcb.map},
        {"xcb_configure_window", &xcb.configure},
        {"xcb_change_property", &xcb.change},
        {"xcb_get_property", &xcb.property},
        {"xcb_get_property_reply", &xcb.property_reply},
        {"xcb_wait_for_event", &xcb.wait},
        {"xcb_poll_for_queued_event", &xcb.queued},
        {"xcb_intern_atom", &xcb.intern},
        {"xcb_intern_atom_reply", &xcb.intern_reply},
        {"xcb_get_input_focus", &xcb.focus},
        {"xcb_get_input_focus_reply", &xcb.focus_reply},
        {"xcb_poll_for_reply", &xcb.poll_for_reply},
        {"xcb_send_event", &xcb.send},
        {"xcb_generate_id", &xcb.generate},
        {"xcb_create_window", &xcb.create},
        {"xcb_get_setup", &xcb.setup},
        {"xcb_setup_roots_iterator", &xcb.screens_of},
        {"xcb_screen_next", &xcb.next},
        {"xcb_disconnect", &xcb.disconnect},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = function_of(LIBXCB, names[i].name);
        if (!found) return false;
        memcpy(names[i].at, &found, sizeof found);
    }
    return true;
}

struct address {
    struct sockaddr_storage bytes;
    socklen_t size;
};

static struct address peer(int descriptor) {
    struct address address = {.size = sizeof address.bytes};
    memset(&address.bytes, 0, sizeof address.bytes);
    if (getpeername(descriptor, (struct sockaddr *)&address.bytes, &address.size) != 0)
        address.size = 0;
    return address;
}

/// The display of the first window. This library's own connection must lead there too.
static struct address first_server;

bool is_own_server(int server) {
    struct address address = peer(server);
    if (address.size == 0) return false;
    if (first_server.size == 0) first_server = address;
    return address.size == first_server.size
        && !memcmp(&address.bytes, &first_server.bytes, address.size);
}

static uint32_t startup_id, user_time, time_window, utf8, info, info_begin;
static uint32_t creation_time; // 0 if KWin does not run

static uint32_t atom(const char *name, bool exists) {
    cookie asked = xcb.intern(own, exists, (uint16_t)strlen(name), name);
    unsigned char *reply = xcb.intern_reply(own, asked, NULL);
    uint32_t value = 0;
    if (reply) memcpy(&value, reply + 8, sizeof value);
    free(reply);
    return value;
}

#define ERROR 0
#define MAP_WINDOW 8

/// A window could not be shown: another client has destroyed it.
static bool lacks_window;

/// Errors come with the events. The byte at 10 is the opcode of the request.
static void note_error(const unsigned char *event) {
    if (event[0] == ERROR && event[10] == MAP_WINDOW) lacks_window = true;
}

/// Whether the server has carried out everything that it was sent.
static bool is_done(void) {
    void *reply = xcb.focus_reply(own, xcb.focus(own), NULL);
    free(reply);
    if (!reply) return false;
    for (unsigned char *event; (event = xcb.queued(own));) {
        note_error(event);
        free(event);
    }
    return !lacks_window && !xcb.has_error(own);
}

bool server_answers(void) {
    void *reply = NULL, *error = NULL;
    cookie asked = xcb.focus(own);
    int64_t rest, end = time_by(CLOCK_MONOTONIC) + ANSWER_NANOSECONDS;
    xcb.flush(own);
    // An error is an answer, and so is the end of the connection.
    while (!xcb.poll_for_reply(own, asked.sequence, &reply, &error)) {
        if ((rest = end - time_by(CLOCK_MONOTONIC)) <= 0) return false;
        struct pollfd entry = {.fd = xcb.descriptor(own), .events = POLLIN};
        poll(&entry, 1, (int)(rest / 1000000) + 1);
    }
    free(reply);
    free(error);
    return true;
}

bool server_reach(void) {
    if (!find_functions()) return false;
    xcb_connection_t *connection = xcb.connect(NULL, NULL);
    if (!connection || xcb.has_error(connection)) return false;
    if (!is_own_server(xcb.descriptor(connection))) return false;
    atomic_store(&own, connection);
    startup_id = atom("_NET_STARTUP_ID", false);
    user_time = atom("_NET_WM_USER_TIME", false);
    time_window = atom("_NET_WM_USER_TIME_WINDOW", true);
    utf8 = atom("UTF8_STRING", false);
    info = atom("_NET_STARTUP_INFO", false);
    info_begin = atom("_NET_STARTUP_INFO_BEGIN", false);
    creation_time = atom("_KDE_NET_WM_USER_CREATION_TIME", true);
    return startup_id && user_time && utf8 && info && info_begin;
}

// MARK: Showing

/// The time of the user's action, which the identifier of a launch ends with (the Startup
/// Notification Protocol).
static bool time_of(const char *identifier, uint32_t *time) {
    const char *last = NULL;
    for (const char *at = identifier; (at = strstr(at, "_TIME")); at += 5) last = at + 5;
    if (!last || *last < '0' || *last > '9') return false;
    *time = (uint32_t)strtoul(last, NULL, 10);
    return true;
}

#define REPLACE 0
#define CARDINAL 6
#define WINDOW 33
#define STACK_MODE 64
#define ABOVE 0
#define PROPERTY_NOTIFY 28
#define PROPERTY_CHANGE_MASK (1 << 22)
#define INPUT_ONLY 2
#define EVENT_MASK 0x800

/// A property of one number; 0 if the window does not have it.
static uint32_t number(uint32_t window, uint32_t property, uint32_t type) {
    if (!property) return 0;
    unsigned char *reply =
        xcb.property_reply(own, xcb.property(own, 0, window, property, type, 0, 1), NULL);
    uint32_t count = 0, value = 0;
    if (reply) memcpy(&count, reply + 16, sizeof count);
    if (count == 1) memcpy(&value, reply + 32, sizeof value);
    free(reply);
    return value;
}

/// The window that has the time at which the program was last used; 0 if there is no such time. Some
/// programs keep it apart, so that window managers are not told of each change of the main window.
static uint32_t dated(uint32_t window) {
    uint32_t apart = number(window, time_window, WINDOW);
    if (apart && number(apart, user_time, CARDINAL)) return apart;
    return number(window, user_time, CARDINAL) ? window : 0;
}

/// The server's time is that of an event: a property of an own window changes.
static bool server_time(uint32_t *time) {
    uint32_t window = xcb.generate(own), mask = PROPERTY_CHANGE_MASK;
    xcb.create(own, 0, window, *xcb.screens_of(xcb.setup(own)).screen, -1, -1, 1, 1, 0, INPUT_ONLY, 0,
               EVENT_MASK, &mask);
    xcb.change(own, REPLACE, window, user_time, CARDINAL, 32, 0, NULL);
    xcb.flush(own);
    for (unsigned char *event; (event = xcb.wait(own));) {
        bool is_it = (event[0] & 0x7f) == PROPERTY_NOTIFY;
        if (is_it) memcpy(time, event + 12, sizeof *time);
        note_error(event);
        free(event);
        if (is_it) return true;
    }
    return false;
}

/// Window managers give no focus to a window whose times are older than the user's last key. Qt says when
/// it last heard from the server, and KWin notes when a window was made: for a held window, before the
/// launch.
static void renew_times(uint32_t window) {
    uint32_t time, used = dated(window), is_noted = number(window, creation_time, CARDINAL);
    if ((!used && !is_noted) || !server_time(&time)) return;
    if (used) xcb.change(own, REPLACE, used, user_time, CARDINAL, 32, 1, &time);
    if (is_noted) xcb.change(own, REPLACE, window, creation_time, CARDINAL, 32, 1, &time);
}

void server_send(uint32_t window, uint32_t mask, const void *event) {
    if (own) xcb.send(own, 0, window, mask, event);
}

void server_show(uint32_t window, bool is_raised, bool is_main, const char *identifier) {
    uint32_t time, above = ABOVE;
    if (!own) return;
    // A toolkit that gives its windows a time of its own (Qt) does not give them the identifier: the
    // window has the time of its start, even if the user has pressed a key after the launch's token.
    bool is_named = identifier && *identifier && !(is_main && dated(window));
    if (is_main && !is_named) renew_times(window);
    if (is_named && is_main) {
        xcb.change(own, REPLACE, window, startup_id, utf8, 8, (uint32_t)strlen(identifier),
                   identifier);
        if (time_of(identifier, &time))
            xcb.change(own, REPLACE, window, user_time, CARDINAL, 32, 1, &time);
    }
    if (is_raised) xcb.configure(own, window, STACK_MODE, &above);
    xcb.map(own, window);
}

#define CLIENT_MESSAGE 33
#define CHUNK_SIZE 20
/// Identifiers are shorter. The end of a launch with a longer one is not announced.
#define ANNOUNCEMENT_SIZE 1024

/// Tells every client that shows a busy indicator that the program has started. A toolkit would do
/// so, but it does not have the identifier of this launch. The message is sent in pieces (the
/// Startup Notification Protocol), whose sender is a window.
static void announce_end(const char *identifier) {
    char text[ANNOUNCEMENT_SIZE] = "remove: ID=\"";
    size_t length = strlen(text);
    for (; *identifier; identifier++) {
        if (length + 4 > sizeof text) return;
        if (*identifier == '"' || *identifier == '\\') text[length++] = '\\';
        text[length++] = *identifier;
    }
    text[length++] = '"';
    text[length++] = 0;
    for (screens at = xcb.screens_of(xcb.setup(own)); at.left > 0; xcb.next(&at)) {
        uint32_t root = *at.screen, sender = xcb.generate(own);
        xcb.create(own, 0, sender, root, -1, -1, 1, 1, 0, INPUT_ONLY, 0, 0, NULL);
        for (size_t sent = 0; sent < length; sent += CHUNK_SIZE) {
            unsigned char event[EVENT_SIZE] = {CLIENT_MESSAGE, 8};
            uint32_t type = sent == 0 ? info_begin : info;
            memcpy(event + 4, &sender, sizeof sender);
            memcpy(event + 8, &type, sizeof type);
            memcpy(event + 12, text + sent,
                   length - sent < CHUNK_SIZE ? length - sent : CHUNK_SIZE);
            server_send(root, PROPERTY_CHANGE_MASK, event);
        }
    }
}

bool server_finish(const char *identifier) {
    if (!own) return false;
    if (xcb.flush(own) <= 0 || !is_done()) return false;
    if (!identifier || !*identifier) return true;
    // Otherwise the cold launch that follows a failure would have an identifier that is over.
    announce_end(identifier);
    return xcb.flush(own) > 0 && is_done();
}

void server_leave(void) {
    xcb_connection_t *connection = atomic_exchange(&own, NULL);
    xcb.disconnect(connection);
}
