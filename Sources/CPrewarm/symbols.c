#include "symbols.h"

#include "text.h"

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

// glibc's loader exports the first, musl's the second. Debuggers rely on both.
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));

static struct link_map *first_object;

/// The symbols of one object, from its dynamic section.
struct symbol_table {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *gnu_hash;
    const uint32_t *hash;
    const ElfW(Versym) * versions;
};

/// The list of objects from the executable's DT_DEBUG, for a loader that exports neither symbol.
static struct link_map *objects_of_executable(const ElfW(auxv_t) * auxv) {
    const ElfW(Phdr) *headers = NULL;
    size_t count = 0;
    for (; auxv->a_type != AT_NULL; auxv++) {
        if (auxv->a_type == AT_PHDR) headers = (const void *)auxv->a_un.a_val;
        if (auxv->a_type == AT_PHNUM) count = auxv->a_un.a_val;
    }
    ElfW(Addr) base = 0;
    for (size_t i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR) base = (ElfW(Addr))headers - headers[i].p_vaddr;
    for (size_t i = 0; headers && i < count; i++) {
        if (headers[i].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const void *)(base + headers[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_DEBUG && entry->d_un.d_ptr)
                return ((const struct r_debug *)entry->d_un.d_ptr)->r_map;
    }
    return NULL;
}

void symbols_locate(const ElfW(auxv_t) * auxv) {
    if (first_object) return;
    if (&_r_debug && _r_debug.r_map)
        first_object = _r_debug.r_map;
    else if (&_dl_debug_addr && _dl_debug_addr)
        first_object = _dl_debug_addr->r_map;
    else
        first_object = objects_of_executable(auxv);
}

/// Converts a pointer of the dynamic section. glibc relocates these pointers in place; musl and the
/// vDSO leave offsets.
static const void *absolute(ElfW(Addr) base, ElfW(Addr) pointer) {
    return (const void *)(pointer < base ? pointer + base : pointer);
}

static bool read_table(const struct link_map *object, struct symbol_table *table) {
    *table = (struct symbol_table){.base = object->l_addr};
    for (const ElfW(Dyn) *entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        const void *pointer = absolute(object->l_addr, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: table->symbols = pointer; break;
        case DT_STRTAB: table->names = pointer; break;
        case DT_GNU_HASH: table->gnu_hash = pointer; break;
        case DT_HASH: table->hash = pointer; break;
        case DT_VERSYM: table->versions = pointer; break;
        }
    }
    return table->symbols && table->names;
}

static bool defines(const struct symbol_table *table, uint32_t index, const char *name) {
    const ElfW(Sym) *symbol = &table->symbols[index];
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) != STT_TLS
        && text_equals(table->names + symbol->st_name, name);
}

/// Whether a version is the default. Bit 15 marks a version that only old binaries may use.
static bool is_default_version(const struct symbol_table *table, uint32_t index) {
    return !table->versions || !(table->versions[index] & 0x8000);
}

static const ElfW(Sym) * find_by_gnu_hash(const struct symbol_table *table, const char *name) {
    uint32_t hash = 5381;
    for (const unsigned char *at = (const void *)name; *at; at++) hash = hash * 33 + *at;

    uint32_t bucket_count = table->gnu_hash[0];
    uint32_t first_hashed = table->gnu_hash[1];
    uint32_t bloom_words = table->gnu_hash[2] * (uint32_t)(sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *buckets = table->gnu_hash + 4 + bloom_words;
    const uint32_t *chains = buckets + bucket_count;
    if (bucket_count == 0) return NULL;

    const ElfW(Sym) *hidden_version = NULL;
    uint32_t index = buckets[hash % bucket_count];
    if (index < first_hashed) return NULL;
    for (;; index++) {
        uint32_t chain = chains[index - first_hashed];
        if ((chain | 1) == (hash | 1) && defines(table, index, name)) {
            if (is_default_version(table, index)) return &table->symbols[index];
            hidden_version = &table->symbols[index];
        }
        if (chain & 1) return hidden_version;
    }
}

static const ElfW(Sym) * find_by_walk(const struct symbol_table *table, const char *name) {
    for (uint32_t index = 1; index < table->hash[1]; index++)
        if (defines(table, index, name)) return &table->symbols[index];
    return NULL;
}

static const ElfW(Sym) * find_in(const struct symbol_table *table, const char *name) {
    if (table->gnu_hash) return find_by_gnu_hash(table, name);
    return table->hash ? find_by_walk(table, name) : NULL;
}

void *symbol_find(const char *name) {
    struct symbol_table table;
    for (const struct link_map *object = first_object; object; object = object->l_next) {
        if (object->l_ld == _DYNAMIC || !read_table(object, &table)) continue;
        const ElfW(Sym) *symbol = find_in(&table, name);
        if (symbol) return (void *)(table.base + symbol->st_value);
    }
    return NULL;
}

const struct link_map *symbols_last_object(void) {
    const struct link_map *object = first_object;
    while (object && object->l_next) object = object->l_next;
    return object;
}

/// The number of symbols up to the last one that can be found by its hash.
static uint32_t symbol_count(const struct symbol_table *table) {
    if (table->hash) return table->hash[1];
    if (!table->gnu_hash) return 0;
    uint32_t bucket_count = table->gnu_hash[0], first_hashed = table->gnu_hash[1];
    uint32_t bloom_words = table->gnu_hash[2] * (uint32_t)(sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *buckets = table->gnu_hash + 4 + bloom_words;
    const uint32_t *chains = buckets + bucket_count;
    uint32_t last = 0;
    for (uint32_t i = 0; i < bucket_count; i++)
        if (buckets[i] > last) last = buckets[i];
    if (last < first_hashed) return first_hashed;
    while (!(chains[last - first_hashed] & 1)) last++;
    return last + 1;
}

/// Whether the symbol is a strong definition, which takes precedence when names are bound.
static bool is_strong(const ElfW(Sym) * symbol) {
    unsigned char type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL
        && (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE);
}

/// Whether an object that was loaded with the executable, up to `last`, defines the name.
static bool is_linked(const char *name, const struct link_map *last) {
    struct symbol_table table;
    for (const struct link_map *object = first_object->l_next; object; object = object->l_next) {
        bool is_other = object->l_ld != _DYNAMIC && read_table(object, &table);
        if (is_other && find_in(&table, name)) return true;
        if (object == last) break;
    }
    return false;
}

/// Whether an object uses a strong definition of the executable that no other object repeats.
static bool refers_to_executable(const struct symbol_table *table,
                                 const struct symbol_table *executable,
                                 const struct link_map *last) {
    // Symbols that an object does not define have no hash. With a GNU hash, they come first.
    uint32_t count = table->gnu_hash ? table->gnu_hash[1] : symbol_count(table);
    for (uint32_t index = 1; index < count; index++) {
        if (table->symbols[index].st_shndx != SHN_UNDEF) continue;
        const char *name = table->names + table->symbols[index].st_name;
        const ElfW(Sym) *found = find_in(executable, name);
        if (found && is_strong(found) && !is_linked(name, last)) return true;
    }
    return false;
}

/// Start code that each object has for itself, and that is not bound by name.
static bool is_start_code(const char *name) {
    return text_equals(name, "_init") || text_equals(name, "_fini");
}

/// Whether an object has a function of its own that is bound to the executable's instead.
static bool hides_behind_executable(const struct symbol_table *table,
                                    const struct symbol_table *executable,
                                    const struct link_map *last) {
    uint32_t count = symbol_count(executable);
    for (uint32_t index = 1; index < count; index++) {
        const ElfW(Sym) *symbol = &executable->symbols[index];
        const char *name = executable->names + symbol->st_name;
        if (!is_strong(symbol) || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
        if (find_in(table, name) && !is_start_code(name) && !is_linked(name, last)) return true;
    }
    return false;
}

bool symbols_reach_executable(const struct link_map *last) {
    struct symbol_table executable, table;
    if (!last || !read_table(first_object, &executable)) return false;
    for (const struct link_map *object = last->l_next; object; object = object->l_next) {
        if (!read_table(object, &table)) continue;
        if (refers_to_executable(&table, &executable, last)
            || hides_behind_executable(&table, &executable, last))
            return true;
    }
    return false;
}

const char *symbols_own_path(void) {
    for (const struct link_map *object = first_object; object; object = object->l_next)
        if (object->l_ld == _DYNAMIC) return object->l_name;
    return NULL;
}
