/// The module of emacs/greenroom.el.
#define _GNU_SOURCE
#include "emacs.h"
#include "files.h"
#include "runtime.h"
#include "stamp.h"
#include "variables.h"

#include <stdlib.h>
#include <string.h>

static value truth(environment *env, bool is_true) {
    return env->intern(env, is_true ? "t" : "nil");
}

/// In bytes: the daemon reads no longer record.
enum { RECORD_LIMIT = 1 << 16 };

/// The text of a Lisp string; empty if it is too long.
static const char *text_of(environment *env, value string) {
    static char text[RECORD_LIMIT + 1];
    ptrdiff_t size = sizeof text;
    if (!env->copy_string_contents(env, string, text, &size)) text[0] = 0;
    return text;
}

/// A Lisp string with a character from 0 to 255 for each byte of the strings, each with its NUL:
/// Emacs takes only valid UTF-8.
static value bytes_of(environment *env, const char *strings, size_t size) {
    char *text = malloc(2 * size + 1);
    size_t used = 0;
    if (!text) launch_start_anew(GR_ANEW_FAILED);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)strings[i];
        if (byte >= 0x80) text[used++] = (char)(0xc0 | byte >> 6);
        text[used++] = (char)(byte >= 0x80 ? 0x80 | (byte & 0x3f) : byte);
    }
    value result = env->make_string(env, text, (ptrdiff_t)used);
    free(text);
    return result;
}

/// The size in bytes of the strings at the beginning of the vector that follow one another in
/// memory, as the launch's strings do. Variables that this process has set itself are elsewhere.
static size_t byte_count(char **strings) {
    size_t size = 0;
    for (char **string = strings; *string && *string == *strings + size; string++)
        size += strlen(*string) + 1;
    return size;
}

/// (wait) -> whether a launch has come
static value wait_for_launch(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)arguments, (void)data;
    bool is_launched = launch_wait();
    if (is_launched && !launch_has_streams()) launch_start_anew(GR_ANEW_FAILED);
    return truth(env, is_launched);
}

static value words(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)arguments, (void)data;
    return bytes_of(env, *launch_argv, byte_count(launch_argv));
}

static value variables(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)arguments, (void)data;
    return bytes_of(env, *launch_environment, byte_count(launch_environment));
}

static value go_on(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)arguments, (void)data;
    launch_go_on();
    return truth(env, true);
}

/// (start-anew REASON) does not return.
static value start_anew(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)data;
    launch_start_anew((enum gr_anew_reason)env->extract_integer(env, arguments[0]));
}

/// (take NAME) -> the value of one of the daemon's variables, or nil
static value take(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)data;
    char *text = launch_take_variable(text_of(env, arguments[0]));
    return text ? env->make_string(env, text, (ptrdiff_t)strlen(text)) : truth(env, false);
}

static value watch(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)data;
    files_watch(text_of(env, arguments[0]));
    return truth(env, true);
}

static value are_unchanged(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)arguments, (void)data;
    return truth(env, files_are_unchanged());
}

/// (stamp PATH): see stamp.h
static value stamp(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)data;
    char text[STAMP_SIZE];
    stamp_of(text_of(env, arguments[0]), text);
    return env->make_string(env, text, (ptrdiff_t)strlen(text));
}

/// (send ADDRESS TEXT) sends a text to the daemon's socket.
static value send_text(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)data;
    char address[128]; // longer than that of any socket
    ptrdiff_t size = sizeof address;
    if (env->copy_string_contents(env, arguments[0], address, &size))
        launch_send(address, text_of(env, arguments[1]));
    return truth(env, true);
}

/// (variables-equal NAMES): see variables.h
static value have_equal_variables(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)data;
    return truth(env, variables_are_equal(text_of(env, arguments[0])));
}

/// What Emacs requires of a module. Apache License 2.0 is compatible with version 3 of the GPL.
EXPORT extern const int plugin_is_GPL_compatible;
const int plugin_is_GPL_compatible = 1;

/// Emacs calls this when it loads the library. The functions go to the symbol `greenroom-functions`,
/// as properties, so that they have no names.
EXPORT int emacs_module_init(struct runtime *runtime);
EXPORT int emacs_module_init(struct runtime *runtime) {
    static const struct {
        const char *name;
        ptrdiff_t count;
        callback body;
    } functions[] = {
        {"wait", 0, wait_for_launch}, {"words", 0, words},
        {"variables", 0, variables},  {"go-on", 0, go_on},
        {"start-anew", 1, start_anew}, {"take", 1, take},
        {"watch", 1, watch},          {"unchanged", 0, are_unchanged},
        {"variables-equal", 1, have_equal_variables},
        {"stamp", 1, stamp},          {"send", 2, send_text},
    };
    environment *env = runtime->get_environment(runtime);
    value put = env->intern(env, "put"), holder = env->intern(env, "greenroom-functions");
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        value function = env->make_function(env, functions[i].count, functions[i].count,
                                            functions[i].body, "", NULL);
        env->funcall(env, put, 3,
                     (value[]){holder, env->intern(env, functions[i].name), function});
    }
    return 0;
}
