/// The functions of the JVM that the agent uses, in the layout of JNI and JVMTI, which has been the
/// same since their versions 1.2. The JDK's headers are not needed.
#ifndef GREENROOM_RUNTIME_JVM_INTERFACE_H
#define GREENROOM_RUNTIME_JVM_INTERFACE_H

#include <stdarg.h>
#include <stddef.h>

typedef void *object;
typedef void *method_id;
typedef void *field_id;

/// JNI Specification, chapter 4: the interface function table.
typedef const struct jni_functions *jni_environment;
struct jni_functions {
    void *unused_0[6];
    object (*find_class)(jni_environment *, const char *name);
    void *unused_7[4];
    unsigned char (*is_assignable_from)(jni_environment *, object class, object ancestor);
    void *unused_12[5];
    void (*exception_clear)(jni_environment *);
    void *unused_18;
    int (*push_local_frame)(jni_environment *, int capacity);
    object (*pop_local_frame)(jni_environment *, object result);
    object (*new_global_ref)(jni_environment *, object);
    void *unused_22;
    void (*delete_local_ref)(jni_environment *, object);
    unsigned char (*is_same_object)(jni_environment *, object, object);
    void *unused_25[3];
    object (*new_object)(jni_environment *, object class, method_id constructor, ...);
    void *unused_29[2];
    object (*get_object_class)(jni_environment *, object);
    void *unused_32;
    method_id (*get_method_id)(jni_environment *, object class, const char *name,
                               const char *signature);
    object (*call_object_method)(jni_environment *, object, method_id, ...);
    void *unused_35[26];
    void (*call_void_method)(jni_environment *, object, method_id, ...);
    void *unused_62[32];
    field_id (*get_field_id)(jni_environment *, object class, const char *name,
                             const char *signature);
    object (*get_object_field)(jni_environment *, object, field_id);
    void *unused_96[8];
    void (*set_object_field)(jni_environment *, object, field_id, object value);
    void *unused_105[8];
    method_id (*get_static_method_id)(jni_environment *, object class, const char *name,
                                      const char *signature);
    object (*call_static_object_method)(jni_environment *, object class, method_id, ...);
    void *unused_115[26];
    void (*call_static_void_method)(jni_environment *, object class, method_id, ...);
    void (*call_static_void_method_v)(jni_environment *, object class, method_id, va_list);
    void *unused_143;
    field_id (*get_static_field_id)(jni_environment *, object class, const char *name,
                                    const char *signature);
    object (*get_static_object_field)(jni_environment *, object class, field_id);
    void *unused_146[8];
    void (*set_static_object_field)(jni_environment *, object class, field_id, object value);
    void *unused_155[12];
    object (*new_string_utf)(jni_environment *, const char *text);
    void *unused_168;
    const char *(*get_string_utf_chars)(jni_environment *, object, unsigned char *is_copy);
    void (*release_string_utf_chars)(jni_environment *, object, const char *text);
    int (*get_array_length)(jni_environment *, object array);
    object (*new_object_array)(jni_environment *, int length, object class, object initial);
    object (*get_object_array_element)(jni_environment *, object array, int index);
    void (*set_object_array_element)(jni_environment *, object, int index, object element);
    void *unused_175;
    object (*new_byte_array)(jni_environment *, int length);
    void *unused_177[31];
    void (*set_byte_array_region)(jni_environment *, object, int start, int length,
                                  const signed char *bytes);
    void *unused_209[19];
    unsigned char (*exception_check)(jni_environment *);
};
_Static_assert(offsetof(struct jni_functions, exception_check) == 228 * sizeof(void *),
               "the table of JNI");

/// JVM Tool Interface, function index: a function's index in the table is its number less 1.
typedef const struct jvmti_functions *jvmti_environment;
struct jvmti_events {
    void (*start)(jvmti_environment *, jni_environment *, object thread); // VMInit
    void (*end)(jvmti_environment *, jni_environment *);                  // VMDeath
};
struct jvmti_functions {
    void *unused_0;
    int (*set_event_notification_mode)(jvmti_environment *, int mode, int event, object thread,
                                       ...);
    void *unused_2[44];
    int (*deallocate)(jvmti_environment *, unsigned char *memory);
    int (*get_class_signature)(jvmti_environment *, object class, char **signature, char **generic);
    int (*get_class_status)(jvmti_environment *, object class, int *status);
    void *unused_49[7];
    int (*get_class_loader)(jvmti_environment *, object class, object *loader);
    void *unused_57[20];
    int (*get_loaded_classes)(jvmti_environment *, int *count, object **classes);
    void *unused_78[41];
    int (*set_jni_function_table)(jvmti_environment *, const struct jni_functions *);
    int (*get_jni_function_table)(jvmti_environment *, struct jni_functions **);
    int (*set_event_callbacks)(jvmti_environment *, const struct jvmti_events *, int size);
};
_Static_assert(offsetof(struct jvmti_functions, set_event_callbacks) == 121 * sizeof(void *),
               "the table of JVMTI");

enum {
    TOOL_INTERFACE = 0x30010200, // JVMTI 1.2
    EVENT_START = 50,
    EVENT_END = 51,
    CLASS_IS_PREPARED = 2,
    CLASS_IS_INITIALIZED = 4,
};

/// JNI Specification, chapter 5: the invocation interface.
typedef const struct java_vm_functions *java_vm;
struct java_vm_functions {
    void *unused_0[6];
    int (*get_environment)(java_vm *, void **environment, int version);
};

#endif
