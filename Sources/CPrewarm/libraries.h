/// The libraries that the program opened after main at an earlier launch: plug-ins, theme engines,
/// drivers. They are opened before the pause, so that the program finds them loaded.
///
/// A program can tell this from a direct run in three ways:
/// - Functions that are registered to run at exit run in reverse order. Those that the executable's
///   constructors and main register before they open a library run before the library's, instead of
///   after them. (The loader's own function is registered first as always.)
/// - A library stays loaded when the program closes it. Its destructors run at exit.
/// - RTLD_NOLOAD, dl_iterate_phdr(3) and /proc/self/maps show it before the program has opened it.
#ifndef GREENROOM_LIBRARIES_H
#define GREENROOM_LIBRARIES_H

#include <stdbool.h>

typedef void (*loader_function)(void);

/// Keeps a copy of the list, because the environment's strings are overwritten. `announces` says
/// whether the daemon knows GR_OPENING: an older one takes an unknown message for a broken app.
void libraries_remember(const char *list, bool announces);

/// Opens the libraries, in the list's order, each in a scope of its own (RTLD_LOCAL), and announces
/// each if the daemon asked for that (GR_OPENING). A library that cannot be opened is left out. The
/// first one that does harm, or that starts a thread, is the last one that is opened. With musl none
/// is opened, because its libraries are not initialized before main.
///
/// Returns the function that `__libc_start_main` must still register: `at_exit`, or null if it has
/// been registered.
loader_function libraries_open(loader_function at_exit);

/// False if a library opened or closed a descriptor while it was being opened, or if one reaches
/// into the executable, whose own constructors have not run yet.
bool libraries_are_harmless(void);

#endif
