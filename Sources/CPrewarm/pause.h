/// The pause itself: reports it, waits for the daemon, and applies the launch.
#ifndef GREENROOM_PAUSE_H
#define GREENROOM_PAUSE_H

#include "arguments.h"
#include "wire.h"

/// The number of threads; 0 if /proc is not mounted.
uint32_t thread_count(void);

/// Reports PAUSED, and returns when a launch has come and its descriptors are in place. Exits
/// without running main if the daemon says so or has closed the channel.
struct launch pause_until_launch(enum gr_pause_reason reason, int argc);

/// Applies the rest, reports STARTED and closes the channel. For `stack` see arguments.h.
struct arguments launch_become(struct launch *launch, char *stack);

/// Reports STARTED with that status and closes the channel.
void report_start(uint64_t cookie, int status);

/// Whether a signal that the launch ignores now has a handler, so that it is not ignored.
bool handles_ignored_signals(void);

/// Gives each signal the disposition, and this thread the mask, that the launch brings: what
/// execve(2) passes on, and what this process has changed since its start.
void reset_signals(void);

#endif
