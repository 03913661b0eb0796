/// How the dynamic linker and the program reach the shim.
///
/// The start code of every program that is linked to a libc calls `__libc_start_main`. The shim is
/// preloaded, so the shim's function is found first. It pauses, and then calls the real one with
/// the launch's arguments. By then, the constructors of the libraries have run, with the prewarm's
/// arguments and environment. The constructors of the executable have not: the real
/// `__libc_start_main` runs them just before main, and they are the program's own code: in them,
/// Rust's standard library stores the arguments, CMake reads PWD, and groff its GROFF_ variables.
/// (musl runs all constructors in `__libc_start_main`, so all of them see the launch.)
/// A program with preinit functions, which the dynamic linker runs before all others, is not
/// prewarmed, and neither is one whose libraries changed their process (surroundings.h).
///
/// A program that looks for the shim can still see the object itself, in /proc/self/maps and in
/// dl_iterate_phdr(3). Constructors of libraries that the program opens later with dlopen(3) get
/// the prewarm's argc and argv from glibc, whose own copy the shim cannot reach. Their environ is the
/// launch's. But Go looks for the variables after argv, so in a library written in Go, os.Getenv
/// returns the prewarm's. The same holds for libraries opened before the pause (libraries.h).

#include "channel.h"
#include "libraries.h"
#include "pause.h"
#include "surroundings.h"
#include "symbols.h"
#include "system.h"
#include "traces.h"

#define EXPORT __attribute__((visibility("default")))

typedef int (*main_function)(int, char **, char **);
typedef int (*start_function)(main_function, int, char **, void (*)(void), void (*)(void),
                              void (*)(void), void *);

static bool is_prepared;
static bool is_waiting; // whether the process is connected to a daemon and not launched yet
static bool pauses_by_call;
static int owner; // the process that was prewarmed; a fork of it must not pause
static int prewarm_argc;

static const ElfW(auxv_t) * auxiliary_vector(char **environment) {
    while (*environment) environment++;
    return (const ElfW(auxv_t) *)(environment + 1);
}

/// Reads the daemon's request from the environment and removes every trace of it, once.
static void prepare(int argc, char **argv) {
    if (is_prepared) return;
    is_prepared = true;
    char **environment = argv + argc + 1;
    const ElfW(auxv_t) *auxv = auxiliary_vector(environment);
    symbols_locate(auxv);

    struct traces traces = traces_read(environment);
    if (traces.channel < 0 || !traces_name_this_executable(&traces)) return;
    if (!channel_open(traces.channel, traces.channel_inode)) return;
    if (traces.libraries) libraries_remember(traces.libraries, traces.announces);
    // A script's process has the script's name, even if its interpreter was executed directly.
    if (traces.name) sys_prctl(PR_SET_NAME, (long)traces.name, 0, 0);
    traces_scrub(environment, symbols_own_path(), traces.pauses_by_call);
    arguments_prepare(argc, argv, auxv);
    surroundings_remember(&traces);
    is_waiting = true;
    pauses_by_call = traces.pauses_by_call;
    owner = sys_getpid();
    prewarm_argc = argc;
}

/// A library's constructor may start a child, which must inherit nothing of the shim. build.mk
/// links with `-z initfirst`, so glibc calls this before any other constructor. A library that is
/// loaded later with the same flag (libpthread before glibc 2.34) takes precedence, which does no
/// harm. musl passes no arguments and runs constructors inside `__libc_start_main`, after the
/// shim's preparation there.
__attribute__((constructor)) static void prepare_early(int argc, char **argv) {
    prepare(argc, argv);
}

static struct launch wait_for_launch(enum gr_pause_reason reason) {
    if (sys_getpid() != owner) sys_exit(0);
    is_waiting = false;
    bool unchanged = arguments_find_own_variables() && surroundings_are_unchanged()
        && libraries_are_harmless();
    // A program that pauses by a call has run its own code before, and is responsible for that.
    if (!unchanged && reason == GR_PAUSED_AT_MAIN) {
        channel_send_error(ENOTRECOVERABLE, 0);
        sys_exit(0);
    }
    return pause_until_launch(reason, prewarm_argc);
}

/// Pauses a program that chooses the best moment itself (`GREENROOM_PAUSE=call`), for example after
/// an interpreter's imports. Returns 1 after a launch, with the new arguments and environment.
/// Returns 0 at once if this process is not prewarmed. The strings live as long as the process.
EXPORT int greenroom_prewarm_pause(int *argc, char ***argv, char ***envp);
EXPORT int greenroom_prewarm_pause(int *argc, char ***argv, char ***envp) {
    if (!is_waiting) return 0;
    struct launch launch = wait_for_launch(GR_PAUSED_BY_CALL);
    struct arguments arguments = launch_become(&launch, NULL);
    if (argc) *argc = arguments.argc;
    if (argv) *argv = arguments.argv;
    if (envp) *envp = arguments.envp;
    return 1;
}

/// The launch that greenroom_prewarm_wait has applied and not reported.
static struct {
    bool is_there;
    uint64_t cookie;
    char **own_environment_end; // where the variables end that came with the launch
} applied;

/// The pause of an interpreter's hook (Sources/Runtimes), in two parts: this function waits and
/// applies the launch, and greenroom_prewarm_started reports it, when the hook knows whether the
/// process can go on as the launch. If the process ends between the two, the daemon starts the
/// launch in another process, so nothing of the program may have run. Returns as
/// greenroom_prewarm_pause does; 2 instead of 1 if the process must start anew because the launch
/// ignores a signal that the process handles.
EXPORT int greenroom_prewarm_wait(int *argc, char ***argv, char ***envp);
EXPORT int greenroom_prewarm_wait(int *argc, char ***argv, char ***envp) {
    if (!is_waiting) return 0;
    struct launch launch = wait_for_launch(GR_PAUSED_BY_CALL);
    struct arguments arguments = arguments_apply(&launch, NULL);
    arguments_show_in_place(&arguments);
    applied.is_there = true;
    applied.cookie = launch.cookie;
    applied.own_environment_end = arguments.envp + launch.envc;
    *argc = arguments.argc;
    *argv = arguments.argv;
    *envp = arguments.envp;
    return handles_ignored_signals() ? 2 : 1;
}

/// Ends what greenroom_prewarm_wait began. `anew` is 0 if the process goes on as the launch. It is an
/// enum gr_anew_reason if the process executes the launch's words instead: then this function makes
/// the signals and the vector of the environment what execve(2) must pass on, and the caller must
/// call execve(2) next.
EXPORT void greenroom_prewarm_started(int anew);
EXPORT void greenroom_prewarm_started(int anew) {
    if (!applied.is_there) return;
    if (sys_getpid() != owner) sys_exit(0);
    applied.is_there = false;
    if (anew) {
        *applied.own_environment_end = NULL;
        reset_signals();
    }
    report_start(applied.cookie, anew);
}

EXPORT int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*loader_fini)(void), void *stack_end);
EXPORT int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
    prepare(argc, argv);
    start_function start = (start_function)symbol_find("__libc_start_main");
    if (!start) sys_exit(127);
    if (is_waiting && !pauses_by_call) {
        loader_fini = libraries_open(loader_fini);
        struct launch launch = wait_for_launch(GR_PAUSED_AT_MAIN);
        // This frame lasts as long as the program.
        size_t size = arguments_stack_byte_count(&launch);
        struct arguments arguments = launch_become(&launch, size ? __builtin_alloca(size) : NULL);
        argc = arguments.argc;
        argv = arguments.argv;
    }
    return start(main, argc, argv, init, fini, loader_fini, stack_end);
}
