// Lets a preloaded library run in place of a program's main: the first bytes of main become a jump, and are
// put back before main is called. x86-64, and only programs whose _start was written by GCC or clang
// ("lea main, %rdi").
#pragma once

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

enum { JUMP_BYTES = 12 };
static unsigned char saved[JUMP_BYTES];
static unsigned char *entry;

typedef int main_function(int, char **, char **);

// Changes the program's code with mprotect(2), not through /proc/self/mem: Greenroom's shim does not pause a
// program in which a library writes to a file, or changes an environment variable, while it is being loaded.
static int write_text(void *at, const void *bytes, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)at & ~(page - 1), end = ((uintptr_t)at + size + page - 1) & ~(page - 1);
    if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return -1;
    memcpy(at, bytes, size);
    return mprotect((void *)first, end - first, PROT_READ | PROT_EXEC);
}

// _start loads main's address into %rdi shortly before it calls __libc_start_main.
static unsigned char *find_main(void) {
    unsigned char *start = (unsigned char *)getauxval(AT_ENTRY);
    for (unsigned char *p = start; p < start + 64; p++) {
        if (p[0] == 0x48 && p[1] == 0x8d && p[2] == 0x3d) {  // lea rel32(%rip), %rdi
            int32_t distance;
            memcpy(&distance, p + 3, sizeof distance);
            return p + 7 + distance;
        }
        if (p[0] == 0x48 && p[1] == 0xc7 && p[2] == 0xc7) {  // mov $imm32, %rdi: not position-independent
            int32_t address;
            memcpy(&address, p + 3, sizeof address);
            return (unsigned char *)(intptr_t)address;
        }
    }
    return NULL;
}

static void replace_main(main_function *to) {
    entry = find_main();
    if (!entry) return;
    memcpy(saved, entry, sizeof saved);
    unsigned char jump[JUMP_BYTES] = {0x48, 0xb8, [10] = 0xff, 0xe0};  // movabs $to, %rax; jmp *%rax
    memcpy(jump + 2, &to, sizeof to);
    (void)write_text(entry, jump, sizeof jump);
}

static int call_main(int argc, char **argv, char **environment) {
    if (write_text(entry, saved, sizeof saved) != 0) _exit(121);
    return ((main_function *)entry)(argc, argv, environment);
}
