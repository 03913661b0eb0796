// A program with a library (-DLIBRARY) that starts a thread before main. The thread counts in the shared file that the
// variable COUNT names, for as long as it runs. The program prints "main" and waits.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef LIBRARY

static void *count(void *page) {
    for (;;) __atomic_add_fetch((unsigned long *)page, 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    char *path = getenv("COUNT");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED || pthread_create(&thread, NULL, count, page) != 0) _exit(6);
}

#else

int main(void) {
    (void)!write(1, "main\n", 5);
    for (;;) pause();
}

#endif
