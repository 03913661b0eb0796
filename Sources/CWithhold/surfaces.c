/// The windows of a Wayland client.
///
///   get_xdg_surface, get_toplevel   the surface is a window's
///   commit without a buffer         is sent: the compositor answers with the window's size
///   attach, commit                  is withheld: it would show the window. Everything that was sent
///                                   before it waits in the compositor for this commit
///   whatever changes the window after that
///                                   is kept in its order. Sent at once, it would take effect with
///                                   the former buffer, which may not fit it; and the program never
///                                   gets back a buffer that is replaced before it was shown
///   attach nothing, commit          the window is no longer held
///   destroy                         the same
///   the launch                      sends the commit, and all that was kept
///
/// Surfaces are known by the number that they have in the protocol, because Mesa sends its requests
/// by a proxy of its own for the same surface. The numbers are those of one connection, so a
/// program with two connections that shows windows is not held.
///
/// Nothing is read from the connection here, because another thread of the program may be waiting
/// for its messages.

#include "surfaces.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <linux/sockios.h>

// Requests, by their numbers in wayland.xml, xdg-shell.xml, viewporter.xml and xdg-activation-v1.xml.
enum { DISPLAY_SYNC = 0 };
enum { REGISTRY_BIND = 0 };
enum { BASE_GET_XDG_SURFACE = 2 };
enum { XDG_DESTROY = 0, XDG_GET_TOPLEVEL = 1, XDG_GET_POPUP = 2, XDG_SET_GEOMETRY = 3, XDG_ACK = 4 };
enum { TOPLEVEL_DESTROY = 0, TOPLEVEL_SET_MINIMIZED = 13 };
enum {
    SURFACE_DESTROY = 0,
    SURFACE_ATTACH = 1,
    SURFACE_DAMAGE = 2,
    SURFACE_COMMIT = 6,
    SURFACE_SET_TRANSFORM = 7,
    SURFACE_SET_SCALE = 8,
    SURFACE_DAMAGE_BUFFER = 9,
    SURFACE_OFFSET = 10,
};
enum { BUFFER_DESTROY = 0 };
enum { VIEWPORTER_GET_VIEWPORT = 1 };
enum { VIEWPORT_DESTROY = 0, VIEWPORT_SET_SOURCE = 1 };
enum { ACTIVATION_DESTROY = 0, ACTIVATION_ACTIVATE = 2 };

/// A program that changes its window more often than this does not wait for the compositor to show
/// it, and is not held.
#define KEPT_LIMIT 64

struct kept_request {
    struct wl_proxy *proxy;
    uint32_t opcode;
    union wl_argument arguments[4];
};

static struct surface {
    struct wl_proxy *proxy; // null: the place is free
    struct wl_proxy *xdg_surface;
    uint32_t id, xdg_surface_id;
    uint32_t toplevel_id; // 0: not a window
    bool has_buffer;
    bool is_held;
    bool is_unmapping; // an empty buffer is attached and not committed yet
    bool was_unmapped; // and was never mapped in the compositor
    struct kept_request kept[KEPT_LIMIT];
    size_t kept_count;
} surfaces[WINDOW_LIMIT];

/// A surface may have a viewport before it is a window.
static struct viewport {
    struct wl_proxy *proxy; // null: the place is free
    uint32_t surface_id;
} viewports[WINDOW_LIMIT];

#define DISPLAY_LIMIT 4
static struct wl_display *displays[DISPLAY_LIMIT];
static struct wl_proxy *activation; // the program's own xdg_activation_v1, if it has one
static request_sender send_request;
static bool has_first; // and the caller has not been told yet

static struct {
    const char *(*class_of)(struct wl_proxy *);
    uint32_t (*id_of)(struct wl_proxy *);
    int (*error_of)(struct wl_display *);
    int (*descriptor)(struct wl_display *);
    int (*flush)(struct wl_display *);
    void (*destroy)(struct wl_proxy *);
    const struct wl_interface *callback;
} wayland;

static bool find_functions(void) {
    const struct {
        const char *name;
        void *at;
    } names[] = {
        {"wl_proxy_get_class", &wayland.class_of},
        {"wl_proxy_get_id", &wayland.id_of},
        {"wl_display_get_error", &wayland.error_of},
        {"wl_display_get_fd", &wayland.descriptor},
        {"wl_display_flush", &wayland.flush},
        {"wl_proxy_destroy", &wayland.destroy},
        {"wl_callback_interface", &wayland.callback},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = function_of(LIBWAYLAND, names[i].name);
        if (!found) return false;
        memcpy(names[i].at, &found, sizeof found);
    }
    return true;
}

// MARK: Displays

void surfaces_note_display(struct wl_display *display) {
    windows_lock();
    size_t free = DISPLAY_LIMIT;
    for (size_t i = 0; i < DISPLAY_LIMIT; i++) {
        if (displays[i] == display) free = i;
        if (!displays[i] && free == DISPLAY_LIMIT) free = i;
    }
    if (free == DISPLAY_LIMIT) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    displays[free] = display;
    windows_unlock();
}

void surfaces_forget_display(struct wl_display *display) {
    windows_lock();
    for (size_t i = 0; i < DISPLAY_LIMIT; i++) {
        if (displays[i] != display) continue;
        displays[i] = NULL;
        for (size_t j = 0; j < WINDOW_LIMIT; j++) {
            if (surfaces[j].is_held) windows_drop_surface(surfaces[j].id);
            memset(&surfaces[j], 0, sizeof surfaces[j]);
        }
        memset(viewports, 0, sizeof viewports);
        activation = NULL;
    }
    windows_unlock();
}

/// The program's display; null if there are several, or none.
static struct wl_display *only_display(void) {
    struct wl_display *only = NULL;
    for (size_t i = 0; i < DISPLAY_LIMIT; i++) {
        if (!displays[i]) continue;
        if (only) return NULL;
        only = displays[i];
    }
    return only;
}

// MARK: Surfaces

static struct surface *surface_of(uint32_t id) {
    for (size_t i = 0; i < WINDOW_LIMIT; i++)
        if (surfaces[i].proxy && surfaces[i].id == id) return &surfaces[i];
    return NULL;
}

static struct surface *surface_of_xdg_surface(uint32_t id) {
    for (size_t i = 0; i < WINDOW_LIMIT; i++)
        if (surfaces[i].proxy && surfaces[i].xdg_surface_id == id) return &surfaces[i];
    return NULL;
}

static struct surface *surface_of_toplevel(uint32_t id) {
    for (size_t i = 0; i < WINDOW_LIMIT; i++)
        if (surfaces[i].proxy && surfaces[i].toplevel_id == id) return &surfaces[i];
    return NULL;
}

static struct wl_proxy *pass(const struct request *request) {
    return send_request(request->proxy, request->opcode, request->interface, request->version,
                        request->flags, request->arguments);
}

static void drop(struct surface *surface) {
    if (surface->is_held) windows_drop_surface(surface->id);
    surface->is_held = false;
    surface->kept_count = 0;
}

/// - proxy: the program's own proxy for the object of the request.
static struct wl_proxy *keep(struct surface *surface, struct wl_proxy *proxy,
                             const struct request *request, size_t argument_count) {
    if (surface->kept_count == KEPT_LIMIT) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    struct kept_request *kept = &surface->kept[surface->kept_count++];
    *kept = (struct kept_request){proxy, request->opcode, {{0}}};
    for (size_t i = 0; i < argument_count; i++) kept->arguments[i] = request->arguments[i];
    return NULL;
}

static void send_kept(struct surface *surface) {
    for (size_t i = 0; i < surface->kept_count; i++) {
        struct kept_request *kept = &surface->kept[i];
        send_request(kept->proxy, kept->opcode, NULL, 0, 0, kept->arguments);
    }
    surface->kept_count = 0;
}

// MARK: Requests

static struct wl_proxy *committed(struct surface *surface, const struct request *request) {
    if (!surface->toplevel_id) return pass(request);
    if (surface->has_buffer) {
        if (surface->is_held) return keep(surface, surface->proxy, request, 0);
        surface->is_held = true;
        has_first |= windows_hold_surface(surface->id) == HELD_AS_FIRST;
        return NULL;
    }
    // The program waits for the size of a window that it shows again. A compositor that never showed
    // it may have nothing to say.
    if (surface->was_unmapped) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    surface->was_unmapped = surface->is_unmapping;
    surface->is_unmapping = false;
    return pass(request);
}

static struct wl_proxy *sent_by_surface(const struct request *request) {
    struct surface *surface = surface_of(wayland.id_of(request->proxy));
    if (!surface) return pass(request);
    switch (request->opcode) {
    case SURFACE_DESTROY:
        drop(surface);
        surface->proxy = NULL;
        break;
    case SURFACE_ATTACH:
        surface->has_buffer = request->arguments[0].pointer != NULL;
        if (surface->is_held && surface->has_buffer) return keep(surface, surface->proxy, request, 3);
        if (surface->has_buffer) break;
        // Part of what was kept may belong to the next buffer.
        if (surface->kept_count > 0) withhold_fail(WITHHOLD_OTHER_DISPLAY);
        surface->is_unmapping |= surface->is_held;
        drop(surface);
        break;
    case SURFACE_COMMIT: return committed(surface, request);
    case SURFACE_SET_TRANSFORM:
    case SURFACE_SET_SCALE:
        if (surface->is_held) return keep(surface, surface->proxy, request, 1);
        break;
    case SURFACE_OFFSET:
        if (surface->is_held) return keep(surface, surface->proxy, request, 2);
        break;
    case SURFACE_DAMAGE:
    case SURFACE_DAMAGE_BUFFER:
        if (surface->is_held) return keep(surface, surface->proxy, request, 4);
        break;
    }
    return pass(request);
}

/// A request that attaches a buffer cannot be sent after the buffer is gone, so such a program is
/// not held.
static struct wl_proxy *sent_by_buffer(const struct request *request) {
    for (size_t i = 0; i < WINDOW_LIMIT && request->opcode == BUFFER_DESTROY; i++)
        for (size_t j = 0; j < surfaces[i].kept_count; j++)
            if (surfaces[i].kept[j].proxy == surfaces[i].proxy
                && surfaces[i].kept[j].opcode == SURFACE_ATTACH
                && surfaces[i].kept[j].arguments[0].pointer == request->proxy)
                withhold_fail(WITHHOLD_OTHER_DISPLAY);
    return pass(request);
}

static struct wl_proxy *sent_by_base(const struct request *request) {
    if (request->opcode != BASE_GET_XDG_SURFACE) return pass(request);
    struct wl_proxy *proxy = request->arguments[1].pointer;
    uint32_t id = wayland.id_of(proxy);
    struct surface *surface = surface_of(id);
    for (size_t i = 0; i < WINDOW_LIMIT && !surface; i++)
        if (!surfaces[i].proxy) surface = &surfaces[i];
    if (!surface || !only_display()) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    memset(surface, 0, sizeof *surface);
    surface->proxy = proxy;
    surface->id = id;
    surface->xdg_surface = pass(request);
    if (surface->xdg_surface) surface->xdg_surface_id = wayland.id_of(surface->xdg_surface);
    return surface->xdg_surface;
}

static struct wl_proxy *sent_by_xdg_surface(const struct request *request) {
    struct surface *surface = surface_of_xdg_surface(wayland.id_of(request->proxy));
    // A popup needs a window that is shown.
    if (request->opcode == XDG_GET_POPUP) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    if (!surface) return pass(request);
    switch (request->opcode) {
    case XDG_DESTROY:
        drop(surface);
        surface->proxy = NULL;
        break;
    case XDG_GET_TOPLEVEL: {
        struct wl_proxy *toplevel = pass(request);
        if (toplevel) surface->toplevel_id = wayland.id_of(toplevel);
        return toplevel;
    }
    case XDG_SET_GEOMETRY:
        if (surface->is_held) return keep(surface, surface->xdg_surface, request, 4);
        break;
    case XDG_ACK:
        if (surface->is_held) return keep(surface, surface->xdg_surface, request, 1);
        break;
    }
    return pass(request);
}

static struct wl_proxy *sent_by_toplevel(const struct request *request) {
    struct surface *surface = surface_of_toplevel(wayland.id_of(request->proxy));
    if (!surface) return pass(request);
    // A window that is not shown cannot be minimized, and would not be minimized later either.
    if (request->opcode == TOPLEVEL_SET_MINIMIZED && surface->is_held)
        withhold_fail(WITHHOLD_OTHER_DISPLAY);
    if (request->opcode == TOPLEVEL_DESTROY) {
        drop(surface);
        surface->toplevel_id = 0;
    }
    return pass(request);
}

static struct viewport *viewport_of(const struct wl_proxy *proxy) {
    for (size_t i = 0; i < WINDOW_LIMIT; i++)
        if (viewports[i].proxy == proxy) return &viewports[i];
    return NULL;
}

static struct wl_proxy *sent_by_viewporter(const struct request *request) {
    if (request->opcode != VIEWPORTER_GET_VIEWPORT) return pass(request);
    struct viewport *viewport = viewport_of(NULL);
    if (!viewport) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    viewport->surface_id = wayland.id_of(request->arguments[1].pointer);
    return viewport->proxy = pass(request);
}

static struct wl_proxy *sent_by_viewport(const struct request *request) {
    struct viewport *viewport = viewport_of(request->proxy);
    struct surface *surface = viewport ? surface_of(viewport->surface_id) : NULL;
    bool is_held = surface && surface->is_held;
    if (request->opcode != VIEWPORT_DESTROY)
        return is_held ? keep(surface, viewport->proxy, request,
                              request->opcode == VIEWPORT_SET_SOURCE ? 4 : 2)
                       : pass(request);
    if (is_held) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    if (viewport) viewport->proxy = NULL;
    return pass(request);
}

/// A request that belongs to a buffer cannot be kept together with it, so such a program is not
/// held.
static struct wl_proxy *sent_with_buffer(const struct request *request) {
    for (size_t i = 0; i < WINDOW_LIMIT; i++)
        if (surfaces[i].is_held) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    return pass(request);
}

static struct wl_proxy *sent_by_registry(const struct request *request) {
    struct wl_proxy *bound = pass(request);
    if (request->opcode == REGISTRY_BIND && request->arguments[1].string
        && !strcmp(request->arguments[1].string, "xdg_activation_v1"))
        activation = bound;
    return bound;
}

static struct wl_proxy *sent_by_activation(const struct request *request) {
    if (request->opcode == ACTIVATION_DESTROY && activation
        && wayland.id_of(activation) == wayland.id_of(request->proxy))
        activation = NULL;
    return pass(request);
}

/// Such a request shows something that is not a window, or takes something that others wait for.
static struct wl_proxy *sent_by_another_way(const struct request *request) {
    (void)request;
    withhold_fail(WITHHOLD_OTHER_DISPLAY);
}

struct wl_proxy *surfaces_send(const struct request *request, request_sender sender, bool *begins) {
    static const struct {
        const char *class;
        struct wl_proxy *(*send)(const struct request *request);
    } kinds[] = {
        {"wl_surface", sent_by_surface},
        {"wl_buffer", sent_by_buffer},
        {"xdg_wm_base", sent_by_base},
        {"xdg_surface", sent_by_xdg_surface},
        {"xdg_toplevel", sent_by_toplevel},
        {"wp_viewporter", sent_by_viewporter},
        {"wp_viewport", sent_by_viewport},
        {"wp_linux_drm_syncobj_surface_v1", sent_with_buffer},
        {"zwp_linux_surface_synchronization_v1", sent_with_buffer},
        {"wl_registry", sent_by_registry},
        {"xdg_activation_v1", sent_by_activation},
        {"wl_shell", sent_by_another_way},
        {"xdg_shell", sent_by_another_way},
        {"zxdg_shell_v6", sent_by_another_way},
        {"zwlr_layer_shell_v1", sent_by_another_way},
        {"zwp_fullscreen_shell_v1", sent_by_another_way},
        {"ivi_application", sent_by_another_way},
        {"ext_session_lock_manager_v1", sent_by_another_way},
        {"zwp_input_panel_v1", sent_by_another_way},
        {"zwp_input_method_manager_v2", sent_by_another_way},
        {"zwlr_data_control_manager_v1", sent_by_another_way},
        {"ext_data_control_manager_v1", sent_by_another_way},
    };
    windows_lock();
    if (!send_request) {
        if (!find_functions()) withhold_fail(WITHHOLD_OTHER_DISPLAY);
        send_request = sender;
    }
    struct wl_proxy *result = NULL;
    bool is_sent = false;
    const char *class = wayland.class_of(request->proxy);
    for (size_t i = 0; withhold_is_on() && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(class, kinds[i].class)) continue;
        result = kinds[i].send(request);
        is_sent = true;
        break;
    }
    *begins = has_first;
    has_first = false;
    windows_unlock();
    return is_sent ? result : pass(request);
}

// MARK: Showing

int surfaces_descriptor(void) {
    windows_lock();
    struct wl_display *display = only_display();
    int descriptor = display ? wayland.descriptor(display) : -1;
    windows_unlock();
    return descriptor;
}

static bool is_connected(struct wl_display *display) {
    struct pollfd entry = {.fd = wayland.descriptor(display)};
    return !wayland.error_of(display) && poll(&entry, 1, 0) >= 0
        && !(entry.revents & (POLLHUP | POLLERR | POLLNVAL));
}

bool surfaces_show(uint32_t id, const char *token) {
    struct surface *surface = surface_of(id);
    struct wl_display *display = only_display();
    if (!surface || !display || !is_connected(display)) return false;
    if (token && *token && activation) {
        union wl_argument arguments[] = {{.string = token}, {.pointer = surface->proxy}};
        send_request(activation, ACTIVATION_ACTIVATE, NULL, 0, 0, arguments);
    }
    send_request(surface->proxy, SURFACE_COMMIT, NULL, 0, 0, NULL);
    send_kept(surface);
    surface->is_held = false;
    return true;
}

#define LOOK_NANOSECONDS 200000

enum taken { TAKEN, NOT_TAKEN, NOT_CONNECTED };

/// The socket says how much the compositor has taken, so nothing need be read.
static enum taken await_taking(struct wl_display *display, int64_t end) {
    int waiting = 0;
    for (;;) {
        struct pollfd entry = {.fd = wayland.descriptor(display)};
        bool is_full = wayland.flush(display) < 0;
        if (is_full && errno != EAGAIN) return NOT_CONNECTED;
        if (!is_connected(display) || ioctl(entry.fd, SIOCOUTQ, &waiting) != 0)
            return NOT_CONNECTED;
        if (!is_full && waiting == 0) return TAKEN;
        if (time_by(CLOCK_MONOTONIC) > end) return NOT_TAKEN;
        struct timespec pause = {0, LOOK_NANOSECONDS};
        nanosleep(&pause, NULL);
    }
}

/// The answer is for nobody, so the program does not notice it.
bool surfaces_answer(void) {
    windows_lock();
    struct wl_display *display = only_display();
    union wl_argument arguments[] = {{.pointer = NULL}};
    struct wl_proxy *callback =
        !display ? NULL
                 : send_request((struct wl_proxy *)display, DISPLAY_SYNC, wayland.callback, 1, 0, arguments);
    if (callback) wayland.destroy(callback);
    // Without the lock, another thread of the program could close the display meanwhile.
    bool answers = !display
        || await_taking(display, time_by(CLOCK_MONOTONIC) + ANSWER_NANOSECONDS) != NOT_TAKEN;
    windows_unlock();
    return answers;
}

bool surfaces_finish(void) {
    struct wl_display *display = only_display();
    return display && await_taking(display, INT64_MAX) == TAKEN;
}
