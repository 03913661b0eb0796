/// The extension module `_greenroom` of python/sitecustomize.py, for every CPython from 3.8 on.
///
/// The stable ABI has no function to exchange the program that the interpreter is about to run.
/// Its name is in the interpreter's PyConfig, whose layout changes with each minor version, so it is
/// found by content: `run_filename` points to the placeholder's name, `run_module` and `run_command`
/// are in the two words before it, and `argv` is the list of one item that is the same name.
#include "runtime.h"

#include <stdint.h>
#include <string.h>
#include <wchar.h>

typedef struct object object;
typedef intptr_t count;

WEAK object *PyModule_Create2(void *definition, int api);
WEAK object *PyList_New(count size);
WEAK int PyList_Append(object *list, object *item);
WEAK object *PyBytes_FromString(const char *text);
WEAK object *PyBool_FromLong(long value);
WEAK void Py_DecRef(object *value);
WEAK int PyArg_ParseTuple(object *arguments, const char *format, ...);
WEAK object *Py_BuildValue(const char *format, ...);
WEAK void *PyMem_RawMalloc(size_t size);
WEAK void PyMem_Free(void *memory);
WEAK wchar_t *PyUnicode_AsWideCharString(object *text, count *size);
WEAK void *PyInterpreterState_Get(void);
WEAK void *_PyInterpreterState_Get(void); // 3.8
WEAK const void *_PyInterpreterState_GetConfig(void *interpreter);

/// The size of PyConfig is at most this, and so is that of the interpreter's state, which is
/// searched where no function returns PyConfig.
#define CONFIGURATION_SIZE 1024
#define INTERPRETER_SIZE (1 << 20)
/// The longest name of a placeholder, in characters.
#define NAME_LIMIT 4096

static struct {
    wchar_t **filename; // run_filename; run_module and run_command are before it
    wchar_t ***arguments; // the items of argv
} place;

static bool points_to(uintptr_t address, const wchar_t *text) {
    static wchar_t copy[NAME_LIMIT];
    size_t size = (wcslen(text) + 1) * sizeof *text;
    return size <= sizeof copy && launch_read_memory((void *)address, copy, size)
        && memcmp(copy, text, size) == 0;
}

static void search(char *start, size_t size, const wchar_t *name) {
    for (size_t i = 0; i + 2 * sizeof(void *) <= size; i += sizeof(void *)) {
        uintptr_t words[2], item;
        if (!launch_read_memory(start + i, words, sizeof words)) return;
        if (!place.filename && points_to(words[0], name)) place.filename = (void *)(start + i);
        if (!place.arguments && words[0] == 1 && launch_read_memory((void *)words[1], &item, sizeof item)
            && points_to(item, name))
            place.arguments = (void *)(start + i + sizeof words[0]);
    }
}

/// find(name) -> whether the interpreter's program, which has that name, can be exchanged
static object *find(object *self, object *arguments) {
    (void)self;
    object *text;
    if (!PyArg_ParseTuple(arguments, "U", &text)) return NULL;
    wchar_t *name = PyUnicode_AsWideCharString(text, NULL);
    if (!name) return NULL;
    void *interpreter =
        PyInterpreterState_Get ? PyInterpreterState_Get() : _PyInterpreterState_Get();
    const void *configuration =
        _PyInterpreterState_GetConfig ? _PyInterpreterState_GetConfig(interpreter) : NULL;
    if (configuration)
        search((char *)configuration, CONFIGURATION_SIZE, name);
    else
        search(interpreter, INTERPRETER_SIZE, name);
    PyMem_Free(name);
    return PyBool_FromLong(launch_is_possible() && place.filename && place.arguments
                           && !place.filename[-1] && !place.filename[-2]);
}

/// A copy that the interpreter may free at its end.
static wchar_t *copy_of(object *text) {
    wchar_t *wide = PyUnicode_AsWideCharString(text, NULL);
    if (!wide) return NULL;
    size_t size = (wcslen(wide) + 1) * sizeof *wide;
    wchar_t *copy = memcpy(PyMem_RawMalloc(size), wide, size);
    PyMem_Free(wide);
    return copy;
}

/// become(kind, value, argument): the program is a file ("f"), a module ("m"), a command ("c"), or
/// standard input ("-"); `argument` is its argv[0]. Then the process goes on as the launch.
static object *become(object *self, object *arguments) {
    (void)self;
    const char *kind;
    object *value, *argument;
    if (!PyArg_ParseTuple(arguments, "sUU", &kind, &value, &argument)) return NULL;
    wchar_t *first = copy_of(argument), *text = *kind == '-' ? NULL : copy_of(value);
    if (!first || (*kind != '-' && !text)) return NULL;
    place.filename[0] = *kind == 'f' ? text : NULL;
    place.filename[-1] = *kind == 'm' ? text : NULL;
    place.filename[-2] = *kind == 'c' ? text : NULL;
    // From now on, only the first item is read: it decides sys.path[0].
    (*place.arguments)[0] = first;
    launch_go_on();
    return PyBool_FromLong(1);
}

/// start_anew(reason): does not return
static object *start_anew(object *self, object *arguments) {
    (void)self;
    int reason;
    if (!PyArg_ParseTuple(arguments, "i", &reason)) return NULL;
    launch_start_anew((enum gr_anew_reason)reason);
}

/// send(path, text): sends the text to the daemon's socket of that name. If that fails, the daemon
/// learns nothing from this launch.
static object *send_text(object *self, object *arguments) {
    (void)self;
    const char *path, *text;
    if (!PyArg_ParseTuple(arguments, "ss", &path, &text)) return NULL;
    launch_send(path, text);
    return PyBool_FromLong(1);
}

static object *list_of(char **words) {
    object *list = PyList_New(0);
    for (; list && *words; words++) {
        object *word = PyBytes_FromString(*words);
        if (!word) return NULL;
        PyList_Append(list, word);
        Py_DecRef(word);
    }
    return list;
}

/// wait() -> (words, variables) of the launch as bytes, or None if this process is not prewarmed
static object *wait_for_launch(object *self, object *arguments) {
    (void)self, (void)arguments;
    if (!launch_wait()) return Py_BuildValue("");
    return Py_BuildValue("(NN)", list_of(launch_argv), list_of(launch_environment));
}

/// PyMethodDef, PyModuleDef: fixed by the stable ABI.
struct method {
    const char *name;
    object *(*function)(object *, object *);
    int flags;
    const char *documentation;
};
enum { METH_VARARGS = 1, API_VERSION = 3 };

static struct method methods[] = {{"find", find, METH_VARARGS, NULL},
                                  {"wait", wait_for_launch, METH_VARARGS, NULL},
                                  {"become", become, METH_VARARGS, NULL},
                                  {"start_anew", start_anew, METH_VARARGS, NULL},
                                  {"send", send_text, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static struct {
    count references;
    void *type, *initializer;
    count index;
    void *copy;
    const char *name, *documentation;
    count state_size;
    struct method *methods;
    void *slots, *traverse, *clear, *free;
} definition = {.references = 1, .name = "_greenroom", .state_size = -1, .methods = methods};

EXPORT object *PyInit__greenroom(void);
EXPORT object *PyInit__greenroom(void) {
    return PyModule_Create2(&definition, API_VERSION);
}
