/* The app's end of the socket to the daemon: whole messages in and out. The format is that of the
 * shim's wire.h; the messages of apps with an SDK are numbered in GreenroomAppChannel's AppFrame.swift. */
#pragma once

#include "../CPrewarm/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MESSAGE_LAUNCH = 32, MESSAGE_LIFECYCLE, MESSAGE_CONNECT_SCENE, MESSAGE_SCENE, MESSAGE_DISCARD_SCENES,
    MESSAGE_DELIVER, MESSAGE_ANSWER, MESSAGE_CREDENTIALS,
    MESSAGE_RESTORE_STATE = 48, MESSAGE_BACKGROUND_TIME = 51, MESSAGE_BACKGROUND_TIME_EXPIRES, MESSAGE_RUN_TASK,
    MESSAGE_PENDING_TASKS, MESSAGE_EXPIRE_TASK,
    MESSAGE_ACKNOWLEDGED = 64, MESSAGE_STEP, MESSAGE_OVERRAN, MESSAGE_FIRST_FRAME, MESSAGE_REQUEST_SCENE,
    MESSAGE_SAVE_STATE = 80, MESSAGE_EXTEND_RESTORATION, MESSAGE_COMPLETE_RESTORATION, MESSAGE_BEGIN_BACKGROUND_TASK,
    MESSAGE_END_BACKGROUND_TASK, MESSAGE_SUBMIT_TASK, MESSAGE_TASK_REQUESTS, MESSAGE_COMPLETED_TASK,
    MESSAGE_LAUNCH_TASK, MESSAGE_LAUNCH_STEPS = 92,
    PAUSED_AT_APPLICATION_MAIN = 2,
    ROLE_CREDENTIALS = -4,
};

struct message {
    struct gr_header header;
    char **strings;   /* argc words, then envc fields; one allocation with their bytes behind it */
    size_t content_count; /* of the fields, how many an app is shown: the first */
    int descriptors[GR_WIRE_DESCRIPTOR_LIMIT];
    size_t descriptor_count;
};

enum reception { RECEIVED, NOTHING, ENDED };

/* The descriptor of GREENROOM_CHANNEL, close-on-exec and out of the environment; -1 without one. */
int channel_find(void);
/* What is not understood is answered and passed over. */
enum reception channel_receive(int channel, struct message *message, bool wait);
/* Never waits: what the socket has no room for goes out in its order when there is some. Notes that nobody
 * waits for are lost where too many wait already. (A daemon that is gone shows when we listen.) */
void channel_send(int channel, uint16_t type, int32_t status, uint64_t cookie, uint32_t threads, const char *word);
/* The same of a whole message, never lost. */
void channel_send_packet(int channel, const char *bytes, size_t size);
/* A message in one piece, to be freed, with its size; NULL without memory or where it is too large. `words` of
 * the `count` strings are counted as arguments. */
char *channel_packet(
    struct gr_header header, const char *const *strings, size_t count, size_t words, size_t *size);
/* Both. */
void channel_send_strings(
    int channel, struct gr_header header, const char *const *strings, size_t count, size_t words);
/* Sends what waits, as far as there is room. */
void channel_flush(int channel);
/* Before the process ends: the same, waiting a moment for a daemon that is slow to read. */
void channel_drain(int channel);
/* An epoll(7) set that is readable when there is something to receive, or room for what waits. */
int channel_watch(int channel);
/* Closes the descriptors that are left and frees the strings. */
void message_release(struct message *message);
/* The nth word, NULL if it is missing or empty. */
const char *message_word(const struct message *message, size_t n);
