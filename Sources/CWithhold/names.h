/// The names on the session's message bus that the program is about to own.
#ifndef GREENROOM_NAMES_H
#define GREENROOM_NAMES_H

#include <stdbool.h>
#include <sys/uio.h>

/// The program is about to send these bytes. If they ask a bus for a name, returns when the daemon
/// has the name watched, so that no call of it is missed; if nobody can watch it, or if they tell
/// another process of the program to come forward, ends the prewarm.
void names_check(int descriptor, const struct iovec *parts, size_t count);

/// From now on the program may ask for no more names. Returns false while it asks for one.
bool names_close(void);

#endif
