/// Opens the library that its first argument names, as programs open plug-ins: the libraries that it needs are in a scope
/// of their own. Then runs its main with the other arguments.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int, char **) = library ? (int (*)(int, char **))dlsym(library, "main") : NULL;
    if (run) return run(argc - 1, argv + 1);
    fprintf(stderr, "%s\n", dlerror());
    return 2;
}
