/* System call filters through libseccomp. The library is loaded when a manifest asks for a filter
 * and then unloaded, because most supervisors never need it, and it would cost each of them 0.2 MB.
 * This cannot be Swift, because it calls functions by addresses from dlsym(3), and the library's
 * constants are macros. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* A comparison with one argument of a call. */
enum gr_comparison { GR_EQUAL = 0, GR_LESS, GR_GREATER, GR_MASKED, GR_NOT_EQUAL };

struct gr_argument {
    uint32_t index;
    int comparison;
    uint64_t value;      /* MASKED: the mask */
    uint64_t masked;     /* MASKED: the value of the masked bits */
};

/* All comparisons of a rule must hold. A rule without comparisons applies to all arguments. */
struct gr_rule {
    const char *name;
    uint32_t action;     /* SECCOMP_RET_* */
    bool must_exist;     /* if false, skipped if libseccomp does not know the call */
    int argument_count;
    struct gr_argument arguments[3];
};

enum gr_architecture {
    GR_NATIVE = 0, GR_X86, GR_X86_64, GR_X32, GR_ARM, GR_ARM64,
};

/* The result of compiling: 0 and a file with the program, which the caller closes; or an errno and,
 * if the error concerns one rule, the rule's index (otherwise -1). ENOPKG means that there is no
 * libseccomp.so.2. */
struct gr_compiled { int error; int rule; int fd; };

struct gr_compiled gr_compile_filter(uint32_t default_action, const int *_Nullable architectures,
                                     int architecture_count, const struct gr_rule *_Nullable rules,
                                     int rule_count);

/* The personality of this process, and so of its children (personality(2), which Swift's Glibc
 * module leaves out). */
uint64_t gr_personality(void);

#pragma clang assume_nonnull end
