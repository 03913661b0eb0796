/// What ApplicationKit cannot say in Swift.
#ifndef GREENROOM_APPLICATION_KIT_H
#define GREENROOM_APPLICATION_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

/// The app channel's descriptor, close-on-exec; -1 when Greenroom did not start this process. A
/// constructor has taken it out of the environment: whatever runs before main could pass it on, and no
/// Swift code is early enough.
int cak_channel(void);

/// Whether this process was started to be prewarmed (`ActivePrewarm=1`), as of its start.
bool cak_is_prewarmed(void);

/// Sets the variable that Apple sets, `ActivePrewarm=1`, or removes it. (Swift would make its name anew.)
void cak_show_prewarm(bool shows);

/// recvmsg(2), descriptors close-on-exec: bytes received, 0 at the end, or -errno. Control messages are
/// macros. `*count` is the room for descriptors, then their number. A message that was cut off is EPROTO.
ssize_t cak_receive(int socket, void *bytes, size_t capacity, int *descriptors, size_t *count,
                    bool wait);

/// poll(2): whether there is room in the socket within so many milliseconds.
bool cak_wait_writable(int socket, int milliseconds);

/// Makes `count` NUL-terminated strings the environment. `environ` is not concurrency-safe for Swift.
/// 0 or errno.
int cak_set_environment(const char *strings, size_t size, size_t count);

/// Makes `count` NUL-terminated strings `CommandLine.arguments`, and what ps(1) shows if `visibly`. The
/// former is a function of Swift's runtime that its modules do not declare. 0 or errno.
int cak_set_arguments(const char *strings, size_t size, size_t count, bool visibly);

/// The first of descriptors 0, 1 and 2 that is a terminal becomes the session's (ioctl_tty(2)), with a keeper
/// so that ^Z works; as for every app of Greenroom, see keeper.h. 0 or errno.
int cak_take_terminal(void);

/// The main queue in a loop of one's own, as CoreFoundation does it: a descriptor that is readable when
/// the queue is not empty (reset it by reading 8 bytes), and what then runs it. libdispatch exports
/// both and its modules declare neither.
int cak_main_queue_descriptor(void);
void cak_run_main_queue(void);

/// epoll(7), whose event is a union: a set of descriptors that is readable when one of them is. All of these
/// give 0 or more, or -errno.
int cak_watch_create(void);
int cak_watch_add(int set, int descriptor);
int cak_watch_remove(int set, int descriptor);
/// Whether the set is readable as well when `descriptor` has room.
int cak_watch_room(int set, int descriptor, bool is_watched);
/// Waits without limit.
int cak_watch_wait(int set);

#pragma clang assume_nonnull end

#endif
