/* Preloaded into greenroomd: a machine with two processors, however many there are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

long sysconf(int name) {
    static long (*real)(int);
    if (name == _SC_NPROCESSORS_ONLN) return 2;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "sysconf");
    return real(name);
}
