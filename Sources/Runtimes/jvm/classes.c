#define _GNU_SOURCE
#include "classes.h"
#include "java.h"
#include "path.h"

#include "../library/files.h"
#include "../library/runtime.h"
#include "../library/stamp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// In bytes; the daemon reads no longer record.
enum { RECORD_LIMIT = 65536 };

char *class_name(object class) {
    char *signature = NULL, *name = NULL;
    if ((*tool)->get_class_signature(tool, class, &signature, NULL) != 0) return NULL;
    // A hidden class has a dot in its signature, an array begins with a bracket, and a proxy has
    // another name in each run.
    if (signature[0] == 'L' && !strpbrk(signature, ".\n\t") && !strstr(signature, "$Proxy")
        && !strstr(signature, "$$Lambda"))
        name = strndup(signature + 1, strlen(signature) - 2);
    for (char *at = name; at && *at; at++)
        if (*at == '/') *at = '.';
    (*tool)->deallocate(tool, (unsigned char *)signature);
    return name;
}

struct classes classes_loaded(jni_environment *env) {
    struct classes all = {0};
    int count;
    object *found, application = system_loader(env);
    object platform = call_static(env, "java/lang/ClassLoader", "getPlatformClassLoader",
                                  "()Ljava/lang/ClassLoader;", NULL, NULL);
    if ((*tool)->get_loaded_classes(tool, &count, &found) != 0) return all;
    all.items = calloc((size_t)count + 1, sizeof *all.items);
    // Among the classes of a loader, the JVM lists the latest first.
    for (int wants_own = 1; all.items && wants_own >= 0; wants_own--)
        for (int i = count - 1; i >= 0; i--) {
            struct class class = {.reference = found[i]};
            object loader = NULL;
            (*tool)->get_class_loader(tool, found[i], &loader);
            class.is_own = loader && original->is_same_object(env, loader, application);
            bool is_known =
                !loader || class.is_own || original->is_same_object(env, loader, platform);
            if (loader) original->delete_local_ref(env, loader);
            if (class.is_own != wants_own || !is_known) continue;
            class.name = class_name(found[i]);
            if (!class.name) continue;
            (*tool)->get_class_status(tool, found[i], &class.status);
            all.items[all.count++] = class;
        }
    (*tool)->deallocate(tool, (unsigned char *)found);
    return all;
}

void classes_free(struct classes classes) {
    for (int i = 0; i < classes.count; i++) free(classes.items[i].name);
    free(classes.items);
}

// --- Loading.

static bool begins_with_any(const char *name, const char *const *beginnings) {
    for (; *beginnings; beginnings++)
        if (strncmp(name, *beginnings, strlen(*beginnings)) == 0) return true;
    return false;
}

bool class_may_be_initialized(const char *name) {
    static const char *const packages[] = {
        "java.lang.invoke.", "java.util.regex.", "java.util.concurrent.", "java.util.stream.",
        "java.util.zip.",    "java.text.",       "java.math.",            NULL,
    };
    // These count the processors, which the launch's affinity may change, read properties that the
    // program may set first, or initialize a class that does.
    static const char *const counting[] = {
        "java.lang.invoke.InnerClassLambdaMetafactory",
        "java.util.concurrent.CompletableFuture",
        "java.util.concurrent.CountedCompleter",
        "java.util.concurrent.Exchanger",
        "java.util.concurrent.ForkJoin",
        "java.util.concurrent.LinkedTransferQueue",
        "java.util.concurrent.Phaser",
        "java.util.concurrent.SubmissionPublisher",
        "java.util.concurrent.SynchronousQueue",
        "java.util.concurrent.ThreadLocalRandom",
        "java.util.concurrent.atomic.Striped64",
        "java.util.stream.FindOps$FindSink",
        "java.util.stream.Tripwire",
        "java.util.zip.ZipOutputStream",
        NULL,
    };
    // Tasks of a stream are for the pool of threads.
    bool is_task = strncmp(name, "java.util.stream.", 17) == 0 && strstr(name, "Task");
    return begins_with_any(name, packages) && !begins_with_any(name, counting) && !is_task;
}

static object for_name(jni_environment *env, object loader, const char *name, int initializes) {
    object class = original->find_class(env, "java/lang/Class");
    method_id method = original->get_static_method_id(
        env, class, "forName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
    object text = original->new_string_utf(env, name);
    object loaded =
        original->call_static_object_method(env, class, method, text, initializes, loader);
    original->delete_local_ref(env, text);
    original->delete_local_ref(env, class);
    return has_failed(env) ? NULL : loaded;
}

bool class_load(jni_environment *env, object loader, const char *name, object *class) {
    *class = for_name(env, loader, name, 0);
    if (!*class) return false;
    // The first thing that this does is to link the class. It also loads the types of its public
    // fields.
    object holder = original->get_object_class(env, *class);
    method_id fields = original->get_method_id(env, holder, "getDeclaredFields0",
                                               "(Z)[Ljava/lang/reflect/Field;");
    object list = fields ? original->call_object_method(env, *class, fields, 1) : NULL;
    original->delete_local_ref(env, holder);
    if (list) original->delete_local_ref(env, list);
    return !has_failed(env);
}

bool class_initialize(jni_environment *env, object loader, const char *name) {
    return for_name(env, loader, name, 1);
}

// --- What an initialization initializes besides.

struct names {
    char **items;
    int count;
};

static int compare(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static bool contains(struct names names, const char *name) {
    return bsearch(&name, names.items, (size_t)names.count, sizeof name, compare);
}

/// The names of loaded classes with that status.
static struct names names_with(jni_environment *env, int status) {
    original->push_local_frame(env, 4096);
    struct classes all = classes_loaded(env);
    struct names names = {.items = calloc((size_t)all.count + 1, sizeof *names.items)};
    for (int i = 0; names.items && i < all.count; i++)
        if (all.items[i].status & status) names.items[names.count++] = strdup(all.items[i].name);
    if (names.items) qsort(names.items, (size_t)names.count, sizeof *names.items, compare);
    classes_free(all);
    original->pop_local_frame(env, NULL);
    return names;
}

static void names_free(struct names names) {
    for (int i = 0; i < names.count; i++) free(names.items[i]);
    free(names.items);
}

/// Whether the class, which Java itself initializes on the way, depends on nothing but the options:
/// classes that read archives, collections, reflection, and what makes bytecode.
static bool is_harmless(const char *name) {
    static const char *const beginnings[] = {
        "java.io.", "java.lang.Boolean", "java.lang.Byte", "java.lang.Character",
        "java.lang.Class$", "java.lang.ClassNotFound", "java.lang.ClassValue",
        "java.lang.Double", "java.lang.Enum", "java.lang.Float", "java.lang.IncompatibleClass",
        "java.lang.Integer", "java.lang.LinkageError", "java.lang.Long", "java.lang.Math",
        "java.lang.NamedPackage", "java.lang.NoSuch", "java.lang.Number", "java.lang.Package",
        "java.lang.PublicMethods", "java.lang.Record", "java.lang.ReflectiveOperation",
        "java.lang.Runtime$Version", "java.lang.Short", "java.lang.StrictMath",
        "java.lang.String", "java.lang.ThreadLocal", "java.lang.Void", "java.lang.Weak",
        "java.lang.annotation.", "java.lang.constant.", "java.lang.module.", "java.lang.ref.",
        "java.lang.reflect.", "java.net.URI", "java.net.URL", "java.nio.", "java.security.Code",
        "java.security.PrivilegedActionException", "java.security.Protection",
        "java.security.Secure", "java.util.Abstract", "java.util.Array", "java.util.BitSet",
        "java.util.Collections", "java.util.Enum", "java.util.Hash", "java.util.Identity",
        "java.util.Immutable", "java.util.Iterator", "java.util.JumboEnumSet", "java.util.KeyValue",
        "java.util.Linked", "java.util.List", "java.util.Map", "java.util.Optional",
        "java.util.Priority", "java.util.RegularEnumSet", "java.util.Set", "java.util.Spliterator",
        "java.util.StringTokenizer", "java.util.Tree", "java.util.Vector", "java.util.Weak",
        "java.util.function.", "java.util.jar.",
        "java.util.spi.LocaleServiceProvider", "jdk.internal.jimage.", "jdk.internal.loader.",
        "jdk.internal.math.", "jdk.internal.misc.TerminatingThreadLocal",
        "jdk.internal.module.", "jdk.internal.org.objectweb.asm.", "jdk.internal.perf.",
        "jdk.internal.reflect.", "jdk.internal.util.Preconditions", "jdk.internal.util.jar.",
        "jdk.internal.vm.annotation.", "sun.invoke.", "sun.net.www.", "sun.nio.ch.",
        "sun.nio.cs.", "sun.nio.fs.", "sun.reflect.", "sun.security.action.",
        "sun.security.util.ManifestEntryVerifier", "sun.security.util.SignatureFileVerifier", NULL,
    };
    return begins_with_any(name, beginnings);
}

static struct names initialized;

void classes_note_initialized(jni_environment *env) {
    names_free(initialized);
    initialized = names_with(env, CLASS_IS_INITIALIZED);
}

bool classes_have_initialized_more(jni_environment *env, char culprit[NAME_SIZE]) {
    struct names now = names_with(env, CLASS_IS_INITIALIZED), before = initialized;
    initialized = now;
    bool found = false;
    for (int i = 0; i < now.count && !found; i++) {
        const char *name = now.items[i];
        if (contains(before, name) || class_may_be_initialized(name) || is_harmless(name)) continue;
        snprintf(culprit, NAME_SIZE, "%s", name);
        found = true;
    }
    names_free(before);
    return found;
}

void classes_import(jni_environment *env, char *lines) {
    object loader = system_loader(env);
    if (!loader) give_up("this JVM has no class loader");
    classes_note_initialized(env);
    bool is_learned = false;
    char *rest = NULL, culprit[NAME_SIZE];
    for (char *name = strtok_r(lines, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
        original->push_local_frame(env, 16);
        char *stamp = strchr(name, '\t');
        bool is_marked = *name == '!';
        name += is_marked;
        if (stamp) {
            *stamp++ = 0;
            is_learned = true;
        }
        object class;
        if (!class_load(env, loader, name, &class)) give_up(name);
        if ((stamp || is_marked) && class_may_be_initialized(name)
            && !class_initialize(env, loader, name))
            give_up(name);
        if (stamp && strcmp(stamp, "-") != 0) {
            bool is_signed;
            char *source = path_of_source(env, class, &is_signed);
            char path[PATH_SIZE] = "", found[STAMP_SIZE];
            if (source) path_of_file(path, source, name);
            stamp_of(path, found);
            if (strcmp(stamp, found) != 0) give_up("another file than was inspected");
            free(source);
        }
        original->pop_local_frame(env, NULL);
    }
    // The author of a manifest's list answers for it.
    if (is_learned && classes_have_initialized_more(env, culprit)) give_up(culprit);
}

void classes_watch(jni_environment *env) {
    original->push_local_frame(env, 4096);
    struct classes all = classes_loaded(env);
    for (int i = 0; i < all.count && all.items[i].is_own; i++) path_watch_class(all.items[i].name);
    classes_free(all);
    original->pop_local_frame(env, NULL);
}

// --- Recording.

static struct names noted;

void classes_note(jni_environment *env) {
    noted = names_with(env, CLASS_IS_PREPARED);
}

bool class_makes_others(const char *name) {
    static const char *const parts[] = {"javassist.", "bytebuddy.", "asm.ClassWriter", "cglib.",
                                        ".bcel.", "com.sun.tools.javac.", NULL};
    if (strcmp(name, "sun.instrument.InstrumentationImpl") == 0) return true;
    for (const char *const *part = parts; *part; part++)
        if (strstr(name, *part)) return strncmp(name, "jdk.internal.", 13) != 0;
    return false;
}

void classes_record(jni_environment *env, const char *socket) {
    static char text[RECORD_LIMIT + 1];
    size_t size = 0;
    original->push_local_frame(env, 4096);
    struct classes all = classes_loaded(env);
    // First what the inspection must know even if not all names fit.
    for (int round = 0; round <= 1; round++)
        for (int i = 0; i < all.count; i++) {
            struct class *class = &all.items[i];
            size_t length = strlen(class->name);
            if (class_makes_others(class->name) == round || !(class->status & CLASS_IS_PREPARED)
                || contains(noted, class->name) || size + length + 1 > RECORD_LIMIT
                || (class->is_own && path_has_written(class->name)))
                continue;
            memcpy(text + size, class->name, length);
            size += length + 1;
            text[size - 1] = '\n';
        }
    text[size] = 0;
    classes_free(all);
    original->pop_local_frame(env, NULL);
    launch_send(socket, size ? text : "\n");
}
