/// The declarations that the agent's parts share: the JVM's functions, and calls of Java methods.
#ifndef GREENROOM_RUNTIME_JVM_JAVA_H
#define GREENROOM_RUNTIME_JVM_JAVA_H

#include "interface.h"

#include <stdbool.h>

extern jvmti_environment *tool;
/// The JVM's own functions. The agent replaces some of them.
extern struct jni_functions *original;

/// Ends the process, because a process that was not prepared as the daemon prepares it must run
/// nothing.
_Noreturn void give_up(const char *message);

/// Whether an exception was thrown; clears it.
bool has_failed(jni_environment *);

/// The result of a static method; null if it throws.
object call_static(jni_environment *, const char *class_name, const char *name,
                   const char *signature, object one, object two);

/// The result of a method without parameters that returns an object; null if it throws, if there is
/// no such method, or if `holder` is null.
object call(jni_environment *, object holder, const char *name, const char *signature);

/// The value of a field; null if there is no such field.
object field(jni_environment *, object holder, const char *name, const char *signature);

/// A copy of a Java string, which the caller frees; null for null.
char *text_of(jni_environment *, object text);

object system_loader(jni_environment *);

#endif
