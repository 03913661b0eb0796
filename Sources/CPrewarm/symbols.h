/// Finds symbols in the objects that the dynamic linker has loaded, without dlsym(3).
#ifndef GREENROOM_SYMBOLS_H
#define GREENROOM_SYMBOLS_H

#include <link.h>
#include <stdbool.h>

/// Must be called once before the functions below; `auxv` is the process's auxiliary vector.
void symbols_locate(const ElfW(auxv_t) * auxv);

/// The first definition of `name` in scope order, except the shim's, or null. Thread-local symbols
/// are not found.
void *symbol_find(const char *name);

/// The object that was loaded last.
const struct link_map *symbols_last_object(void);

/// Whether an object that was loaded after `last` uses a function or variable that only the
/// executable defines, or has one of its own that the executable's hides. Names that a library
/// loaded before also defines do not count: the executable has a copy of such a variable, or
/// replaces such a function, like malloc(3).
bool symbols_reach_executable(const struct link_map *last);

/// The path from which this object was loaded, as the dynamic linker spells it, or null.
const char *symbols_own_path(void);

#endif
