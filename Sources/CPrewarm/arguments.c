#include "arguments.h"

#include "symbols.h"
#include "system.h"
#include "text.h"

/// Kernels pass about 22 entries. The vector is copied up to this length.
#define AUXILIARY_LIMIT 64
#define PAGE_SIZE 4096u

static const ElfW(auxv_t) * auxiliary;
static size_t auxiliary_count;

/// Each name may be defined in another object, because an executable that is not
/// position-independent has its own copies of the names that it uses. glibc has three names for the
/// environment, musl four.
static const char *const environment_names[] = {
    "environ", "__environ", "_environ", "___environ"};
static const char *const full_names[] = {"program_invocation_name", "__progname_full"};
static const char *const short_names[] = {"program_invocation_short_name", "__progname"};
#define COUNT(array) (sizeof array / sizeof array[0])

static char ***environment_variables[COUNT(environment_names)];
static char **full_name_variables[COUNT(full_names)];
static char **short_name_variables[COUNT(short_names)];

/// The names in the prewarm's environment, as hashes, because a library may overwrite the strings
/// with a title (setproctitle(3bsd)). With more names than this, variables of libraries cannot be
/// recognized.
#define GIVEN_NAME_LIMIT 256
static uint64_t given_names[GIVEN_NAME_LIMIT];
/// The same variables with their values, as hashes.
static uint64_t given_variables[GIVEN_NAME_LIMIT];
static size_t given_name_count;

/// Variables that libraries have added to the environment (setenv(3)), which main sees in a cold
/// launch. No library is known that adds more than this many.
#define OWN_VARIABLE_LIMIT 32
static char *own_variables[OWN_VARIABLE_LIMIT];
static size_t own_variable_count;

/// The shared Swift runtime has read the arguments in a constructor. This function replaces them;
/// it only stores its two parameters.
static void (*override_swift_arguments)(char **argv, int argc);

/// The kernel's map of the program. PR_SET_MM_MAP needs the whole map.
static struct prctl_mm_map layout;
static bool layout_is_known;

bool arguments_map(struct argument_memory *memory, size_t capacity) {
    // A string has at least one byte, its NUL, and needs a pointer of eight bytes; then argc and
    // two null pointers.
    size_t vectors =
        (capacity + 4 + OWN_VARIABLE_LIMIT) * sizeof(char *) + AUXILIARY_LIMIT * sizeof(ElfW(auxv_t));
    memory->mapped = (capacity + vectors + 2 * PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
    memory->capacity = capacity;
    memory->strings = sys_map(memory->mapped);
    return memory->strings != NULL;
}

/// Fields 26 to 28 and 45 to 47 of /proc/self/stat, proc_pid_stat(5).
static void read_layout(void) {
    char text[1024];
    int file = sys_open("/proc/self/stat", O_RDONLY);
    if (file < 0) return;
    long size = sys_read(file, text, sizeof text - 1);
    sys_close(file);
    if (size <= 0) return;
    text[size] = 0;

    // The second field is the command name, which may contain spaces and parentheses.
    const char *at = text + size;
    while (at > text && *at != ')') at--;
    uint64_t fields[48] = {0};
    unsigned field = 2;
    while (*at && field < 48) {
        if (*at == ' ' || *at == ')') {
            at++;
            if (*at == ' ') continue;
            field++;
            if (*at == '-') at++;
            if (field < 48) text_number(&at, &fields[field]);
        } else {
            at++;
        }
    }
    layout = (struct prctl_mm_map){
        .start_code = fields[26],
        .end_code = fields[27],
        .start_stack = fields[28],
        .start_data = fields[45],
        .end_data = fields[46],
        .start_brk = fields[47],
        .exe_fd = (uint32_t)-1,
    };
    layout_is_known = fields[26] != 0 && fields[47] != 0;
}

/// The hash of the text up to the character `end`, or of the whole text.
static uint64_t hash_of(const char *text, char end) {
    size_t size = 0;
    while (text[size] && text[size] != end) size++;
    return text_hash(EMPTY_HASH, text, size);
}

static uint64_t hash_of_name(const char *variable) {
    return hash_of(variable, '=');
}

/// The prewarm's arguments: the vector that main got, and the size of the words' memory.
static char **own_vector;
static int own_count;
static size_t own_byte_count;

void arguments_prepare(int argc, char **argv, const ElfW(auxv_t) * auxv) {
    char **environment = argv + argc + 1;
    if (argc > 0) {
        own_vector = argv;
        own_count = argc;
        own_byte_count = (size_t)(argv[argc - 1] - argv[0]) + text_length(argv[argc - 1]) + 1;
    }
    for (; environment[given_name_count]; given_name_count++)
        if (given_name_count < GIVEN_NAME_LIMIT) {
            given_names[given_name_count] = hash_of_name(environment[given_name_count]);
            given_variables[given_name_count] = hash_of(environment[given_name_count], 0);
        }
    auxiliary = auxv;
    auxiliary_count = 1;
    while (auxiliary_count < AUXILIARY_LIMIT && auxv[auxiliary_count - 1].a_type != AT_NULL)
        auxiliary_count++;
    for (size_t i = 0; i < COUNT(environment_names); i++)
        environment_variables[i] = symbol_find(environment_names[i]);
    for (size_t i = 0; i < COUNT(full_names); i++)
        full_name_variables[i] = symbol_find(full_names[i]);
    for (size_t i = 0; i < COUNT(short_names); i++)
        short_name_variables[i] = symbol_find(short_names[i]);
    override_swift_arguments =
        (void (*)(char **, int))symbol_find("_swift_stdlib_overrideUnsafeArgvArgc");
    read_layout();
}

static bool have_same_name(const char *one, const char *other) {
    while (*one && *one != '=' && *one == *other) one++, other++;
    return *one == '=' && *other == '=';
}

static bool was_given(const char *variable) {
    uint64_t hash = hash_of_name(variable);
    for (size_t i = 0; i < given_name_count; i++)
        if (given_names[i] == hash) return true;
    return false;
}

static bool is_still_there(uint64_t variable, char **entry) {
    for (; entry && *entry; entry++)
        if (hash_of(*entry, 0) == variable) return true;
    return false;
}

bool arguments_find_own_variables(void) {
    if (given_name_count > GIVEN_NAME_LIMIT) return true;
    char **environment = NULL;
    for (size_t i = 0; i < COUNT(environment_names) && !environment; i++)
        if (environment_variables[i]) environment = *environment_variables[i];
    char **entry = environment;
    for (; entry && *entry && own_variable_count < OWN_VARIABLE_LIMIT; entry++)
        if (!was_given(*entry)) own_variables[own_variable_count++] = *entry;
    for (size_t i = 0; i < given_name_count; i++)
        if (!is_still_there(given_variables[i], environment)) return false;
    return true;
}

/// Appends the libraries' variables to those of the launch. Returns the new end of the vector.
static char **append_own_variables(char **environment, char **end) {
    char **null = end - 1;
    for (size_t i = 0; i < own_variable_count; i++) {
        char **entry = environment;
        while (entry < null && !have_same_name(*entry, own_variables[i])) entry++;
        if (entry == null) *null++ = own_variables[i];
    }
    *null++ = NULL;
    return null;
}

bool arguments_are_valid(const char *strings, size_t size, uint32_t argc, uint32_t envc) {
    if (argc == 0 || size == 0 || strings[size - 1] != 0) return false;
    if (argc > size || envc > size) return false;
    size_t found = 0;
    for (size_t i = 0; i < size; i++) found += strings[i] == 0;
    return found == (size_t)argc + envc;
}

static char *point_at_strings(char ***vector, uint32_t count, char *strings) {
    while (count--) {
        *(*vector)++ = strings;
        strings += text_length(strings) + 1;
    }
    *(*vector)++ = NULL;
    return strings;
}

static char *after_last_slash(char *path) {
    char *name = path;
    for (char *at = path; *at; at++)
        if (*at == '/') name = at + 1;
    return name;
}

/// Stores arguments and environment in the C library's variables, which have the size of a `char
/// **` in every known libc.
static void tell_library(const struct arguments *arguments) {
    for (size_t i = 0; i < COUNT(environment_names); i++)
        if (environment_variables[i]) *environment_variables[i] = arguments->envp;
    for (size_t i = 0; i < COUNT(full_names); i++)
        if (full_name_variables[i]) *full_name_variables[i] = arguments->argv[0];
    char *name = after_last_slash(arguments->argv[0]);
    for (size_t i = 0; i < COUNT(short_names); i++)
        if (short_name_variables[i]) *short_name_variables[i] = name;
    if (override_swift_arguments) override_swift_arguments(arguments->argv, arguments->argc);
}

/// Tells the kernel where arguments and environment are. PR_SET_MM_ARG_START and similar options
/// need CAP_SYS_RESOURCE; setting the whole map needs no capability, on kernels with
/// CONFIG_CHECKPOINT_RESTORE. If this fails, ps(1) shows the prewarm's command line; nothing else
/// differs.
static void tell_kernel(char *arguments, char *environment, char *end) {
    if (!layout_is_known) return;
    layout.brk = sys_brk();
    layout.arg_start = (uint64_t)arguments;
    layout.arg_end = layout.env_start = (uint64_t)environment;
    layout.env_end = (uint64_t)end;
    sys_prctl(PR_SET_MM, PR_SET_MM_MAP, (long)&layout, sizeof layout);
}

void arguments_show_in_place(const struct arguments *arguments) {
    const char *last = arguments->argv[arguments->argc - 1];
    size_t size = (size_t)(last - arguments->argv[0]) + text_length(last) + 1;
    bool is_shown = layout.arg_start == (uint64_t)arguments->argv[0];
    // Each word that the prewarm had in addition needs room for an empty one.
    int surplus = own_count > arguments->argc ? own_count - arguments->argc : 0;
    if (!layout_is_known || !is_shown || size + (size_t)surplus > own_byte_count) return;
    char *words = own_vector[0];
    memcpy(words, arguments->argv[0], size);
    memset(words + size, 0, own_byte_count - size);
    layout.arg_start = (uint64_t)words;
    layout.arg_end = (uint64_t)words + size;
    sys_prctl(PR_SET_MM, PR_SET_MM_MAP, (long)&layout, sizeof layout);
    for (int i = 0; i < own_count; i++) {
        own_vector[i] = words;
        words += text_length(words) + 1;
    }
}

/// The size of everything from argc to the end of the auxiliary vector.
static size_t vector_byte_count(const struct launch *launch) {
    size_t pointers = (size_t)launch->argc + launch->envc + own_variable_count + 3;
    return pointers * sizeof(char *) + auxiliary_count * sizeof *auxiliary;
}

#define ALIGNMENT 16u
static uintptr_t aligned(uintptr_t address) {
    return (address + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t arguments_stack_byte_count(const struct launch *launch) {
    size_t size = vector_byte_count(launch) + launch->string_byte_count + ALIGNMENT;
    uint64_t limit = sys_soft_limit(RLIMIT_STACK); // read now, because a library may have lowered it
    return size <= limit / 4 ? size : 0;           // execve(2), "Limits on size of arguments"
}

/// Builds the vectors as the kernel does: argc, argv, null, environment, null, auxiliary vector.
/// Go, for example, finds the last two by walking from the first.
static struct arguments point_at(char *strings, uintptr_t start, const struct launch *launch) {
    *(long *)start = (long)launch->argc;
    char **vector = (char **)start + 1;
    struct arguments arguments = {.argc = (int)launch->argc, .argv = vector};
    char *environment = point_at_strings(&vector, launch->argc, strings);
    arguments.envp = vector;
    char *end = point_at_strings(&vector, launch->envc, environment);
    if (own_variable_count) vector = append_own_variables(arguments.envp, vector);
    memcpy(vector, auxiliary, auxiliary_count * sizeof *auxiliary);
    tell_library(&arguments);
    if (launch->sets_command_line) tell_kernel(strings, environment, end);
    return arguments;
}

struct arguments arguments_apply(struct launch *launch, char *stack) {
    struct argument_memory *memory = &launch->memory;
    size_t size = launch->string_byte_count;
    if (stack) {
        uintptr_t start = aligned((uintptr_t)stack);
        char *strings = (char *)start + vector_byte_count(launch);
        memcpy(strings, memory->strings, size);
        sys_unmap(memory->strings, memory->mapped);
        return point_at(strings, start, launch);
    }
    uintptr_t start = aligned((uintptr_t)memory->strings + size);
    uintptr_t used_end = start + vector_byte_count(launch);
    size_t used = (used_end - (uintptr_t)memory->strings + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
    if (used < memory->mapped) sys_unmap(memory->strings + used, memory->mapped - used);
    return point_at(memory->strings, start, launch);
}
