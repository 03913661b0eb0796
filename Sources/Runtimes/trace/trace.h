/// Preloaded only into the process that inspects imports of Perl, Ruby, R or Emacs. It writes a
/// trace of the calls of the C library, in which the language's script marks where each module
/// begins and ends; the daemon tells from it which modules change nothing for a launch
/// (`ImportTrace.swift`, which has the form of the lines).
#ifndef GREENROOM_TRACE_H
#define GREENROOM_TRACE_H

#include <stdbool.h>

/// Writes a line: a word and, after a tab, a text. Writes nothing for a thread other than the
/// first, for a child, outside modules, or twice for one module.
void trace_line(const char *word, const char *text);

/// Whether modules are installed below the folder: every path to them leads through it.
bool trace_is_above_place(const char *path);

/// Writes a line for a file that is installed, or would be: it may be read before the pause, and must then
/// be the same at the launch (`key files`: also for a file of the user). False for any other.
bool trace_installed_file(const char *path);

/// Writes that somebody asks whether a standard stream is a terminal. Here none is, so the answer is also
/// right for a launch without a terminal, if the language's hook compares (`key terminal`).
void trace_question_for_terminal(void);

/// Obeys the language's script:
///
///     begin NAME            a module begins
///     end NAME<TAB>PATH     it has ended; PATH is its file, or empty
///     fails NAME            the same as "end", for a module that has failed
///     does REASON, spares REASON, reads VARIABLE, needs NAME, place FOLDER
///     first WORD<TAB>FILE   the program requires this first; "first -" ends its beginning
///     takes NAME            a module loads a builtin one that takes what others have at this moment
///     key terminal          the hook starts a launch on a terminal anew, where somebody has asked
///     key files             the hook compares files of the user that were read or looked for
///     done                  the last module has ended; ends the process
void trace_obey(const char *command);

/// The command "watch $0" of Ruby's script.
void trace_watch_program_name(void);

#endif
