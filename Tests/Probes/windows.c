/// Shows windows as the words of its command say, in this order, and then waits for events. Needs
/// libX11 and libxcb, and no header of either. `watch` instead prints the name of each top-level window that
/// appears, and `asks` those that are there.
///
///   xlib, raised, xcb, checked, request, raw-request, opened NAME   shows a window in that way
///   tiny NAME          shows it at 1x1, twice, and makes it larger
///   splash NAME        shows a window that no window manager is to manage
///   child NAME         shows a window with another one within
///   unmaps, withdraws, destroys NAME   shows a window, and takes it back at once
///   emerges NAME       shows a part of a window, and makes it a window of its own
///   names, forks, socket, grabs, ends, waits  what ends a prewarm
///   later NAME         shows a window when the first of all has appeared
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
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
int XReparentWindow(Display *, Window, Window, int, int);
int XGrabKeyboard(Display *, Window, int, int, int, unsigned long);
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
cookie xcb_map_window_checked(xcb_connection_t *, uint32_t);
void *xcb_request_check(xcb_connection_t *, cookie);
unsigned xcb_send_request(xcb_connection_t *, int, struct iovec *, const protocol_request *);
int xcb_flush(xcb_connection_t *);

#define STRUCTURE_NOTIFY (1L << 17)
#define SUBSTRUCTURE_NOTIFY (1L << 19)
#define MAP_NOTIFY 19
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

static void print(Window of) {
    char *name = NULL;
    XFetchName(display, of, &name);
    if (name) printf("%s\n", name);
    fflush(stdout);
}

static int watch(int also_waits) {
    Window parent, *children;
    unsigned count;
    struct window_attributes attributes;
    XSetErrorHandler(ignore);
    XSelectInput(display, root, SUBSTRUCTURE_NOTIFY);
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
    }
}

static void connect_to_server(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/.X11-unix/X%s", getenv("DISPLAY") + 1);
    int number = socket(AF_UNIX, SOCK_STREAM, 0);
    if (number < 0 || connect(number, (struct sockaddr *)&address, sizeof address) != 0) exit(9);
}

static void ask_for_name(void) {
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    send(ends[0], "..s\0RequestName\0..", 18, 0);
}

static void act(const char *word, const char *name) {
    Window made;
    if (!strcmp(word, "xlib")) XMapWindow(display, window(name));
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
    if (!strcmp(word, "unmaps")) XMapWindow(display, made = window(name)), XUnmapWindow(display, made);
    if (!strcmp(word, "withdraws"))
        XMapWindow(display, made = window(name)), XWithdrawWindow(display, made, 0);
    if (!strcmp(word, "destroys"))
        XMapWindow(display, made = window(name)), XDestroyWindow(display, made);
}

int main(int argc, char **argv) {
    const char *later = NULL;
    if (argc > 1 && !strcmp(argv[1], "socket")) connect_to_server();
    display = XOpenDisplay(NULL);
    if (!display) return 8;
    root = XDefaultRootWindow(display);
    if (argc > 1 && !strcmp(argv[1], "watch")) return watch(1);
    if (argc > 1 && !strcmp(argv[1], "asks")) return watch(0);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "names")) ask_for_name();
        else if (!strcmp(argv[i], "forks")) {
            if (fork() == 0) _exit(0);
        } else if (!strcmp(argv[i], "socket")) continue;
        else if (!strcmp(argv[i], "grabs")) XGrabKeyboard(display, root, 0, 1, 1, 0);
        else if (!strcmp(argv[i], "ends")) return 7;
        else if (!strcmp(argv[i], "waits")) pause();
        else if (!strcmp(argv[i], "later") && i + 1 < argc) later = argv[++i];
        else if (i + 1 < argc) {
            act(argv[i], argv[i + 1]);
            i++;
        }
    }
    XSync(display, 0);
    for (;;) {
        Event event;
        XNextEvent(display, &event);
        if (event.type != MAP_NOTIFY || !later) continue;
        act("xlib", later);
        later = NULL;
    }
}
