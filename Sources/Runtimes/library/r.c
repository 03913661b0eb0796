/// The functions of r/Rprofile.R, which .Call calls.
#define _GNU_SOURCE
#include "files.h"
#include "runtime.h"
#include "stamp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct value value;
enum { STRINGS = 16, LOGICALS = 10 }; // STRSXP, LGLSXP

WEAK value *Rf_allocVector(unsigned type, ptrdiff_t count);
WEAK void SET_STRING_ELT(value *strings, ptrdiff_t index, value *string);
WEAK value *STRING_ELT(value *strings, ptrdiff_t index);
WEAK value *Rf_mkChar(const char *text);
WEAK const char *R_CHAR(value *string);
WEAK int LENGTH(value *vector);
WEAK int Rf_asInteger(value *number);
WEAK value *Rf_protect(value *value);
WEAK void Rf_unprotect(int count);
WEAK void R_set_command_line_arguments(int argc, char **argv);
WEAK extern value *R_NilValue;

extern char **environ;

static value *vector_of(char **strings) {
    ptrdiff_t count = 0;
    while (strings[count]) count++;
    value *vector = Rf_protect(Rf_allocVector(STRINGS, count));
    for (ptrdiff_t i = 0; i < count; i++) SET_STRING_ELT(vector, i, Rf_mkChar(strings[i]));
    Rf_unprotect(1);
    return vector;
}

static char **strings_of(value *vector) {
    int count = LENGTH(vector);
    char **strings = calloc((size_t)count + 1, sizeof *strings);
    if (!strings) return NULL;
    for (int i = 0; i < count; i++) strings[i] = strdup(R_CHAR(STRING_ELT(vector, i)));
    return strings;
}

static value *string(const char *text) {
    return vector_of((char *[]){(char *)text, NULL});
}

/// Remembers the states of files.
EXPORT value *greenroom_r_watch(value *paths);
EXPORT value *greenroom_r_watch(value *paths) {
    for (int i = 0; i < LENGTH(paths); i++) files_watch(R_CHAR(STRING_ELT(paths, i)));
    return R_NilValue;
}

/// "1" if no remembered file has changed.
EXPORT value *greenroom_r_compare_files(void);
EXPORT value *greenroom_r_compare_files(void) {
    return string(files_are_unchanged() ? "1" : "0");
}

EXPORT value *greenroom_r_stamp(value *path);
EXPORT value *greenroom_r_stamp(value *path) {
    char text[STAMP_SIZE];
    stamp_of(R_CHAR(STRING_ELT(path, 0)), text);
    return string(text);
}

/// Sends the text to the daemon's socket of that name.
EXPORT value *greenroom_r_send(value *path, value *text);
EXPORT value *greenroom_r_send(value *path, value *text) {
    launch_send(R_CHAR(STRING_ELT(path, 0)), R_CHAR(STRING_ELT(text, 0)));
    return R_NilValue;
}

/// Waits for a launch, and returns its words. `placeholder` is the program that R has opened.
EXPORT value *greenroom_r_wait(value *placeholder);
EXPORT value *greenroom_r_wait(value *placeholder) {
    bool is_known = R_set_command_line_arguments
        && launch_find_file(R_CHAR(STRING_ELT(placeholder, 0))) >= 0;
    if (!is_known || !launch_wait()) _exit(70);
    return vector_of(launch_argv);
}

/// The variables of the launch, and those that R has added to the environment since its start.
EXPORT value *greenroom_r_variables(void);
EXPORT value *greenroom_r_variables(void) {
    return vector_of(launch_environment);
}

/// Executes R's front end anew: the launch's first word, as a shell finds it. If that is the
/// program that the front end executes, it needs `exported`, the variables that the front end has
/// exported.
EXPORT value *greenroom_r_start_anew(value *reason, value *exported);
EXPORT value *greenroom_r_start_anew(value *reason, value *exported) {
    const char *name = launch_argv[0], *end = strstr(name, "/bin/exec/R");
    launch_report_anew((enum gr_anew_reason)Rf_asInteger(reason));
    environ = launch_environment;
    if (!end || end[strlen("/bin/exec/R")]) {
        execvp(name, launch_argv);
    } else {
        for (char **variable = strings_of(exported); variable && *variable; variable++) {
            char *equals = strchr(*variable, '=');
            if (!equals) continue;
            *equals = 0;
            setenv(*variable, equals + 1, 0);
        }
        execv(name, launch_argv);
    }
    dprintf(2, "%s: %s\n", name, strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/// Makes the file the program in place of the placeholder, and goes on as the launch, with the
/// words that R would have got.
EXPORT value *greenroom_r_become(value *placeholder, value *file, value *words);
EXPORT value *greenroom_r_become(value *placeholder, value *file, value *words) {
    int descriptor = launch_find_file(R_CHAR(STRING_ELT(placeholder, 0)));
    if (descriptor < 0 || launch_exchange_file(descriptor, R_CHAR(STRING_ELT(file, 0))) != 0)
        return Rf_allocVector(LOGICALS, 0);
    // R keeps copies of the words.
    R_set_command_line_arguments(LENGTH(words), strings_of(words));
    launch_go_on();
    return R_NilValue;
}

/// Ends this process before its pause.
EXPORT value *greenroom_r_refuse(void);
EXPORT value *greenroom_r_refuse(void) {
    _exit(70);
}
