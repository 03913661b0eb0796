/// Whether the files that an interpreter has read before its pause are still the same at the launch.
#ifndef GREENROOM_RUNTIME_FILES_H
#define GREENROOM_RUNTIME_FILES_H

#include <stdbool.h>

/// Remembers the state of a file or folder. A name that does not exist must not exist at the launch
/// either. Watch the folder of each file too: a package manager replaces files by rename.
void files_watch(const char *path);

/// Whether all watched files are as they were, and none has changed since this library was loaded.
bool files_are_unchanged(void);

#endif
