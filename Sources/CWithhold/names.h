/// The names on the session's message bus that the program is about to own.
#ifndef GREENROOM_NAMES_H
#define GREENROOM_NAMES_H

#include <stdbool.h>
#include <sys/uio.h>

/// The program is about to send these bytes. If they ask a bus for a name, returns when the name is
/// watched, so that no call of it is missed. Ends the prewarm if nobody can watch the name, or if
/// the bytes tell another process of the program to come forward.
void names_check(int descriptor, const struct iovec *parts, size_t count);

/// From now on the program may ask for no more names. Returns false while it asks for one.
bool names_close(void);

#endif
