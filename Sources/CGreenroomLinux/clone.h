/* Makes a process with its own stack in our memory. Used by spawn.c, disposal.c and worker.c. */
#pragma once

/* clone3(args, size) or clone(flags, stack, parent_tid). The child starts on another stack, so it
 * cannot return from a C function that made the call. libc's clone() would do more than the call (a
 * sanitizer's does so much that it fails with CLONE_VM). Nothing is instrumented here, because the
 * waiter of spawn.c calls this at the same time as our thread, and a sanitizer would confuse their
 * call stacks. */
__attribute__((disable_sanitizer_instrumentation, no_sanitize("coverage"), no_stack_protector))
static inline long clone_call(long number, long first, long second, long third, int (*start)(void *),
                       void *argument) {
#if defined(__x86_64__)
    long result;
    register void *r12 __asm__("r12") = (void *)start;
    register void *r13 __asm__("r13") = argument;
    __asm__ volatile(
        "syscall\n\t"
        "test %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xor %%ebp, %%ebp\n\t"
        "mov %%r13, %%rdi\n\t"
        "call *%%r12\n\t"
        "ud2\n"
        "1:"
        : "=a"(result)
        : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r12), "r"(r13)
        : "rcx", "r11", "memory", "cc");
    return result;
#elif defined(__aarch64__)
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    register long x8 __asm__("x8") = number;
    register void *x9 __asm__("x9") = (void *)start;
    register void *x10 __asm__("x10") = argument;
    __asm__ volatile(
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x30, xzr\n\t"
        "mov x0, x10\n\t"
        "blr x9\n\t"
        "brk #1\n"
        "1:"
        : "+r"(x0)
        : "r"(x1), "r"(x2), "r"(x8), "r"(x9), "r"(x10)
        : "memory", "cc");
    return x0;
#else
#error "Greenroom runs on x86-64 and aarch64: add this architecture's clone3"
#endif
}
