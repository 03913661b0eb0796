/// Emacs's module interface (emacs-module.h), as far as the hook and the inspection use it.
#ifndef GREENROOM_RUNTIME_EMACS_H
#define GREENROOM_RUNTIME_EMACS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct value *value;
typedef struct environment environment;
typedef value (*callback)(environment *, ptrdiff_t count, value *arguments, void *data);

/// struct emacs_env, whose beginning is the same in every version from 25 on.
struct environment {
    ptrdiff_t size;
    void *unused_private;
    void *unused_references[2];
    void *unused_exits[5];
    value (*make_function)(environment *, ptrdiff_t least, ptrdiff_t most, callback, const char *text,
                           void *data);
    value (*funcall)(environment *, value function, ptrdiff_t count, value *arguments);
    value (*intern)(environment *, const char *name);
    void *unused_types[3];
    intmax_t (*extract_integer)(environment *, value);
    void *unused_numbers[3];
    bool (*copy_string_contents)(environment *, value, char *buffer, ptrdiff_t *size);
    value (*make_string)(environment *, const char *text, ptrdiff_t size);
};
/// struct emacs_runtime
struct runtime {
    ptrdiff_t size;
    void *unused_private;
    environment *(*get_environment)(struct runtime *);
};

#endif
