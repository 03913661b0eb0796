/* System calls for the child's half of a spawn (spawn.c). A libc wrapper would write errno, which
 * belongs to the running parent. */
#pragma once

#include "system_call.h"

#include <fcntl.h>
#include <stdint.h>

/* Code that runs in another process that shares our memory must contain nothing that the compiler
 * adds: no instrumentation, no stack protector. */
#define CHILD_HALF_PRAGMA(text) _Pragma(#text)
#define CHILD_HALF_BEGIN \
    CHILD_HALF_PRAGMA(clang attribute push( \
        __attribute__((disable_sanitizer_instrumentation, no_sanitize("coverage"), \
                       no_stack_protector)), apply_to = function))
#define CHILD_HALF_END _Pragma("clang attribute pop")

CHILD_HALF_BEGIN

/* call(number, arguments): at most five arguments, each an integer or a pointer. */
#define CALL_WORD(x) ((long)(x))
#define CALL0(n) system_call(n, 0, 0, 0, 0, 0, 0)
#define CALL1(n, a) system_call(n, CALL_WORD(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) system_call(n, CALL_WORD(a), CALL_WORD(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) system_call(n, CALL_WORD(a), CALL_WORD(b), CALL_WORD(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) \
    system_call(n, CALL_WORD(a), CALL_WORD(b), CALL_WORD(c), CALL_WORD(d), 0, 0)
#define CALL5(n, a, b, c, d, e) \
    system_call(n, CALL_WORD(a), CALL_WORD(b), CALL_WORD(c), CALL_WORD(d), CALL_WORD(e), 0)
#define CALL_OF(_1, _2, _3, _4, _5, _6, name, ...) name
#define call(...) \
    CALL_OF(__VA_ARGS__, CALL5, CALL4, CALL3, CALL2, CALL1, CALL0, 0)(__VA_ARGS__)

static inline int call_open(const char *path, int flags) {
    return (int)call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static inline void call_close(int fd) { (void)call(SYS_close, fd); }

CHILD_HALF_END
