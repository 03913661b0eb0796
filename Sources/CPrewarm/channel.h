/// The socket to the daemon.
#ifndef GREENROOM_CHANNEL_H
#define GREENROOM_CHANNEL_H

#include "wire.h"

#include <stdbool.h>

/// A message from the daemon with everything that came with it.
struct incoming {
    struct gr_header header;
    size_t string_byte_count; // how many bytes of strings the datagram had
    int descriptors[GR_WIRE_DESCRIPTOR_LIMIT];
    unsigned descriptor_count;
    bool complete; // false: something was cut off
};

/// Uses the descriptor as the channel and makes it close-on-exec. Returns false if it is not the
/// socket with that inode.
bool channel_open(int descriptor, uint64_t inode);

/// The descriptor's number; -1 if there is none.
int channel_number(void);

/// Receives a message, and its strings into `strings`. If the channel is closed or damaged, the
/// process exits, and main has not run.
void channel_receive(struct incoming *message, char *strings, size_t capacity);

/// Sends a message without strings. If that fails, the process exits too.
void channel_send(enum gr_message_type type, struct gr_header message);

void channel_send_error(int error, uint64_t cookie);

/// Closes the descriptor, if it still is the channel.
void channel_close(void);

void incoming_close_descriptors(struct incoming *message);

#endif
