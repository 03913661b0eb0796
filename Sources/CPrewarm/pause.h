/// The pause itself: report, wait for the daemon, become what it asks for.
#ifndef GREENROOM_PAUSE_H
#define GREENROOM_PAUSE_H

#include "arguments.h"
#include "wire.h"

/// Reports PAUSED and returns when a launch has been applied and reported. Exits the process, main
/// not run, when the daemon says so or is gone.
struct arguments pause_until_launch(enum gr_pause_reason reason, int argc);

#endif
