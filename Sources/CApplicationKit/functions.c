#define _GNU_SOURCE
#include "CApplicationKit.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char *swift_demangle(const char *name, size_t length, char *buffer, size_t *size, uint32_t flags);

static void look(const char *symbol, const char *prefix, void *context, void (*each)(void *, const char *)) {
    if (strncmp(symbol, prefix, strlen(prefix)) != 0) return;
    char *name = swift_demangle(symbol, strlen(symbol), NULL, NULL, 0);
    if (!name) return;
    each(context, name);
    free(name);
}

static void search(const char *file, size_t size, const char *prefix, void *context, void (*each)(void *, const char *)) {
    const ElfW(Ehdr) *header = (const void *)file;
    if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    if (header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff > size) return;
    if ((size - header->e_shoff) / sizeof(ElfW(Shdr)) < header->e_shnum) return;
    const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= header->e_shnum) continue;
        const ElfW(Shdr) *names = &sections[table->sh_link];
        if (table->sh_offset > size || table->sh_size > size - table->sh_offset) return;
        if (names->sh_offset > size || names->sh_size == 0 || names->sh_size > size - names->sh_offset) return;
        const char *text = file + names->sh_offset;
        if (text[names->sh_size - 1] != 0) return;
        const ElfW(Sym) *symbols = (const void *)(file + table->sh_offset);
        for (size_t j = 0; j < table->sh_size / sizeof *symbols; j++)
            if (symbols[j].st_name < names->sh_size) look(text + symbols[j].st_name, prefix, context, each);
    }
}

void cak_each_function(const void *address, const char *prefix, void *context, void (*each)(void *, const char *)) {
    Dl_info info;
    struct stat status;
    if (!dladdr(address, &info)) return;
    struct link_map *map = NULL;
    Dl_info again;
    bool is_program = dladdr1(address, &again, (void **)&map, RTLD_DL_LINKMAP) && map && !*map->l_name;
    int descriptor = open(is_program ? "/proc/self/exe" : info.dli_fname, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        char *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (file != MAP_FAILED) {
            search(file, size, prefix, context, each);
            munmap(file, size);
        }
    }
    close(descriptor);
}
