#define _GNU_SOURCE
#include "variables.h"
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

static char **noted; // null if there was no memory

__attribute__((constructor)) static void note_variables(void) {
    size_t count = 0;
    while (environ && environ[count]) count++;
    noted = calloc(count + 1, sizeof *noted);
    for (size_t i = 0; noted && i < count; i++) noted[i] = strdup(environ[i]);
}

static bool is_named(const char *variable, const char *name, size_t length) {
    bool is_prefix = name[length - 1] == '*';
    if (is_prefix) length--;
    return strncmp(variable, name, length) == 0 && (is_prefix || variable[length] == '=');
}

static bool contains(char **variables, const char *variable) {
    for (; *variables; variables++)
        if (strcmp(*variables, variable) == 0) return true;
    return false;
}

/// Whether `others` also has each variable of that name, with the same value.
static bool are_contained(char **variables, char **others, const char *name, size_t length) {
    for (; *variables; variables++)
        if (is_named(*variables, name, length) && !contains(others, *variables)) return false;
    return true;
}

bool variables_are_equal(const char *names) {
    if (!noted) return false;
    for (const char *name = names; *name;) {
        size_t length = strcspn(name, " ");
        if (!are_contained(noted, launch_environment, name, length)
            || !are_contained(launch_environment, noted, name, length))
            return false;
        name += length + strspn(name + length, " ");
    }
    return true;
}
