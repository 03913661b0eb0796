/// The surfaces of a Wayland client, and which of its requests are withheld (surfaces.c).
#ifndef GREENROOM_SURFACES_H
#define GREENROOM_SURFACES_H

#include "withhold.h"

/// From libwayland (wayland-util.h, wayland-client-core.h).
struct wl_proxy;
struct wl_display;

union wl_argument {
    int32_t number;
    uint32_t unsigned_number;
    void *pointer;
    const char *string;
};

struct wl_interface {
    const char *name;
    int version;
    int method_count;
    const struct wl_message {
        const char *name;
        const char *signature;
        const struct wl_interface **types;
    } *methods;
    int event_count;
    const struct wl_message *events;
};

/// A request, as wl_proxy_marshal_array_flags takes it.
struct request {
    struct wl_proxy *proxy;
    uint32_t opcode;
    const struct wl_interface *interface;
    uint32_t version;
    uint32_t flags;
    union wl_argument *arguments;
};

typedef struct wl_proxy *(*request_sender)(struct wl_proxy *, uint32_t opcode,
                                           const struct wl_interface *, uint32_t version,
                                           uint32_t flags, union wl_argument *);

/// Sends the request, unless it is withheld; then the result is null.
///
/// - begins: set if the request gives the program its first window.
struct wl_proxy *surfaces_send(const struct request *request, request_sender sender, bool *begins);

void surfaces_note_display(struct wl_display *display);
void surfaces_forget_display(struct wl_display *display);

#endif
