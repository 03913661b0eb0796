#include "pause.h"

#include "../CGreenroomLinux/inherit.h"
#include "channel.h"
#include "descriptors.h"
#include "system.h"
#include "text.h"

/// A directory has one link from each subdirectory, and /proc/self/task has one subdirectory for each
/// thread.
uint32_t thread_count(void) {
    struct stat tasks = {0};
    if (sys_stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink < 2) return 0;
    return (uint32_t)tasks.st_nlink - 2;
}

static void report_pause(enum gr_pause_reason reason, int argc) {
    channel_send(GR_PAUSED, (struct gr_header){.status = (int32_t)reason,
                                               .threads = thread_count(),
                                               .argc = (uint32_t)argc,
                                               .cookie = sys_monotonic_nanoseconds()});
}

/// Whether the header is valid and matches the strings and descriptors that came with it.
static bool is_well_formed(const struct incoming *message) {
    const struct gr_header *header = &message->header;
    bool strings_elsewhere =
        header->type == GR_GO && (header->flags & GR_STRINGS_IN_DESCRIPTOR) != 0;
    return message->complete && header->magic == GR_WIRE_MAGIC
        && header->version == GR_WIRE_VERSION
        && header->descriptor_count == message->descriptor_count
        && message->string_byte_count == (strings_elsewhere ? 0 : header->string_byte_count);
}

static bool is_empty(const struct incoming *message) {
    return message->descriptor_count == 0 && message->string_byte_count == 0;
}

/// Copies the strings from their memfd, because the program may write to its arguments, and because
/// a mapping of that file would be a trace. Returns 0 or an errno.
static int read_strings(const struct incoming *message, struct argument_memory *memory) {
    size_t size = message->header.string_byte_count;
    int file = descriptor_with_role(message, GR_ROLE_STRINGS);
    struct stat status = {0}; // initialized because analyzers do not see what the kernel writes
    if (file < 0 || size > GR_WIRE_STRING_LIMIT) return EPROTO;
    if (sys_fstat(file, &status) != 0 || (uint64_t)status.st_size < size) return EPROTO;
    if (!arguments_map(memory, size)) return ENOMEM;
    for (size_t done = 0; done < size;) {
        long count = sys_pread(file, memory->strings + done, size - done, done);
        if (count == -EINTR) continue;
        if (count <= 0) {
            sys_unmap(memory->strings, memory->mapped);
            return count < 0 ? (int)-count : EPROTO;
        }
        done += (size_t)count;
    }
    return 0;
}

/// What the next launch inherits from its caller.
static struct gr_inherited inherited;
static bool inherits;

/// Stores what the next launch inherits. Returns 0 or an errno.
static int take_inherited(const struct incoming *message, const char *bytes) {
    if (message->descriptor_count != 0 || message->string_byte_count != sizeof inherited)
        return EPROTO;
    memcpy(&inherited, bytes, sizeof inherited);
    // A personality takes effect only at exec.
    if (inherited.parts & ~(uint32_t)GR_INHERITED_PARTS || inherited.closed > 7
        || inherited.parts & GR_INHERITED_PERSONALITY)
        return EPROTO;
    inherits = true;
    return 0;
}

/// Applies what the launch inherits. Returns 0 or an errno.
static int apply_inherited(void) {
    if (!inherits) return 0;
    // Memory is already laid out by the stack's limit, so that limit cannot change.
    bool keeps_stack = !(inherited.parts & GR_INHERITED_LIMITS)
        || inherited.fixed_limits >> RLIMIT_STACK & 1
        || inherited.limits[RLIMIT_STACK].soft == sys_soft_limit(RLIMIT_STACK);
    if (!keeps_stack) return EOPNOTSUPP;
    for (int number = 0; number <= 2; number++)
        if (inherited.closed >> number & 1) sys_close(number);
    return (int)-inherit(&inherited);
}

static uint64_t launch_ignores(int signal) {
    return inherits ? inherited.ignored >> (signal - 1) & 1 : 0;
}

bool handles_ignored_signals(void) {
    for (int signal = 1; signal <= SIGNAL_COUNT; signal++)
        if (launch_ignores(signal) && sys_signal_handler(signal) != (uintptr_t)SIG_IGN) return true;
    return false;
}

void reset_signals(void) {
    for (int signal = 1; signal <= SIGNAL_COUNT; signal++) {
        uintptr_t wanted = (uintptr_t)(launch_ignores(signal) ? SIG_IGN : SIG_DFL);
        if (sys_signal_handler(signal) != wanted) sys_set_signal_handler(signal, wanted);
    }
    sys_set_signal_mask(inherits ? inherited.blocked : 0);
}

/// Checks a whole GO before any of it is applied. Returns 0 or an errno; on success, `memory`
/// contains the strings.
static int check_go(const struct incoming *message, struct argument_memory *memory) {
    const struct gr_header *header = &message->header;
    bool in_descriptor = (header->flags & GR_STRINGS_IN_DESCRIPTOR) != 0;
    struct argument_memory received = *memory;
    if (header->flags & ~(uint32_t)GR_GO_FLAGS) return EPROTO;
    if (header->umask != GR_UMASK_UNCHANGED && header->umask > 0777) return EPROTO;
    if (!descriptors_are_valid(message, in_descriptor)) return EPROTO;
    if (in_descriptor) {
        int error = read_strings(message, &received);
        if (error) return error;
    }
    size_t size = header->string_byte_count;
    if (!arguments_are_valid(received.strings, size, header->argc, header->envc)) {
        if (in_descriptor) sys_unmap(received.strings, received.mapped);
        return EPROTO;
    }
    if (in_descriptor) sys_unmap(memory->strings, memory->mapped);
    *memory = received;
    return 0;
}

/// Applies a launch. The process cannot return to waiting afterwards, so an error ends it.
static struct launch accept_launch(struct incoming *message, struct argument_memory *memory) {
    const struct gr_header *header = &message->header;
    unsigned descriptor_count = message->descriptor_count;
    if (header->flags & GR_STRINGS_IN_DESCRIPTOR) descriptor_count--;
    int error = descriptors_apply(message);
    if (!error) error = apply_inherited();
    if (error) {
        channel_send_error(error, header->cookie);
        sys_exit(0);
    }
    if (header->umask != GR_UMASK_UNCHANGED) sys_umask(header->umask);
    return (struct launch){.memory = *memory,
                           .string_byte_count = header->string_byte_count,
                           .argc = header->argc,
                           .envc = header->envc,
                           .sets_command_line = (header->flags & GR_SET_COMMAND_LINE) != 0,
                           .brings_more = inherits || descriptor_count > 0,
                           .is_called = (header->flags & GR_IS_CALLED) != 0,
                           .cookie = header->cookie};
}

void report_start(uint64_t cookie, int status) {
    channel_send(GR_STARTED, (struct gr_header){.cookie = cookie, .status = status});
    channel_close();
}

struct arguments launch_become(struct launch *launch, char *stack) {
    struct arguments arguments = arguments_apply(launch, stack);
    report_start(launch->cookie, 0);
    return arguments;
}

struct launch pause_until_launch(enum gr_pause_reason reason, int argc) {
    struct argument_memory memory;
    if (!arguments_map(&memory, GR_WIRE_INLINE_STRING_LIMIT)) {
        channel_send_error(ENOMEM, 0);
        sys_exit(0);
    }
    report_pause(reason, argc);
    for (;;) {
        struct incoming message;
        channel_receive(&message, memory.strings, memory.capacity);
        int error = is_well_formed(&message) ? 0 : EPROTO;
        if (!error) {
            switch (message.header.type) {
            case GR_GO:
                error = check_go(&message, &memory);
                if (!error) return accept_launch(&message, &memory);
                break;
            case GR_PING:
                if (!is_empty(&message)) {
                    error = EPROTO;
                    break;
                }
                // The ping may come from a restarted daemon, which knows nothing of a launch that
                // did not come.
                inherits = false;
                channel_send(GR_PONG, (struct gr_header){.cookie = message.header.cookie});
                break;
            case GR_INHERIT: error = take_inherited(&message, memory.strings); break;
            case GR_QUIT: sys_exit(0);
            default: error = EPROTO;
            }
        }
        incoming_close_descriptors(&message);
        if (error) channel_send_error(error, message.header.cookie);
    }
}
