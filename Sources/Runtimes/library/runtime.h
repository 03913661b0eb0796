/// The functions that every interpreter's hook needs: the wait for a launch, the launch's words and
/// variables, and the ways to go on.
///
/// One library serves all interpreters. The functions of an interpreter are declared weak, with no
/// header of that interpreter, and called only in its own file (python.c, perl.c, ...), so the
/// library loads in each. Hooks reach it as an extension module of their language, or by dlopen(3)
/// and a constructor.
#ifndef GREENROOM_RUNTIME_H
#define GREENROOM_RUNTIME_H

#include "../../CPrewarm/wire.h"

#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define WEAK __attribute__((weak))

/// The launch. The strings and vectors live as long as the process.
extern int launch_argc;
extern char **launch_argv;
extern char **launch_environment;

/// Whether this process is prewarmed by a shim that knows interpreters.
bool launch_is_possible(void);

/// Reports the pause and waits. After it returns true, the process has the launch's descriptors,
/// working directory, umask, environ and command line, and must either call `launch_go_on` or start
/// anew. Returns false at once if this process is not prewarmed.
bool launch_wait(void);

/// Whether the launch has descriptors 0, 1 and 2. Some interpreters open the missing ones at their
/// start, and must start anew.
bool launch_has_streams(void);

/// Reports that the process goes on as the launch. No code of the program may have run before.
void launch_go_on(void);

/// Executes the launch's words in this process, as a direct call would have: the interpreter that
/// this process runs, with the launch's words and environment. Does not return.
_Noreturn void launch_start_anew(enum gr_anew_reason reason);

/// Does everything that `launch_start_anew` does except the execve(2), which the caller must do
/// next: for a hook that knows better which program to execute.
void launch_report_anew(enum gr_anew_reason reason);

/// Removes one of the daemon's variables (GREENROOM_IMPORTS, GREENROOM_RECORD) from the
/// environment. Returns a copy of its value, or null if it is not set.
char *launch_take_variable(const char *name);

/// Sends the text to the daemon's datagram socket of that name. Failures are ignored.
void launch_send(const char *path, const char *text);

/// Reads memory that may not be mapped. Returns false if it is not.
bool launch_read_memory(const void *at, void *into, size_t size);

/// Opens another file under the number `descriptor`, instead of a program that the interpreter has
/// opened and not read. Returns 0 or an errno.
int launch_exchange_file(int descriptor, const char *path);

/// The number of the descriptor, from 3 on, that is open on the file with that path; -1 if there is
/// none.
int launch_find_file(const char *path);

#endif
