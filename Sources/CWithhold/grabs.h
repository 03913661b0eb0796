/// The functions of libX11 and libXi with which a program takes something that others wait for
/// (grabs.c).
#ifndef GREENROOM_GRABS_H
#define GREENROOM_GRABS_H

#include "withhold.h"

#define LIBXI "libXi.so.6"

int XGrabServer(Display *display);
int XUngrabServer(Display *display);
int XGrabPointer(Display *, unsigned long, int, unsigned, int, int, unsigned long, unsigned long,
                 unsigned long);
int XGrabKeyboard(Display *, unsigned long, int, int, int, unsigned long);
int XGrabKey(Display *, int, unsigned, unsigned long, int, int, int);
int XGrabButton(Display *, unsigned, unsigned, unsigned long, int, unsigned, int, int, unsigned long,
                unsigned long);
int XSetSelectionOwner(Display *, unsigned long, unsigned long, unsigned long);

int XGrabDevice(Display *, void *, unsigned long, int, int, void *, int, int, unsigned long);
int XGrabDeviceKey(Display *, void *, unsigned, unsigned, void *, unsigned long, int, unsigned,
                   void *, int, int);
int XIGrabDevice(Display *, int, unsigned long, unsigned long, unsigned long, int, int, int, void *);
int XIGrabButton(Display *, int, int, unsigned long, unsigned long, int, int, int, void *, int,
                 void *);
int XIGrabKeycode(Display *, int, int, unsigned long, int, int, int, void *, int, void *);
int XIGrabTouchBegin(Display *, int, unsigned long, int, void *, int, void *);

/// Whether the window is the root.
bool is_root(Display *display, unsigned long window);

#endif
