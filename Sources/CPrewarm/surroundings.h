/// Detects changes that constructors of libraries have made to their process. The launch would undo
/// or misplace these changes, whereas a program that is called directly finds them.
#ifndef GREENROOM_SURROUNDINGS_H
#define GREENROOM_SURROUNDINGS_H

#include "traces.h"

#include <stdbool.h>

/// Remembers the state before the first constructor. What the dynamic linker has written by then
/// counts as written by a library, if the daemon says what was written before.
void surroundings_remember(const struct traces *traces);

/// Whether the working directory, the umask and the descriptors 0 to 2 are unchanged, and nothing
/// was written to a descriptor or into the buffer of standard output. Called once, at the pause.
bool surroundings_are_unchanged(void);

#endif
