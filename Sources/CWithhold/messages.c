/// Messages of X clients to the window manager and to others, by XSendEvent and xcb_send_event.
///
///   a wish for a window that is held (to be an icon, to fill the screen)
///                             is sent when the window has been shown: the window manager does not
///                             know the window before that
///   that the program has started (the Startup Notification Protocol)
///                             is not sent. server.c says so at the launch
///   that a tray shall show an icon
///                             ends the prewarm

#include "withhold.h"

#include <stdlib.h>
#include <string.h>

/// A program that sends more wishes than this before it is launched is not held.
#define WISH_LIMIT 32

static struct wish {
    uint32_t root, mask;
    unsigned char event[EVENT_SIZE];
} wishes[WISH_LIMIT];
static size_t wish_count;

#define CLIENT_MESSAGE 33
#define NAME_SIZE 64

/// Returns whether the message must not be sent.
static bool is_withheld(const char *type, uint32_t window, struct wish wish) {
    if (!strcmp(type, "_NET_SYSTEM_TRAY_OPCODE")) withhold_fail(WITHHOLD_IS_NOTICED);
    if (!strncmp(type, "_NET_STARTUP_INFO", sizeof "_NET_STARTUP_INFO" - 1)) return true;
    bool is_kept = false;
    windows_lock();
    if (windows_have(window)) {
        if (wish_count == WISH_LIMIT) withhold_fail(WITHHOLD_OTHER_DISPLAY);
        wishes[wish_count++] = wish;
        is_kept = true;
    }
    windows_unlock();
    return is_kept;
}

void messages_send(uint32_t window, void (*send)(uint32_t root, uint32_t mask, const void *event)) {
    for (size_t i = 0; i < wish_count; i++) {
        uint32_t concerned;
        memcpy(&concerned, wishes[i].event + 4, sizeof concerned);
        if (concerned == window) send(wishes[i].root, wishes[i].mask, wishes[i].event);
    }
}

// MARK: libX11

/// XClientMessageEvent (XClientMessageEvent(3)).
struct client_message {
    int type;
    unsigned long serial;
    int send_event;
    Display *display;
    unsigned long window, message_type;
    int format;
    union {
        char bytes[20];
        short shorts[10];
        long longs[5];
    } data;
};

char *XGetAtomName(Display *, unsigned long);
unsigned long XInternAtom(Display *, const char *, int);
unsigned long XRootWindow(Display *, int);
int XFree(void *);

static bool name_of(Display *display, unsigned long atom, char name[NAME_SIZE]) {
    static __typeof__(&XGetAtomName) get;
    static __typeof__(&XFree) release;
    if (!get) get = (__typeof__(get))function_of(LIBX11, "XGetAtomName");
    if (!release) release = (__typeof__(release))function_of(LIBX11, "XFree");
    char *given = get && release ? get(display, atom) : NULL;
    if (!given) return false;
    strncpy(name, given, NAME_SIZE - 1);
    release(given);
    return true;
}

static void put(unsigned char *event, size_t at, uint32_t value) {
    memcpy(event + at, &value, sizeof value);
}

/// The message in the X protocol's layout.
static struct wish wish_of(unsigned long root, long mask, const struct client_message *message) {
    struct wish wish = {.root = (uint32_t)root, .mask = (uint32_t)mask};
    wish.event[0] = CLIENT_MESSAGE;
    wish.event[1] = (unsigned char)message->format;
    put(wish.event, 4, (uint32_t)message->window);
    put(wish.event, 8, (uint32_t)message->message_type);
    if (message->format == 32)
        for (size_t i = 0; i < 5; i++)
            put(wish.event, 12 + 4 * i, (uint32_t)message->data.longs[i]);
    else
        memcpy(wish.event + 12, &message->data, 20);
    return wish;
}

EXPORT int XSendEvent(Display *display, unsigned long window, int propagates, long mask,
                      struct client_message *event) {
    FUNCTION(LIBX11, XSendEvent);
    char name[NAME_SIZE] = {0};
    if (withhold_is_on() && event && event->type == CLIENT_MESSAGE
        && name_of(display, event->message_type, name)
        && is_withheld(name, (uint32_t)event->window, wish_of(window, mask, event)))
        return 1;
    return real(display, window, propagates, mask, event);
}

#define ICONIC_STATE 3
#define STRUCTURE_MASK (1L << 20 | 1L << 19) // SubstructureRedirectMask, SubstructureNotifyMask

/// libX11 may call its own XSendEvent directly, so this function is replaced too.
EXPORT int XIconifyWindow(Display *display, unsigned long window, int screen) {
    FUNCTION(LIBX11, XIconifyWindow);
    static __typeof__(&XInternAtom) intern;
    static __typeof__(&XRootWindow) root_of;
    if (!intern) intern = (__typeof__(intern))function_of(LIBX11, "XInternAtom");
    if (!root_of) root_of = (__typeof__(root_of))function_of(LIBX11, "XRootWindow");
    if (!intern || !root_of || !windows_have((uint32_t)window))
        return real(display, window, screen);
    struct client_message message = {
        .type = CLIENT_MESSAGE,
        .window = window,
        .message_type = intern(display, "WM_CHANGE_STATE", 0),
        .format = 32,
        .data.longs = {ICONIC_STATE},
    };
    return XSendEvent(display, root_of(display, screen), 0, STRUCTURE_MASK, &message);
}

// MARK: libxcb

cookie xcb_get_atom_name(xcb_connection_t *, uint32_t);
void *xcb_get_atom_name_reply(xcb_connection_t *, cookie, void **);

/// The reply has the length of the name at offset 8, and the name at 32. The server may not have
/// sent all of it.
static bool name_for(xcb_connection_t *connection, uint32_t atom, char name[NAME_SIZE]) {
    static __typeof__(&xcb_get_atom_name) ask;
    static __typeof__(&xcb_get_atom_name_reply) reply;
    if (!ask) ask = (__typeof__(ask))function_of(LIBXCB, "xcb_get_atom_name");
    if (!reply) reply = (__typeof__(reply))function_of(LIBXCB, "xcb_get_atom_name_reply");
    unsigned char *answer = ask && reply ? reply(connection, ask(connection, atom), NULL) : NULL;
    if (!answer) return false;
    uint16_t length;
    uint32_t words; // of four bytes, after the first 32 bytes of the reply
    memcpy(&words, answer + 4, sizeof words);
    memcpy(&length, answer + 8, sizeof length);
    if (length > NAME_SIZE - 1) length = NAME_SIZE - 1;
    if (length <= words * (uint64_t)4) memcpy(name, answer + 32, length);
    free(answer);
    return true;
}

bool messages_withhold(xcb_connection_t *connection, uint32_t window, uint32_t mask,
                       const void *event) {
    struct wish wish = {.root = window, .mask = mask};
    uint32_t concerned, type;
    char name[NAME_SIZE] = {0};
    if (!event) return false;
    memcpy(wish.event, event, EVENT_SIZE);
    if ((wish.event[0] & 0x7f) != CLIENT_MESSAGE) return false;
    memcpy(&concerned, wish.event + 4, sizeof concerned);
    memcpy(&type, wish.event + 8, sizeof type);
    return name_for(connection, type, name) && is_withheld(name, concerned, wish);
}
