/// The pause itself: reports it, waits for the daemon, and applies the launch.
#ifndef GREENROOM_PAUSE_H
#define GREENROOM_PAUSE_H

#include "arguments.h"
#include "wire.h"

/// Reports PAUSED, and returns when a launch has come and its descriptors are in place. Exits
/// without running main if the daemon says so or has closed the channel.
struct launch pause_until_launch(enum gr_pause_reason reason, int argc);

/// Applies the rest, reports STARTED and closes the channel. For `stack` see arguments.h.
struct arguments launch_become(struct launch *launch, char *stack);

#endif
