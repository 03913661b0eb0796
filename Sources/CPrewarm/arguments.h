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
/// environment, and what the kernel needs to be told. `auxv` is the process's own.
void arguments_prepare(const ElfW(auxv_t) * auxv);

/// Whether the bytes are exactly `argc + envc` NUL-terminated strings, at least one argument.
bool arguments_are_valid(const char *strings, size_t size, uint32_t argc, uint32_t envc);

/// Builds the vectors behind the first `size` bytes of strings and tells the C library, and the
/// kernel if `set_command_line`.
struct arguments arguments_apply(struct argument_memory *memory, size_t size, uint32_t argc,
                                 uint32_t envc, bool set_command_line);

#endif
