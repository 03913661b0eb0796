/// The functions of libwayland by which a program sends its requests.
///
/// Some of them take a request's arguments as an array, and the others as variadic arguments. In
/// libwayland, all of them call wl_proxy_marshal_array_flags in the end. Which function calls which
/// may change in libwayland, so all of them are here. They are declared here, so that the library
/// needs no header of libwayland to be built, and libwayland need not be loaded.

#include "surfaces.h"

#include <stdarg.h>
#include <string.h>

struct wl_proxy *wl_proxy_marshal_array_flags(struct wl_proxy *, uint32_t, const struct wl_interface *,
                                              uint32_t, uint32_t, union wl_argument *);
struct wl_proxy *wl_proxy_marshal_flags(struct wl_proxy *, uint32_t, const struct wl_interface *,
                                        uint32_t, uint32_t, ...);
uint32_t wl_proxy_get_version(struct wl_proxy *);

static struct wl_proxy *transmit(struct request request) {
    FUNCTION(LIBWAYLAND, wl_proxy_marshal_array_flags);
    // libwayland has this function from version 1.20 on.
    if (!real) withhold_fail(WITHHOLD_OTHER_DISPLAY);
    if (!withhold_is_on())
        return real(request.proxy, request.opcode, request.interface, request.version,
                    request.flags, request.arguments);
    bool begins;
    struct wl_proxy *result = surfaces_send(&request, real, &begins);
    if (begins) launch_begin();
    return result;
}

static uint32_t version_of(struct wl_proxy *proxy) {
    FUNCTION(LIBWAYLAND, wl_proxy_get_version);
    return real ? real(proxy) : 0;
}

/// Every request has at most this many arguments (WL_CLOSURE_MAX_ARGS).
#define ARGUMENT_LIMIT 20

/// Reads the arguments as the interface describes them. An object of libwayland begins with a pointer
/// to its interface.
static void read_arguments(struct wl_proxy *proxy, uint32_t opcode,
                           union wl_argument arguments[ARGUMENT_LIMIT], va_list given) {
    const struct wl_interface *interface = *(const struct wl_interface *const *)(const void *)proxy;
    size_t count = 0;
    for (const char *type = interface->methods[opcode].signature; *type; type++) {
        if (count == ARGUMENT_LIMIT) return;
        switch (*type) {
        case 'i':
        case 'f':
        case 'h': arguments[count++].number = va_arg(given, int32_t); break;
        case 'u': arguments[count++].unsigned_number = va_arg(given, uint32_t); break;
        case 's':
        case 'o':
        case 'n':
        case 'a': arguments[count++].pointer = va_arg(given, void *); break;
        default: break; // a digit: the version that added the request; ?: the next argument may be null
        }
    }
}

#define READ_ARGUMENTS(last) \
    union wl_argument arguments[ARGUMENT_LIMIT] = {{0}}; \
    va_list given; \
    va_start(given, last); \
    read_arguments(proxy, opcode, arguments, given); \
    va_end(given)

// MARK: libwayland 1.20 and newer

EXPORT struct wl_proxy *wl_proxy_marshal_array_flags(struct wl_proxy *proxy, uint32_t opcode,
                                                     const struct wl_interface *interface,
                                                     uint32_t version, uint32_t flags,
                                                     union wl_argument *arguments) {
    return transmit((struct request){proxy, opcode, interface, version, flags, arguments});
}

EXPORT struct wl_proxy *wl_proxy_marshal_flags(struct wl_proxy *proxy, uint32_t opcode,
                                               const struct wl_interface *interface,
                                               uint32_t version, uint32_t flags, ...) {
    READ_ARGUMENTS(flags);
    return transmit((struct request){proxy, opcode, interface, version, flags, arguments});
}

// MARK: For programs that were built with an older libwayland

EXPORT void wl_proxy_marshal_array(struct wl_proxy *proxy, uint32_t opcode,
                                   union wl_argument *arguments);
EXPORT void wl_proxy_marshal_array(struct wl_proxy *proxy, uint32_t opcode,
                                   union wl_argument *arguments) {
    transmit((struct request){proxy, opcode, NULL, version_of(proxy), 0, arguments});
}

EXPORT void wl_proxy_marshal(struct wl_proxy *proxy, uint32_t opcode, ...);
EXPORT void wl_proxy_marshal(struct wl_proxy *proxy, uint32_t opcode, ...) {
    READ_ARGUMENTS(opcode);
    transmit((struct request){proxy, opcode, NULL, version_of(proxy), 0, arguments});
}

EXPORT struct wl_proxy *wl_proxy_marshal_array_constructor(struct wl_proxy *proxy, uint32_t opcode,
                                                           union wl_argument *arguments,
                                                           const struct wl_interface *interface);
EXPORT struct wl_proxy *wl_proxy_marshal_array_constructor(struct wl_proxy *proxy, uint32_t opcode,
                                                           union wl_argument *arguments,
                                                           const struct wl_interface *interface) {
    return transmit((struct request){proxy, opcode, interface, version_of(proxy), 0, arguments});
}

EXPORT struct wl_proxy *wl_proxy_marshal_constructor(struct wl_proxy *proxy, uint32_t opcode,
                                                     const struct wl_interface *interface, ...);
EXPORT struct wl_proxy *wl_proxy_marshal_constructor(struct wl_proxy *proxy, uint32_t opcode,
                                                     const struct wl_interface *interface, ...) {
    READ_ARGUMENTS(interface);
    return transmit((struct request){proxy, opcode, interface, version_of(proxy), 0, arguments});
}

EXPORT struct wl_proxy *
wl_proxy_marshal_array_constructor_versioned(struct wl_proxy *proxy, uint32_t opcode,
                                             union wl_argument *arguments,
                                             const struct wl_interface *interface,
                                             uint32_t version);
EXPORT struct wl_proxy *
wl_proxy_marshal_array_constructor_versioned(struct wl_proxy *proxy, uint32_t opcode,
                                             union wl_argument *arguments,
                                             const struct wl_interface *interface,
                                             uint32_t version) {
    return transmit((struct request){proxy, opcode, interface, version, 0, arguments});
}

EXPORT struct wl_proxy *wl_proxy_marshal_constructor_versioned(struct wl_proxy *proxy,
                                                               uint32_t opcode,
                                                               const struct wl_interface *interface,
                                                               uint32_t version, ...);
EXPORT struct wl_proxy *wl_proxy_marshal_constructor_versioned(struct wl_proxy *proxy,
                                                               uint32_t opcode,
                                                               const struct wl_interface *interface,
                                                               uint32_t version, ...) {
    READ_ARGUMENTS(version);
    return transmit((struct request){proxy, opcode, interface, version, 0, arguments});
}

// MARK: The compositor

EXPORT struct wl_display *wl_display_connect(const char *name);
EXPORT struct wl_display *wl_display_connect(const char *name) {
    FUNCTION(LIBWAYLAND, wl_display_connect);
    struct wl_display *display = real(name);
    if (display && withhold_is_on()) surfaces_note_display(display);
    return display;
}

EXPORT struct wl_display *wl_display_connect_to_fd(int descriptor);
EXPORT struct wl_display *wl_display_connect_to_fd(int descriptor) {
    FUNCTION(LIBWAYLAND, wl_display_connect_to_fd);
    struct wl_display *display = real(descriptor);
    if (display && withhold_is_on()) surfaces_note_display(display);
    return display;
}

EXPORT void wl_display_disconnect(struct wl_display *display);
EXPORT void wl_display_disconnect(struct wl_display *display) {
    FUNCTION(LIBWAYLAND, wl_display_disconnect);
    if (withhold_is_on()) surfaces_forget_display(display);
    real(display);
}

// MARK: By name

#define WITHHELD(name) {#name, (void (*)(void))name}

void *withholding_function_of_wayland(const char *name) {
    static const struct {
        const char *name;
        void (*own)(void);
    } functions[] = {
        WITHHELD(wl_display_connect),
        WITHHELD(wl_display_connect_to_fd),
        WITHHELD(wl_display_disconnect),
        WITHHELD(wl_proxy_marshal),
        WITHHELD(wl_proxy_marshal_array),
        WITHHELD(wl_proxy_marshal_array_constructor),
        WITHHELD(wl_proxy_marshal_array_constructor_versioned),
        WITHHELD(wl_proxy_marshal_array_flags),
        WITHHELD(wl_proxy_marshal_constructor),
        WITHHELD(wl_proxy_marshal_constructor_versioned),
        WITHHELD(wl_proxy_marshal_flags),
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(name, functions[i].name))
            return function_of(LIBWAYLAND, name) ? (void *)functions[i].own : NULL;
    return NULL;
}
