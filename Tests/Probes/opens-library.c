/// Opens a library after main, as programs open plug-ins. With -DLIBRARY, the library, whose
/// constructor can also do something for which it must not be opened early: -DCALLS_BACK,
/// -DOPENS_FILE, -DSTARTS_THREAD, -DENDS_THREAD, -DSTARTS_PROGRAM, -DENDS, -DUNBOUND. The
/// constructor reads the number OPENED_AS; the default is -DNUMBER. With PROBE_WAITS in its
/// environment, the program then waits for the end of its input. With PROBE_ALSO, it also opens the
/// library that the variable names.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef LIBRARY
#ifndef NUMBER
#define NUMBER 1
#endif
static int opened_by; // the process that ran the constructor, and how often it did
static void say_end(void) { printf("the library ends\n"); }
int probe_of_program(void);
void probe_of_nobody(void); // nowhere defined, so the library can be opened only if bound lazily
static void *wait_for_ever(void *nothing) {
    for (;;) pause();
    return nothing;
}

static void *end_at_once(void *nothing) {
    return nothing;
}

__attribute__((constructor)) static void open_library(void) {
    const char *number = getenv("OPENED_AS");
    opened_by += number ? atoi(number) : NUMBER;
    atexit(say_end);
#ifdef CALLS_BACK
    opened_by += probe_of_program();
#endif
#ifdef UNBOUND
    if (opened_by < 0) probe_of_nobody();
#endif
#ifdef OPENS_FILE
    open("/dev/null", O_RDONLY);
#endif
#ifdef STARTS_THREAD
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
#else
    (void)wait_for_ever;
#endif
#ifdef ENDS_THREAD
    // Nobody waits for this thread, so the kernel may still count it when the library is open.
    pthread_t brief;
    if (pthread_create(&brief, NULL, end_at_once, NULL) == 0) pthread_detach(brief);
#else
    (void)end_at_once;
#endif
#ifdef STARTS_PROGRAM
    if (fork() == 0) execl("/bin/true", "true", NULL);
#endif
#ifdef ENDS
    if (!getenv("PROBE_STAYS")) _exit(3);
#endif
}
int probe_opened(void) { return opened_by; }
#else
int probe_of_program(void) { return 0; } // exported only with -rdynamic
static void say_program_end(void) { printf("the program ends\n"); }
__attribute__((destructor)) static void say_last(void) { printf("the executable is finalized\n"); }

int main(int argc, char **argv) {
    const char *path = argv[argc - 1];
    // Looks where everybody can see the library, because the loader would have bound the program's
    // own symbols to it.
    printf("global: %d\n", dlsym(RTLD_DEFAULT, "probe_opened") != NULL);
    dlerror();
    if (argc > 2) printf("before: %d\n", dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL);
    const char *error = dlerror();
    printf("error: %s\n", argc > 2 || !error ? "none" : error);
    void *library = dlopen(path, RTLD_LAZY);
    if (getenv("PROBE_ALSO")) dlopen(getenv("PROBE_ALSO"), RTLD_LAZY);
    atexit(say_program_end);
    int (*opened)(void) = library ? (int (*)(void))dlsym(library, "probe_opened") : NULL;
    printf("opened: %d, argument: %s, LIST=%s\n", opened ? opened() : -1, argv[1],
           getenv("GREENROOM_LIBRARIES") ? "set" : "");
    fflush(stdout);
    while (getenv("PROBE_WAITS") && getchar() != EOF) {}
    return 0;
}
#endif
