/// The launch's arguments and environment: the memory that holds them, and the C library's and the
/// kernel's pointers to them.
#ifndef GREENROOM_ARGUMENTS_H
#define GREENROOM_ARGUMENTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The parameters of main.
struct arguments {
    int argc;
    char **argv;
    char **envp;
};

/// Memory for strings, followed by the vectors of pointers to them.
struct argument_memory {
    char *strings;
    size_t capacity; // bytes of `strings` that a message may fill
    size_t mapped;   // bytes of the whole mapping
};

/// Maps memory for `capacity` bytes of strings and for the largest vectors that they can need.
/// Pages are not touched until they are used. Returns false if there is no memory.
bool arguments_map(struct argument_memory *memory, size_t capacity);

/// Finds, before the launch, the variables in which the C library keeps arguments and environment,
/// and the map that the kernel needs. At this time, no code of the process can have changed them.
void arguments_prepare(int argc, char **argv, const ElfW(auxv_t) * auxv);

/// Finds the variables that libraries have added to the environment since `arguments_prepare`. The
/// launch keeps them, unless it has variables of the same names. Called once, at the pause. Returns
/// false if a given variable was removed or changed, because that cannot be repeated in the
/// launch's environment.
bool arguments_find_own_variables(void);

/// Whether the bytes are exactly `argc + envc` NUL-terminated strings, with at least one argument.
bool arguments_are_valid(const char *strings, size_t size, uint32_t argc, uint32_t envc);

/// A launch that was received and checked, and is not applied yet.
struct launch {
    struct argument_memory memory; // the strings are at its start
    size_t string_byte_count;
    uint32_t argc;
    uint32_t envc;
    bool sets_command_line;
    bool brings_more; // descriptors, or parts of its caller's state
    bool is_called;   // see GR_IS_CALLED
    uint64_t cookie;
};

/// How many bytes of the stack the launch needs; 0 if exec would not allow that many.
size_t arguments_stack_byte_count(const struct launch *launch);

/// Builds the block of strings and vectors, and tells the C library about it, and the kernel if the
/// launch asks for that. The block is built on the stack, where the kernel puts it and Swift's
/// runtime looks for it; if `stack` is null, it is built in the memory of the received strings.
struct arguments arguments_apply(struct launch *launch, char *stack);

/// Moves the launch's words to the memory of the prewarm's words, if they fit there, and tells the
/// kernel. Also points the vector that main got to them. An interpreter remembers that memory and
/// the vector from its start, and sets the title of the process by writing to the memory.
void arguments_show_in_place(const struct arguments *arguments);

#endif
