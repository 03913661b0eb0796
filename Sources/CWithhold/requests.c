/// The functions of libX11 and libxcb that show, hide and destroy windows.
///
/// Every toolkit calls these: GTK and Xt those of libX11, Qt those of libxcb. They are declared
/// here, so that this library is built without the headers of either, and runs without loading
/// them.

#include "grabs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

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
int XUnmapWindow(Display *, unsigned long);

/// A part of another program's window would be seen at once, because that window may be. A client
/// chooses the numbers of its windows from its own range, which has at least 18 bits (X Window System
/// Protocol, "Connection Setup").
static void check_parent(uint32_t window, uint32_t parent, uint32_t root) {
    if (parent != root && parent >> 18 != window >> 18) withhold_fail(WITHHOLD_OTHER_DISPLAY);
}

/// Whether the window is a visible kind of window (not input-only) and a child of the root.
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
    check_parent((uint32_t)window, (uint32_t)parent, (uint32_t)root);
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
    check_parent((uint32_t)window, (uint32_t)parent, (uint32_t)attributes.root);
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

/// A held window that becomes part of another window is mapped there. A mapped part of another
/// window that becomes a top-level window would be seen, so it is hidden and held.
EXPORT int XReparentWindow(Display *display, unsigned long window, unsigned long parent, int x,
                           int y);
EXPORT int XReparentWindow(Display *display, unsigned long window, unsigned long parent, int x,
                           int y) {
    FUNCTION(LIBX11, XReparentWindow);
    bool was_held = windows_drop((uint32_t)window);
    bool shows = hides_for_root(display, window, parent) || was_held;
    int result = real(display, window, parent, x, y);
    if (shows) XMapWindow(display, window);
    return result;
}

/// This function shows the windows inside another one.
EXPORT int XMapSubwindows(Display *display, unsigned long window);
EXPORT int XMapSubwindows(Display *display, unsigned long window) {
    FUNCTION(LIBX11, XMapSubwindows);
    if (withhold_is_on() && is_root(display, window)) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    return real(display, window);
}

// MARK: libxcb

typedef struct {
    size_t count;
    const struct {
        const char *name;
        int number;
    } *extension;
    uint8_t opcode;
    uint8_t is_void;
} protocol_request;

cookie xcb_get_window_attributes(xcb_connection_t *, uint32_t);
void *xcb_get_window_attributes_reply(xcb_connection_t *, cookie, void **);
cookie xcb_query_tree(xcb_connection_t *, uint32_t);
void *xcb_query_tree_reply(xcb_connection_t *, cookie, void **);
cookie xcb_unmap_window(xcb_connection_t *, uint32_t);
cookie xcb_no_operation(xcb_connection_t *);
cookie xcb_no_operation_checked(xcb_connection_t *);
int xcb_get_file_descriptor(xcb_connection_t *);

static uint32_t word(const unsigned char *reply, size_t at) {
    uint32_t value;
    memcpy(&value, reply + at, sizeof value);
    return value;
}

struct facts {
    uint32_t root, parent;
    bool is_visible; // not input-only
    bool is_main, is_mapped;
};

/// The positions are those of the replies in the X protocol, in the machine's byte order.
static bool facts_of(xcb_connection_t *connection, uint32_t window, struct facts *facts) {
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
    bool is_known = attributes && tree;
    if (is_known)
        *facts = (struct facts){
            .root = word(tree, 8),
            .parent = word(tree, 12),
            .is_visible = (word(attributes, 12) & 0xffff) == INPUT_OUTPUT,
            .is_mapped = attributes[26],
            .is_main = !attributes[27],
        };
    free(attributes);
    free(tree);
    return is_known;
}

static bool is_top_level_of(xcb_connection_t *connection, uint32_t window, bool *is_main) {
    struct facts facts;
    if (!facts_of(connection, window, &facts) || !facts.is_visible) return false;
    check_parent(window, facts.parent, facts.root);
    *is_main = facts.is_main;
    return facts.parent == facts.root;
}

/// Hides the window if it is shown and its new parent is the root.
static bool hides_for_root_of(xcb_connection_t *connection, uint32_t window, uint32_t parent) {
    struct facts facts;
    if (!withhold_is_on() || is_own_connection(connection)
        || !facts_of(connection, window, &facts))
        return false;
    check_parent(window, parent, facts.root);
    if (facts.root != parent || !facts.is_mapped) return false;
    xcb_unmap_window(connection, window);
    return true;
}

static bool is_root_of(xcb_connection_t *connection, uint32_t window) {
    static __typeof__(&xcb_query_tree) ask;
    static __typeof__(&xcb_query_tree_reply) reply;
    if (!ask) ask = (__typeof__(ask))function_of(LIBXCB, "xcb_query_tree");
    if (!reply) reply = (__typeof__(reply))function_of(LIBXCB, "xcb_query_tree_reply");
    unsigned char *tree = ask && reply ? reply(connection, ask(connection, window), NULL) : NULL;
    bool is_root = tree && word(tree, 8) == window;
    free(tree);
    return is_root;
}

static bool is_held_by(xcb_connection_t *connection, uint32_t window) {
    bool is_main;
    if (!withhold_is_on() || is_own_connection(connection)
        || !is_top_level_of(connection, window, &is_main))
        return false;
    FUNCTION(LIBXCB, xcb_get_file_descriptor);
    return real && note(windows_hold(real(connection), window, false, is_main));
}

/// The caller gets the number of a real request, because it may ask for errors of that request.
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
        bool shows = hides_for_root_of(connection, window, parent) || was_held; \
        cookie result = real(connection, window, parent, x, y); \
        if (shows) xcb_map_window(connection, window); \
        return result; \
    }

REPARENTING(xcb_reparent_window)
REPARENTING(xcb_reparent_window_checked)

#define MAPPING_PARTS(name) \
    EXPORT cookie name(xcb_connection_t *connection, uint32_t window); \
    EXPORT cookie name(xcb_connection_t *connection, uint32_t window) { \
        FUNCTION(LIBXCB, name); \
        if (withhold_is_on() && is_root_of(connection, window)) \
            withhold_fail(WITHHOLD_OTHER_DISPLAY); \
        return real(connection, window); \
    }

MAPPING_PARTS(xcb_map_subwindows)
MAPPING_PARTS(xcb_map_subwindows_checked)

#define SENDING_EVENTS(name, instead) \
    EXPORT cookie name(xcb_connection_t *connection, uint8_t propagates, uint32_t window, \
                       uint32_t mask, const char *event); \
    EXPORT cookie name(xcb_connection_t *connection, uint8_t propagates, uint32_t window, \
                       uint32_t mask, const char *event) { \
        FUNCTION(LIBXCB, name); \
        if (withhold_is_on() && !is_own_connection(connection) \
            && messages_withhold(connection, window, mask, event)) \
            return instead(connection); \
        return real(connection, propagates, window, mask, event); \
    }

SENDING_EVENTS(xcb_send_event, nothing)
SENDING_EVENTS(xcb_send_event_checked, nothing_checked)

#define DESTROY_WINDOW 4
#define MAP_WINDOW 8
#define MAP_SUBWINDOWS 9
#define UNMAP_WINDOW 10
#define SET_SELECTION_OWNER 22
#define SEND_EVENT 25
#define GRAB_POINTER 26
#define GRAB_BUTTON 28
#define GRAB_KEYBOARD 31
#define GRAB_KEY 33
#define GRAB_SERVER 36
#define UNGRAB_SERVER 37
#define SEND_EVENT_SIZE 44
#define RAW 4 // XCB_REQUEST_RAW: the request brings its opcode itself
#define CHECKED 1

/// The extension for input devices (XI and XI2). In a raw request, its number is unknown.
static bool is_grab_of_device(const protocol_request *request) {
    enum { GRAB_DEVICE = 13, GRAB_DEVICE_KEY = 15, XI_GRAB_DEVICE = 51, XI_PASSIVE_GRAB = 54 };
    if (strcmp(request->extension->name, "XInputExtension") != 0) return false;
    return request->opcode == GRAB_DEVICE || request->opcode == GRAB_DEVICE_KEY
        || request->opcode == XI_GRAB_DEVICE || request->opcode == XI_PASSIVE_GRAB;
}

/// Programs that encode requests themselves (Chromium) send them by the functions below, and so do
/// libxcb's own functions. Returns whether the request is withheld.
static bool is_withheld(xcb_connection_t *connection, int flags, const struct iovec *parts,
                        const protocol_request *request) {
    if (!withhold_is_on() || is_own_connection(connection)) return false;
    if (!parts || !request || !request->count) return false;
    if (request->extension) {
        if (!(flags & RAW) && is_grab_of_device(request)) withhold_fail(WITHHOLD_OTHER_DISPLAY);
        return false;
    }
    const unsigned char *bytes = parts[0].iov_base;
    size_t size = parts[0].iov_len;
    if (!bytes || size < 4) return false;
    uint8_t opcode = flags & RAW ? bytes[0] : request->opcode;
    switch (opcode) {
    case GRAB_POINTER:
    case GRAB_KEYBOARD:
    case GRAB_KEY: withhold_fail(WITHHOLD_OTHER_DISPLAY);
    // libxcb's functions call one another, so a grab counts several times, and so does its end.
    case GRAB_SERVER: withhold_note_server_grab(1); return false;
    case UNGRAB_SERVER: withhold_note_server_grab(-1); return false;
    }
    if (size < 8) return false;
    uint32_t window = word(bytes, 4);
    switch (opcode) {
    case MAP_WINDOW: return is_held_by(connection, window);
    case UNMAP_WINDOW:
    case DESTROY_WINDOW: windows_drop(window); return false;
    case SET_SELECTION_OWNER:
        if (window) withhold_fail(WITHHOLD_OTHER_DISPLAY);
        return false;
    case MAP_SUBWINDOWS:
    case GRAB_BUTTON:
        if (is_root_of(connection, window)) withhold_fail(WITHHOLD_OTHER_DISPLAY);
        return false;
    case SEND_EVENT:
        return size >= SEND_EVENT_SIZE
            && messages_withhold(connection, window, word(bytes, 8), bytes + 12);
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

/// This library's replacement for a library's function, if that library is loaded and has the
/// function.
void *withholding_function(const char *name) {
    if (!strncmp(name, "wl_", 3)) return withholding_function_of_wayland(name);
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
        WITHHELD(LIBX11, XMapSubwindows),
        WITHHELD(LIBX11, XSendEvent),
        WITHHELD(LIBX11, XIconifyWindow),
        WITHHELD(LIBX11, XSetSelectionOwner),
        WITHHELD(LIBX11, XGrabServer),
        WITHHELD(LIBX11, XUngrabServer),
        WITHHELD(LIBX11, XGrabPointer),
        WITHHELD(LIBX11, XGrabKeyboard),
        WITHHELD(LIBX11, XGrabKey),
        WITHHELD(LIBX11, XGrabButton),
        WITHHELD(LIBXI, XGrabDevice),
        WITHHELD(LIBXI, XGrabDeviceKey),
        WITHHELD(LIBXI, XIGrabDevice),
        WITHHELD(LIBXI, XIGrabButton),
        WITHHELD(LIBXI, XIGrabKeycode),
        WITHHELD(LIBXI, XIGrabTouchBegin),
        WITHHELD(LIBXCB, xcb_map_window),
        WITHHELD(LIBXCB, xcb_map_window_checked),
        WITHHELD(LIBXCB, xcb_map_subwindows),
        WITHHELD(LIBXCB, xcb_map_subwindows_checked),
        WITHHELD(LIBXCB, xcb_send_event),
        WITHHELD(LIBXCB, xcb_send_event_checked),
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
