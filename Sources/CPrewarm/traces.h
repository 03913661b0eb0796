/// Reads the daemon's variables for the shim from the environment, and removes them.
#ifndef GREENROOM_TRACES_H
#define GREENROOM_TRACES_H

#include <stdbool.h>
#include <stdint.h>

/// The shim's environment variables. Pointers are into the environment's strings.
struct traces {
    int channel;            // GREENROOM_CHANNEL=<descriptor>:<inode>, -1 when absent or malformed
    uint64_t channel_inode;
    const char *executable; // GREENROOM_EXECUTABLE=<path>: only this executable pauses; may be null
    uint64_t written;       // GREENROOM_WRITTEN=<bytes>: before this program was executed; 0: unknown
    const char *name;       // GREENROOM_NAME=<name>: the process's name; may be null
    const char *libraries;  // GREENROOM_LIBRARIES=<path>[:<path>]...: to open first; may be null
    bool announces;         // GREENROOM_ANNOUNCES=1: the daemon knows GR_OPENING
    bool pauses_by_call;    // GREENROOM_PAUSE=call: not before main, but in greenroom_prewarm_pause
    bool pauses_on_x11;     // GREENROOM_PAUSE=x11: at the first window, but on no Wayland compositor
};

struct traces traces_read(char **environment);

/// Whether this process runs the executable that is to pause. A script's process runs its
/// interpreters in turn, `env` first; only the last one pauses.
bool traces_name_this_executable(const struct traces *traces);

/// Removes the shim's variables and its entry in LD_PRELOAD, so that neither the program nor a
/// child of a constructor sees them. Also overwrites the strings, because /proc/self/environ shows
/// their memory. Invalidates the pointers of `traces_read`. GREENROOM_IMPORTS and GREENROOM_RECORD
/// stay in a program that pauses by call: its interpreter's hook reads and removes them.
void traces_scrub(char **environment, const char *own_path, bool has_hook);

#endif
