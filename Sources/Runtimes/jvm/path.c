#define _GNU_SOURCE
#include "path.h"
#include "java.h"

#include "../library/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/// At most this many entries; the launch compares each.
enum { ENTRIES = 1024 };
static char *entries[ENTRIES];
static bool is_folder[ENTRIES];
static int entry_count;

static struct timespec start;

__attribute__((constructor)) static void note_start(void) {
    clock_gettime(CLOCK_REALTIME_COARSE, &start);
}

static int digit(char character) {
    const char *digits = "0123456789abcdef", *found;
    if (character >= 'A' && character <= 'F') character += 'a' - 'A';
    found = character ? strchr(digits, character) : NULL;
    return found ? (int)(found - digits) : -1;
}

/// The path of a URL such as `file:/a%20b`, in place; null if it is not a file's.
static char *path_of_url(char *url) {
    if (!url || strncmp(url, "file:/", 6) != 0) return NULL;
    char *path = url + 5;
    if (strncmp(path, "//", 2) == 0) path += 2;
    if (*path != '/' || path[1] == '/') return NULL;
    char *end = path;
    for (char *at = path; *at; at++) {
        int high = *at == '%' ? digit(at[1]) : -1, low = high < 0 ? -1 : digit(at[2]);
        *end++ = low < 0 ? *at : (char)(high << 4 | low);
        if (low >= 0) at += 2;
    }
    *end = 0;
    return path;
}

static void add_entry(const char *path) {
    for (int i = 0; i < entry_count; i++)
        if (strcmp(entries[i], path) == 0) return;
    char *copy = entry_count < ENTRIES ? strdup(path) : NULL;
    if (!copy) give_up("the class path is too long");
    struct stat status;
    is_folder[entry_count] = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    entries[entry_count++] = copy;
    files_watch(path);
}

static void add_urls(jni_environment *env, object urls) {
    int count = urls ? original->get_array_length(env, urls) : 0;
    for (int i = 0; i < count; i++) {
        object url = original->get_object_array_element(env, urls, i);
        object external = call(env, url, "toExternalForm", "()Ljava/lang/String;");
        char *text = text_of(env, external), *path = path_of_url(text);
        if (!path) give_up("an entry of the class path is not a file");
        add_entry(path);
        free(text);
        original->delete_local_ref(env, external);
        original->delete_local_ref(env, url);
    }
}

/// Adds the archives that the index of an archive names (META-INF/INDEX.LIST). If there is an
/// index, Java before version 21 looks in these archives, and not in those of `Class-Path:`.
static void add_index(jni_environment *env, object index, object loader) {
    object url = call(env, field(env, loader, "csu", "Ljava/net/URL;"), "toExternalForm",
                      "()Ljava/lang/String;");
    char *text = text_of(env, url), *archive = path_of_url(text), place[PATH_SIZE];
    object names = call(env, field(env, index, "jarMap", "Ljava/util/HashMap;"), "keySet",
                        "()Ljava/util/Set;");
    object list = call(env, names, "toArray", "()[Ljava/lang/Object;");
    if (!archive || !list) give_up("this JVM does not show the index of an archive");
    int folder = (int)(strrchr(archive, '/') - archive + 1);
    int count = original->get_array_length(env, list);
    for (int i = 0; i < count; i++) {
        object one = original->get_object_array_element(env, list, i);
        char *name = text_of(env, one);
        if (!name || strpbrk(name, ":%?#")
            || snprintf(place, PATH_SIZE, "%.*s%s", *name == '/' ? 0 : folder, archive, name)
                >= PATH_SIZE)
            give_up("the index of an archive names something else than files");
        add_entry(place);
        free(name);
        original->delete_local_ref(env, one);
    }
    free(text);
}

/// Checks the class path that java(1) was given: the JVM's own list has made relative entries
/// absolute.
static void check_property(jni_environment *env) {
    object name = original->new_string_utf(env, "java.class.path");
    object value = call_static(env, "java/lang/System", "getProperty",
                               "(Ljava/lang/String;)Ljava/lang/String;", name, NULL);
    char *path = text_of(env, value);
    if (!path || !*path) give_up("the class path is the working directory");
    for (char *entry = path; entry; entry = strchr(entry, ':') ? strchr(entry, ':') + 1 : NULL)
        if (*entry != '/') give_up("an entry of the class path is not absolute");
    free(path);
}

void path_read(jni_environment *env) {
    if (original->push_local_frame(env, 64) != 0) give_up("no memory");
    entry_count = 0;
    check_property(env);
    object path = field(env, system_loader(env), "ucp", "Ljdk/internal/loader/URLClassPath;");
    object all = call(env, path, "getURLs", "()[Ljava/net/URL;");
    object loaders = call(env, field(env, path, "loaders", "Ljava/util/ArrayList;"), "toArray",
                          "()[Ljava/lang/Object;");
    if (!all || !loaders) give_up("this JVM does not show its class path");
    add_urls(env, all);
    // Also adds the entries that each opened archive names. The JVM passes over an entry that does
    // not exist, and has it in no list.
    int count = original->get_array_length(env, loaders);
    for (int i = 0; i < count; i++) {
        object loader = original->get_object_array_element(env, loaders, i);
        object index = field(env, loader, "index", "Ljdk/internal/util/jar/JarIndex;");
        if (index) add_index(env, index, loader);
        add_urls(env, call(env, loader, "getClassPath", "()[Ljava/net/URL;"));
    }
    original->pop_local_frame(env, NULL);
}

/// The file of a class in that folder; false if the path is too long.
static bool class_file(char path[PATH_SIZE], const char *folder, const char *name) {
    int length = snprintf(path, PATH_SIZE, "%s/%s.class", folder, name);
    if (length < 0 || length >= PATH_SIZE) return false;
    for (char *at = path + strlen(folder); at < path + length - 6; at++)
        if (*at == '.') *at = '/';
    return true;
}

void path_watch_class(const char *name) {
    char path[PATH_SIZE];
    for (int i = 0; i < entry_count; i++) {
        if (!is_folder[i]) continue;
        if (!class_file(path, entries[i], name)) give_up("a long name");
        files_watch(path);
    }
}

bool path_has_written(const char *name) {
    char path[PATH_SIZE];
    for (int i = 0; i < entry_count; i++) {
        struct stat status;
        if (!is_folder[i] || !class_file(path, entries[i], name) || stat(path, &status) != 0)
            continue;
        if (status.st_ctim.tv_sec > start.tv_sec
            || (status.st_ctim.tv_sec == start.tv_sec && status.st_ctim.tv_nsec >= start.tv_nsec))
            return true;
    }
    return false;
}

char *path_of_source(jni_environment *env, object class, bool *is_signed) {
    object domain = call(env, class, "getProtectionDomain", "()Ljava/security/ProtectionDomain;");
    object source = call(env, domain, "getCodeSource", "()Ljava/security/CodeSource;");
    object url = call(env, source, "getLocation", "()Ljava/net/URL;");
    *is_signed = call(env, source, "getCodeSigners", "()[Ljava/security/CodeSigner;");
    char *text = text_of(env, call(env, url, "toExternalForm", "()Ljava/lang/String;"));
    char *place = path_of_url(text), *path = place ? strdup(place) : NULL;
    free(text);
    // The URL of a folder ends with a slash.
    for (size_t end = path ? strlen(path) : 0; end > 1 && path[end - 1] == '/'; end--)
        path[end - 1] = 0;
    return path;
}

void path_of_file(char path[PATH_SIZE], const char *source, const char *name) {
    struct stat status;
    bool is_in_folder = stat(source, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_in_folder ? !class_file(path, source, name)
                     : snprintf(path, PATH_SIZE, "%s", source) >= PATH_SIZE)
        give_up("a long name");
}
