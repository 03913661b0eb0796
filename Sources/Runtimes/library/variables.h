/// Whether the variables that an interpreter has read before its pause have the same values at the
/// launch.
#ifndef GREENROOM_RUNTIME_VARIABLES_H
#define GREENROOM_RUNTIME_VARIABLES_H

#include <stdbool.h>

/// Compares the launch's variables with those when this library was loaded. `names` are separated
/// by spaces; one that ends in `*` stands for all names with that prefix.
bool variables_are_equal(const char *names);

#endif
