/// Shows windows on a Wayland compositor as the words of its command say, in this order, and then waits
/// for events. Needs libwayland-client, and no header of it. `watch` instead prints the title of each
/// window that appears, `times` also when it has heard of the title (in seconds of CLOCK_MONOTONIC, before the
/// title), and `asks` the titles of those that are there, if the compositor tells
/// them (wlr-foreign-toplevel-management).
///
///   flags, array, older, opened NAME   shows a window by those functions of libwayland
///   wrapped NAME       commits by a proxy of its own for the same surface, as Mesa does
///   repeats NAME       commits a second buffer without waiting to be shown
///   acks NAME          gets another size, and does not draw it yet
///   redraws, views NAME   the same, and draws it; the second by a viewport
///   unmaps, destroys NAME   shows a window, and takes it back at once
///   unmapped, destroyed, remapped NAME   shows a window, and takes it back when there is another output; or takes it back and
///                      shows it again
///   late NAME          shows a window when there is another output
///   remaps, minimizes, floods NAME, layer, popup, two   does what ends a prewarm
///   ends               ends with 42 when a compositor has shown the first window
///   later NAME         shows a window when the first of all has appeared
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct wl_proxy;
struct wl_display;
struct wl_interface;
struct wl_message {
    const char *name, *signature;
    const struct wl_interface **types;
};
struct wl_interface {
    const char *name;
    int version, method_count;
    const struct wl_message *methods;
    int event_count;
    const struct wl_message *events;
};
union wl_argument {
    int32_t i;
    uint32_t u;
    const void *p;
};

struct wl_display *wl_display_connect(const char *);
int wl_display_dispatch(struct wl_display *);
int wl_display_roundtrip(struct wl_display *);
int wl_display_flush(struct wl_display *);
struct wl_proxy *wl_proxy_marshal_flags(struct wl_proxy *, uint32_t, const struct wl_interface *,
                                        uint32_t, uint32_t, ...);
struct wl_proxy *wl_proxy_marshal_array_flags(struct wl_proxy *, uint32_t, const struct wl_interface *,
                                              uint32_t, uint32_t, union wl_argument *);
void wl_proxy_marshal(struct wl_proxy *, uint32_t, ...);
struct wl_proxy *wl_proxy_marshal_constructor(struct wl_proxy *, uint32_t, const struct wl_interface *,
                                              ...);
int wl_proxy_add_listener(struct wl_proxy *, void (**)(void), void *);
void *wl_proxy_create_wrapper(void *);
void wl_proxy_wrapper_destroy(void *);

extern const struct wl_interface wl_registry_interface, wl_compositor_interface, wl_surface_interface,
    wl_shm_interface, wl_shm_pool_interface, wl_buffer_interface, wl_callback_interface;

static const struct wl_interface *none[8];
#define MESSAGE(name, signature) {name, signature, none}
#define INTERFACE(name, methods, events) \
    {name, 1, sizeof methods / sizeof *methods, methods, sizeof events / sizeof *events, events}

static const struct wl_message base_methods[] = {
    MESSAGE("destroy", ""), MESSAGE("create_positioner", "n"), MESSAGE("get_xdg_surface", "no"),
    MESSAGE("pong", "u")};
static const struct wl_message base_events[] = {MESSAGE("ping", "u")};
static const struct wl_interface base_interface = INTERFACE("xdg_wm_base", base_methods, base_events);

static const struct wl_message positioner_methods[] = {
    MESSAGE("destroy", ""), MESSAGE("set_size", "ii"), MESSAGE("set_anchor_rect", "iiii")};
static const struct wl_interface positioner_interface =
    {"xdg_positioner", 1, 3, positioner_methods, 0, NULL};

static const struct wl_message xdg_methods[] = {
    MESSAGE("destroy", ""), MESSAGE("get_toplevel", "n"), MESSAGE("get_popup", "n?oo"),
    MESSAGE("set_window_geometry", "iiii"), MESSAGE("ack_configure", "u")};
static const struct wl_message xdg_events[] = {MESSAGE("configure", "u")};
static const struct wl_interface xdg_interface = INTERFACE("xdg_surface", xdg_methods, xdg_events);

static const struct wl_message popup_methods[] = {MESSAGE("destroy", "")};
static const struct wl_message popup_events[] = {MESSAGE("configure", "iiii"), MESSAGE("done", "")};
static const struct wl_interface popup_interface = INTERFACE("xdg_popup", popup_methods, popup_events);

static const struct wl_message toplevel_methods[] = {
    MESSAGE("destroy", ""), MESSAGE("set_parent", "?o"), MESSAGE("set_title", "s"),
    MESSAGE("set_app_id", "s"), MESSAGE("show_window_menu", "ouii"), MESSAGE("move", "ou"),
    MESSAGE("resize", "ouu"), MESSAGE("set_max_size", "ii"), MESSAGE("set_min_size", "ii"),
    MESSAGE("set_maximized", ""), MESSAGE("unset_maximized", ""), MESSAGE("set_fullscreen", "?o"),
    MESSAGE("unset_fullscreen", ""), MESSAGE("set_minimized", "")};
static const struct wl_message toplevel_events[] = {MESSAGE("configure", "iia"), MESSAGE("close", "")};
static const struct wl_interface toplevel_interface =
    INTERFACE("xdg_toplevel", toplevel_methods, toplevel_events);

static const struct wl_message layer_methods[] = {MESSAGE("get_layer_surface", "no?ous")};
static const struct wl_interface layer_interface = {"zwlr_layer_shell_v1", 1, 1, layer_methods, 0, NULL};
static const struct wl_interface layer_surface_interface = {"zwlr_layer_surface_v1", 1, 0, NULL, 0, NULL};

static const struct wl_message viewporter_methods[] = {
    MESSAGE("destroy", ""), MESSAGE("get_viewport", "no")};
static const struct wl_interface viewporter_interface =
    {"wp_viewporter", 1, 2, viewporter_methods, 0, NULL};
static const struct wl_message viewport_methods[] = {
    MESSAGE("destroy", ""), MESSAGE("set_source", "ffff"), MESSAGE("set_destination", "ii")};
static const struct wl_interface viewport_interface =
    {"wp_viewport", 1, 3, viewport_methods, 0, NULL};

static const struct wl_message handle_methods[] = {MESSAGE("set_maximized", "")};
static const struct wl_message handle_events[] = {
    MESSAGE("title", "s"), MESSAGE("app_id", "s"), MESSAGE("output_enter", "o"),
    MESSAGE("output_leave", "o"), MESSAGE("state", "a"), MESSAGE("done", ""), MESSAGE("closed", "")};
static const struct wl_interface handle_interface =
    INTERFACE("zwlr_foreign_toplevel_handle_v1", handle_methods, handle_events);
static const struct wl_interface *handle_types[] = {&handle_interface};
static const struct wl_message list_methods[] = {MESSAGE("stop", "")};
static const struct wl_message list_events[] = {{"toplevel", "n", handle_types}, MESSAGE("finished", "")};
static const struct wl_interface list_interface =
    INTERFACE("zwlr_foreign_toplevel_manager_v1", list_methods, list_events);

static struct wl_display *display;
static struct wl_proxy *compositor, *memory, *base, *layers, *list, *viewporter;

static struct wl_proxy *bind(struct wl_proxy *registry, uint32_t name,
                             const struct wl_interface *interface, uint32_t version) {
    return wl_proxy_marshal_flags(registry, 0, interface, version, 0, name, interface->name, version,
                                  NULL);
}

static void pong(void *data, struct wl_proxy *of, uint32_t serial) {
    (void)data;
    wl_proxy_marshal_flags(of, 3, NULL, 1, 0, serial);
}

static int has_another_output, is_connected;

static void appeared(void *data, struct wl_proxy *registry, uint32_t name, const char *interface,
                     uint32_t version) {
    (void)data, (void)version;
    static void (*listener[])(void) = {(void (*)(void))pong};
    has_another_output |= is_connected && !strcmp(interface, "wl_output");
    if (!strcmp(interface, "wl_compositor"))
        compositor = bind(registry, name, &wl_compositor_interface, 4);
    if (!strcmp(interface, "wl_shm")) memory = bind(registry, name, &wl_shm_interface, 1);
    if (!strcmp(interface, layer_interface.name)) layers = bind(registry, name, &layer_interface, 1);
    if (!strcmp(interface, viewporter_interface.name))
        viewporter = bind(registry, name, &viewporter_interface, 1);
    if (!strcmp(interface, list_interface.name)) list = bind(registry, name, &list_interface, 1);
    if (!strcmp(interface, base_interface.name)) {
        base = bind(registry, name, &base_interface, 1);
        wl_proxy_add_listener(base, listener, NULL);
    }
}

static void disappeared(void *data, struct wl_proxy *registry, uint32_t name) {
    (void)data, (void)registry, (void)name;
}

static void connect_to_compositor(void) {
    static void (*listener[])(void) = {(void (*)(void))appeared, (void (*)(void))disappeared};
    display = wl_display_connect(NULL);
    if (!display) exit(8);
    struct wl_proxy *registry =
        wl_proxy_marshal_flags((struct wl_proxy *)display, 1, &wl_registry_interface, 1, 0, NULL);
    wl_proxy_add_listener(registry, listener, NULL);
    wl_display_roundtrip(display);
    is_connected = 1;
}

// MARK: Showing

struct window {
    const char *way, *name;
    struct wl_proxy *surface, *xdg_surface, *toplevel, *viewport;
    int width, height, configure_count;
};

static struct wl_proxy *buffer(int width, int height) {
    int size = width * height * 4, file = memfd_create("buffer", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, size) != 0) exit(9);
    void *pixels = mmap(NULL, (size_t)size, PROT_WRITE, MAP_SHARED, file, 0);
    memset(pixels, 0xaa, (size_t)size);
    munmap(pixels, (size_t)size);
    struct wl_proxy *pool =
        wl_proxy_marshal_flags(memory, 0, &wl_shm_pool_interface, 1, 0, NULL, file, size);
    struct wl_proxy *made = wl_proxy_marshal_flags(pool, 0, &wl_buffer_interface, 1, 0, NULL, 0, width,
                                                   height, width * 4, 1);
    wl_proxy_marshal_flags(pool, 1, NULL, 1, 1);
    close(file);
    return made;
}

static void attach(struct wl_proxy *surface, struct wl_proxy *what, const char *way) {
    if (!strcmp(way, "array")) {
        union wl_argument arguments[] = {{.p = what}, {.i = 0}, {.i = 0}};
        wl_proxy_marshal_array_flags(surface, 1, NULL, 4, 0, arguments);
        wl_proxy_marshal_array_flags(surface, 6, NULL, 4, 0, NULL);
    } else if (!strcmp(way, "older")) {
        wl_proxy_marshal(surface, 1, what, 0, 0);
        wl_proxy_marshal(surface, 6);
    } else {
        __typeof__(&wl_proxy_marshal_flags) send = wl_proxy_marshal_flags;
        if (!strcmp(way, "opened"))
            send = (__typeof__(send))dlsym(dlopen("libwayland-client.so.0", RTLD_NOW | RTLD_LOCAL),
                                           "wl_proxy_marshal_flags");
        send(surface, 1, NULL, 4, 0, what, 0, 0);
        send(surface, 6, NULL, 4, 0);
    }
}

static int ends_when_shown;

static void was_shown(void *data, struct wl_proxy *of, uint32_t time) {
    (void)data, (void)of, (void)time;
    exit(42);
}

static void draw(struct window *of) {
    static void (*listener[])(void) = {(void (*)(void))was_shown};
    if (ends_when_shown)
        wl_proxy_add_listener(
            wl_proxy_marshal_flags(of->surface, 3, &wl_callback_interface, 1, 0, NULL), listener, NULL);
    struct wl_proxy *made = buffer(of->width, of->height);
    if (of->viewport) {
        // A part of the buffer, which the former one need not have.
        wl_proxy_marshal_flags(of->viewport, 1, NULL, 1, 0, 0, 0, of->width << 8, of->height << 8);
        wl_proxy_marshal_flags(of->viewport, 2, NULL, 1, 0, of->width, of->height);
    }
    if (strcmp(of->way, "wrapped")) return attach(of->surface, made, of->way);
    struct wl_proxy *wrapper = wl_proxy_create_wrapper(of->surface);
    attach(wrapper, made, of->way);
    wl_proxy_wrapper_destroy(wrapper);
}

static void sized(void *data, struct wl_proxy *of, int32_t width, int32_t height, void *states) {
    (void)of, (void)states;
    struct window *window = data;
    window->width = width > 0 ? width : 200;
    window->height = height > 0 ? height : 100;
}

static void closed(void *data, struct wl_proxy *of) {
    (void)data, (void)of;
    exit(0);
}

static void destroy(struct window *window) {
    wl_proxy_marshal_flags(window->toplevel, 0, NULL, 1, 1);
    wl_proxy_marshal_flags(window->xdg_surface, 0, NULL, 1, 1);
    wl_proxy_marshal_flags(window->surface, 0, NULL, 4, 1);
}

static void configured(void *data, struct wl_proxy *of, uint32_t serial) {
    struct window *window = data;
    const char *way = window->way;
    wl_proxy_marshal_flags(of, 4, NULL, 1, 0, serial);
    window->configure_count++;
    int draws_again = !strcmp(way, "redraws") || !strcmp(way, "views");
    if (window->configure_count > 1 && !draws_again) return;
    draw(window);
    if (window->configure_count > 1) return;
    if (!strcmp(way, "acks") || draws_again)
        wl_proxy_marshal_flags(window->toplevel, 9, NULL, 1, 0);
    if (!strcmp(way, "repeats")) draw(window);
    if (!strcmp(way, "floods"))
        for (int i = 0; i < 40; i++) draw(window);
    if (!strcmp(way, "minimizes")) wl_proxy_marshal_flags(window->toplevel, 13, NULL, 1, 0);
    if (!strcmp(way, "unmaps") || !strcmp(way, "remaps")) attach(window->surface, NULL, way);
    if (!strcmp(way, "remaps")) wl_proxy_marshal_flags(window->surface, 6, NULL, 4, 0);
    if (!strcmp(way, "destroys")) destroy(window);
}

static struct window *show(const char *way, const char *name) {
    static void (*xdg_listener[])(void) = {(void (*)(void))configured};
    static void (*listener[])(void) = {(void (*)(void))sized, (void (*)(void))closed};
    struct window *made = calloc(1, sizeof *made);
    made->way = way;
    made->name = name;
    if (!strcmp(way, "older")) {
        made->surface = wl_proxy_marshal_constructor(compositor, 0, &wl_surface_interface, NULL);
        made->xdg_surface =
            wl_proxy_marshal_constructor(base, 2, &xdg_interface, NULL, made->surface);
        made->toplevel =
            wl_proxy_marshal_constructor(made->xdg_surface, 1, &toplevel_interface, NULL);
    } else {
        made->surface = wl_proxy_marshal_flags(compositor, 0, &wl_surface_interface, 4, 0, NULL);
        made->xdg_surface =
            wl_proxy_marshal_flags(base, 2, &xdg_interface, 1, 0, NULL, made->surface);
        made->toplevel =
            wl_proxy_marshal_flags(made->xdg_surface, 1, &toplevel_interface, 1, 0, NULL);
    }
    if (!strcmp(way, "views"))
        made->viewport =
            wl_proxy_marshal_flags(viewporter, 1, &viewport_interface, 1, 0, NULL, made->surface);
    wl_proxy_add_listener(made->xdg_surface, xdg_listener, made);
    wl_proxy_add_listener(made->toplevel, listener, made);
    wl_proxy_marshal_flags(made->toplevel, 2, NULL, 1, 0, name);
    wl_proxy_marshal_flags(made->surface, 6, NULL, 4, 0);
    while (made->configure_count == 0)
        if (wl_display_dispatch(display) < 0) exit(7);
    return made;
}

/// What is done when there is another output.
#define LATE_LIMIT 8
static struct {
    const char *word, *name;
    struct window *window;
} late[LATE_LIMIT];
static size_t late_count;

static int note_late(const char *word, const char *name) {
    static const char *const words[] = {"unmapped", "destroyed", "remapped", "late"};
    size_t known = 0;
    while (known < sizeof words / sizeof *words && strcmp(word, words[known])) known++;
    if (known == sizeof words / sizeof *words) return 0;
    if (late_count == LATE_LIMIT) exit(10);
    late[late_count].word = word;
    late[late_count].name = name;
    late[late_count++].window = strcmp(word, "late") ? show("flags", name) : NULL;
    return 1;
}

static void do_late(void) {
    for (size_t i = 0; i < late_count; i++) {
        const char *word = late[i].word;
        if (!strcmp(word, "late")) show("flags", late[i].name);
        if (!strcmp(word, "destroyed")) destroy(late[i].window);
        if (!strcmp(word, "unmapped") || !strcmp(word, "remapped"))
            attach(late[i].window->surface, NULL, "flags");
        if (!strcmp(word, "remapped")) {
            late[i].window->configure_count = 0;
            wl_proxy_marshal_flags(late[i].window->surface, 6, NULL, 4, 0);
        }
    }
    late_count = 0;
}

static void show_popup(void) {
    struct window *parent = show("flags", "parent");
    struct wl_proxy *surface =
        wl_proxy_marshal_flags(compositor, 0, &wl_surface_interface, 4, 0, NULL);
    struct wl_proxy *xdg_surface = wl_proxy_marshal_flags(base, 2, &xdg_interface, 1, 0, NULL, surface);
    struct wl_proxy *place = wl_proxy_marshal_flags(base, 1, &positioner_interface, 1, 0, NULL);
    wl_proxy_marshal_flags(place, 1, NULL, 1, 0, 9, 9);
    wl_proxy_marshal_flags(place, 2, NULL, 1, 0, 0, 0, 9, 9);
    wl_proxy_marshal_flags(xdg_surface, 2, &popup_interface, 1, 0, NULL, parent->xdg_surface, place);
    wl_proxy_marshal_flags(surface, 6, NULL, 4, 0);
}

static void show_layer(void) {
    struct wl_proxy *surface =
        wl_proxy_marshal_flags(compositor, 0, &wl_surface_interface, 4, 0, NULL);
    wl_proxy_marshal_flags(layers, 0, &layer_surface_interface, 1, 0, NULL, surface, NULL, 3, "layer");
}

// MARK: Watching

static int also_times;

static void titled(void *data, struct wl_proxy *of, const char *title) {
    (void)data, (void)of;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (also_times) printf("%lld.%09ld ", (long long)now.tv_sec, now.tv_nsec);
    printf("%s\n", title);
    fflush(stdout);
}

static void ignored(void *data) {
    (void)data;
}

static void opened(void *data, struct wl_proxy *of, struct wl_proxy *handle) {
    (void)data, (void)of;
    static void (*listener[])(void) = {(void (*)(void))titled,  (void (*)(void))ignored,
                                       (void (*)(void))ignored, (void (*)(void))ignored,
                                       (void (*)(void))ignored, (void (*)(void))ignored,
                                       (void (*)(void))ignored};
    wl_proxy_add_listener(handle, listener, NULL);
}

static int watch(int also_waits) {
    also_times = also_waits > 1;
    static void (*listener[])(void) = {(void (*)(void))opened, (void (*)(void))ignored};
    if (!list) return 6;
    wl_proxy_add_listener(list, listener, NULL);
    wl_display_roundtrip(display);
    wl_display_roundtrip(display);
    if (!also_waits) return 0;
    printf("watching\n");
    fflush(stdout);
    while (wl_display_dispatch(display) >= 0) {}
    return 0;
}

static const char *later;

static void shown(void *data, struct wl_proxy *of, uint32_t time) {
    (void)data, (void)of, (void)time;
    if (later) show("flags", later);
}

int main(int argc, char **argv) {
    static void (*frame_listener[])(void) = {(void (*)(void))shown};
    connect_to_compositor();
    if (argc > 1 && !strcmp(argv[1], "watch")) return watch(1);
    if (argc > 1 && !strcmp(argv[1], "times")) return watch(2);
    if (argc > 1 && !strcmp(argv[1], "asks")) return watch(0);
    if (argc == 1) show("flags", "one");
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "layer")) show_layer();
        else if (!strcmp(argv[i], "popup")) show_popup();
        else if (!strcmp(argv[i], "ends")) ends_when_shown = 1;
        else if (!strcmp(argv[i], "two")) wl_display_connect(NULL);
        else if (!strcmp(argv[i], "later") && i + 1 < argc) {
            later = argv[++i];
            struct window *first = show("later", "first");
            struct wl_proxy *frame =
                wl_proxy_marshal_flags(first->surface, 3, &wl_callback_interface, 1, 0, NULL);
            wl_proxy_add_listener(frame, frame_listener, NULL);
            draw(first);
        } else if (i + 1 < argc) {
            if (!note_late(argv[i], argv[i + 1])) show(argv[i], argv[i + 1]);
            i++;
        }
    }
    while (wl_display_dispatch(display) >= 0)
        if (has_another_output) do_late();
    return 5;
}
