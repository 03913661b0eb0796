/// The functions of perl/Greenroom.pm, which DynaLoader installs as subroutines.
///
/// Perl's macros need Perl's headers, so no arguments are passed: values are in variables of the
/// package Greenroom. The functions leave a mark on Perl's stack, so each is called in its own
/// subroutine. Only Perl with threads is supported, such as Debian's; its functions get the
/// interpreter as their first argument.
#define _GNU_SOURCE
#include "files.h"
#include "runtime.h"
#include "stamp.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct perl perl;
typedef struct scalar scalar;

WEAK scalar *Perl_get_sv(perl *interpreter, const char *name, int flags);
WEAK void Perl_sv_setpvn(perl *interpreter, scalar *value, const char *text, size_t size);
WEAK char *Perl_sv_2pv_flags(perl *interpreter, scalar *value, size_t *size, uint32_t flags);
WEAK void Perl_lex_stuff_pvn(perl *interpreter, const char *text, size_t size, uint32_t flags);
WEAK extern int PL_thr_key; // only Perl with threads has it

extern char **environ;

static void set(perl *interpreter, const char *name, const char *text, size_t size) {
    scalar *variable = Perl_get_sv(interpreter, name, 1);
    if (variable) Perl_sv_setpvn(interpreter, variable, text, size);
}

static const char *get(perl *interpreter, const char *name) {
    scalar *variable = Perl_get_sv(interpreter, name, 0);
    return variable ? Perl_sv_2pv_flags(interpreter, variable, NULL, 0) : "";
}

/// Sets a variable to strings, each followed by its NUL.
static void set_list(perl *interpreter, const char *name, char **strings) {
    size_t size = 0;
    for (char **string = strings; *string; string++) size += strlen(*string) + 1;
    char *text = malloc(size + 1), *end = text;
    if (!text) _exit(70);
    for (char **string = strings; *string; string++) end = stpcpy(end, *string) + 1;
    set(interpreter, name, text, size);
    free(text);
}

/// Copies the environment, because Perl frees the variables that it replaces if environ is no
/// longer the vector of its start.
static void copy_environment(void) {
    size_t count = 0;
    while (environ[count]) count++;
    char **copy = malloc((count + 1) * sizeof *copy);
    if (!copy) _exit(70);
    for (size_t i = 0; i < count; i++) copy[i] = strdup(environ[i]);
    copy[count] = NULL;
    environ = copy;
}

/// Remembers the state of the file $Greenroom::path.
EXPORT void greenroom_perl_watch(perl *interpreter, void *function);
EXPORT void greenroom_perl_watch(perl *interpreter, void *function) {
    (void)function;
    files_watch(get(interpreter, "Greenroom::path"));
}

/// Sets $Greenroom::text to 1 if no remembered file has changed.
EXPORT void greenroom_perl_compare_files(perl *interpreter, void *function);
EXPORT void greenroom_perl_compare_files(perl *interpreter, void *function) {
    (void)function;
    set(interpreter, "Greenroom::text", files_are_unchanged() ? "1" : "0", 1);
}

/// Sets $Greenroom::text to the stamp of $Greenroom::path.
EXPORT void greenroom_perl_stamp(perl *interpreter, void *function);
EXPORT void greenroom_perl_stamp(perl *interpreter, void *function) {
    (void)function;
    char text[STAMP_SIZE];
    stamp_of(get(interpreter, "Greenroom::path"), text);
    set(interpreter, "Greenroom::text", text, strlen(text));
}

/// Sends $Greenroom::text to the socket $Greenroom::path.
EXPORT void greenroom_perl_send(perl *interpreter, void *function);
EXPORT void greenroom_perl_send(perl *interpreter, void *function) {
    (void)function;
    launch_send(get(interpreter, "Greenroom::path"), get(interpreter, "Greenroom::text"));
}

/// Ends this process before its pause.
EXPORT void greenroom_perl_refuse(perl *interpreter, void *function);
EXPORT void greenroom_perl_refuse(perl *interpreter, void *function) {
    (void)interpreter, (void)function;
    _exit(70);
}

/// Waits, and sets $Greenroom::words and $Greenroom::variables.
EXPORT void greenroom_perl_wait(perl *interpreter, void *function);
EXPORT void greenroom_perl_wait(perl *interpreter, void *function) {
    (void)function;
    bool is_known = &PL_thr_key && Perl_lex_stuff_pvn
        && launch_find_file(get(interpreter, "Greenroom::placeholder")) >= 0;
    if (!is_known || !launch_wait()) _exit(70);
    for (int number = 0; number < 3; number++) // Perl would have closed the stream's handle too
        if (fcntl(number, F_GETFD) < 0) launch_start_anew(GR_ANEW_PROGRAM);
    set_list(interpreter, "Greenroom::words", launch_argv);
    set_list(interpreter, "Greenroom::variables", launch_environment);
    copy_environment();
}

/// Starts anew for the reason $Greenroom::reason.
EXPORT void greenroom_perl_start_anew(perl *interpreter, void *function);
EXPORT void greenroom_perl_start_anew(perl *interpreter, void *function) {
    (void)function;
    launch_start_anew((enum gr_anew_reason)atoi(get(interpreter, "Greenroom::reason")));
}

/// Whether the string is one of Perl 5.38's reference-counted strings: the word before its text is
/// its size.
static bool is_counted(const char *text) {
    size_t size;
    memcpy(&size, text - sizeof size, sizeof size);
    return size == strlen(text) + 1;
}

/// Changes the name of the program that the interpreter keeps for messages.
static void rename_program(perl *interpreter, const char *old, const char *new) {
    char **end = (char **)((char *)interpreter + malloc_usable_size(interpreter));
    size_t size = strlen(old) + 1;
    for (char **word = (char **)interpreter; word + 1 <= end; word++) {
        char copy[4096];
        if (size > sizeof copy || !launch_read_memory(*word, copy, size) || memcmp(copy, old, size))
            continue;
        if (!is_counted(*word)) *word = strdup(new);
    }
}

/// Makes $Greenroom::name the program instead of $Greenroom::placeholder, which Perl has opened,
/// and goes on as the launch.
EXPORT void greenroom_perl_become(perl *interpreter, void *function);
EXPORT void greenroom_perl_become(perl *interpreter, void *function) {
    (void)function;
    const char *name = get(interpreter, "Greenroom::name");
    const char *placeholder = get(interpreter, "Greenroom::placeholder");
    int descriptor = launch_find_file(placeholder);
    if (descriptor < 0 || launch_exchange_file(descriptor, name) != 0)
        launch_start_anew(GR_ANEW_PROGRAM);
    set(interpreter, "0", name, strlen(name)); // unlike an assignment, this does not rename the process
    rename_program(interpreter, placeholder, name);
    char *line = NULL;
    // Another line break follows: that of the line that has loaded Greenroom.pm.
    int size = asprintf(&line, "\n#line 0 \"%s\"\n", name);
    if (size < 0) launch_start_anew(GR_ANEW_FAILED);
    Perl_lex_stuff_pvn(interpreter, line, (size_t)size, 0);
    free(line);
    launch_go_on();
}
