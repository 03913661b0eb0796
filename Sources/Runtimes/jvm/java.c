#define _GNU_SOURCE
#include "java.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

jvmti_environment *tool;
struct jni_functions *original;

_Noreturn void give_up(const char *message) {
    dprintf(2, "greenroom: %s\n", message);
    _exit(72);
}

bool has_failed(jni_environment *env) {
    if (!original->exception_check(env)) return false;
    original->exception_clear(env);
    return true;
}

object call_static(jni_environment *env, const char *class_name, const char *name,
                   const char *signature, object one, object two) {
    object result = NULL;
    object class = original->find_class(env, class_name);
    method_id method =
        class ? original->get_static_method_id(env, class, name, signature) : NULL;
    if (method) result = original->call_static_object_method(env, class, method, one, two);
    return has_failed(env) ? NULL : result;
}

object call(jni_environment *env, object holder, const char *name, const char *signature) {
    if (!holder) return NULL;
    object result = NULL, class = original->get_object_class(env, holder);
    method_id method = original->get_method_id(env, class, name, signature);
    if (method) result = original->call_object_method(env, holder, method);
    original->delete_local_ref(env, class);
    return has_failed(env) ? NULL : result;
}

object field(jni_environment *env, object holder, const char *name, const char *signature) {
    if (!holder) return NULL;
    object class = original->get_object_class(env, holder);
    field_id field = original->get_field_id(env, class, name, signature);
    original->delete_local_ref(env, class);
    return has_failed(env) || !field ? NULL : original->get_object_field(env, holder, field);
}

char *text_of(jni_environment *env, object text) {
    const char *bytes = text ? original->get_string_utf_chars(env, text, NULL) : NULL;
    char *copy = bytes ? strdup(bytes) : NULL;
    if (bytes) original->release_string_utf_chars(env, text, bytes);
    return copy;
}

object system_loader(jni_environment *env) {
    return call_static(env, "java/lang/ClassLoader", "getSystemClassLoader",
                       "()Ljava/lang/ClassLoader;", NULL, NULL);
}
