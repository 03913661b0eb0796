/// The functions of libX11 and libxcb that show, hide and destroy windows.
///
/// Every toolkit calls these: GTK and Xt those of libX11, Qt those of libxcb. They are declared here,
/// so that the library needs no header of either to be built, and neither of them to be loaded.

#include "withhold.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define FUNCTION(library, name) static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))function_of(library, #name)

// MARK: libX11

/// XWindowAttributes (XGetWindowAttributes(3)).
struct attributes {
    int x, y, width, height, border_width, depth;
    void *visual;
    unsigned long root;
    int class, bit_gravity, win_gravity, backing_store;
    unsigned long backing_planes, backing_pixel;
    int save_under;
    unsigned long colormap;
    int map_installed, map_state;
    long all_event_masks, your_event_mask, do_not_propagate_mask;
    int override_redirect;
    void *screen;
};

#define INPUT_OUTPUT 1

int XGetWindowAttributes(Display *, unsigned long, struct attributes *);
int XQueryTree(Display *, unsigned long, unsigned long *, unsigned long *, unsigned long **,
               unsigned *);
int XFree(void *);
int XConnectionNumber(Display *);
int XFlush(Display *);
int XUnmapWindow(Display *, unsigned long);

/// Whether the window is a child of the root that can be seen.
static bool is_top_level(Display *display, unsigned long window, bool *is_main) {
    static __typeof__(&XGetWindowAttributes) get;
    static __typeof__(&XQueryTree) query;
    static __typeof__(&XFree) release;
    if (!get) get = (__typeof__(get))function_of(LIBX11, "XGetWindowAttributes");
    if (!query) query = (__typeof__(query))function_of(LIBX11, "XQueryTree");
    if (!release) release = (__typeof__(release))function_of(LIBX11, "XFree");
    struct attributes attributes;
    unsigned long root, parent, *children = NULL;
    unsigned child_count;
    if (!get || !query || !release) return false;
    if (!get(display, window, &attributes) || attributes.class != INPUT_OUTPUT) return false;
    if (!query(display, window, &root, &parent, &children, &child_count)) return false;
    if (children) release(children);
    *is_main = !attributes.override_redirect;
    return parent == root;
}

static bool note(enum held held) {
    if (held == HELD_AS_FIRST) launch_begin();
    return held != NOT_HELD;
}

static bool is_held(Display *display, unsigned long window, bool is_raised) {
    bool is_main;
    if (!withhold_is_on() || !is_top_level(display, window, &is_main)) return false;
    FUNCTION(LIBX11, XConnectionNumber);
    return real && note(windows_hold(real(display), (uint32_t)window, is_raised, is_main));
}

/// Hides the window if it is shown and its new parent is the root.
static bool hides_for_root(Display *display, unsigned long window, unsigned long parent) {
    static __typeof__(&XGetWindowAttributes) get;
    static __typeof__(&XUnmapWindow) unmap;
    struct attributes attributes;
    if (!withhold_is_on()) return false;
    if (!get) get = (__typeof__(get))function_of(LIBX11, "XGetWindowAttributes");
    if (!unmap) unmap = (__typeof__(unmap))function_of(LIBX11, "XUnmapWindow");
    if (!get || !unmap || !get(display, window, &attributes)) return false;
    if (attributes.root != parent || !attributes.map_state) return false;
    unmap(display, window);
    return true;
}

EXPORT int XMapWindow(Display *display, unsigned long window);
EXPORT int XMapWindow(Display *display, unsigned long window) {
    FUNCTION(LIBX11, XMapWindow);
    return is_held(display, window, false) ? 1 : real(display, window);
}

EXPORT int XMapRaised(Display *display, unsigned long window);
EXPORT int XMapRaised(Display *display, unsigned long window) {
    FUNCTION(LIBX11, XMapRaised);
    return is_held(display, window, true) ? 1 : real(display, window);
}

EXPORT int XUnmapWindow(Display *display, unsigned long window);
EXPORT int XUnmapWindow(Display *display, unsigned long window) {
    FUNCTION(LIBX11, XUnmapWindow);
    windows_drop((uint32_t)window);
    return real(display, window);
}

EXPORT int XWithdrawWindow(Display *display, unsigned long window, int screen);
EXPORT int XWithdrawWindow(Display *display, unsigned long window, int screen) {
    FUNCTION(LIBX11, XWithdrawWindow);
    windows_drop((uint32_t)window);
    return real(display, window, screen);
}

EXPORT int XDestroyWindow(Display *display, unsigned long window);
EXPORT int XDestroyWindow(Display *display, unsigned long window) {
    FUNCTION(LIBX11, XDestroyWindow);
    windows_drop((uint32_t)window);
    return real(display, window);
}

/// A held window that becomes a part of another one is mapped there; and a part of another one that is
/// mapped would be seen when it becomes a window of its own.
EXPORT int XReparentWindow(Display *display, unsigned long window, unsigned long parent, int x,
                           int y);
EXPORT int XReparentWindow(Display *display, unsigned long window, unsigned long parent, int x,
                           int y) {
    FUNCTION(LIBX11, XReparentWindow);
    bool shows = windows_drop((uint32_t)window) || hides_for_root(display, window, parent);
    int result = real(display, window, parent, x, y);
    if (shows) XMapWindow(display, window);
    return result;
}

// A program that is frozen must not have what others wait for.

EXPORT int XGrabServer(Display *display);
EXPORT int XGrabServer(Display *display) {
    FUNCTION(LIBX11, XGrabServer);
    if (withhold_is_on()) withhold_note_server_grab(1);
    return real(display);
}

EXPORT int XUngrabServer(Display *display);
EXPORT int XUngrabServer(Display *display) {
    FUNCTION(LIBX11, XUngrabServer);
    int result = real(display);
    static __typeof__(&XFlush) flush;
    if (!flush) flush = (__typeof__(flush))function_of(LIBX11, "XFlush");
    if (withhold_is_on() && flush) {
        flush(display);
        withhold_note_server_grab(-1);
    }
    return result;
}

EXPORT int XGrabPointer(Display *, unsigned long, int, unsigned, int, int, unsigned long,
                        unsigned long, unsigned long);
EXPORT int XGrabPointer(Display *display, unsigned long window, int owner, unsigned mask, int pointer,
                        int keyboard, unsigned long confine, unsigned long cursor,
                        unsigned long time) {
    FUNCTION(LIBX11, XGrabPointer);
    if (withhold_is_on()) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    return real(display, window, owner, mask, pointer, keyboard, confine, cursor, time);
}

EXPORT int XGrabKeyboard(Display *, unsigned long, int, int, int, unsigned long);
EXPORT int XGrabKeyboard(Display *display, unsigned long window, int owner, int pointer, int keyboard,
                         unsigned long time) {
    FUNCTION(LIBX11, XGrabKeyboard);
    if (withhold_is_on()) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    return real(display, window, owner, pointer, keyboard, time);
}

EXPORT int XGrabKey(Display *, int, unsigned, unsigned long, int, int, int);
EXPORT int XGrabKey(Display *display, int code, unsigned modifiers, unsigned long window, int owner,
                    int pointer, int keyboard) {
    FUNCTION(LIBX11, XGrabKey);
    if (withhold_is_on()) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    return real(display, code, modifiers, window, owner, pointer, keyboard);
}

// MARK: libxcb

typedef struct {
    unsigned sequence;
} cookie;

typedef struct {
    size_t count;
    void *extension;
    uint8_t opcode;
    uint8_t is_void;
} protocol_request;

cookie xcb_get_window_attributes(xcb_connection_t *, uint32_t);
void *xcb_get_window_attributes_reply(xcb_connection_t *, cookie, void **);
cookie xcb_query_tree(xcb_connection_t *, uint32_t);
void *xcb_query_tree_reply(xcb_connection_t *, cookie, void **);
cookie xcb_no_operation(xcb_connection_t *);
cookie xcb_no_operation_checked(xcb_connection_t *);
int xcb_get_file_descriptor(xcb_connection_t *);

static uint32_t word(const unsigned char *reply, size_t at) {
    uint32_t value;
    memcpy(&value, reply + at, sizeof value);
    return value;
}

/// The positions are those of the replies in the X protocol, in the machine's byte order.
static bool is_top_level_of(xcb_connection_t *connection, uint32_t window, bool *is_main) {
    static __typeof__(&xcb_get_window_attributes) ask;
    static __typeof__(&xcb_get_window_attributes_reply) reply;
    static __typeof__(&xcb_query_tree) ask_tree;
    static __typeof__(&xcb_query_tree_reply) reply_tree;
    if (!ask) ask = (__typeof__(ask))function_of(LIBXCB, "xcb_get_window_attributes");
    if (!reply) reply = (__typeof__(reply))function_of(LIBXCB, "xcb_get_window_attributes_reply");
    if (!ask_tree) ask_tree = (__typeof__(ask_tree))function_of(LIBXCB, "xcb_query_tree");
    if (!reply_tree) reply_tree = (__typeof__(reply_tree))function_of(LIBXCB, "xcb_query_tree_reply");
    if (!ask || !reply || !ask_tree || !reply_tree) return false;
    cookie first = ask(connection, window), second = ask_tree(connection, window);
    unsigned char *attributes = reply(connection, first, NULL);
    unsigned char *tree = reply_tree(connection, second, NULL);
    bool is_top = attributes && tree && (word(attributes, 12) & 0xffff) == INPUT_OUTPUT
        && word(tree, 8) == word(tree, 12);
    if (attributes) *is_main = !attributes[27];
    free(attributes);
    free(tree);
    return is_top;
}

static bool is_held_by(xcb_connection_t *connection, uint32_t window) {
    bool is_main;
    if (!withhold_is_on() || is_own_connection(connection)
        || !is_top_level_of(connection, window, &is_main))
        return false;
    FUNCTION(LIBXCB, xcb_get_file_descriptor);
    return real && note(windows_hold(real(connection), window, false, is_main));
}

/// The caller gets the number of a real request, because it may ask for its errors.
static cookie nothing(xcb_connection_t *connection) {
    FUNCTION(LIBXCB, xcb_no_operation);
    return real(connection);
}

static cookie nothing_checked(xcb_connection_t *connection) {
    FUNCTION(LIBXCB, xcb_no_operation_checked);
    return real(connection);
}

EXPORT cookie xcb_map_window(xcb_connection_t *connection, uint32_t window);
EXPORT cookie xcb_map_window(xcb_connection_t *connection, uint32_t window) {
    FUNCTION(LIBXCB, xcb_map_window);
    return is_held_by(connection, window) ? nothing(connection) : real(connection, window);
}

EXPORT cookie xcb_map_window_checked(xcb_connection_t *connection, uint32_t window);
EXPORT cookie xcb_map_window_checked(xcb_connection_t *connection, uint32_t window) {
    FUNCTION(LIBXCB, xcb_map_window_checked);
    return is_held_by(connection, window) ? nothing_checked(connection) : real(connection, window);
}

#define DROPPING(name) \
    EXPORT cookie name(xcb_connection_t *connection, uint32_t window); \
    EXPORT cookie name(xcb_connection_t *connection, uint32_t window) { \
        FUNCTION(LIBXCB, name); \
        windows_drop(window); \
        return real(connection, window); \
    }

DROPPING(xcb_unmap_window)
DROPPING(xcb_unmap_window_checked)
DROPPING(xcb_destroy_window)
DROPPING(xcb_destroy_window_checked)

#define REPARENTING(name) \
    EXPORT cookie name(xcb_connection_t *connection, uint32_t window, uint32_t parent, int16_t x, \
                       int16_t y); \
    EXPORT cookie name(xcb_connection_t *connection, uint32_t window, uint32_t parent, int16_t x, \
                       int16_t y) { \
        FUNCTION(LIBXCB, name); \
        bool was_held = windows_drop(window); \
        cookie result = real(connection, window, parent, x, y); \
        if (was_held) xcb_map_window(connection, window); \
        return result; \
    }

REPARENTING(xcb_reparent_window)
REPARENTING(xcb_reparent_window_checked)

#define MAP_WINDOW 8
#define UNMAP_WINDOW 10
#define DESTROY_WINDOW 4
#define GRAB_POINTER 26
#define GRAB_KEYBOARD 31
#define GRAB_KEY 33
#define GRAB_SERVER 36
#define UNGRAB_SERVER 37
#define RAW 4 // XCB_REQUEST_RAW: the request brings its opcode itself
#define CHECKED 1

/// Programs that make their requests themselves (Chromium) send them by these, and so do libxcb's own
/// functions. Returns whether the
/// request is withheld.
static bool is_withheld(xcb_connection_t *connection, int flags, const struct iovec *parts,
                        const protocol_request *request) {
    if (!withhold_is_on() || is_own_connection(connection)) return false;
    if (!parts || !request || !request->count || request->extension) return false;
    const unsigned char *bytes = parts[0].iov_base;
    if (!bytes || parts[0].iov_len < 4) return false;
    uint8_t opcode = flags & RAW ? bytes[0] : request->opcode;
    switch (opcode) {
    case GRAB_POINTER:
    case GRAB_KEYBOARD:
    case GRAB_KEY: withhold_fail(WITHHOLD_OTHER_DISPLAY);
    // libxcb's functions call one another, so one request counts several times, either way.
    case GRAB_SERVER: withhold_note_server_grab(1); return false;
    case UNGRAB_SERVER: withhold_note_server_grab(-1); return false;
    }
    if (parts[0].iov_len < 8) return false;
    switch (opcode) {
    case MAP_WINDOW: return is_held_by(connection, word(bytes, 4));
    case UNMAP_WINDOW:
    case DESTROY_WINDOW: windows_drop(word(bytes, 4)); return false;
    default: return false;
    }
}

static unsigned nothing_as(xcb_connection_t *connection, int flags) {
    return (flags & CHECKED ? nothing_checked(connection) : nothing(connection)).sequence;
}

#define SENDING(name, result) \
    EXPORT result name(xcb_connection_t *connection, int flags, struct iovec *parts, \
                       const protocol_request *request); \
    EXPORT result name(xcb_connection_t *connection, int flags, struct iovec *parts, \
                       const protocol_request *request) { \
        FUNCTION(LIBXCB, name); \
        if (is_withheld(connection, flags, parts, request)) return nothing_as(connection, flags); \
        return real(connection, flags, parts, request); \
    }

SENDING(xcb_send_request, unsigned)
SENDING(xcb_send_request64, uint64_t)

#define SENDING_DESCRIPTORS(name, result) \
    EXPORT result name(xcb_connection_t *connection, int flags, struct iovec *parts, \
                       const protocol_request *request, unsigned count, int *descriptors); \
    EXPORT result name(xcb_connection_t *connection, int flags, struct iovec *parts, \
                       const protocol_request *request, unsigned count, int *descriptors) { \
        FUNCTION(LIBXCB, name); \
        if (!count && is_withheld(connection, flags, parts, request)) \
            return nothing_as(connection, flags); \
        return real(connection, flags, parts, request, count, descriptors); \
    }

SENDING_DESCRIPTORS(xcb_send_request_with_fds, unsigned)
SENDING_DESCRIPTORS(xcb_send_request_with_fds64, uint64_t)

// MARK: By name

#define WITHHELD(library, name) {#name, library, (void (*)(void))name}

/// The function in place of a library's, if that library is loaded and has it.
void *withholding_function(const char *name) {
    if (name[0] != 'X' && strncmp(name, "xcb_", 4)) return NULL;
    static const struct {
        const char *name, *library;
        void (*own)(void);
    } functions[] = {
        WITHHELD(LIBX11, XMapWindow),
        WITHHELD(LIBX11, XMapRaised),
        WITHHELD(LIBX11, XUnmapWindow),
        WITHHELD(LIBX11, XWithdrawWindow),
        WITHHELD(LIBX11, XDestroyWindow),
        WITHHELD(LIBX11, XReparentWindow),
        WITHHELD(LIBX11, XGrabServer),
        WITHHELD(LIBX11, XUngrabServer),
        WITHHELD(LIBX11, XGrabPointer),
        WITHHELD(LIBX11, XGrabKeyboard),
        WITHHELD(LIBX11, XGrabKey),
        WITHHELD(LIBXCB, xcb_map_window),
        WITHHELD(LIBXCB, xcb_map_window_checked),
        WITHHELD(LIBXCB, xcb_unmap_window),
        WITHHELD(LIBXCB, xcb_unmap_window_checked),
        WITHHELD(LIBXCB, xcb_destroy_window),
        WITHHELD(LIBXCB, xcb_destroy_window_checked),
        WITHHELD(LIBXCB, xcb_reparent_window),
        WITHHELD(LIBXCB, xcb_reparent_window_checked),
        WITHHELD(LIBXCB, xcb_send_request),
        WITHHELD(LIBXCB, xcb_send_request64),
        WITHHELD(LIBXCB, xcb_send_request_with_fds),
        WITHHELD(LIBXCB, xcb_send_request_with_fds64),
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(name, functions[i].name))
            return function_of(functions[i].library, name) ? (void *)functions[i].own : NULL;
    return NULL;
}
