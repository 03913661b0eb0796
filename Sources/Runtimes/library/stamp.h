/// A stamp tells one file of a module from another, in the process that inspects it and in a
/// prewarm.
#ifndef GREENROOM_RUNTIME_STAMP_H
#define GREENROOM_RUNTIME_STAMP_H

#define STAMP_SIZE 64

/// Writes digits, or "-" for an empty path.
void stamp_of(const char *path, char text[STAMP_SIZE]);

#endif
