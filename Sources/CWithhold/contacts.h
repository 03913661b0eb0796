/// The hosts that the program reaches before its launch, for `greenroomctl measure --windows`.
#ifndef GREENROOM_CONTACTS_H
#define GREENROOM_CONTACTS_H

#include <sys/socket.h>

/// The program is about to connect to that internet address, or to send it a datagram. Addresses of
/// other families are ignored, and so is null.
void contacts_note(int descriptor, const struct sockaddr *address, socklen_t size);

/// The program is about to ask for the address of that host.
void contacts_note_host(const char *name);

#endif
