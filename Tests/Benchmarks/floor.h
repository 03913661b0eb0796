// The values that `floor` and its preloaded library share.
#pragma once

#include "bench.h"

enum {
    REQUEST_BYTES = 2000,  // a Launch call with a desktop session's environment
    DESCRIPTORS = 4,       // standard input, output, error, working directory
    CHANNEL = 1000,        // the held process's channel
};
