/// A frozen program must not hold anything that others wait for: the server, the keyboard, the
/// pointer, a key, or a selection, whose owner is asked for its contents.

#include "grabs.h"

#define REFUSE \
    if (withhold_is_on()) withhold_fail(WITHHOLD_OTHER_DISPLAY)

// MARK: libX11

int XFlush(Display *);
int XFree(void *);
int XQueryTree(Display *, unsigned long, unsigned long *, unsigned long *, unsigned long **,
               unsigned *);

bool is_root(Display *display, unsigned long window) {
    static __typeof__(&XQueryTree) query;
    static __typeof__(&XFree) release;
    unsigned long root, parent, *children = NULL;
    unsigned child_count;
    if (!query) query = (__typeof__(query))function_of(LIBX11, "XQueryTree");
    if (!release) release = (__typeof__(release))function_of(LIBX11, "XFree");
    if (!query || !release) return false;
    if (!query(display, window, &root, &parent, &children, &child_count)) return false;
    if (children) release(children);
    return window == root;
}

EXPORT int XGrabServer(Display *display) {
    FUNCTION(LIBX11, XGrabServer);
    if (withhold_is_on()) withhold_note_server_grab(1);
    return real(display);
}

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

EXPORT int XGrabPointer(Display *display, unsigned long window, int owner, unsigned mask, int pointer,
                        int keyboard, unsigned long confine, unsigned long cursor,
                        unsigned long time) {
    FUNCTION(LIBX11, XGrabPointer);
    REFUSE;
    return real(display, window, owner, mask, pointer, keyboard, confine, cursor, time);
}

EXPORT int XGrabKeyboard(Display *display, unsigned long window, int owner, int pointer, int keyboard,
                         unsigned long time) {
    FUNCTION(LIBX11, XGrabKeyboard);
    REFUSE;
    return real(display, window, owner, pointer, keyboard, time);
}

EXPORT int XGrabKey(Display *display, int code, unsigned modifiers, unsigned long window, int owner,
                    int pointer, int keyboard) {
    FUNCTION(LIBX11, XGrabKey);
    REFUSE;
    return real(display, code, modifiers, window, owner, pointer, keyboard);
}

/// Nobody presses a button in the program's own window before it is shown, so only the root counts.
EXPORT int XGrabButton(Display *display, unsigned button, unsigned modifiers, unsigned long window,
                       int owner, unsigned mask, int pointer, int keyboard, unsigned long confine,
                       unsigned long cursor) {
    FUNCTION(LIBX11, XGrabButton);
    if (withhold_is_on() && is_root(display, window)) REFUSE;
    return real(display, button, modifiers, window, owner, mask, pointer, keyboard, confine, cursor);
}

EXPORT int XSetSelectionOwner(Display *display, unsigned long selection, unsigned long owner,
                              unsigned long time) {
    FUNCTION(LIBX11, XSetSelectionOwner);
    if (owner) REFUSE;
    return real(display, selection, owner, time);
}

// MARK: libXi

EXPORT int XGrabDevice(Display *display, void *device, unsigned long window, int owner, int count,
                       void *classes, int this_device, int other_devices, unsigned long time) {
    FUNCTION(LIBXI, XGrabDevice);
    REFUSE;
    return real(display, device, window, owner, count, classes, this_device, other_devices, time);
}

EXPORT int XGrabDeviceKey(Display *display, void *device, unsigned key, unsigned modifiers,
                          void *modifier_device, unsigned long window, int owner, unsigned count,
                          void *classes, int this_device, int other_devices) {
    FUNCTION(LIBXI, XGrabDeviceKey);
    REFUSE;
    return real(display, device, key, modifiers, modifier_device, window, owner, count, classes,
                this_device, other_devices);
}

EXPORT int XIGrabDevice(Display *display, int device, unsigned long window, unsigned long time,
                        unsigned long cursor, int mode, int paired_mode, int owner, void *mask) {
    FUNCTION(LIBXI, XIGrabDevice);
    REFUSE;
    return real(display, device, window, time, cursor, mode, paired_mode, owner, mask);
}

EXPORT int XIGrabButton(Display *display, int device, int button, unsigned long window,
                        unsigned long cursor, int mode, int paired_mode, int owner, void *mask,
                        int count, void *modifiers) {
    FUNCTION(LIBXI, XIGrabButton);
    if (withhold_is_on() && is_root(display, window)) REFUSE;
    return real(display, device, button, window, cursor, mode, paired_mode, owner, mask, count,
                modifiers);
}

EXPORT int XIGrabKeycode(Display *display, int device, int code, unsigned long window, int mode,
                         int paired_mode, int owner, void *mask, int count, void *modifiers) {
    FUNCTION(LIBXI, XIGrabKeycode);
    REFUSE;
    return real(display, device, code, window, mode, paired_mode, owner, mask, count, modifiers);
}

EXPORT int XIGrabTouchBegin(Display *display, int device, unsigned long window, int owner, void *mask,
                            int count, void *modifiers) {
    FUNCTION(LIBXI, XIGrabTouchBegin);
    if (withhold_is_on() && is_root(display, window)) REFUSE;
    return real(display, device, window, owner, mask, count, modifiers);
}
