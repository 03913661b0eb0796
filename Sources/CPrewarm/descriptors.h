/// Puts received descriptors where the program expects them.
#ifndef GREENROOM_DESCRIPTORS_H
#define GREENROOM_DESCRIPTORS_H

#include "channel.h"

/// The first received descriptor with that role, or -1.
int descriptor_with_role(const struct incoming *message, enum gr_descriptor_role role);

/// Whether every role is known, no place is named twice, and no place is the channel's number.
bool descriptors_are_valid(const struct incoming *message, bool strings_in_descriptor);

/// Sets up session, descriptors, terminal and working directory, in that order, and closes the
/// received descriptors. Returns 0 or an errno.
int descriptors_apply(struct incoming *message);

#endif
