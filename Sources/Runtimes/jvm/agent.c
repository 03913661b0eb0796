/// Pauses a JVM between its start and its program, for Greenroom.
///
/// The daemon runs `java [OPTIONS] -agentpath:THIS_LIBRARY -jar JAR`, or with the name of a class,
/// and no arguments. The launcher starts the JVM, loads the main class without initializing it, and
/// looks up its method `main`. There this agent loads what GREENROOM_IMPORTS lists and waits for a
/// launch. The launch's words must be the same up to the JAR or class; the words after it are the
/// arguments of `main`. If the program could notice a difference from a direct call, the launcher
/// is executed anew with the launch's words in the same process.
#define _GNU_SOURCE
#include "interface.h"

#include "../library/files.h"
#include "../library/runtime.h"
#include "../library/variables.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/// The variables that the launcher, the JVM and the JDK read at their start.
static const char variables[] =
    "JAVA* JDK_* _JAVA* CLASSPATH LD_* LANG LANGUAGE LC_* NLSPATH";

static jvmti_environment *tool;
static struct jni_functions *original, *own; // the JVM's functions, and the agent's copy
static char *imports, *record;
static bool has_waited;
static method_id main_method;

/// The words of the prewarm's command, without this agent's.
static char *words[1024];
static int word_count;

/// A process that was not prepared as the daemon prepares it must not run anything.
static _Noreturn void give_up(const char *message) {
    dprintf(2, "greenroom: %s\n", message);
    _exit(72);
}

static bool read_words(void) {
    static char text[1 << 18];
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof text);
    if (file >= 0) close(file);
    if (size <= 0 || size == sizeof text) return false;
    for (char *word = text; word < text + size; word += strlen(word) + 1) {
        if (strncmp(word, "-agentpath:", 11) == 0 && strstr(word, "/libgreenroom-jvm.so")) continue;
        if (word_count == sizeof words / sizeof words[0]) return false;
        words[word_count++] = word;
    }
    return true;
}

/// Whether an exception was thrown; clears it.
static bool has_failed(jni_environment *env) {
    if (!original->exception_check(env)) return false;
    original->exception_clear(env);
    return true;
}

static object call_static(jni_environment *env, const char *class_name, const char *name,
                          const char *signature, object one, object two) {
    object result = NULL;
    object class = original->find_class(env, class_name);
    method_id method =
        class ? original->get_static_method_id(env, class, name, signature) : NULL;
    if (method) result = original->call_static_object_method(env, class, method, one, two);
    return has_failed(env) ? NULL : result;
}

/// The value of a system property, which the caller frees; null if it has none.
static char *property(jni_environment *env, const char *name) {
    object value = call_static(env, "java/lang/System", "getProperty",
                               "(Ljava/lang/String;)Ljava/lang/String;",
                               original->new_string_utf(env, name), NULL);
    if (!value) return NULL;
    const char *text = original->get_string_utf_chars(env, value, NULL);
    char *copy = text ? strdup(text) : NULL;
    if (text) original->release_string_utf_chars(env, value, text);
    return copy;
}

static void set_property(jni_environment *env, const char *name, object value) {
    call_static(env, "java/lang/System", "setProperty",
                "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;",
                original->new_string_utf(env, name), value);
}

static object bytes_of(jni_environment *env, const char *text) {
    int size = (int)strlen(text);
    object bytes = original->new_byte_array(env, size);
    if (bytes) original->set_byte_array_region(env, bytes, 0, size, (const signed char *)text);
    return bytes;
}

/// Converts text in the way in which the launcher converts the words of its command line for Java.
static object platform_string(jni_environment *env, const char *text) {
    object result = NULL;
    object class = original->find_class(env, "sun/launcher/LauncherHelper");
    method_id method = class ? original->get_static_method_id(env, class, "makePlatformString",
                                                              "(Z[B)Ljava/lang/String;")
                             : NULL;
    if (method)
        result = original->call_static_object_method(env, class, method, 1, bytes_of(env, text));
    return has_failed(env) ? NULL : result;
}

// --- What is loaded, and from where.

/// Whether the class's initialization has no effect but a faster start.
static bool may_be_initialized(const char *name) {
    // The common pool counts the processors, which the launch's affinity may change.
    if (strncmp(name, "java.util.concurrent.ForkJoin", 29) == 0) return false;
    static const char *const packages[] = {
        "java.lang.invoke.", "java.util.regex.", "java.util.concurrent.", "java.util.stream.",
        "java.util.zip.",    "java.text.",       "java.math.",
    };
    for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++)
        if (strncmp(name, packages[i], strlen(packages[i])) == 0) return true;
    return false;
}

/// GREENROOM_IMPORTS: names of classes. After "!", a class is initialized too.
static void load_imports(jni_environment *env) {
    object loader = call_static(env, "java/lang/ClassLoader", "getSystemClassLoader",
                                "()Ljava/lang/ClassLoader;", NULL, NULL);
    object class = original->find_class(env, "java/lang/Class");
    method_id for_name = original->get_static_method_id(
        env, class, "forName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
    if (!loader || !for_name) give_up("this JVM has no class loader");
    char *rest = NULL;
    for (char *name = strtok_r(imports, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
        bool initializes = *name == '!' && may_be_initialized(name + 1);
        if (*name == '!') name++;
        object text = original->new_string_utf(env, name);
        object loaded = original->call_static_object_method(env, class, for_name, text,
                                                            (int)initializes, loader);
        if (has_failed(env)) give_up(name);
        original->delete_local_ref(env, text);
        original->delete_local_ref(env, loaded);
    }
}

/// Watches the file of a class that may have been loaded from this folder, and the file's folder.
static void watch_class(const char *folder, const char *name) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length + sizeof ".class" > sizeof path) give_up("a long name");
    for (char *at = path + strlen(folder); *at; at++)
        if (*at == '.') *at = '/';
    strcpy(path + length, ".class");
    files_watch(path);
    *strrchr(path, '/') = 0;
    files_watch(path);
}

static void watch_classes(const char *folder) {
    struct stat status;
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) return;
    watch_class(folder, words[word_count - 1]);
    if (!imports) return;
    char *copy = strdup(imports), *rest = NULL;
    for (char *name = strtok_r(copy, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
        watch_class(folder, *name == '!' ? name + 1 : name);
    free(copy);
}

/// The class path must not depend on the working directory, which the launch changes.
static void watch_class_path(jni_environment *env) {
    char *path = property(env, "java.class.path"), *rest = NULL;
    if (!path || !*path) give_up("the class path is the working directory");
    if (*path == ':' || path[strlen(path) - 1] == ':' || strstr(path, "::"))
        give_up("an entry of the class path is empty");
    for (char *entry = strtok_r(path, ":", &rest); entry; entry = strtok_r(NULL, ":", &rest)) {
        if (*entry != '/') give_up("an entry of the class path is not absolute");
        files_watch(entry);
        watch_classes(entry);
    }
    free(path);
}

/// Archives that are open: the JDK's, and those of the class path from which something was loaded.
static void watch_open_files(void) {
    DIR *folder = opendir("/proc/self/fd");
    int number = folder ? dirfd(folder) : -1;
    if (number < 0) give_up("/proc is not mounted");
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        struct stat status;
        ssize_t length = readlinkat(number, entry->d_name, path, sizeof path - 1);
        // The standard streams are those of the pause, not of the launch, and may be files.
        if (length <= 0 || atoi(entry->d_name) <= 2) continue;
        if (fstat(atoi(entry->d_name), &status) != 0) continue;
        path[length] = 0;
        if (path[0] == '/' && S_ISREG(status.st_mode)) files_watch(path);
    }
    closedir(folder);
}

// --- The launch.

static bool set_static_text(jni_environment *env, const char *class_name, const char *name,
                            object value) {
    object class = original->find_class(env, class_name);
    field_id field = class
        ? original->get_static_field_id(env, class, name, "Ljava/lang/String;") : NULL;
    if (field) original->set_static_object_field(env, class, field, value);
    return !has_failed(env) && field;
}

static bool set_field(jni_environment *env, object holder, const char *name, const char *signature,
                      object value) {
    object class = original->get_object_class(env, holder);
    field_id field = original->get_field_id(env, class, name, signature);
    if (field) original->set_object_field(env, holder, field, value);
    return !has_failed(env) && field;
}

/// The file system of java.io.File, whose field was renamed in a later version.
static object file_system(jni_environment *env) {
    object class = original->find_class(env, "java/io/File");
    const char *signature = "Ljava/io/FileSystem;";
    field_id field = original->get_static_field_id(env, class, "fs", signature);
    if (has_failed(env)) field = original->get_static_field_id(env, class, "FS", signature);
    if (has_failed(env) || !field) return NULL;
    return original->get_static_object_field(env, class, field);
}

/// Java has stored the working directory in four places at its start.
static bool set_working_directory(jni_environment *env) {
    char path[4096];
    if (!getcwd(path, sizeof path) || path[0] != '/') return false;
    object text = platform_string(env, path), files = file_system(env);
    object system = call_static(env, "java/nio/file/FileSystems", "getDefault",
                                "()Ljava/nio/file/FileSystem;", NULL, NULL);
    if (!text || !files || !system) return false;
    set_property(env, "user.dir", text);
    return set_static_text(env, "jdk/internal/util/StaticProperty", "USER_DIR", text)
        && set_field(env, files, "userDir", "Ljava/lang/String;", text)
        && set_field(env, system, "defaultDirectory", "[B", bytes_of(env, path));
}

/// The launcher puts the program's words into a property.
static bool set_command(jni_environment *env) {
    char *command = property(env, "sun.java.command");
    if (!command) return false;
    size_t size = strlen(command) + 1;
    for (int i = word_count; i < launch_argc; i++) size += strlen(launch_argv[i]) + 1;
    char *whole = malloc(size);
    char *end = whole ? stpcpy(whole, command) : NULL;
    for (int i = word_count; end && i < launch_argc; i++)
        end = stpcpy(stpcpy(end, " "), launch_argv[i]);
    object text = whole ? platform_string(env, whole) : NULL;
    if (text) set_property(env, "sun.java.command", text);
    free(whole);
    free(command);
    return text;
}

/// At its start, Java stores the encoding of each output stream that is a terminal.
static void set_terminals(jni_environment *env) {
    char *encoding = property(env, "sun.jnu.encoding");
    static const char *const names[] = {[1] = "sun.stdout.encoding", [2] = "sun.stderr.encoding"};
    for (int number = 1; encoding && number <= 2; number++)
        if (isatty(number))
            set_property(env, names[number], original->new_string_utf(env, encoding));
    free(encoding);
}

static void become(jni_environment *env) {
    for (int i = 1; i < word_count; i++)
        if (i >= launch_argc || strcmp(words[i], launch_argv[i]) != 0)
            launch_start_anew(GR_ANEW_OPTIONS);
    if (!variables_are_equal(variables)) launch_start_anew(GR_ANEW_ENVIRONMENT);
    if (!files_are_unchanged()) launch_start_anew(GR_ANEW_CHANGED);
    if (!set_working_directory(env) || !set_command(env)) launch_start_anew(GR_ANEW_FAILED);
    set_terminals(env);
    // The JVM does the same at its start.
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    launch_resume();
}

// --- What the launcher calls.

/// The launcher looks up the program's `main`, which initializes its class: the user's code may run.
static method_id get_static_method_id(jni_environment *env, object class, const char *name,
                                      const char *signature) {
    bool is_main = !has_waited && strcmp(name, "main") == 0
        && strcmp(signature, "([Ljava/lang/String;)V") == 0;
    if (is_main) {
        has_waited = true;
        watch_class_path(env);
        if (imports) load_imports(env);
        watch_open_files();
        if (!launch_wait()) give_up("nobody waits for this process");
        become(env);
    }
    method_id method = original->get_static_method_id(env, class, name, signature);
    if (is_main) main_method = method;
    return method;
}

/// The launcher calls `main` with the prewarm's arguments, of which there are none.
static void call_static_void_method(jni_environment *env, object class, method_id method, ...) {
    if (!main_method || method != main_method) {
        va_list arguments;
        va_start(arguments, method);
        original->call_static_void_method_v(env, class, method, arguments);
        va_end(arguments);
        return;
    }
    main_method = NULL;
    (*tool)->set_jni_function_table(tool, original);
    object text = original->find_class(env, "java/lang/String");
    object array = original->new_object_array(env, launch_argc - word_count, text, NULL);
    for (int i = word_count; i < launch_argc; i++) {
        object argument = platform_string(env, launch_argv[i]);
        original->set_object_array_element(env, array, i - word_count, argument);
        original->delete_local_ref(env, argument);
    }
    original->call_static_void_method(env, class, method, array);
}

// --- Recording.

/// The name of a class as Class.forName takes it; null if it is not a plain class.
static char *name_of(object class) {
    char *signature = NULL, *name = NULL;
    if ((*tool)->get_class_signature(tool, class, &signature, NULL) != 0) return NULL;
    // A hidden class has a dot in its signature, an array begins with a bracket, and a generated
    // class has another name in each run.
    if (signature[0] == 'L' && !strchr(signature, '.') && !strstr(signature, "$Proxy")
        && !strstr(signature, "Generated") && !strstr(signature, "$$"))
        name = strndup(signature + 1, strlen(signature) - 2);
    for (char *at = name; at && *at; at++)
        if (*at == '/') *at = '.';
    (*tool)->deallocate(tool, (unsigned char *)signature);
    return name;
}

/// Writes the names of the classes that the loaders of the JVM, of the platform and of the
/// application have loaded.
static void end(jvmti_environment *environment, jni_environment *env) {
    (void)environment;
    int count;
    object *classes;
    object application = call_static(env, "java/lang/ClassLoader", "getSystemClassLoader",
                                     "()Ljava/lang/ClassLoader;", NULL, NULL);
    object platform = call_static(env, "java/lang/ClassLoader", "getPlatformClassLoader",
                                  "()Ljava/lang/ClassLoader;", NULL, NULL);
    if ((*tool)->get_loaded_classes(tool, &count, &classes) != 0) return;
    FILE *file = fopen(record, "we");
    for (int i = 0; file && i < count; i++) {
        object loader = NULL;
        int status = 0;
        char *name = name_of(classes[i]);
        (*tool)->get_class_loader(tool, classes[i], &loader);
        (*tool)->get_class_status(tool, classes[i], &status);
        bool is_known = !loader || original->is_same_object(env, loader, application)
            || original->is_same_object(env, loader, platform);
        bool is_initialized = status & CLASS_IS_INITIALIZED;
        if (name && is_known)
            fprintf(file, "%s%s\n", is_initialized && may_be_initialized(name) ? "!" : "", name);
        free(name);
    }
    if (file) fclose(file);
    (*tool)->deallocate(tool, (unsigned char *)classes);
}

static void start(jvmti_environment *environment, jni_environment *env, object thread) {
    (void)environment;
    (void)env;
    (void)thread;
    if ((*tool)->get_jni_function_table(tool, &original) != 0
        || (*tool)->get_jni_function_table(tool, &own) != 0)
        give_up("this JVM does not show its functions");
    own->get_static_method_id = get_static_method_id;
    own->call_static_void_method = call_static_void_method;
    (*tool)->set_jni_function_table(tool, own);
}

/// The JVM calls this when it has loaded the library.
EXPORT int Agent_OnLoad(java_vm *vm, char *options, void *reserved);
EXPORT int Agent_OnLoad(java_vm *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    imports = launch_take_variable("GREENROOM_IMPORTS");
    record = launch_take_variable("GREENROOM_RECORD");
    if (!read_words()) give_up("the command line is too long");
    if ((*vm)->get_environment(vm, (void **)&tool, TOOL_INTERFACE) != 0) return -1;
    struct jvmti_events events = {.start = start, .end = record ? end : NULL};
    (*tool)->set_event_callbacks(tool, &events, sizeof events);
    (*tool)->set_event_notification_mode(tool, true, EVENT_START, NULL);
    if (record) (*tool)->set_event_notification_mode(tool, true, EVENT_END, NULL);
    return 0;
}
