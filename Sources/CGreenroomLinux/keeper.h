/* Two idle processes for each app on a terminal, which make ^Z work.
 *
 * The kernel ignores SIGTSTP, SIGTTIN and SIGTTOU in a process group if no member has a parent in
 * another group of the same session (setpgid(2), "orphaned"), because nobody could continue the
 * group. An app leads its session, and its parent, the spawner, is in another session, so the app's
 * first group would always be orphaned. One member of that group must have a parent in another
 * group of the session. So there are
 *
 *     app (leads session and group) -> keeper (a group of its own) -> member (the app's group)
 *
 * The keeper is a child without an exit signal, so no wait(2) of the app sees it, except with
 * __WALL. Both processes block every signal, hold no descriptor, and are killed when the app ends.
 * They keep no memory except the page in which they wait and the one that the kernel uses for their
 * thread (rseq). If they cannot be made, or a filter of the app kills them, only ^Z does not work.
 *
 * Raw system calls: this runs between clone and exec (spawn.c) and before a libc is ready
 * (CPrewarm). */
#pragma once

#include "system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>

__attribute__((disable_sanitizer_instrumentation, no_stack_protector))
static inline long keeper_call(long number, long a, long b, long c, long d) {
    return system_call(number, a, b, c, d, 0, 0);
}

/* Gives back all memory outside the two ranges, including the stack, and waits for ever. Must not
 * be inlined, because one of the ranges was chosen by this function's address. */
__attribute__((noinline))
static _Noreturn void keeper_wait(uint64_t low, uint64_t low_end, uint64_t high,
                                  uint64_t high_end) {
#if defined(__x86_64__)
    register uint64_t r12 __asm__("r12") = low;
    register uint64_t r13 __asm__("r13") = low_end;
    register uint64_t r14 __asm__("r14") = high;
    register uint64_t r15 __asm__("r15") = high_end;
    __asm__ volatile(
        "mov %[munmap], %%eax\n\t"
        "xor %%edi, %%edi\n\t"
        "mov %%r12, %%rsi\n\t"
        "syscall\n\t"
        "mov %[munmap], %%eax\n\t"
        "mov %%r13, %%rdi\n\t"
        "mov %%r14, %%rsi\n\t"
        "sub %%r13, %%rsi\n\t"
        "syscall\n\t"
        "mov %[munmap], %%eax\n\t"
        "mov %%r15, %%rdi\n\t"
        "movabs $0x7ffffffff000, %%rsi\n\t"
        "sub %%r15, %%rsi\n\t"
        "syscall\n"
        "1:\n\t"
        "mov %[pause], %%eax\n\t"
        "syscall\n\t"
        "jmp 1b"
        :
        : "r"(r12), "r"(r13), "r"(r14), "r"(r15), [munmap] "i"(SYS_munmap), [pause] "i"(SYS_pause)
        : "rax", "rcx", "rdi", "rsi", "r11", "memory");
#elif defined(__aarch64__)
    register uint64_t x19 __asm__("x19") = low;
    register uint64_t x20 __asm__("x20") = low_end;
    register uint64_t x21 __asm__("x21") = high;
    register uint64_t x22 __asm__("x22") = high_end;
    __asm__ volatile(
        "mov x8, %[munmap]\n\t"
        "mov x0, xzr\n\t"
        "mov x1, x19\n\t"
        "svc 0\n\t"
        "mov x0, x20\n\t"
        "sub x1, x21, x20\n\t"
        "svc 0\n\t"
        "mov x0, x22\n\t"
        "mov x1, #1\n\t"
        "lsl x1, x1, #48\n\t" /* refused where addresses have 39 bits, which comes next */
        "sub x1, x1, x22\n\t"
        "svc 0\n\t"
        "mov x0, x22\n\t"
        "mov x1, #1\n\t"
        "lsl x1, x1, #39\n\t"
        "sub x1, x1, x22\n\t"
        "svc 0\n"
        "1:\n\t"
        "mov x8, %[poll]\n\t"
        "mov x0, xzr\n\t"
        "mov x1, xzr\n\t"
        "mov x2, xzr\n\t"
        "mov x3, xzr\n\t"
        "svc 0\n\t"
        "b 1b"
        :
        : "r"(x19), "r"(x20), "r"(x21), "r"(x22), [munmap] "i"(SYS_munmap), [poll] "i"(SYS_ppoll)
        : "x0", "x1", "x2", "x3", "x8", "memory");
#endif
    __builtin_unreachable();
}

static _Noreturn void keeper_rest(void) {
    enum { PAGE = 65536 }; /* the largest there is */
    uint64_t thread;
#if defined(__x86_64__)
    __asm__("mov %%fs:0, %0" : "=r"(thread));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
    uint64_t code = (uint64_t)(uintptr_t)keeper_wait & -(uint64_t)PAGE;
    uint64_t data = (thread & -(uint64_t)PAGE) - PAGE;
    uint64_t code_end = code + 2 * PAGE, data_end = data + 3 * PAGE;
    if (code < data)
        keeper_wait(code, code_end < data ? code_end : data, data, data_end);
    keeper_wait(data, data_end < code ? data_end : code, code, code_end);
}

/* Called in a new process. Makes it die with its parent, however the parent ends. */
__attribute__((disable_sanitizer_instrumentation))
static inline void keeper_follow(long parent) {
    (void)keeper_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
    if (keeper_call(SYS_getppid, 0, 0, 0, 0) != parent) keeper_call(SYS_exit_group, 0, 0, 0, 0);
}

/* Called by the leader of a session that has a terminal. */
static inline void keep_job_control(void) {
    long app = keeper_call(SYS_getpid, 0, 0, 0, 0);
    int ready[2] = {-1, -1};
    if (keeper_call(SYS_pipe2, (long)ready, O_CLOEXEC, 0, 0) < 0) return;
    long child = keeper_call(SYS_clone, 0, 0, 0, 0);
    if (child != 0) {
        /* The read returns when both processes have closed the other end, or are dead. */
        char none;
        (void)keeper_call(SYS_close, ready[1], 0, 0, 0);
        while (child > 0 && keeper_call(SYS_read, ready[0], (long)&none, 1, 0) == -EINTR) continue;
        (void)keeper_call(SYS_close, ready[0], 0, 0, 0);
        return;
    }
    uint64_t all = ~UINT64_C(0);
    (void)keeper_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, sizeof all);
    (void)keeper_call(SYS_prctl, PR_SET_NAME, (long)"greenroom-tty", 0, 0);
    keeper_follow(app);
    long keeper = keeper_call(SYS_getpid, 0, 0, 0, 0);
    if (keeper_call(SYS_clone, SIGCHLD, 0, 0, 0) == 0) {
        keeper_follow(keeper);
        (void)keeper_call(SYS_close_range, 0, ~0u, 0, 0);
        keeper_rest();
    }
    (void)keeper_call(SYS_setpgid, 0, 0, 0, 0);
    (void)keeper_call(SYS_close_range, 0, ~0u, 0, 0);
    keeper_rest();
}
