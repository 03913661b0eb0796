/// The program's connections to displays. Only libraries whose requests are inspected may make
/// them.
#ifndef GREENROOM_CONNECTIONS_H
#define GREENROOM_CONNECTIONS_H

#include <sys/socket.h>

/// The program has connected to that address, and has sent nothing yet. Ends the prewarm if the
/// address is a display's and the requests of the library that called, at `caller`, are not
/// inspected.
void connections_note(int descriptor, const struct sockaddr *address, socklen_t size,
                      const void *caller);

/// Ends the prewarm if the program has a connection to a display that was not noted: a program that
/// makes its own system calls connects unnoticed. The user has already seen what it showed there,
/// and it is not held again.
void connections_check(void);

#endif
