/* System calls without a C library, for the child's half of a spawn (spawn.c): the result is the
 * kernel's, -errno on failure. A libc wrapper would write errno, which is the running parent's. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>

/* What runs in another process that shares our memory is free of what else a compiler puts in. */
#define CHILD_HALF_PRAGMA(text) _Pragma(#text)
#define CHILD_HALF_BEGIN \
    CHILD_HALF_PRAGMA(clang attribute push( \
        __attribute__((disable_sanitizer_instrumentation, no_sanitize("coverage"), \
                       no_stack_protector)), apply_to = function))
#define CHILD_HALF_END _Pragma("clang attribute pop")

CHILD_HALF_BEGIN

static inline long call6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "no system call convention for this machine"
#endif
}

/* call(number, arguments): up to five, each an integer or a pointer. */
#define CALL_WORD(x) ((long)(x))
#define CALL0(n) call6(n, 0, 0, 0, 0, 0, 0)
#define CALL1(n, a) call6(n, CALL_WORD(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) call6(n, CALL_WORD(a), CALL_WORD(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) call6(n, CALL_WORD(a), CALL_WORD(b), CALL_WORD(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) \
    call6(n, CALL_WORD(a), CALL_WORD(b), CALL_WORD(c), CALL_WORD(d), 0, 0)
#define CALL5(n, a, b, c, d, e) \
    call6(n, CALL_WORD(a), CALL_WORD(b), CALL_WORD(c), CALL_WORD(d), CALL_WORD(e), 0)
#define CALL_OF(_1, _2, _3, _4, _5, _6, name, ...) name
#define call(...) \
    CALL_OF(__VA_ARGS__, CALL5, CALL4, CALL3, CALL2, CALL1, CALL0, 0)(__VA_ARGS__)

static inline int call_open(const char *path, int flags) {
    return (int)call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static inline void call_close(int fd) { (void)call(SYS_close, fd); }

CHILD_HALF_END
