/// The extension of ruby/greenroom.rb, for CRuby. It uses functions of the C API only, no macros and
/// no data, so one library serves every version.
#define _GNU_SOURCE
#include "files.h"
#include "runtime.h"
#include "stamp.h"
#include "variables.h"

typedef unsigned long VALUE;
typedef VALUE (*method)(); // as Ruby declares it: the number of parameters is passed separately

WEAK VALUE rb_define_module(const char *name);
WEAK void rb_define_module_function(VALUE module, const char *name, method body, int arguments);
WEAK VALUE rb_ary_new(void);
WEAK VALUE rb_ary_push(VALUE array, VALUE item);
WEAK VALUE rb_external_str_new_cstr(const char *text);
WEAK VALUE rb_str_replace(VALUE text, VALUE other);
WEAK char *rb_string_value_cstr(volatile VALUE *text);
WEAK int rb_num2int(VALUE number);
WEAK VALUE rb_equal(VALUE one, VALUE other);

static const VALUE ruby_false = 0; // RUBY_Qfalse, in every version

/// RUBY_Qtrue, whose value depends on how Ruby was built.
static VALUE ruby_true(void) {
    return rb_equal(ruby_false, ruby_false);
}

/// wait -> the launch's words, or false if this process is not prewarmed
static VALUE wait_for_launch(VALUE module) {
    (void)module;
    if (!launch_wait()) return ruby_false;
    if (!launch_has_streams()) launch_start_anew(GR_ANEW_FAILED);
    VALUE words = rb_ary_new();
    for (int i = 0; i < launch_argc; i++)
        rb_ary_push(words, rb_external_str_new_cstr(launch_argv[i]));
    return words;
}

static VALUE go_on(VALUE module) {
    (void)module;
    launch_go_on();
    return ruby_true();
}

/// start_anew(reason) does not return.
static VALUE start_anew(VALUE module, VALUE reason) {
    (void)module;
    launch_start_anew((enum gr_anew_reason)rb_num2int(reason));
}

/// take(name) -> the value of one of the daemon's variables, or false
static VALUE take(VALUE module, VALUE name) {
    (void)module;
    char *value = launch_take_variable(rb_string_value_cstr(&name));
    return value ? rb_external_str_new_cstr(value) : ruby_false;
}

static VALUE watch(VALUE module, VALUE path) {
    (void)module;
    files_watch(rb_string_value_cstr(&path));
    return ruby_true();
}

static VALUE are_unchanged(VALUE module) {
    (void)module;
    return files_are_unchanged() ? ruby_true() : ruby_false;
}

/// stamp(path): see stamp.h
static VALUE stamp(VALUE module, VALUE path) {
    (void)module;
    char text[STAMP_SIZE];
    stamp_of(rb_string_value_cstr(&path), text);
    return rb_external_str_new_cstr(text);
}

/// send_to(path, text): sends a text to the daemon's socket.
static VALUE send_to(VALUE module, VALUE path, VALUE text) {
    (void)module;
    launch_send(rb_string_value_cstr(&path), rb_string_value_cstr(&text));
    return ruby_true();
}

/// variables_equal?(names): see variables.h
static VALUE have_equal_variables(VALUE module, VALUE names) {
    (void)module;
    return variables_are_equal(rb_string_value_cstr(&names)) ? ruby_true() : ruby_false;
}

/// Bits in the first word of a String (include/ruby/internal/fl_type.h, string.c): the string is
/// frozen; the string does not own its memory, so Ruby does not free it.
enum { FROZEN = 1 << 11, NOT_OWNED = 1 << 30 };

/// rename(text, other): changes the content of a frozen string. Ruby keeps the program's name in
/// such strings. Their old memory stays, because Ruby keeps a pointer into it, and other strings
/// share it.
static VALUE rename_string(VALUE module, VALUE text, VALUE other) {
    (void)module;
    VALUE *flags = (VALUE *)text, frozen = *flags & FROZEN;
    *flags = (*flags & ~(VALUE)FROZEN) | NOT_OWNED;
    rb_str_replace(text, other);
    *flags |= frozen;
    return text;
}

/// Ruby calls this when it requires the library.
EXPORT void start_ruby(void) __asm__("Init_libgreenroom-runtime");
void start_ruby(void) {
    VALUE module = rb_define_module("GreenroomRuntime");
    rb_define_module_function(module, "wait", (method)wait_for_launch, 0);
    rb_define_module_function(module, "go_on", (method)go_on, 0);
    rb_define_module_function(module, "start_anew", (method)start_anew, 1);
    rb_define_module_function(module, "take", (method)take, 1);
    rb_define_module_function(module, "watch", (method)watch, 1);
    rb_define_module_function(module, "unchanged?", (method)are_unchanged, 0);
    rb_define_module_function(module, "stamp", (method)stamp, 1);
    rb_define_module_function(module, "send_to", (method)send_to, 2);
    rb_define_module_function(module, "variables_equal?", (method)have_equal_variables, 1);
    rb_define_module_function(module, "rename", (method)rename_string, 2);
}
