#include "text.h"

// The compiler may call memcpy and memset whatever the flags say, so they must exist. build.mk
// compiles this file with -fno-builtin, so that these loops do not become calls of themselves.

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    char *out = to;
    const char *in = from;
    while (size--) *out++ = *in++;
    return to;
}

void *memset(void *to, int byte, size_t size) {
    char *out = to;
    while (size--) *out++ = (char)byte;
    return to;
}

size_t text_length(const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

bool text_equals(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

const char *text_after(const char *text, const char *prefix) {
    while (*prefix)
        if (*text++ != *prefix++) return NULL;
    return text;
}

bool text_number(const char **text, uint64_t *number) {
    const char *at = *text;
    uint64_t value = 0;
    while (*at >= '0' && *at <= '9') value = value * 10 + (uint64_t)(*at++ - '0');
    bool found = at != *text;
    *text = at;
    *number = value;
    return found;
}

uint64_t text_hash(uint64_t hash, const char *bytes, size_t size) {
    while (size--) hash = (hash ^ (unsigned char)*bytes++) * 0x100000001b3u;
    return hash;
}
