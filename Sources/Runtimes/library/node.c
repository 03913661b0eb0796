/// The addon of node/greenroom.cjs, for Node's stable interface (Node-API).
///
/// At its start, Node does a few things in C++ that must be done again for a launch: it stores the
/// state of the standard streams, to restore them at its end, it raises the limit of open files,
/// and it gives every signal its default disposition.
#define _GNU_SOURCE
#include "files.h"
#include "runtime.h"
#include "stamp.h"
#include "variables.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

typedef void *value;
typedef void *environment;
typedef void *call;
typedef value (*callback)(environment, call);

WEAK int napi_create_function(environment, const char *name, size_t length, callback, void *data,
                              value *result);
WEAK int napi_set_named_property(environment, value object, const char *name, value property);
WEAK int napi_create_array(environment, value *result);
WEAK int napi_set_element(environment, value array, uint32_t index, value element);
WEAK int napi_create_string_utf8(environment, const char *text, size_t length, value *result);
WEAK int napi_get_undefined(environment, value *result);
WEAK int napi_get_boolean(environment, bool boolean, value *result);
WEAK int napi_get_cb_info(environment, call, size_t *count, value *arguments, value *receiver,
                          void **data);
WEAK int napi_get_value_int32(environment, value, int32_t *result);
WEAK int napi_get_value_string_utf8(environment, value, char *text, size_t size, size_t *length);

/// Node's array `stdio` (src/node.cc): the state of descriptors 0, 1 and 2 when Node starts. The array
/// has no symbol, so `search_object` looks for it in the writable segments.
struct stream {
    int flags;
    bool is_terminal;
    struct stat status;
    struct termios terminal;
};
enum { STREAMS = 3 };
static struct stream *streams;

static struct stream state_of(int number) {
    struct stream stream = {.flags = fcntl(number, F_GETFL)};
    fstat(number, &stream.status);
    stream.is_terminal = isatty(number) && tcgetattr(number, &stream.terminal) == 0;
    return stream;
}

static bool is_state(const struct stream *candidate, const struct stream *state) {
    return candidate->flags == state->flags && candidate->is_terminal == state->is_terminal
        && candidate->status.st_dev == state->status.st_dev
        && candidate->status.st_ino == state->status.st_ino
        && candidate->status.st_mode == state->status.st_mode;
}

static int search_object(struct dl_phdr_info *object, size_t size, void *states) {
    (void)size;
    for (int i = 0; i < object->dlpi_phnum && !streams; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        uintptr_t at = (object->dlpi_addr + part->p_vaddr + 7) & ~(uintptr_t)7;
        uintptr_t end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
        for (; at + STREAMS * sizeof(struct stream) <= end && !streams; at += sizeof(void *)) {
            struct stream *candidate = (struct stream *)at, *wanted = states;
            if (candidate != wanted && is_state(&candidate[0], &wanted[0])
                && is_state(&candidate[1], &wanted[1]) && is_state(&candidate[2], &wanted[2]))
                streams = candidate;
        }
    }
    return streams != NULL;
}

/// findStreams() -> whether Node's array `stdio` was found
static value find_streams(environment env, call info) {
    (void)info;
    value result;
    struct stream states[STREAMS];
    for (int number = 0; number < STREAMS; number++) states[number] = state_of(number);
    dl_iterate_phdr(search_object, states);
    napi_get_boolean(env, streams != NULL, &result);
    return result;
}

/// Repeats what Node's PlatformInit does.
static void initialize_platform(void) {
    for (int number = 0; number < STREAMS; number++) streams[number] = state_of(number);
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        if (number == SIGPIPE || number == SIGXFSZ || sigaction(number, NULL, &action) != 0) continue;
        if (action.sa_handler == SIG_IGN) signal(number, SIG_DFL);
    }
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max != RLIM_INFINITY) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/// wait() -> the launch's words; undefined if this process is not prewarmed
static value wait_for_launch(environment env, call info) {
    (void)info;
    value words;
    if (!launch_wait()) {
        napi_get_undefined(env, &words);
        return words;
    }
    if (!launch_has_streams()) launch_start_anew(GR_ANEW_FAILED);
    initialize_platform();
    napi_create_array(env, &words);
    for (int i = 0; i < launch_argc; i++) {
        value word;
        napi_create_string_utf8(env, launch_argv[i], strlen(launch_argv[i]), &word);
        napi_set_element(env, words, (uint32_t)i, word);
    }
    return words;
}

static value go_on(environment env, call info) {
    (void)info;
    value nothing;
    launch_go_on();
    napi_get_undefined(env, &nothing);
    return nothing;
}

/// startAnew(reason) does not return.
static value start_anew(environment env, call info) {
    size_t count = 1;
    value argument;
    int32_t reason = GR_ANEW_FAILED;
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    napi_get_value_int32(env, argument, &reason);
    launch_start_anew((enum gr_anew_reason)reason);
}

/// The one argument of a call, as text of at most `size` bytes with its NUL.
static void read_argument(environment env, call info, char *text, size_t size) {
    size_t count = 1;
    value argument;
    text[0] = 0;
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    napi_get_value_string_utf8(env, argument, text, size, NULL);
}

/// take(name) -> the value of one of the daemon's variables, or undefined
static value take(environment env, call info) {
    value result;
    char name[64];
    read_argument(env, info, name, sizeof name);
    char *text = launch_take_variable(name);
    if (text)
        napi_create_string_utf8(env, text, strlen(text), &result);
    else
        napi_get_undefined(env, &result);
    return result;
}

/// watch(path)
static value watch(environment env, call info) {
    value nothing;
    char path[4096];
    read_argument(env, info, path, sizeof path);
    files_watch(path);
    napi_get_undefined(env, &nothing);
    return nothing;
}

/// areUnchanged()
static value are_unchanged(environment env, call info) {
    (void)info;
    value result;
    napi_get_boolean(env, files_are_unchanged(), &result);
    return result;
}

/// stamp(path): see stamp.h
static value stamp(environment env, call info) {
    value result;
    char path[4096], text[STAMP_SIZE];
    read_argument(env, info, path, sizeof path);
    stamp_of(path, text);
    napi_create_string_utf8(env, text, strlen(text), &result);
    return result;
}

/// sendTo(path, text): sends a text to the daemon's socket.
static value send_to(environment env, call info) {
    enum { LONGEST = 1 << 16 };
    size_t count = 2;
    value arguments[2] = {NULL, NULL}, nothing;
    char path[128] = "", *text = malloc(LONGEST);
    napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
    napi_get_value_string_utf8(env, arguments[0], path, sizeof path, NULL);
    if (text && napi_get_value_string_utf8(env, arguments[1], text, LONGEST, NULL) == 0)
        launch_send(path, text);
    free(text);
    napi_get_undefined(env, &nothing);
    return nothing;
}

/// haveEqualVariables(names): see variables.h
static value have_equal_variables(environment env, call info) {
    value result;
    char names[1024];
    read_argument(env, info, names, sizeof names);
    napi_get_boolean(env, variables_are_equal(names), &result);
    return result;
}

/// Node calls this when it loads the library.
EXPORT value napi_register_module_v1(environment env, value exports);
EXPORT value napi_register_module_v1(environment env, value exports) {
    static const struct {
        const char *name;
        callback body;
    } functions[] = {
        {"findStreams", find_streams}, {"wait", wait_for_launch}, {"goOn", go_on},
        {"startAnew", start_anew},     {"take", take},            {"watch", watch},
        {"areUnchanged", are_unchanged}, {"stamp", stamp}, {"sendTo", send_to},
        {"haveEqualVariables", have_equal_variables},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        value function;
        napi_create_function(env, functions[i].name, strlen(functions[i].name), functions[i].body,
                             NULL, &function);
        napi_set_named_property(env, exports, functions[i].name, function);
    }
    return exports;
}
