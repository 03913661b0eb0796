/// The program's connections to displays, which are those of the libraries whose requests are looked at.
#ifndef GREENROOM_CONNECTIONS_H
#define GREENROOM_CONNECTIONS_H

#include <sys/socket.h>

/// The program has connected to that address, and has sent nothing yet. Ends the prewarm if it is that
/// of a display and the code that called, at `caller`, is none whose requests are looked at.
void connections_note(int descriptor, const struct sockaddr *address, socklen_t size,
                      const void *caller);

/// Ends the prewarm if the program has a connection to a display that was not noted: one that makes its
/// system calls itself connects unseen. What it has shown there has been seen by now, and it is not
/// held again.
void connections_check(void);

#endif
