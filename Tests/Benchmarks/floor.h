// What `floor` and the library that it preloads agree on.
#pragma once

#include "bench.h"

enum {
    REQUEST_BYTES = 2000,  // a Launch call with a desktop session's environment
    DESCRIPTORS = 4,       // standard input, output, error, working directory
    CHANNEL = 1000,        // where the held process finds its channel
};
