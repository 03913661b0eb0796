#define _GNU_SOURCE
#include "trace.h"
#include "../library/stamp.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/// The report's descriptor, which the daemon passed as standard output.
static int report = -1;
/// A file that takes the output of modules, which a launch would have to print again.
static int prints = -1;
static pthread_t first_thread;
static pid_t owner;

/// A descriptor that a module keeps open is noticed if its number is below this. No module keeps so
/// many.
enum { DESCRIPTORS = 256 };

/// The state that modules share with the program, and may have changed when they end.
struct state {
    uint64_t descriptors[DESCRIPTORS / 64], environment, signals, locale, limits;
    off_t printed;
};

enum change { DESCRIPTOR, ENVIRONMENT, SIGNALS, LOCALE, STATE, PRINTS, CHANGES };
static const char *const reasons[CHANGES] = {"descriptor", "environment", "signals",
                                             "locale",     "state",       "prints"};

/// The modules in progress, each with the state at its beginning and the changes by modules that it
/// loads.
enum { DEPTH = 512 };
static struct {
    struct state state;
    unsigned changed;
} modules[DEPTH];
static int depth;
/// The folders in which modules are installed. The daemon reads no more than this many.
enum { PLACES = 64 };
static char *places[PLACES];
static int place_count;
/// Whether the language's hook compares whether a launch has a terminal.
static bool terminal_is_key;
/// Whether the language's hook compares the user's files as well.
static bool files_are_key;
/// While this library makes calls of its own, which are not noted.
static bool is_at_work;
/// Counts parts of the trace, so that a line is written once in each.
static uint64_t part;

static uint64_t hash(uint64_t seed, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) seed = (seed ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return seed;
}

static uint64_t hash_text(uint64_t seed, const char *text) {
    return text ? hash(seed, text, strlen(text) + 1) : seed;
}

static struct state current_state(void) {
    struct state state = {.environment = 1, .signals = 1, .limits = 1};
    is_at_work = true;
    for (int number = 0; number < DESCRIPTORS; number++)
        if (fcntl(number, F_GETFD) >= 0) state.descriptors[number / 64] |= UINT64_C(1) << number % 64;
    for (char **variable = environ; variable && *variable; variable++)
        state.environment = hash_text(state.environment, *variable);
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0)
            state.signals = hash(state.signals, &action.sa_handler, sizeof action.sa_handler);
    }
    sigset_t mask;
    sigemptyset(&mask);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number < 65; number++) {
        int is_member = sigismember(&mask, number);
        state.signals = hash(state.signals, &is_member, sizeof is_member);
    }
    state.locale = hash_text(1, setlocale(LC_ALL, NULL));
    locale_t own = uselocale((locale_t)0); // of this thread, as Perl has it
    for (int category = 0; own != LC_GLOBAL_LOCALE && category < LC_ALL; category++)
        state.locale = hash_text(state.locale, nl_langinfo_l(_NL_LOCALE_NAME(category), own));
    for (int which = 0; which < RLIM_NLIMITS; which++) {
        struct rlimit limit;
        if (getrlimit(which, &limit) == 0) state.limits = hash(state.limits, &limit, sizeof limit);
    }
    struct stat status;
    if (fstat(prints, &status) == 0) state.printed = status.st_size;
    is_at_work = false;
    return state;
}

static unsigned changes(const struct state *one, const struct state *other) {
    unsigned changed = 0;
    if (memcmp(one->descriptors, other->descriptors, sizeof one->descriptors))
        changed |= 1U << DESCRIPTOR;
    if (one->environment != other->environment) changed |= 1U << ENVIRONMENT;
    if (one->signals != other->signals) changed |= 1U << SIGNALS;
    if (one->locale != other->locale) changed |= 1U << LOCALE;
    if (one->limits != other->limits) changed |= 1U << STATE;
    if (one->printed != other->printed) changed |= 1U << PRINTS;
    return changed;
}

static void write_line(const char *word, const char *text, const char *more) {
    char line[8192];
    int size = snprintf(line, sizeof line, "%s%s%s%s%s\n", word, text ? "\t" : "", text ? text : "",
                        more ? "\t" : "", more ? more : "");
    // If a line does not fit, the trace ends here without its last line, and is not used.
    if (size < 0 || (size_t)size >= sizeof line || write(report, line, (size_t)size) != size) {
        close(report);
        report = -1;
    }
}

static bool is_inspected(void) {
    return report >= 0 && pthread_equal(pthread_self(), first_thread) && getpid() == owner;
}

/// Whether the line was not written yet in that part. A table that is full writes it again.
static bool is_new(uint64_t where, const char *word, const char *text) {
    enum { SIZE = 1 << 14, TRIES = 8 };
    static uint64_t seen[SIZE];
    uint64_t key = hash_text(hash_text(hash(1, &where, sizeof where), word), text) | 1;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t *place = &seen[(key + i) % SIZE];
        if (*place == key) return false;
        if (*place == 0) {
            *place = key;
            return true;
        }
    }
    return true;
}

static bool is_below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/') length--;
    return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

bool trace_is_above_place(const char *path) {
    if (*path == '/' && is_below("/usr", path)) return true;
    for (int i = 0; i < place_count; i++)
        if (*path == '/' && is_below(places[i], path)) return true;
    return false;
}

void trace_line(const char *word, const char *text) {
    if (depth == 0 || is_at_work || !is_inspected()) return;
    if (is_new(part, word, text)) write_line(word, text, NULL);
}

void trace_question_for_terminal(void) {
    if (terminal_is_key)
        trace_line("reads", "?terminal");
    else
        trace_line("does", "terminal");
}

/// Whether the kernel makes the file up, or each read may find something else.
static bool is_special(const char *path) {
    struct stat status;
    return is_below(path, "/proc") || is_below(path, "/sys") || is_below(path, "/dev")
        || (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

bool trace_installed_file(const char *path) {
    // Where /usr is merged, the others are links into it (file-hierarchy(7)).
    bool is_installed = is_below(path, "/usr") || is_below(path, "/bin") || is_below(path, "/sbin")
        || !strncmp(path, "/lib", 4);
    for (int i = 0; i < place_count; i++) is_installed = is_installed || is_below(path, places[i]);
    if (depth == 0 || is_at_work || !is_inspected()) return is_installed;
    is_at_work = true;
    bool is_compared = is_installed || (files_are_key && *path == '/' && !is_special(path));
    // A missing file appears with a change of the folder that it, or its folder, would be in. The user's folders
    // change too often, so there the file itself is compared, which has no time while it is missing.
    char copy[4096], stamp[STAMP_SIZE] = "-", *end;
    struct stat status = {0};
    bool fits = strlen(path) < sizeof copy;
    strcpy(copy, fits ? path : "/usr");
    while (stat(copy, &status) != 0 && is_installed && (end = strrchr(copy, '/')) && end > copy) *end = 0;
    if (!is_installed || S_ISREG(status.st_mode)) stamp_of(copy, stamp);
    if (is_compared && is_new(part, "data", copy)) write_line("data", copy, stamp);
    is_at_work = false;
    return is_compared;
}

static void begin(const char *name) {
    write_line("begin", name, NULL);
    part++;
    if (depth < DEPTH) {
        modules[depth].state = current_state();
        modules[depth].changed = 0;
    }
    depth++;
}

static void end(const char *word, char *name) {
    char *path = strchr(name, '\t');
    if (path) *path++ = 0;
    if (depth == 0) return;
    if (depth > DEPTH) {
        trace_line("does", "state");
    } else {
        struct state now = current_state();
        unsigned changed = changes(&modules[depth - 1].state, &now);
        for (int i = 0; i < CHANGES; i++)
            if ((changed & ~modules[depth - 1].changed) >> i & 1) trace_line("does", reasons[i]);
        if (depth > 1) modules[depth - 2].changed |= changed | modules[depth - 1].changed;
    }
    depth--;
    part++;
    char text[STAMP_SIZE];
    is_at_work = true;
    stamp_of(path ? path : "", text);
    is_at_work = false;
    write_line(word, name, text);
}

void trace_obey(const char *command) {
    if (!is_inspected()) return;
    char copy[8192];
    size_t length = strlen(command);
    if (length >= sizeof copy) return;
    memcpy(copy, command, length + 1);
    char *text = strchr(copy, ' ');
    if (text) *text++ = 0;
    if (!text) {
        if (strcmp(copy, "done")) return;
        write_line(copy, NULL, NULL);
        _exit(0); // so that no imported code can interfere
    } else if (!strcmp(copy, "begin")) {
        begin(text);
    } else if (!strcmp(copy, "end") || !strcmp(copy, "fails")) {
        end(copy, text);
    } else if (!strcmp(copy, "watch")) {
        trace_watch_program_name();
    } else if (!strcmp(copy, "key")) {
        terminal_is_key = terminal_is_key || !strcmp(text, "terminal");
        files_are_key = files_are_key || !strcmp(text, "files");
    } else if (!strcmp(copy, "place")) {
        char *place = place_count < PLACES ? strdup(text) : NULL;
        if (place) places[place_count++] = place;
        write_line(copy, text, NULL);
    } else if (!strcmp(copy, "vouched") || !strcmp(copy, "unknown") || !strcmp(copy, "first")) {
        write_line(copy, text, NULL);
    } else {
        trace_line(copy, text);
    }
}

/// Whether this process runs the interpreter: Rscript(1) executes other programs first.
static bool is_interpreter(void) {
    const char *wanted = getenv("GREENROOM_TRACED");
    char path[4096];
    ssize_t length = wanted ? readlink("/proc/self/exe", path, sizeof path - 1) : 0;
    if (wanted && length <= 0) return false;
    path[length] = 0;
    return !wanted || !strcmp(path, wanted);
}

/// Hides the report from imported code, which must neither write into it nor find this library in
/// the environment.
__attribute__((constructor)) static void start(void) {
    if (!is_interpreter()) return;
    unsetenv("GREENROOM_TRACED");
    first_thread = pthread_self();
    owner = getpid();
    report = fcntl(1, F_DUPFD_CLOEXEC, DESCRIPTORS);
    prints = memfd_create("greenroom-prints", MFD_CLOEXEC);
    if (prints >= 0) {
        int high = fcntl(prints, F_DUPFD_CLOEXEC, DESCRIPTORS);
        dup2(prints, 1);
        dup2(prints, 2);
        close(prints);
        prints = high;
    }
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}); // only when nobody else runs
    const char *libraries = getenv("LD_PRELOAD"), *rest = libraries ? strchr(libraries, ':') : NULL;
    char *own = rest ? strdup(rest + 1) : NULL;
    if (own)
        setenv("LD_PRELOAD", own, 1);
    else
        unsetenv("LD_PRELOAD");
    free(own);
}
