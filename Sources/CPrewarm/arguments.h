/// The launch's arguments and environment: where they live and who must know of them.
#ifndef GREENROOM_ARGUMENTS_H
#define GREENROOM_ARGUMENTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What main gets.
struct arguments {
    int argc;
    char **argv;
    char **envp;
};

/// Room for strings and, behind them, for the vectors that point at them.
struct argument_memory {
    char *strings;
    size_t capacity; // bytes of `strings` that a message may fill
    size_t mapped;   // bytes of the whole mapping
};

/// Maps memory for `capacity` bytes of strings and as many vectors as they can need. The pages
/// are untouched until used. False when there is no memory.
bool arguments_map(struct argument_memory *memory, size_t capacity);

/// Looks up, ahead of the launch, the variables in which the C library keeps arguments and
/// environment, and what the kernel needs to be told. Both are the process's own, before any code of it
/// could change them.
void arguments_prepare(char **environment, const ElfW(auxv_t) * auxv);

/// Finds what has been put into the environment since: the launch keeps it, where it does not name it
/// itself. Once, at the pause. False if a variable that was given is gone or has another value: the launch
/// cannot do that to its own.
bool arguments_find_own_variables(void);

/// Whether the bytes are exactly `argc + envc` NUL-terminated strings, at least one argument.
bool arguments_are_valid(const char *strings, size_t size, uint32_t argc, uint32_t envc);

/// What a launch has received, checked, and not yet become.
struct launch {
    struct argument_memory memory; // the strings are at its start
    size_t string_byte_count;
    uint32_t argc;
    uint32_t envc;
    bool sets_command_line;
    uint64_t cookie;
};

/// How much of its stack the launch takes; 0 where that is more than exec would allow.
size_t arguments_stack_byte_count(const struct launch *launch);

/// Builds the block of strings and vectors and tells the C library, and the kernel if asked for. It
/// is built on the stack, where the kernel puts it and Swift's runtime looks for it, or where
/// `stack` is null in the memory that the strings came in.
struct arguments arguments_apply(struct launch *launch, char *stack);

#endif
