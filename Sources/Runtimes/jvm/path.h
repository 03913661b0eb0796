/// The class path: where the application's classes come from, and what would change that.
#ifndef GREENROOM_RUNTIME_JVM_PATH_H
#define GREENROOM_RUNTIME_JVM_PATH_H

#include "interface.h"

#include <stdbool.h>

enum { PATH_SIZE = 4096 };

/// Remembers the entries of the class path, with those that archives name (`Class-Path:`), and
/// watches them. Ends the process if an entry depends on the working directory, or is no file.
void path_read(jni_environment *);

/// Watches each place in a folder of the class path where the application's class is, or where
/// another file would come before it.
void path_watch_class(const char *name);

/// Whether the class's file in a folder of the class path has changed since this process began: the
/// program itself may have written it.
bool path_has_written(const char *name);

/// The archive or folder that a class of the application was loaded from; null if it is none. The
/// caller frees it.
char *path_of_source(jni_environment *, object class, bool *is_signed);

/// The file of a class from there: an archive, or the class's own file.
void path_of_file(char path[PATH_SIZE], const char *source, const char *name);

#endif
