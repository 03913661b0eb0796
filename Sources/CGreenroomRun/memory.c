/* Memory for Swift's strings and arrays. None is freed: the program makes one call and waits.
 * Its size is bounded by the caller's own arguments and environment, and by the longest reply. */
#define _GNU_SOURCE
#include "library.h"

#include <stdint.h>
#include <sys/mman.h>

/* Enough for an ordinary environment; pages that are not touched cost nothing. */
enum { FIRST_BYTES = 256 << 10, NEXT_BYTES = 4 << 20, ALIGNMENT = 16 };

static _Alignas(ALIGNMENT) char first[FIRST_BYTES];
static char *next = first, *end = first + FIRST_BYTES;

static void *allocate(size_t alignment, size_t size) {
    uintptr_t at = ((uintptr_t)next + alignment - 1) & ~(uintptr_t)(alignment - 1);
    if (size <= (uintptr_t)end && at <= (uintptr_t)end - size) {
        next = (char *)(at + size);
        return (void *)at;
    }
    if (size > SIZE_MAX / 2 || alignment > ALIGNMENT) return NULL;
    size_t whole = size > NEXT_BYTES ? size : NEXT_BYTES;
    void *more = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) return NULL;
    next = (char *)more + size;
    end = (char *)more + whole;
    return more;
}

void *malloc(size_t size) { return allocate(ALIGNMENT, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = allocate(alignment, size);
    return *memory ? 0 : ENOMEM;
}

void free(void *memory) { (void)memory; }

/* The compiler calls these by name. build.mk compiles this file with -fno-builtin, so that the loops
 * do not become calls of themselves. */

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    char *out = to;
    const char *in = from;
    while (size--) *out++ = *in++;
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    char *out = to;
    const char *in = from;
    if (out <= in) return memcpy(to, from, size);
    while (size--) out[size] = in[size];
    return to;
}

void *memset(void *to, int byte, size_t size) {
    char *out = to;
    while (size--) *out++ = (char)byte;
    return to;
}

int memcmp(const void *left, const void *right, size_t size) {
    const unsigned char *a = left, *b = right;
    for (; size--; a++, b++)
        if (*a != *b) return *a - *b;
    return 0;
}

int bcmp(const void *left, const void *right, size_t size) { return memcmp(left, right, size); }

size_t strlen(const char *text) {
    const char *at = text;
    while (*at) at++;
    return (size_t)(at - text);
}
