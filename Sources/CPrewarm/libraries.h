/// The libraries that the program opened after main at an earlier launch: plug-ins, theme engines,
/// drivers. They are opened before the pause, so that the program finds them loaded.
///
/// A program can tell that from a direct run by this:
/// - Functions that are to run at exit run in the reverse order of their registration. Those that
///   the executable's constructors and main register before they open a library run before the
///   library's, instead of after them. (The loader's own function is registered first as always.)
/// - A library stays loaded when the program closes it. Its destructors run at exit.
/// - RTLD_NOLOAD, dl_iterate_phdr(3) and /proc/self/maps show it before the program has opened it.
#ifndef GREENROOM_LIBRARIES_H
#define GREENROOM_LIBRARIES_H

#include <stdbool.h>

typedef void (*loader_function)(void);

/// Keeps a copy of the list, because the environment's strings are overwritten.
void libraries_remember(const char *list);

/// Opens the libraries, in the list's order, each in a scope of its own (RTLD_LOCAL). A library that
/// cannot be opened is left out. With musl none is opened, because its libraries are not
/// initialized before main.
///
/// Returns what `__libc_start_main` has yet to register: `at_exit`, or null if that was done.
loader_function libraries_open(loader_function at_exit);

/// False if a library opened or closed a descriptor when it was opened, or if one of them reaches
/// into the executable, whose own constructors have not run yet.
bool libraries_are_harmless(void);

#endif
