/// Finds out for Greenroom which classes a prewarm may load. It runs in a process of its own, which
/// never runs its program:
///
///     java OPTIONS -agentpath:libgreenroom-jvm.so=inspect ... PROGRAM <LIST
///
/// LIST has the name of a class on each line; after "!", one that is to be left to launches. As
/// classes are loaded and linked only, none of the program's code runs, and nothing is to be
/// watched but what that does in Java itself.
#define _GNU_SOURCE
#include "classes.h"
#include "java.h"
#include "path.h"

#include "../library/stamp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// As many names as a list can have, and bytes of its lines (LearnedImports.swift).
enum { NAMES = 1024, LINES = 96 << 10 };

struct inspected {
    char *name;
    char *source; // the archive or folder; null for a class of the JDK
    const char *reason, *cause;
};
static struct inspected list[NAMES];
static int count;

static char *excluded[NAMES];
static int excluded_count;

static const char *program; // the class with `main`
static const char *maker; // a class by which the program makes others; null if there is none

static void read_list(void) {
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        if (*line == '!' && excluded_count < NAMES) {
            excluded[excluded_count++] = strdup(line + 1);
        } else if (*line && !strchr("!@+?<>", *line) && count < NAMES) {
            list[count].name = strdup(line);
            if (!maker && class_makes_others(line)) maker = list[count].name;
            count++;
        }
    }
    free(line);
}

static bool is_excluded(const char *name) {
    for (int i = 0; i < excluded_count; i++)
        if (strcmp(excluded[i], name) == 0) return true;
    return false;
}

static bool is_listed(const char *name) {
    for (const struct inspected *one = list; one < list + count; one++)
        if (strcmp(one->name, name) == 0) return true;
    return false;
}

static void refuse(struct inspected *one, const char *reason, const char *cause) {
    one->reason = reason;
    one->cause = cause;
}

static bool is_in_archive(const struct inspected *one) {
    struct stat status;
    return one->source && stat(one->source, &status) == 0 && !S_ISDIR(status.st_mode);
}

/// The first class before this one from the same archive or folder.
static struct inspected *first_of_source(const struct inspected *one, bool is_refused) {
    for (struct inspected *other = list; one->source && other < one; other++)
        if (other->source && !other->reason == !is_refused
            && strcmp(other->source, one->source) == 0)
            return other;
    return NULL;
}

/// A class that Java has initialized to check a signature. A prewarm checks none, so what its classes
/// would initialize there cannot be seen here any more. Null if there is none.
static const char *spoiler;

static void inspect(jni_environment *env, object loader, struct inspected *one) {
    char culprit[NAME_SIZE];
    object class;
    if (is_excluded(one->name)) return refuse(one, "excluded", one->name);
    if (!class_load(env, loader, one->name, &class)) return refuse(one, "fails", one->name);
    object own = NULL;
    (*tool)->get_class_loader(tool, class, &own);
    if (own && original->is_same_object(env, own, loader)) {
        bool is_signed;
        one->source = path_of_source(env, class, &is_signed);
        if (!one->source) return refuse(one, "archive", one->name);
        if (maker) return refuse(one, "generates", maker);
        const struct inspected *other = first_of_source(one, true);
        // Java checks the signature by providers of cryptography, which the program may choose.
        if (is_signed) {
            if (classes_have_initialized_more(env, culprit)) spoiler = strdup(culprit);
            return refuse(one, "signed", other ? other->cause : one->name);
        }
        if (other && strcmp(other->reason, "state") == 0) return refuse(one, "state", other->cause);
        // Only the first class of an archive has an effect.
        if (first_of_source(one, false)) return;
    }
    if (own && classes_have_initialized_more(env, culprit)) refuse(one, "state", strdup(culprit));
}

/// Initializes what a prewarm would initialize. If that initializes something else, all of it is
/// left to launches.
static void inspect_initialization(jni_environment *env, object loader) {
    for (struct inspected *one = list; one < list + count; one++) {
        if (one->reason || !class_may_be_initialized(one->name)) continue;
        original->push_local_frame(env, 64);
        if (!class_initialize(env, loader, one->name)) refuse(one, "fails", one->name);
        original->pop_local_frame(env, NULL);
    }
    static char culprit[NAME_SIZE];
    const char *cause = classes_have_initialized_more(env, culprit) ? culprit : spoiler;
    if (!cause) return;
    for (struct inspected *one = list; one < list + count; one++)
        if (!one->reason && class_may_be_initialized(one->name)) refuse(one, "state", cause);
}

static bool have_same_package(const char *one, const char *other) {
    const char *end = strrchr(one, '.'), *other_end = strrchr(other, '.');
    ptrdiff_t length = end ? end - one : 0, other_length = other_end ? other_end - other : 0;
    return length == other_length && strncmp(one, other, (size_t)length) == 0;
}

/// A package has the properties (such as its version) of the archive from which its first class was
/// loaded. So of a package that two archives have, nothing is loaded before the program does that,
/// unless it is the package of the program's own class, which is the first.
static void refuse_split_packages(void) {
    for (struct inspected *one = list; one < list + count; one++)
        for (struct inspected *other = list; one->source && other < one; other++)
            if (other->source && strcmp(one->source, other->source) != 0
                && have_same_package(one->name, other->name)
                && !have_same_package(one->name, program)) {
                if (!one->reason) refuse(one, "split", one->name);
                if (!other->reason) refuse(other, "split", one->name);
            }
}

/// Whether a listed class of that package comes from another archive or folder.
static bool is_split(const char *name, const char *source) {
    if (have_same_package(name, program)) return false;
    for (const struct inspected *one = list; one < list + count; one++)
        if (one->source && strcmp(one->source, source) != 0 && have_same_package(one->name, name))
            return true;
    return false;
}

static char *loaded_along; // for which all are refused

/// To link a class also loads others, such as the types of its public fields. If one of those must
/// be left to launches, all of the application's classes are: the JVM does not tell which of them
/// has loaded it.
static void refuse_for_others(jni_environment *env) {
    original->push_local_frame(env, 4096);
    struct classes all = classes_loaded(env);
    const char *reason = NULL, *cause = NULL;
    for (int i = 0; i < all.count && all.items[i].is_own && !reason; i++) {
        const char *name = all.items[i].name;
        if (is_excluded(name)) {
            reason = "excluded";
        } else if (!is_listed(name) && strcmp(name, program) != 0) {
            bool is_signed = false;
            char *source = path_of_source(env, all.items[i].reference, &is_signed);
            if (is_signed) reason = "signed";
            else if (source && is_split(name, source)) reason = "split";
            free(source);
        }
        if (reason) cause = loaded_along = strdup(name);
    }
    for (struct inspected *one = list; reason && one < list + count; one++)
        if (one->source && !one->reason) refuse(one, reason, cause);
    classes_free(all);
    original->pop_local_frame(env, NULL);
}

static void write_report(FILE *report) {
    size_t size = 0;
    fputc('\n', report); // the JVM may have printed something
    for (struct inspected *one = list; one < list + count; one++) {
        char stamp[STAMP_SIZE] = "-";
        // One stamp is enough for all classes of an archive.
        if (one->source && !(is_in_archive(one) && first_of_source(one, false))) {
            char path[PATH_SIZE];
            path_of_file(path, one->source, one->name);
            stamp_of(path, stamp);
        }
        size_t length = strlen(one->name) + strlen(stamp) + 2;
        if (!one->reason && size + length > LINES) refuse(one, "limit", one->name);
        if (one->reason) {
            fprintf(report, "refused\t%s\t%s\t%s\n", one->name, one->reason, one->cause);
        } else {
            fprintf(report, "import\t%s\t%s\n", one->name, stamp);
            size += length;
        }
    }
    fflush(report);
}

_Noreturn void classes_inspect(jni_environment *env, object main_class, int report) {
    FILE *file = fdopen(report, "w");
    object loader = system_loader(env);
    program = class_name(main_class);
    if (!file || !loader || !program) give_up("there is nothing to inspect");
    read_list();
    classes_note_initialized(env);
    for (int i = 0; i < count; i++) {
        original->push_local_frame(env, 64);
        inspect(env, loader, &list[i]);
        original->pop_local_frame(env, NULL);
    }
    inspect_initialization(env, loader);
    refuse_for_others(env);
    refuse_split_packages();
    write_report(file);
    _exit(0);
}
