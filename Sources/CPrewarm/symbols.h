/// Finds symbols in the objects that the dynamic linker has loaded, without dlsym(3).
#ifndef GREENROOM_SYMBOLS_H
#define GREENROOM_SYMBOLS_H

#include <link.h>

/// Must be called once before the functions below; `auxv` is the process's auxiliary vector.
void symbols_locate(const ElfW(auxv_t) * auxv);

/// The first definition of `name` in scope order, except the shim's, or null. Thread-local symbols
/// are not found.
void *symbol_find(const char *name);

/// The path from which this object was loaded, as the dynamic linker spells it, or null.
const char *symbols_own_path(void);

#endif
