/// What constructors of libraries did to their process: the launch would undo it, or show it in another
/// place, and a program that was called directly would find it.
#ifndef GREENROOM_SURROUNDINGS_H
#define GREENROOM_SURROUNDINGS_H

#include <stdbool.h>

/// Before the first constructor.
void surroundings_remember(void);

/// Whether working directory, umask and the descriptors 0 to 2 are what they were, and nothing was
/// written, to a descriptor or for the standard output. Once, at the pause.
bool surroundings_are_unchanged(void);

#endif
