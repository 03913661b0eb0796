/// How the dynamic linker reaches the library, and what it takes from the environment. The shim's
/// files that this library is linked with have no libc, so this runs before libc's own constructors.

#include "../CPrewarm/channel.h"
#include "../CPrewarm/pause.h"
#include "../CPrewarm/symbols.h"
#include "../CPrewarm/system.h"
#include "../CPrewarm/text.h"
#include "../CPrewarm/traces.h"
#include "withhold.h"

#include <dlfcn.h>
#include <stdatomic.h>

static bool is_prewarmed;
static bool is_held_on_x11; // and on no Wayland compositor
static int owner; // a fork of the prewarmed process is not prewarmed
static int argument_count;
static uint64_t command_digest;

static const ElfW(auxv_t) * auxiliary_vector(char **environment) {
    while (*environment) environment++;
    return (const ElfW(auxv_t) *)(environment + 1);
}

/// Continues a digest with a string and its NUL.
static uint64_t add_to_digest(uint64_t digest, const char *string) {
    return text_hash(digest, string, text_length(string) + 1);
}

/// A script's process runs its interpreters in turn, and only the last of them is the program.
__attribute__((constructor)) static void begin(int argc, char **argv, char **environment) {
    symbols_locate(auxiliary_vector(argv + argc + 1));
    struct traces traces = traces_read(environment);
    if (traces.channel < 0 || !traces_name_this_executable(&traces)) return;
    if (!channel_open(traces.channel, traces.channel_inode)) return;
    traces_scrub(environment, symbols_own_path(), false);
    owner = sys_getpid();
    argument_count = argc;
    command_digest = EMPTY_HASH;
    for (int i = 0; i < argc; i++) command_digest = add_to_digest(command_digest, argv[i]);
    is_held_on_x11 = traces.pauses_on_x11;
    is_prewarmed = true;
}

bool withhold_is_only_for_x11(void) {
    return is_held_on_x11;
}

static atomic_bool is_over;

bool withhold_is_on(void) {
    return is_prewarmed && !atomic_load(&is_over) && sys_getpid() == owner;
}

int withhold_argument_count(void) {
    return argument_count;
}

bool withhold_has_command(const char *strings, uint32_t count) {
    uint64_t digest = EMPTY_HASH;
    for (uint32_t i = 0; i < count; i++) {
        digest = add_to_digest(digest, strings);
        while (*strings++) {}
    }
    return count == (uint32_t)argument_count && digest == command_digest;
}

void withhold_end(void) {
    atomic_store(&is_over, true);
}

static atomic_bool is_paused;

void withhold_note_pause(void) {
    atomic_store(&is_paused, true);
}

void withhold_note_launch(void) {
    atomic_store(&is_paused, false);
}

bool withhold_is_paused(void) {
    return atomic_load(&is_paused);
}

static atomic_int server_grabs;

void withhold_note_server_grab(int change) {
    atomic_fetch_add(&server_grabs, change);
}

bool withhold_server_is_grabbed(void) {
    return atomic_load(&server_grabs) > 0;
}

void withhold_fail(enum withhold_failure reason) {
    channel_send_error(reason, 0);
    sys_exit(0);
}

void *function_of_libc(const char *name) {
    return symbol_find(name);
}

/// A plug-in's libraries have their own scope, where a search by name alone does not find them.
void *function_of(const char *library, const char *name) {
    static void *(*find)(void *, const char *);
    if (!find) find = (void *(*)(void *, const char *))symbol_find("dlsym");
    void *object = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    return object && find ? find(object, name) : NULL;
}
