/// Shows windows as the words of its command say, in this order, and then waits for events. Needs
/// libX11 and libxcb, and no header of either. `watch` instead prints the name of each top-level window that
/// appears, `times` also prints when it has heard of the window (in seconds of CLOCK_MONOTONIC, before the
/// name), `hears` also prints what clients tell the window manager, `asks` prints the windows that are there, and
/// `dates NAME` prints the time of a window's last use, and the identifier of its launch;
/// `activates NAME` asks the window manager for the focus of a window, once it is there, and `breaks NAME` destroys
/// another client's window. `fronts NAME` says in the window manager's place that a window has the focus; `floods PROPERTY` prints "flooding", and tells the clients of the root window again and again that
/// this property of it has changed.
///
///   xlib, raised, xcb, checked, request, raw-request, opened NAME   shows a window in that way
///   tiny NAME          shows it at 1x1, twice, and makes it larger
///   splash NAME        shows a window that no window manager is to manage
///   child NAME         shows a window with another one within
///   unmaps, withdraws, destroys NAME   shows a window, and takes it back at once
///   unmapped, withdrawn, destroyed, remapped NAME   shows a window, and takes it back when the resource database changes; or
///                      takes it back and shows it again
///   fickle NAME        shows a window that is empty until the program draws it; at every third launch from a hold, it ends
///                      instead of drawing
///   late NAME          shows a window when the resource database changes
///   emerges NAME       shows a part of a window, and makes it a window of its own
///   becomes NAME       the same by libxcb
///   embeds, plugs NAME   shows a part of another client's window, or makes its window one
///   elsewhere DISPLAY  shows a window on that display
///   follows NAME, forks-later, spawns-later   when the resource database changes, shows a window in a process that it makes;
///                      or only makes one
///   iconifies, fills NAME   shows a window, and asks for it to be an icon, or to fill the screen
///   dated, dated-apart NAME   shows a window that was last used at the time 2, as it says itself or another window says
///   says               says that it has started (the Startup Notification Protocol)
///   names, item, notifies, tray, forks, socket, raw, grabs, button, touch, selects, root, ends, waits
///                      does what ends a prewarm
///   owns NAME          owns a name on the bus of the session, and answers each call with nothing
///   forking NAME       the same, and makes a process before it answers a call, except for introspection
///   listens            asks a bus for notifications of others, which does not prevent a hold
///   single PATH        listens on a socket there; if another process does, it tells that one and ends
///   reads PATH         reads a file
///   access, stat, lstat, fstatat, statx PATH   looks whether a file is there, and reads it if it is
///   replaces PATH      reads a file, and replaces it by another one of the same name
///   appears COUNT:PATH   looks for a file that is not there, and makes it when COUNT watches have been added
///   many FILESxTIMES:PATH   reads that many files, each that many times
///   leaves NAME        writes to files of that name in the folders of the session and for temporary files
///   connects, sends ADDRESS   begins a connection to port 7 of an internet address, or sends a datagram there, and closes
///                      the socket
///   asks-for NAME      asks for the address of a host
/// `changes resources DPI` and `changes output` change a setting of the display. `manages` is a settings manager: for
/// each line of its input, a name and a number or a text, it changes its settings to that one, and prints "set".
///   later NAME         shows a window when the first of all has appeared
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

typedef struct _XDisplay Display;
typedef unsigned long Window;
typedef union {
    int type;
    struct {
        int type;
        unsigned long serial;
        int send_event;
        Display *display;
        Window event, window;
        int override_redirect;
    } map;
    struct {
        int type;
        unsigned long serial;
        int send_event;
        Display *display;
        Window window;
        unsigned long message_type;
        int format;
        union {
            char bytes[20];
            long longs[5];
        } data;
    } message;
    long space[24];
} Event;
struct attributes {
    unsigned long background_pixmap, background_pixel, border_pixmap, border_pixel;
    int bit_gravity, win_gravity, backing_store;
    unsigned long backing_planes, backing_pixel;
    int save_under;
    long event_mask, do_not_propagate_mask;
    int override_redirect;
    unsigned long colormap, cursor;
};
struct window_attributes {
    int x, y, width, height, border_width, depth;
    void *visual;
    Window root;
    int class, gravity[2], backing_store;
    unsigned long backing[2];
    int save_under;
    unsigned long colormap;
    int map_installed, map_state;
    long masks[3];
    int override_redirect;
    void *screen;
};

Display *XOpenDisplay(const char *);
Window XDefaultRootWindow(Display *);
Window XCreateSimpleWindow(Display *, Window, int, int, unsigned, unsigned, unsigned, unsigned long,
                           unsigned long);
int XChangeWindowAttributes(Display *, Window, unsigned long, struct attributes *);
int XGetWindowAttributes(Display *, Window, struct window_attributes *);
int XStoreName(Display *, Window, const char *);
int XFetchName(Display *, Window, char **);
int XSelectInput(Display *, Window, long);
int XMapWindow(Display *, Window);
int XMapRaised(Display *, Window);
int XUnmapWindow(Display *, Window);
int XWithdrawWindow(Display *, Window, int);
int XDestroyWindow(Display *, Window);
int XResizeWindow(Display *, Window, unsigned, unsigned);
int XQueryTree(Display *, Window, Window *, Window *, Window **, unsigned *);
int XNextEvent(Display *, Event *);
int XSync(Display *, int);
int XGetWindowProperty(Display *, Window, unsigned long, long, long, int, unsigned long, unsigned long *,
                       int *, unsigned long *, unsigned long *, unsigned char **);
int XReparentWindow(Display *, Window, Window, int, int);
int XGrabKeyboard(Display *, Window, int, int, int, unsigned long);
int XGrabButton(Display *, unsigned, unsigned, Window, int, unsigned, int, int, Window, unsigned long);
int XSetSelectionOwner(Display *, unsigned long, Window, unsigned long);
int XMapSubwindows(Display *, Window);
int XSetWindowBackground(Display *, Window, unsigned long);
int XClearWindow(Display *, Window);
int XIconifyWindow(Display *, Window, int);
int XChangeProperty(Display *, Window, unsigned long, unsigned long, int, int, const unsigned char *, int);
unsigned long XInternAtom(Display *, const char *, int);
char *XGetAtomName(Display *, unsigned long);
int XSendEvent(Display *, Window, int, long, Event *);
int (*XSetErrorHandler(int (*)(Display *, void *)))(Display *, void *);

typedef struct xcb_connection_t xcb_connection_t;
typedef struct {
    unsigned sequence;
} cookie;
typedef struct {
    size_t count;
    void *extension;
    uint8_t opcode, is_void;
} protocol_request;
xcb_connection_t *xcb_connect(const char *, int *);
uint32_t xcb_generate_id(xcb_connection_t *);
cookie xcb_create_window(xcb_connection_t *, uint8_t, uint32_t, uint32_t, int16_t, int16_t, uint16_t,
                         uint16_t, uint16_t, uint16_t, uint32_t, uint32_t, const void *);
cookie xcb_change_property(xcb_connection_t *, uint8_t, uint32_t, uint32_t, uint32_t, uint8_t,
                           uint32_t, const void *);
cookie xcb_map_window(xcb_connection_t *, uint32_t);
cookie xcb_reparent_window(xcb_connection_t *, uint32_t, uint32_t, int16_t, int16_t);
cookie xcb_map_window_checked(xcb_connection_t *, uint32_t);
void *xcb_request_check(xcb_connection_t *, cookie);
unsigned xcb_send_request(xcb_connection_t *, int, struct iovec *, const protocol_request *);
int xcb_flush(xcb_connection_t *);

#define EXPOSURE (1L << 15)
#define STRUCTURE_NOTIFY (1L << 17)
#define SUBSTRUCTURE_NOTIFY (1L << 19)
#define SUBSTRUCTURE_REDIRECT (1L << 20)
#define PROPERTY_CHANGE (1L << 22)
#define EXPOSE 12
#define MAP_NOTIFY 19
#define CLIENT_MESSAGE 33
#define PROPERTY_NOTIFY 28
#define TYPE_WINDOW 33
#define BACKGROUND_PIXMAP (1L << 0)
#define OVERRIDE_REDIRECT (1L << 9)
#define VIEWABLE 2

static Display *display;
static Window root;

static int ignore(Display *of, void *error) {
    (void)of, (void)error;
    return 0;
}

static Window window(const char *name) {
    Window made = XCreateSimpleWindow(display, root, 10, 10, 200, 100, 0, 0, 0xabcdef);
    XStoreName(display, made, name);
    XSelectInput(display, made, STRUCTURE_NOTIFY);
    return made;
}

/// A window that another client has made.
static Window window_of_other(void) {
    Display *other = XOpenDisplay(NULL);
    Window made = XCreateSimpleWindow(other, root, 10, 10, 200, 100, 0, 0, 0);
    XMapWindow(other, made);
    XSync(other, 0);
    return made;
}

static void show_by_xcb(const char *way, const char *name) {
    static xcb_connection_t *connection;
    if (!connection) connection = xcb_connect(NULL, NULL);
    uint32_t id = xcb_generate_id(connection), color = 0x123456;
    xcb_create_window(connection, 0, id, (uint32_t)root, 300, 10, 200, 100, 0, 1, 0, 2, &color);
    xcb_change_property(connection, 0, id, 39, 31, 8, (uint32_t)strlen(name), name);
    if (!strcmp(way, "xcb")) xcb_map_window(connection, id);
    if (!strcmp(way, "checked")) free(xcb_request_check(connection, xcb_map_window_checked(connection, id)));
    if (!strcmp(way, "request") || !strcmp(way, "raw-request")) {
        int is_raw = way[1] == 'a';
        uint32_t bytes[2] = {is_raw ? 8 | 2 << 16 : 0, id};
        struct iovec parts[4] = {{0}, {0}, {bytes, sizeof bytes}, {NULL, 0}};
        protocol_request request = {2, NULL, is_raw ? 0 : 8, 1};
        xcb_send_request(connection, is_raw ? 4 : 0, parts + 2, &request);
    }
    xcb_flush(connection);
}

static void become_window(const char *name) {
    xcb_connection_t *connection = xcb_connect(NULL, NULL);
    uint32_t parent = xcb_generate_id(connection), id = xcb_generate_id(connection);
    xcb_create_window(connection, 0, parent, (uint32_t)root, 300, 10, 200, 100, 0, 1, 0, 0, NULL);
    xcb_create_window(connection, 0, id, parent, 0, 0, 200, 100, 0, 1, 0, 0, NULL);
    xcb_change_property(connection, 0, id, 39, 31, 8, (uint32_t)strlen(name), name);
    xcb_map_window(connection, id);
    xcb_reparent_window(connection, id, (uint32_t)root, 10, 10);
    xcb_flush(connection);
}

/// A window manager puts a window into a frame, which has no name.
static char *name_of(Window of) {
    char *name = NULL;
    if (XFetchName(display, of, &name)) return name;
    Window ignored, *children;
    unsigned count = 0;
    XQueryTree(display, of, &ignored, &ignored, &children, &count);
    for (unsigned i = 0; i < count && !name; i++) XFetchName(display, children[i], &name);
    return name;
}

static int also_times;

/* The server answers for the name only after it has drawn for the program. */
static void print(Window of) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    char *name = name_of(of);
    if (name && also_times) printf("%lld.%09ld ", (long long)now.tv_sec, now.tv_nsec);
    if (name) printf("%s\n", name);
    fflush(stdout);
}

static unsigned char *property(Window of, const char *name, unsigned long *count) {
    unsigned long type, rest;
    int format;
    unsigned char *value = NULL;
    XGetWindowProperty(display, of, XInternAtom(display, name, 0), 0, 64, 0, 0, &type, &format, count, &rest, &value);
    return value;
}

static Window find(const char *wanted) {
    Window parent, *children;
    unsigned count;
    XSetErrorHandler(ignore);
    XQueryTree(display, root, &parent, &parent, &children, &count);
    for (unsigned i = 0; i < count; i++) {
        char *name = NULL;
        if (XFetchName(display, children[i], &name) && !strcmp(name, wanted)) return children[i];
    }
    return 0;
}

static int print_dates(const char *wanted) {
    unsigned long size;
    Window of = find(wanted);
    if (!of) return 1;
    unsigned char *apart = property(of, "_NET_WM_USER_TIME_WINDOW", &size);
    Window dated = apart && size ? *(Window *)(void *)apart : of;
    unsigned char *time = property(dated, "_NET_WM_USER_TIME", &size);
    printf("%lu ", time && size ? *(unsigned long *)(void *)time : 0);
    unsigned char *identifier = property(of, "_NET_STARTUP_ID", &size);
    printf("%s\n", identifier && size ? (char *)identifier : "none");
    return 0;
}

static void send_message(Window to, long mask, Window of, const char *type, long first) {
    Event event = {.message = {.type = CLIENT_MESSAGE, .display = display, .window = of, .format = 32}};
    event.message.message_type = XInternAtom(display, type, 0);
    event.message.data.longs[0] = first;
    XSendEvent(display, to, 0, mask, &event);
}

/// Prints the type of a message to the window manager, and the window's name; or the beginning of a
/// text that says that a program has started.
static void print_message(const Event *event) {
    char *type = XGetAtomName(display, event->message.message_type), *name = NULL;
    if (event->message.format == 8) {
        if (strstr(type, "_BEGIN")) printf("%.20s\n", event->message.data.bytes);
    } else {
        XFetchName(display, event->message.window, &name);
        printf("%s %s\n", type, name ? name : "");
    }
    fflush(stdout);
}

static int watch(int also_waits, int also_hears) {
    Window parent, *children;
    unsigned count;
    struct window_attributes attributes;
    XSetErrorHandler(ignore);
    XSelectInput(display, root, SUBSTRUCTURE_NOTIFY | PROPERTY_CHANGE);
    XQueryTree(display, root, &parent, &parent, &children, &count);
    for (unsigned i = 0; i < count; i++)
        if (XGetWindowAttributes(display, children[i], &attributes)
            && attributes.map_state == VIEWABLE)
            print(children[i]);
    if (!also_waits) return 0;
    printf("watching\n");
    fflush(stdout);
    for (;;) {
        Event event;
        XNextEvent(display, &event);
        if (event.type == MAP_NOTIFY) print(event.map.window);
        if (event.type == CLIENT_MESSAGE && also_hears) print_message(&event);
    }
}

/* Does what a task bar does (Extended Window Manager Hints). Returns whether there is such a
   window. */
static int activate(const char *wanted) {
    unsigned long type, count, rest;
    int format;
    unsigned char *list = NULL;
    XGetWindowProperty(display, root, XInternAtom(display, "_NET_CLIENT_LIST", 0), 0, 64, 0, TYPE_WINDOW, &type,
                       &format, &count, &rest, &list);
    for (unsigned long i = 0; list && i < count; i++) {
        Window of = ((Window *)(void *)list)[i];
        char *name = NULL;
        XFetchName(display, of, &name);
        if (!name || strcmp(name, wanted)) continue;
        /* The message of a task bar (source indication 2). */
        Event event = {
            .message = {.type = CLIENT_MESSAGE, .window = of, .format = 32, .data.longs = {2}}};
        event.message.message_type = XInternAtom(display, "_NET_ACTIVE_WINDOW", 0);
        XSendEvent(display, root, 0, SUBSTRUCTURE_NOTIFY | SUBSTRUCTURE_REDIRECT, &event);
        XSync(display, 0);
        return 1;
    }
    return 0;
}

/// Appends nothing to a property without end; each time, the X server sends an event.
static int flood(const char *name) {
    unsigned long property = XInternAtom(display, name, 0);
    for (unsigned long count = 0;; count++) {
        XChangeProperty(display, root, property, TYPE_WINDOW, 32, 2, (const unsigned char *)"", 0);
        if (count != 1000) continue;
        XSync(display, 0);
        printf("flooding\n");
        fflush(stdout);
    }
}

static int bring_to_front(const char *wanted) {
    Window front = find(wanted);
    if (!front) return 1;
    XChangeProperty(display, root, XInternAtom(display, "_NET_ACTIVE_WINDOW", 0), TYPE_WINDOW, 32, 0,
                    (const unsigned char *)&front, 1);
    XSync(display, 0);
    return 0;
}

static int break_window(const char *wanted) {
    Window broken = find(wanted);
    if (!broken) return 1;
    XDestroyWindow(display, broken);
    XSync(display, 0);
    return 0;
}

static int await_and_activate(const char *wanted) {
    Event event;
    XSetErrorHandler(ignore);
    XSelectInput(display, root, PROPERTY_CHANGE);
    while (!activate(wanted)) XNextEvent(display, &event);
    return 0;
}

static void connect_to_server(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/.X11-unix/X%s", getenv("DISPLAY") + 1);
    int number = socket(AF_UNIX, SOCK_STREAM, 0);
    if (number < 0 || connect(number, (struct sockaddr *)&address, sizeof address) != 0) exit(9);
}

/// Parts of messages to a bus.
static void send_to_bus(const void *bytes, size_t size) {
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    send(ends[0], bytes, size, 0);
}
#define SEND_TO_BUS(text) send_to_bus(text, sizeof text)

static void read_all(int from, void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t count = read(from, (char *)bytes + done, size - done);
        if (count <= 0) exit(9);
        done += (size_t)count;
    }
}

/// Shows a window without any library (the X Window System Protocol): its name is "raw".
static void show_by_system_calls(void) {
    static uint32_t reply[1 << 16];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint32_t setup[3] = {'l' | 11 << 16}, parts[10] = {0}, head[2];
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/.X11-unix/X%s", getenv("DISPLAY") + 1);
    int number = socket(AF_UNIX, SOCK_STREAM, 0);
    if (syscall(SYS_connect, number, &address, sizeof address) != 0) exit(9);
    if (write(number, setup, sizeof setup) != sizeof setup) exit(9);
    read_all(number, head, sizeof head);
    read_all(number, reply, (size_t)(head[1] >> 16) * 4);
    uint32_t id = reply[1], vendor_size = reply[4] & 0xffff, format_count = reply[5] >> 8 & 0xff;
    uint32_t top = reply[8 + (vendor_size + 3) / 4 + format_count * 2];
    memcpy(parts, (uint32_t[]){1 | 8 << 16, id, top, 0, 99 | 99 << 16, 1 << 16, 0, 0}, 32);
    if (write(number, parts, 32) != 32) exit(9);
    memcpy(parts, (uint32_t[]){18 | 7 << 16, id, 39, 31, 8, 3, 'r' | 'a' << 8 | 'w' << 16}, 28);
    if (write(number, parts, 28) != 28) exit(9);
    memcpy(parts, (uint32_t[]){8 | 2 << 16, id}, 8);
    if (write(number, parts, 8) != 8) exit(9);
}

static void grab_touch(void) {
    struct {
        int device, length;
        unsigned char *bits;
    } mask = {1, 4, (unsigned char[4]){0}};
    struct {
        int modifiers, status;
    } modifiers = {0, 0};
    int (*grab)(Display *, int, Window, int, void *, int, void *) =
        (int (*)(Display *, int, Window, int, void *, int, void *))dlsym(
            dlopen("libXi.so.6", RTLD_NOW), "XIGrabTouchBegin");
    if (grab) grab(display, 1, root, 0, &mask, 1, &modifiers);
}

/// A small client of D-Bus without a library (D-Bus Specification). A thread answers the calls.
static size_t put_field(char *to, size_t at, int code, char type, const char *text) {
    at = (at + 7) & ~(size_t)7;
    char head[4] = {(char)code, 1, type, 0};
    uint32_t length = (uint32_t)strlen(text);
    memcpy(to + at, head, 4);
    memcpy(to + at + 4, &length, 4);
    memcpy(to + at + 8, text, length + 1);
    return at + 8 + length + 1;
}

static void call_bus(int bus, const char *member, const char *name) {
    char bytes[1024] = {'l', 1, 0, 1};
    static uint32_t serial;
    uint32_t size = 0, length = (uint32_t)(name ? strlen(name) : 0);
    size_t at = 16;
    at = put_field(bytes, at, 1, 'o', "/org/freedesktop/DBus");
    at = put_field(bytes, at, 6, 's', "org.freedesktop.DBus");
    at = put_field(bytes, at, 2, 's', "org.freedesktop.DBus");
    at = put_field(bytes, at, 3, 's', member);
    if (name) {
        at = (at + 7) & ~(size_t)7;
        memcpy(bytes + at, "\x8\1g\0\2su", 8);
        at += 8;
    }
    size = (uint32_t)(at - 16);
    memcpy(bytes + 12, &size, 4);
    at = (at + 7) & ~(size_t)7;
    size_t body = at;
    if (name) {
        memcpy(bytes + at, &length, 4);
        memcpy(bytes + at + 4, name, length + 1);
        at = (at + 4 + length + 1 + 3) & ~(size_t)3;
        at += 4;
    }
    size = (uint32_t)(at - body);
    serial++;
    memcpy(bytes + 4, &size, 4);
    memcpy(bytes + 8, &serial, 4);
    if (send(bus, bytes, at, 0) != (ssize_t)at) exit(10);
}

/// Returns the serial of a call that waits for an answer, or 0 for another message, and stores the
/// caller in `sender`. Callers such as gdbus(1) first ask which methods there are.
static uint32_t read_message(int bus, char *sender, int *is_introspection) {
    static char bytes[1 << 16];
    uint32_t body, fields, serial;
    read_all(bus, bytes, 16);
    memcpy(&body, bytes + 4, 4);
    memcpy(&serial, bytes + 8, 4);
    memcpy(&fields, bytes + 12, 4);
    size_t rest = ((fields + 7) & ~(size_t)7) + body;
    if (rest > sizeof bytes - 16) exit(10);
    read_all(bus, bytes + 16, rest);
    if (bytes[1] != 1) return 0;
    /* The field of the sender: its code, and a string's signature. */
    char *field = memmem(bytes + 16, fields, "\7\1s", 4);
    if (!field) return 0;
    snprintf(sender, 64, "%s", field + 8);
    *is_introspection = memmem(bytes + 16, fields, "Introspect", 10) != NULL;
    return serial;
}

static int forks_for_calls;

static void *serve_bus(void *number) {
    int bus = (int)(intptr_t)number;
    for (;;) {
        char bytes[256] = {'l', 2, 1, 1}, sender[64];
        int is_introspection;
        uint32_t serial = read_message(bus, sender, &is_introspection);
        if (!serial) continue;
        if (forks_for_calls && !is_introspection && fork() == 0) _exit(0);
        size_t at = put_field(bytes, 16, 6, 's', sender);
        at = (at + 7) & ~(size_t)7;
        memcpy(bytes + at, "\5\1u\0", 4);
        memcpy(bytes + at + 4, &serial, 4);
        at += 8;
        uint32_t size = (uint32_t)(at - 16);
        memcpy(bytes + 8, &serial, 4);
        memcpy(bytes + 12, &size, 4);
        at = (at + 7) & ~(size_t)7;
        if (send(bus, bytes, at, 0) != (ssize_t)at) exit(10);
    }
    return NULL;
}

static void own(const char *name) {
    const char *path = getenv("DBUS_SESSION_BUS_ADDRESS");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char hello[64], user[16], answer;
    if (!path || strncmp(path, "unix:path=", 10)) exit(10);
    snprintf(address.sun_path, sizeof address.sun_path, "%.*s", (int)strcspn(path + 10, ",;"), path + 10);
    int bus = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bus < 0 || connect(bus, (struct sockaddr *)&address, sizeof address) != 0) exit(10);
    snprintf(user, sizeof user, "%u", getuid());
    size_t size = (size_t)snprintf(hello, sizeof hello, "%cAUTH EXTERNAL ", 0);
    for (char *digit = user; *digit; digit++) size += (size_t)snprintf(hello + size, 3, "%02x", *digit);
    size += (size_t)snprintf(hello + size, 3, "\r\n");
    if (send(bus, hello, size, 0) != (ssize_t)size) exit(10);
    do read_all(bus, &answer, 1);
    while (answer != '\n');
    if (send(bus, "BEGIN\r\n", 7, 0) != 7) exit(10);
    call_bus(bus, "Hello", NULL);
    call_bus(bus, "RequestName", name);
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve_bus, (void *)(intptr_t)bus) != 0) exit(10);
}

/* Passes its launch to a running process of the program, as PCManFM does, or waits as that process. */
static void be_single(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0) exit(11);
    if (connect(number, (struct sockaddr *)&address, sizeof address) == 0) {
        if (write(number, "show\n", 5) != 5) exit(11);
        exit(0);
    }
    unlink(path);
    if (bind(number, (struct sockaddr *)&address, sizeof address) != 0) exit(11);
    /* The bridge to screen readers goes on without its socket. */
    if (listen(number, 5) != 0 && !strstr(path, "/at-spi2-")) exit(11);
}

static void read_file(const char *path) {
    FILE *file = fopen(path, "r");
    if (file) fclose(file);
}

/* The library that watches settings calls the function below, which makes this file appear at that
   time, as if another process had made it. */
static const char *appearing;
static int watch_countdown;

__attribute__((visibility("default"))) int inotify_add_watch(int watcher, const char *path, uint32_t mask) {
    if (appearing && watch_countdown-- == 0) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, appearing, O_WRONLY | O_CREAT, 0666);
        if (file >= 0) close(file);
        appearing = NULL;
    }
    return (int)syscall(SYS_inotify_add_watch, watcher, path, mask);
}

static void look_for_what_appears(const char *words) {
    watch_countdown = *words - '0';
    appearing = words + 2;
    if (access(appearing, R_OK) == 0) exit(17);
}

/* Looks for a file as GTK, Qt and KConfig do. Returns 1 for another word. */
static int look(const char *word, const char *path) {
    struct stat facts;
    struct statx more;
    if (!strcmp(word, "access")) return access(path, R_OK);
    if (!strcmp(word, "stat")) return stat(path, &facts);
    if (!strcmp(word, "lstat")) return lstat(path, &facts);
    if (!strcmp(word, "fstatat")) return fstatat(AT_FDCWD, path, &facts, 0);
    if (!strcmp(word, "statx")) return statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &more);
    return 1;
}

/* Replaces a file as GKeyFile and QSaveFile do. */
static void replace(const char *path) {
    char other[256];
    read_file(path);
    snprintf(other, sizeof other, "%s.new", path);
    FILE *file = fopen(other, "w");
    if (!file || fclose(file) != 0 || rename(other, path) != 0) exit(15);
    chmod(path, 0666);
}

static void read_many(const char *words) {
    unsigned files = 0, times = 0;
    char path[256], base[200];
    if (sscanf(words, "%ux%u:%199s", &files, &times, base) != 3) exit(16);
    for (unsigned i = 0; i < files * times; i++) {
        snprintf(path, sizeof path, "%s%u", base, i % files);
        read_file(path);
    }
}

static void leave(const char *variable, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv(variable), name);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || write(file, ".", 1) != 1 || close(file) != 0) exit(19);
}

static void reach(const char *word, const char *text) {
    struct sockaddr_in old = {.sin_family = AF_INET, .sin_port = htons(7)};
    struct sockaddr_in6 new = {.sin6_family = AF_INET6, .sin6_port = htons(7)};
    int is_new = inet_pton(AF_INET, text, &old.sin_addr) != 1;
    if (is_new && inet_pton(AF_INET6, text, &new.sin6_addr) != 1) exit(20);
    const struct sockaddr *address = is_new ? (struct sockaddr *)&new : (struct sockaddr *)&old;
    socklen_t size = is_new ? sizeof new : sizeof old;
    int connects = !strcmp(word, "connects");
    int number = socket(is_new ? AF_INET6 : AF_INET, (connects ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK, 0);
    if (number < 0) exit(21);
    /* Without a network, both fail. */
    if (connects) connect(number, address, size);
    else sendto(number, "", 1, 0, address, size);
    close(number);
}

static void ask_for(const char *name) {
    struct addrinfo *found;
    if (getaddrinfo(name, "7", NULL, &found) == 0) freeaddrinfo(found);
}

/* What is done when the resource database changes. */
#define LATE_LIMIT 8
static struct {
    const char *word;
    Window window;
} late[LATE_LIMIT];
static size_t late_count;

static void note_late(const char *word, const char *name) {
    if (late_count == LATE_LIMIT) exit(18);
    Window made = window(name);
    if (strcmp(word, "late")) XMapWindow(display, made);
    late[late_count].word = word;
    late[late_count++].window = made;
}

static void do_late(void) {
    for (size_t i = 0; i < late_count; i++) {
        const char *word = late[i].word;
        Window of = late[i].window;
        if (!strcmp(word, "unmapped") || !strcmp(word, "remapped")) XUnmapWindow(display, of);
        if (!strcmp(word, "withdrawn")) XWithdrawWindow(display, of, 0);
        if (!strcmp(word, "destroyed")) XDestroyWindow(display, of);
        if (!strcmp(word, "late") || !strcmp(word, "remapped")) XMapWindow(display, of);
    }
    late_count = 0;
    XSync(display, 0);
}

static int is_late(const char *word) {
    static const char *const words[] = {"unmapped", "withdrawn", "destroyed", "remapped", "late"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i])) return 1;
    return 0;
}

static int is_withheld(void) {
    char line[4096];
    int is = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) is |= strstr(line, "withhold") != NULL;
    if (maps) fclose(maps);
    return is;
}

/// Counts its launches from a hold in a cache, which does not count as an effect.
static void show_sometimes(const char *name) {
    char path[4096];
    Window made = window(name);
    struct attributes attributes = {0};
    XChangeWindowAttributes(display, made, BACKGROUND_PIXMAP, &attributes);
    XSelectInput(display, made, STRUCTURE_NOTIFY | EXPOSURE);
    XMapWindow(display, made);
    for (Event event = {0}; event.type != EXPOSE;) XNextEvent(display, &event);
    if (is_withheld()) {
        snprintf(path, sizeof path, "%s/.cache", getenv("HOME"));
        mkdir(path, 0700);
        strcat(path, "/count");
        int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (file < 0 || write(file, ".", 1) != 1 || lseek(file, 0, SEEK_CUR) % 3 == 0) _exit(0);
    }
    XSetWindowBackground(display, made, 0xabcdef);
    XClearWindow(display, made);
}

static void act(const char *word, const char *name) {
    Window made;
    if (is_late(word)) note_late(word, name);
    if (look(word, name) == 0) read_file(name);
    if (!strcmp(word, "replaces")) replace(name);
    if (!strcmp(word, "appears")) look_for_what_appears(name);
    if (!strcmp(word, "many")) read_many(name);
    if (!strcmp(word, "leaves")) leave("XDG_RUNTIME_DIR", name), leave("TMPDIR", name);
    if (!strcmp(word, "connects") || !strcmp(word, "sends")) reach(word, name);
    if (!strcmp(word, "asks-for")) ask_for(name);
    if (!strcmp(word, "single")) be_single(name);
    if (!strcmp(word, "reads")) read_file(name);
    forks_for_calls |= !strcmp(word, "forking");
    if (!strcmp(word, "owns") || !strcmp(word, "forking")) own(name);
    if (!strcmp(word, "xlib")) XMapWindow(display, window(name));
    if (!strncmp(word, "dated", 5)) {
        made = window(name);
        Window apart = strstr(word, "apart") ? XCreateSimpleWindow(display, made, -1, -1, 1, 1, 0, 0, 0) : made;
        unsigned long time = 2;
        XChangeProperty(display, apart, XInternAtom(display, "_NET_WM_USER_TIME", 0), 6, 32, 0, (unsigned char *)&time, 1);
        if (apart != made)
            XChangeProperty(display, made, XInternAtom(display, "_NET_WM_USER_TIME_WINDOW", 0), TYPE_WINDOW, 32, 0,
                            (unsigned char *)&apart, 1);
        XMapWindow(display, made);
    }
    if (!strcmp(word, "fickle")) show_sometimes(name);
    if (!strcmp(word, "raised")) XMapRaised(display, window(name));
    if (!strcmp(word, "xcb") || !strcmp(word, "checked") || strstr(word, "request"))
        show_by_xcb(word, name);
    if (!strcmp(word, "opened")) {
        int (*map)(Display *, Window) =
            (int (*)(Display *, Window))dlsym(dlopen("libX11.so.6", RTLD_NOW), "XMapWindow");
        map(display, window(name));
    }
    if (!strcmp(word, "tiny")) {
        made = window(name);
        XResizeWindow(display, made, 1, 1);
        XMapWindow(display, made);
        XMapWindow(display, made);
        XResizeWindow(display, made, 200, 100);
    }
    if (!strcmp(word, "splash")) {
        made = window(name);
        struct attributes attributes = {.override_redirect = 1};
        XChangeWindowAttributes(display, made, OVERRIDE_REDIRECT, &attributes);
        XMapWindow(display, made);
    }
    if (!strcmp(word, "child")) {
        made = window(name);
        XMapWindow(display, XCreateSimpleWindow(display, made, 0, 0, 9, 9, 0, 0, 0));
        XMapWindow(display, made);
    }
    if (!strcmp(word, "emerges")) {
        made = XCreateSimpleWindow(display, window("parent"), 0, 0, 200, 100, 0, 0, 0);
        XStoreName(display, made, name);
        XSelectInput(display, made, STRUCTURE_NOTIFY);
        XMapWindow(display, made);
        XReparentWindow(display, made, root, 10, 10);
    }
    if (!strcmp(word, "becomes")) become_window(name);
    if (!strcmp(word, "embeds"))
        XMapWindow(display, XCreateSimpleWindow(display, window_of_other(), 0, 0, 9, 9, 0, 0, 0));
    if (!strcmp(word, "plugs")) XReparentWindow(display, window(name), window_of_other(), 0, 0);
    if (!strcmp(word, "elsewhere")) {
        display = XOpenDisplay(name);
        root = XDefaultRootWindow(display);
        XMapWindow(display, window("elsewhere"));
    }
    if (!strcmp(word, "iconifies"))
        XMapWindow(display, made = window(name)), XIconifyWindow(display, made, 0);
    if (!strcmp(word, "fills")) {
        XMapWindow(display, made = window(name));
        send_message(root, SUBSTRUCTURE_REDIRECT | SUBSTRUCTURE_NOTIFY, made, "_NET_WM_STATE", 1);
    }
    if (!strcmp(word, "unmaps")) XMapWindow(display, made = window(name)), XUnmapWindow(display, made);
    if (!strcmp(word, "withdraws"))
        XMapWindow(display, made = window(name)), XWithdrawWindow(display, made, 0);
    if (!strcmp(word, "destroys"))
        XMapWindow(display, made = window(name)), XDestroyWindow(display, made);
}

/// Makes a process as a program may do while it is thawed for a moment.
static void make_process(const char *word, const char *name) {
    if (!strcmp(word, "spawns-later")) {
        char *words[] = {(char *)"true", NULL};
        posix_spawn(&(pid_t){0}, "/bin/true", NULL, NULL, words, NULL);
        return;
    }
    if (fork() != 0) return;
    if (!name) _exit(0);
    display = XOpenDisplay(NULL);
    root = XDefaultRootWindow(display);
    XMapWindow(display, window(name));
    XSync(display, 0);
    pause();
}

static int change_setting(const char *what, const char *value) {
    if (!strcmp(what, "resources")) {
        char text[64];
        int size = snprintf(text, sizeof text, "Other.dpi:\t7\nXft.dpi:\t%s\n", value);
        XChangeProperty(display, root, 23, 31, 8, 0, (unsigned char *)text, size);
    } else {
        /* Turns the output off (Xrandr(3)). */
        struct resources {
            unsigned long time[2];
            int crtc_count;
            unsigned long *crtcs;
        } *(*ask)(Display *, Window);
        int (*set)(Display *, struct resources *, unsigned long, unsigned long, int, int, unsigned long, unsigned, void *, int);
        void *library = dlopen("libXrandr.so.2", RTLD_NOW);
        if (!library) return 13;
        *(void **)&ask = dlsym(library, "XRRGetScreenResources");
        *(void **)&set = dlsym(library, "XRRSetCrtcConfig");
        struct resources *resources = ask(display, root);
        if (!resources || resources->crtc_count < 1) return 14;
        set(display, resources, resources->crtcs[0], 0, 0, 0, 0, 1, NULL, 0);
    }
    XSync(display, 0);
    return 0;
}

/* A settings manager (the Cross-Desktop Settings Protocol) with one setting, which is a number. */
static int manage_settings(void) {
    Window own = window("settings");
    unsigned long property = XInternAtom(display, "_XSETTINGS_SETTINGS", 0);
    char name[64], text[64];
    unsigned value, serial = 0;
    XSetSelectionOwner(display, XInternAtom(display, "_XSETTINGS_S0", 0), own, 0);
    XSync(display, 0);
    while (scanf("%63s %63s", name, text) == 2) {
        unsigned char bytes[256] = {0};
        uint16_t length = (uint16_t)strlen(name);
        size_t at = 16 + ((size_t)length + 3) / 4 * 4;
        memcpy(bytes + 4, &serial, 4);
        bytes[8] = 1;
        bytes[12] = sscanf(text, "%u", &value) != 1;
        memcpy(bytes + 14, &length, 2);
        memcpy(bytes + 16, name, length);
        memcpy(bytes + at, &serial, 4);
        at += 4;
        if (bytes[12]) value = (unsigned)strlen(text);
        memcpy(bytes + at, &value, 4);
        at += 4;
        if (bytes[12]) {
            memcpy(bytes + at, text, value);
            at += (value + 3) / 4 * 4;
        }
        serial++;
        XChangeProperty(display, own, property, property, 8, 0, bytes, (int)at);
        XSync(display, 0);
        printf("set\n");
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *later = NULL, *process = NULL, *followed = NULL;
    if (argc > 1 && !strcmp(argv[1], "socket")) connect_to_server();
    display = XOpenDisplay(NULL);
    if (!display) return 8;
    root = XDefaultRootWindow(display);
    if (argc > 1 && !strcmp(argv[1], "watch")) return watch(1, 0);
    if (argc > 1 && !strcmp(argv[1], "times")) return also_times = 1, watch(1, 0);
    if (argc > 1 && !strcmp(argv[1], "hears")) return watch(1, 1);
    if (argc > 1 && !strcmp(argv[1], "asks")) return watch(0, 0);
    if (argc > 2 && !strcmp(argv[1], "dates")) return print_dates(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "activates")) return await_and_activate(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "fronts")) return bring_to_front(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "floods")) return flood(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "breaks")) return break_window(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "changes")) return change_setting(argv[2], argc > 3 ? argv[3] : "");
    if (argc > 1 && !strcmp(argv[1], "manages")) return manage_settings();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "names")) SEND_TO_BUS("..s\0RequestName\0..");
        else if (!strcmp(argv[i], "item")) SEND_TO_BUS("..s\0\x1a\0\0\0RegisterStatusNotifierItem\0..");
        else if (!strcmp(argv[i], "notifies"))
            SEND_TO_BUS("..\x1d\0\0\0org.freedesktop.Notifications\0..s\0\6\0\0\0Notify\0..");
        else if (!strcmp(argv[i], "listens"))
            SEND_TO_BUS("interface='org.freedesktop.Notifications',member='Notify'");
        else if (!strcmp(argv[i], "raw")) show_by_system_calls();
        else if (!strcmp(argv[i], "touch")) grab_touch();
        else if (!strcmp(argv[i], "button")) XGrabButton(display, 1, 0, root, 0, 4, 1, 1, 0, 0);
        else if (!strcmp(argv[i], "selects")) XSetSelectionOwner(display, 1, window("owner"), 0);
        else if (!strcmp(argv[i], "root")) XMapSubwindows(display, root);
        else if (!strcmp(argv[i], "tray"))
            send_message(window("tray"), 0, root, "_NET_SYSTEM_TRAY_OPCODE", 0);
        else if (!strcmp(argv[i], "says")) {
            Event event = {.message = {CLIENT_MESSAGE, 0, 0, display, root, 0, 8, {"remove: ID=own"}}};
            event.message.message_type = XInternAtom(display, "_NET_STARTUP_INFO_BEGIN", 0);
            XSendEvent(display, root, 0, PROPERTY_CHANGE, &event);
        }
        else if (!strcmp(argv[i], "forks")) {
            if (fork() == 0) _exit(0);
        } else if (!strcmp(argv[i], "socket")) continue;
        else if (!strcmp(argv[i], "grabs")) XGrabKeyboard(display, root, 0, 1, 1, 0);
        else if (!strcmp(argv[i], "ends")) return 7;
        else if (!strcmp(argv[i], "waits")) pause();
        else if (!strcmp(argv[i], "later") && i + 1 < argc) later = argv[++i];
        else if (strstr(argv[i], "s-later")) process = argv[i];
        else if (!strcmp(argv[i], "follows") && i + 1 < argc) followed = argv[++i], process = "follows";
        else if (i + 1 < argc) {
            act(argv[i], argv[i + 1]);
            i++;
        }
    }
    // A profile is only for a program without arguments.
    if (argc == 1) act("xlib", "one");
    if (process || late_count > 0) XSelectInput(display, root, PROPERTY_CHANGE);
    XSync(display, 0);
    for (;;) {
        Event event;
        XNextEvent(display, &event);
        if (event.type == PROPERTY_NOTIFY && process) make_process(process, followed);
        if (event.type == PROPERTY_NOTIFY) do_late();
        if (event.type != MAP_NOTIFY || !later) continue;
        act("xlib", later);
        later = NULL;
    }
}
