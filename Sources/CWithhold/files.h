/// The files of settings that the program has read before its launch.
#ifndef GREENROOM_FILES_H
#define GREENROOM_FILES_H

#include <stdbool.h>

/// Forgets all changes so far: the program has come to rest, and what it has written itself is no
/// change for it.
void files_settle(void);

/// Whether one of the files has changed since `files_settle`, or has appeared.
bool files_have_changed(void);

void files_forget(void);

#endif
