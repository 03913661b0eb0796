/// Gives emacs/inspect.el, which loads this library as a module, a function that obeys its commands. The
/// scripts of Ruby and R send commands by getenv(3), but Emacs reads variables from a list of its own.
#include "trace.h"
#include "../library/emacs.h"

#define EXPORT __attribute__((visibility("default")))

/// (greenroom-trace COMMAND): see `trace_obey`.
static value obey(environment *env, ptrdiff_t count, value *arguments, void *data) {
    (void)count, (void)data;
    char command[8192];
    ptrdiff_t size = sizeof command;
    if (env->copy_string_contents(env, arguments[0], command, &size)) trace_obey(command);
    return env->intern(env, "nil");
}

/// Emacs loads only modules that define this symbol. (Apache License 2.0 is compatible with GPL 3.)
EXPORT extern const int plugin_is_GPL_compatible;
const int plugin_is_GPL_compatible = 1;

/// Emacs calls this when it loads the library.
EXPORT int emacs_module_init(struct runtime *runtime);
EXPORT int emacs_module_init(struct runtime *runtime) {
    environment *env = runtime->get_environment(runtime);
    value function = env->make_function(env, 1, 1, obey, "", NULL);
    env->funcall(env, env->intern(env, "fset"), 2,
                 (value[]){env->intern(env, "greenroom-trace"), function});
    return 0;
}
