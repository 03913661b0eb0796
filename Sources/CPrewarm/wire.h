/// The wire format of the app channel, which the daemon and a paused process use.
///
/// One datagram of a SOCK_SEQPACKET socketpair is one message: this header, little-endian, then
/// `string_byte_count` bytes of NUL-terminated strings (first `argc` arguments, then `envc`
/// environment entries). Descriptors are sent with it by SCM_RIGHTS, and each has a role.
///
/// The Swift side of the same format is the target GreenroomAppChannel; its tests compile this
/// header and compare every offset and value.
#ifndef GREENROOM_WIRE_H
#define GREENROOM_WIRE_H

#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the app channel is little-endian, and so is every machine Greenroom supports"
#endif

#define GR_WIRE_MAGIC 0x31435247u /* "GRC1" */
#define GR_WIRE_VERSION 1

/// The highest number of descriptors in one message: enough for standard streams, socket activation
/// and two roles, and far below the kernel's 253, so that the receive buffer fits on the stack.
#define GR_WIRE_DESCRIPTOR_LIMIT 28

/// Strings of up to this size are in the datagram. The default socket buffer (212 KB) holds two
/// such messages.
#define GR_WIRE_INLINE_STRING_LIMIT 65536u

/// Longer strings are in a memfd, up to the kernel's own limit for exec
/// (three quarters of an 8 MiB stack, execve(2)).
#define GR_WIRE_STRING_LIMIT (6u << 20)

enum gr_message_type {
    // From the process to the daemon.
    GR_PAUSED = 1,  // status: enum gr_pause_reason; threads; argc; cookie: CLOCK_MONOTONIC, ns
    GR_STARTED = 2, // the last message: everything is applied, main follows. status: 0, or an enum
                    // gr_anew_reason
    GR_PONG = 3,    // cookie of the ping
    GR_ERROR = 4,   // status: errno; cookie of the message at fault
    GR_WANTS_NAME = 5, // one string: a name on the session's message bus that it is about to own
    GR_OPENING = 6, // cookie: an index in GREENROOM_LIBRARIES. status: enum gr_opening
    // From the daemon to the process.
    GR_GO = 16,
    GR_PING = 17,
    GR_QUIT = 18,
    GR_INHERIT = 19, // before a GO: a struct gr_inherited in place of strings
    GR_NAME_IS_WATCHED = 20, // answers WANTS_NAME: the process may have the name
};

/// What a process says about a library that it opens before its pause.
enum gr_opening {
    GR_OPENING_NEXT = 0,
    GR_OPENING_FAILED = 1, // the library cannot be opened, and is left out
    GR_OPENING_DONE = 2,   // there are no more
};

enum gr_pause_reason {
    GR_PAUSED_AT_MAIN = 0,
    GR_PAUSED_BY_CALL = 1, // greenroom_prewarm_pause()
};

/// Why a process that waited by `greenroom_prewarm_wait` does not go on as the launch, but executes
/// the launch's command line (execve(2)), as a new process would.
enum gr_anew_reason {
    GR_ANEW_OPTIONS = 1,     // the words before the program are not those of the prewarm
    GR_ANEW_PROGRAM = 2,     // the interpreter's hook does not know this way to name a program
    GR_ANEW_HIDDEN = 3,      // a file beside the program hides a module that was imported, or the program begins
                             // with other modules
    GR_ANEW_CHANGED = 4,     // the files of what was imported have changed since
    GR_ANEW_ENVIRONMENT = 5, // a variable that was read before the pause has another value
    GR_ANEW_SIGNALS = 6,     // the caller ignores a signal that now has a handler
    GR_ANEW_FAILED = 7,      // the hook could not exchange the program
};

enum gr_go_flags {
    GR_SET_COMMAND_LINE = 1,     // /proc/PID/cmdline and environ show the launch (PR_SET_MM_MAP)
    GR_NEW_SESSION = 2,          // setsid(2)
    GR_CONTROLLING_TERMINAL = 4, // the first terminal of 0, 1, 2 becomes the session's (TIOCSCTTY)
    GR_STRINGS_IN_DESCRIPTOR = 8,
    GR_DIRECTORY_BY_NAME = 16,   // chdir(2) to the directory's path instead of fchdir(2): a
                                 // descriptor would lead out of the process's view of files
    GR_IS_CALLED = 32,           // somebody has called a held program by its name, and only this
                                 // process can serve the call
    GR_GO_FLAGS = 63,
};

/// What a descriptor is for. 0 or above is its number in the program.
enum gr_descriptor_role {
    GR_ROLE_WORKING_DIRECTORY = -1,
    GR_ROLE_STRINGS = -3,
};

#define GR_UMASK_UNCHANGED 0xffffffffu

struct gr_header {
    uint32_t magic;
    uint16_t version;
    uint16_t type;
    uint32_t flags;
    uint32_t argc;
    uint32_t envc;
    uint32_t string_byte_count;
    uint32_t umask;
    uint32_t descriptor_count;
    uint64_t cookie;
    int32_t status;
    uint32_t threads;
    int32_t roles[GR_WIRE_DESCRIPTOR_LIMIT];
};

_Static_assert(sizeof(struct gr_header) == 160, "the header's size is part of the wire format");
_Static_assert(offsetof(struct gr_header, cookie) == 32, "no padding before the cookie");
_Static_assert(offsetof(struct gr_header, roles) == 48, "roles end the header");

#endif
