/// The string functions that the shim needs, because it has no C library.
#ifndef GREENROOM_TEXT_H
#define GREENROOM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int byte, size_t size);

size_t text_length(const char *text);
bool text_equals(const char *a, const char *b);

/// The rest of `text` after `prefix`, or null if it does not begin with it.
const char *text_after(const char *text, const char *prefix);

/// Reads a decimal number and moves `*text` after it. Returns false if there is no digit.
bool text_number(const char **text, uint64_t *number);

/// Continues a hash (FNV-1a) with that many bytes. The hash of nothing is EMPTY_HASH.
uint64_t text_hash(uint64_t hash, const char *bytes, size_t size);
#define EMPTY_HASH 0xcbf29ce484222325u

#endif
