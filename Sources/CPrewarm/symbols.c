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

void *symbol_find(const char *name) {
    struct symbol_table table;
    for (const struct link_map *object = first_object; object; object = object->l_next) {
        if (object->l_ld == _DYNAMIC || !read_table(object, &table)) continue;
        const ElfW(Sym) *symbol = NULL;
        if (table.gnu_hash)
            symbol = find_by_gnu_hash(&table, name);
        else if (table.hash)
            symbol = find_by_walk(&table, name);
        if (symbol) return (void *)(table.base + symbol->st_value);
    }
    return NULL;
}

const char *symbols_own_path(void) {
    for (const struct link_map *object = first_object; object; object = object->l_next)
        if (object->l_ld == _DYNAMIC) return object->l_name;
    return NULL;
}
