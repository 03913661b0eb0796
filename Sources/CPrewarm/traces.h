/// What the daemon wrote into the environment for us: reading it, and removing it.
#ifndef GREENROOM_TRACES_H
#define GREENROOM_TRACES_H

#include <stdbool.h>
#include <stdint.h>

/// Our environment variables. Pointers are into the environment's strings.
struct traces {
    int channel;            // GREENROOM_CHANNEL=<descriptor>:<inode>, -1 when absent or malformed
    uint64_t channel_inode;
    const char *executable; // GREENROOM_EXECUTABLE=<path>: only this executable pauses; may be null
    bool pauses_by_call;    // GREENROOM_PAUSE=call: not before main, but in greenroom_prewarm_pause
};

struct traces traces_read(char **environment);

/// Whether this process runs the executable that shall pause. A script's process runs its
/// interpreters in turn, `env` first; the ones before the last pass through untouched.
bool traces_name_this_executable(const struct traces *traces);

/// Removes our variables and our entry of LD_PRELOAD, so that neither the program nor a child of a
/// constructor sees them. The strings are overwritten too: /proc/self/environ shows their memory.
/// Invalidates the pointers of `traces_read`.
void traces_scrub(char **environment, const char *own_path);

#endif
