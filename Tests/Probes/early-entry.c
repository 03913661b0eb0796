/// A program of which something runs before `__libc_start_main`: it appends a line to the file that
/// PROBE_OUTPUT names. main prints its arguments. With
///   -DENTRY, and -Wl,-e,entry   an entry point of its own, which goes on to the C library's
///   -DPREINIT                   a preinit function
///   -DPASCAL, and -nostartfiles the entry point of Free Pascal's programs (x86-64): it keeps the
///                               arguments of the initial stack, and main prints those
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

__attribute__((unused)) static void run(char **environment) {
    const char *path = NULL;
    for (; *environment; environment++)
        if (strncmp(*environment, "PROBE_OUTPUT=", 13) == 0) path = *environment + 13;
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (file >= 0 && write(file, "ran\n", 4) == 4) close(file);
}

#ifdef ENTRY
void run_early(void) { run(environ); }
#if defined(__x86_64__)
__asm__(".globl entry\n"
        "entry: push %rdx\n push %rdx\n call run_early\n pop %rdx\n pop %rdx\n jmp _start\n");
#else
__asm__(".globl entry\n"
        "entry: str x0, [sp, #-16]!\n bl run_early\n ldr x0, [sp], #16\n b _start\n");
#endif
#endif

#ifdef PREINIT
static void run_before_all(int argc, char **argv, char **environment) {
    (void)argc, (void)argv;
    run(environment);
}
__attribute__((section(".preinit_array"), used))
static void (*const preinit)(int, char **, char **) = run_before_all;
#endif

#ifdef PASCAL
struct {
    long count;
    char **arguments;
} kept;
__asm__(".globl _start\n"
        "_start: xor %rbp, %rbp\n mov %rdx, %r9\n pop %rsi\n mov %rsp, %rdx\n"
        " lea kept(%rip), %rcx\n mov %rsi, (%rcx)\n mov %rsp, 8(%rcx)\n"
        " and $-16, %rsp\n push %rax\n push %rsp\n xor %r8, %r8\n xor %rcx, %rcx\n"
        " lea main(%rip), %rdi\n call *__libc_start_main@GOTPCREL(%rip)\n hlt\n");
#endif

int main(int argc, char **argv) {
#ifdef PASCAL
    argc = (int)kept.count;
    argv = kept.arguments;
#endif
    for (int i = 1; i < argc; i++) printf("%s\n", argv[i]);
    return argc;
}
