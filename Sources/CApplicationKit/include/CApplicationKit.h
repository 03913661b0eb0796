/// The parts of ApplicationKit that cannot be written in Swift.
#ifndef GREENROOM_APPLICATION_KIT_H
#define GREENROOM_APPLICATION_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

/// The app channel's descriptor, close-on-exec; -1 if Greenroom did not start this process. A
/// constructor in C removes GREENROOM_CHANNEL from the environment before other code can pass it on
/// to a child: no Swift code runs early enough.
int cak_channel(void);

/// Whether this process was started to be prewarmed, that is, with `ActivePrewarm=1` in its
/// environment.
bool cak_is_prewarmed(void);

/// Sets `ActivePrewarm=1`, the variable that Apple's systems set, or removes it. (In Swift, each
/// call would allocate a copy of the name.)
void cak_show_prewarm(bool shows);

/// recvmsg(2) with close-on-exec descriptors. It is in C because control messages are read with
/// macros. `*count` is the room for descriptors on entry, and their number on return. Returns the
/// number of bytes, 0 at the end of the channel, or -errno; -EPROTO for a message that was cut off.
ssize_t cak_receive(int socket, void *bytes, size_t capacity, int *descriptors, size_t *count,
                    bool wait);

/// Waits for room in the socket for at most `milliseconds` (poll(2)). Returns whether there is
/// room.
bool cak_wait_writable(int socket, int milliseconds);

/// Replaces the environment with `count` NUL-terminated strings. It is in C because Swift considers
/// `environ` unsafe for concurrency. Returns 0 or errno.
int cak_set_environment(const char *strings, size_t size, size_t count);

/// Replaces `CommandLine.arguments` with `count` NUL-terminated strings, and if `visibly` also what
/// ps(1) shows. It is in C because Swift's modules do not declare the runtime's function for it.
/// Returns 0 or errno.
int cak_set_arguments(const char *strings, size_t size, size_t count, bool visibly);

/// Makes the first of descriptors 0, 1 and 2 that is a terminal the session's controlling terminal
/// (ioctl_tty(2)), and starts a keeper so that ^Z works (see keeper.h). Returns 0 or errno.
int cak_take_terminal(void);

/// Runs Dispatch's main queue in another event loop, as CoreFoundation does: a descriptor that is
/// readable when the queue is not empty (read 8 bytes to reset it), and the function that then runs
/// the queue. libdispatch exports both functions, but its modules do not declare them.
int cak_main_queue_descriptor(void);
void cak_run_main_queue(void);

/// epoll(7): a set of descriptors that is readable when one of them is. It is in C because epoll's
/// event is a union. These functions return 0 or more, or -errno.
int cak_watch_create(void);
int cak_watch_add(int set, int descriptor);
int cak_watch_remove(int set, int descriptor);
/// Sets whether the set is also readable when `descriptor` has room.
int cak_watch_room(int set, int descriptor, bool is_watched);
/// Waits, without a time limit, until a descriptor of the set is ready.
int cak_watch_wait(int set);

/// Joins the main thread's CFRunLoop, if CoreFoundation is in the process: from now on the run loop
/// calls `handler` when the descriptor becomes readable. It is in C because CoreFoundation's
/// functions are weak names, which may be missing. Returns false if there is no CoreFoundation.
bool cak_run_loop_join(int descriptor, void (*handler)(void));
/// Runs the joined run loop until it has handled something besides timers. Returns false if it
/// cannot wait.
bool cak_run_loop_wait(void);

/// Looks for functions whose mangled name begins with `prefix` in the file that contains `address`,
/// and calls `each` with the demangled name of each. It reads the file's symbol table, so it finds
/// nothing if that table has been stripped. Swift's runtime exports swift_demangle, but its modules
/// do not declare it.
void cak_each_function(const void *address, const char *prefix, void *_Nullable context,
                       void (*each)(void *_Nullable context, const char *name));

#pragma clang assume_nonnull end

#endif
