/// Pauses a JVM between its start and its program, for Greenroom.
///
/// The daemon runs `java [OPTIONS] -agentpath:THIS_LIBRARY -jar JAR`, or with the name of a class,
/// and no arguments. The launcher starts the JVM, loads the main class without initializing it, and
/// looks up its method `main`. There this agent loads what GREENROOM_IMPORTS lists and waits for a
/// launch. The launch's words must be the same up to the JAR or class; the words after it are the
/// arguments of `main`. If the program could notice a difference from a direct call, the launcher
/// is executed anew with the launch's words in the same process. With the option `inspect`, it only
/// finds out which classes may be loaded there (inspect.c).
#define _GNU_SOURCE
#include "classes.h"
#include "java.h"
#include "path.h"

#include "../library/files.h"
#include "../library/runtime.h"
#include "../library/variables.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/// The variables that the launcher, the JVM and the JDK read at their start.
static const char variables[] =
    "JAVA* JDK_* _JAVA* CLASSPATH LD_* LANG LANGUAGE LC_* NLSPATH";

static struct jni_functions *own; // the agent's copy of the JVM's functions
static char *imports, *record;
static bool is_inspection, has_waited;
static int report; // of an inspection
static method_id main_method;

/// The words of the prewarm's command, without this agent's.
static char *words[1024];
static int word_count;

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

/// The value of a system property, which the caller frees; null if it has none.
static char *property(jni_environment *env, const char *name) {
    object value = call_static(env, "java/lang/System", "getProperty",
                               "(Ljava/lang/String;)Ljava/lang/String;",
                               original->new_string_utf(env, name), NULL);
    return text_of(env, value);
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

// --- Which files were read.

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
    launch_go_on();
}

// --- What the launcher calls.

/// The launcher looks up the program's `main`, which initializes its class: the user's code may
/// run.
static method_id get_static_method_id(jni_environment *env, object class, const char *name,
                                      const char *signature) {
    bool is_main = !has_waited && strcmp(name, "main") == 0
        && strcmp(signature, "([Ljava/lang/String;)V") == 0;
    if (is_main) {
        has_waited = true;
        if (is_inspection) classes_inspect(env, class, report);
        if (imports) classes_import(env, imports);
        path_read(env);
        classes_watch(env);
        watch_open_files();
        if (record) classes_note(env);
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

// --- What the JVM calls.

static void end(jvmti_environment *environment, jni_environment *env) {
    (void)environment;
    classes_record(env, record);
}

/// An archive may name an agent, whose code the launcher runs before `main`.
static void check_archive(jni_environment *env) {
    int place = 1;
    while (place < word_count && strcmp(words[place], "-jar") != 0) place++;
    if (place + 1 >= word_count) return;
    object class = original->find_class(env, "java/util/jar/JarFile");
    method_id make = original->get_method_id(env, class, "<init>", "(Ljava/lang/String;)V");
    object archive =
        original->new_object(env, class, make, platform_string(env, words[place + 1]));
    if (has_failed(env)) return; // the launcher says so better
    object manifest = call(env, archive, "getManifest", "()Ljava/util/jar/Manifest;");
    object attributes = call(env, manifest, "getMainAttributes", "()Ljava/util/jar/Attributes;");
    object names = call(env, call(env, attributes, "keySet", "()Ljava/util/Set;"), "toString",
                        "()Ljava/lang/String;");
    char *text = text_of(env, names);
    if (text && strcasestr(text, "Launcher-Agent-Class")) give_up("the archive names an agent");
    free(text);
    original->call_void_method(env, archive, original->get_method_id(env, class, "close", "()V"));
}

static void start(jvmti_environment *environment, jni_environment *env, object thread) {
    (void)environment;
    (void)thread;
    if ((*tool)->get_jni_function_table(tool, &original) != 0
        || (*tool)->get_jni_function_table(tool, &own) != 0)
        give_up("this JVM does not show its functions");
    own->get_static_method_id = get_static_method_id;
    own->call_static_void_method = call_static_void_method;
    check_archive(env);
    (*tool)->set_jni_function_table(tool, own);
}

/// What the JVM prints must not come into the report. The process runs only when nobody else does.
static bool become_inspection(void) {
    report = fcntl(1, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}); // its threads inherit that
    return report >= 0 && null >= 0 && dup2(null, 1) == 1;
}

/// The JVM calls this when it has loaded the library.
EXPORT int Agent_OnLoad(java_vm *vm, char *options, void *reserved);
EXPORT int Agent_OnLoad(java_vm *vm, char *options, void *reserved) {
    (void)reserved;
    is_inspection = options && strcmp(options, "inspect") == 0;
    if (is_inspection && !become_inspection()) return -1;
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
