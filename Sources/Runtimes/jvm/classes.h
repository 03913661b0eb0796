/// Classes: which are loaded, which a prewarm loads, what a launch has loaded.
#ifndef GREENROOM_RUNTIME_JVM_CLASSES_H
#define GREENROOM_RUNTIME_JVM_CLASSES_H

#include "interface.h"

#include <stdbool.h>

enum { NAME_SIZE = 512 }; // LearnedImports.Limit.name

/// A class that the loaders of the JVM, of the platform or of the application have defined.
struct class {
    object reference;
    char *name; // as Class.forName takes it
    int status;
    bool is_own; // the application's
};
struct classes {
    struct class *items;
    int count;
};

/// The name of a class as Class.forName takes it; null if it is not a plain class.
char *class_name(object class);

/// The application's classes in the order in which they were loaded, then the others. References
/// are of the caller's local frame.
struct classes classes_loaded(jni_environment *);
void classes_free(struct classes);

/// Whether to initialize the class has no effect but a faster start.
bool class_may_be_initialized(const char *name);

/// Loads a class and links it. No code of the class runs. Returns false if that fails.
bool class_load(jni_environment *, object loader, const char *name, object *class);

/// Initializes a class. Returns false if that fails.
bool class_initialize(jni_environment *, object loader, const char *name);

/// Whether the class belongs to a library with which a program makes classes while it runs, perhaps
/// in place of those in its files.
bool class_makes_others(const char *name);

/// Remembers which classes are initialized.
void classes_note_initialized(jni_environment *);

/// Whether a class was initialized since, for a reason that is not known to be harmless. Its name
/// goes to `culprit`. Then it counts as remembered.
bool classes_have_initialized_more(jni_environment *, char culprit[NAME_SIZE]);

/// Loads what GREENROOM_IMPORTS lists:
///
///     NAME                    a line of a manifest; after "!", the class is initialized too
///     NAME<TAB>STAMP          a line that was learned; "-" if an earlier line has the same file's
void classes_import(jni_environment *, char *lines);

/// Watches the files of the application's classes that are loaded.
void classes_watch(jni_environment *);

/// Remembers what is loaded before a launch that is to be recorded.
void classes_note(jni_environment *);

/// Sends what the launch has loaded and linked since, a name on each line, to the daemon's socket.
void classes_record(jni_environment *, const char *socket);

/// Tells which of the names on standard input may be loaded before the pause, and ends the process.
_Noreturn void classes_inspect(jni_environment *, object main_class, int report);

#endif
