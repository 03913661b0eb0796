/// The program's connections to displays. Only libraries whose requests are inspected may make
/// them.
#ifndef GREENROOM_CONNECTIONS_H
#define GREENROOM_CONNECTIONS_H

#include <stdbool.h>
#include <sys/socket.h>

/// The program has connected to that address, and has sent nothing yet. Ends the prewarm if the
/// address is a display's and the requests of the library that called, at `caller`, are not
/// inspected; or if another process of the same program listens there, which would show a window
/// when it is told what this one was started for.
void connections_note(int descriptor, const struct sockaddr *address, socklen_t size,
                      const void *caller);

/// Ends the prewarm if others could connect to that socket: a second process of the program may pass
/// its files there, and would wait for one that is frozen. False for a socket that the program can do
/// without.
bool connections_may_listen(int descriptor);

/// Ends the prewarm if the program has a connection to a display that was not noted: a program that
/// makes its own system calls connects unnoticed. The user has already seen what it showed there,
/// and it is not held again.
void connections_check(void);

#endif
