/// Preloaded into the process that inspects imports of Perl, Ruby or Node.js, and no other. It writes
/// a trace of what the C library was asked for, in which the language's script marks where each
/// module begins and ends; the daemon tells from it which modules change nothing for a launch
/// (`ImportTrace.swift`, which has the form of the lines).
#ifndef GREENROOM_TRACE_H
#define GREENROOM_TRACE_H

#include <stdbool.h>

/// Writes a line: a word and, after a tab, a text. Nothing from another thread than the first, from
/// a child, outside modules, or for the second time in a module.
void trace_line(const char *word, const char *text);

/// Whether modules are installed below the folder: every path to them leads through it.
bool trace_is_above_place(const char *path);

/// Obeys the language's script:
///
///     begin NAME            a module begins
///     end NAME<TAB>PATH     it has ended; PATH is its file, or empty
///     fails NAME            as "end", for one that has failed
///     does REASON, spares REASON, reads VARIABLE, needs NAME, place FOLDER
///     orders                the module asks what else is loaded, which is other without what was refused
///     done                  the last module has ended; ends the process
void trace_obey(const char *command);

/// "watch $0" of the script of Ruby.
void trace_watch_program_name(void);

#endif
