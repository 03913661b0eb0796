/* The app's end of the socket to the daemon. It sends and receives whole messages. The format is that of the
 * shim's wire.h; numbers.h has the numbers of the messages of apps with an SDK. */
#pragma once

#include "../CPrewarm/wire.h"
#include "numbers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message {
    struct gr_header header;
    char **strings;   /* argc words and then envc fields, followed by their bytes in one allocation */
    size_t content_count; /* how many of the first fields are content for the app */
    int descriptors[GR_WIRE_DESCRIPTOR_LIMIT];
    size_t descriptor_count;
};

enum reception { RECEIVED, NOTHING, ENDED };

/* Finds the descriptor of GREENROOM_CHANNEL, makes it close-on-exec and removes the variable; -1 if there is none. */
int channel_find(void);
/* Receives a message. Messages that are not understood are answered with an error and skipped. */
enum reception channel_receive(int channel, struct message *message, bool wait);
/* Sends a message without ever waiting. If the socket has no room, the message is sent in its turn when there is
 * room. Messages that nobody waits for are dropped if too many wait. (If the daemon has closed its end, the next
 * receive says so.) */
void channel_send(int channel, uint16_t type, int32_t status, uint64_t cookie, uint32_t threads, const char *word);
/* Sends a complete message, which is never dropped. */
void channel_send_packet(int channel, const char *bytes, size_t size);
/* Makes a complete message, which the caller frees, and stores its size; NULL if it is too large or there is no
 * memory. The first `words` of the `count` strings count as arguments. */
char *channel_packet(
    struct gr_header header, const char *const *strings, size_t count, size_t words, size_t *size);
/* Makes a message and sends it. */
void channel_send_strings(
    int channel, struct gr_header header, const char *const *strings, size_t count, size_t words);
/* Sends waiting messages while there is room. */
void channel_flush(int channel);
/* Sends all waiting messages before the process ends, and waits a while if the daemon is slow to read. */
void channel_drain(int channel);
/* Makes an epoll(7) set that is readable when a message has arrived, or when there is room for a waiting one. */
int channel_watch(int channel);
/* Closes the remaining descriptors and frees the strings. */
void message_release(struct message *message);
/* The nth word; NULL if it is missing or empty. */
const char *message_word(const struct message *message, size_t n);
