/// An app that makes everybody wait who looks into its process: for a file whose server does not answer (stranger.c), in
/// the folder that the variable WITHHELD names.
///
/// memory: one thread holds the lock of all mappings while it waits for a page of the file, and another one waits for
/// the lock. Prints "here".
/// pause: the same, and then it pauses as an app made with an SDK does (greenroom-protocol(7)).
/// polls: a thread holds the lock of its epoll instance while it waits for the file. Prints "here".
/// prints: prints "here", and then a page of the file while it holds the lock of its standard output.
/// As a library of a program (-DLIBRARY): does what "memory" does after somebody has opened and closed the FIFO that the
/// variable GO names, and removes the FIFO.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../Sources/CPrewarm/wire.h"

static int withheld(const char *name) {
    char path[4096];
    const char *folder = getenv("WITHHELD");
    if (!folder) _exit(3);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        dprintf(2, "withhold: %s: %m\n", path);
        _exit(4);
    }
    return file;
}

static void *page;
static int poller, polled;
static _Atomic pid_t thread;
static _Atomic int is_touched;

static void rest(void) {
    struct timespec moment = {.tv_nsec = 1000000};
    nanosleep(&moment, NULL);
}

static void *touch(void *unused) {
    (void)unused;
    thread = gettid();
    *(volatile char *)page;
    return NULL;
}

static void *map(void *unused) {
    (void)unused;
    while (!is_touched) rest();
    thread = gettid();
    for (;;) {
        void *own = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(own, 4096);
    }
}

static void *watch(void *unused) {
    (void)unused;
    thread = gettid();
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poller, EPOLL_CTL_ADD, polled, &event);
    return NULL;
}

static void *print(void *unused) {
    (void)unused;
    thread = gettid();
    (void)!write(1, page, 4096);
    return NULL;
}

static void begin(void *(*body)(void *)) {
    pthread_t handle;
    if (pthread_create(&handle, NULL, body, NULL) != 0) _exit(6);
}

/* Returns when the thread waits in the kernel without end: in ten looks in a row. */
static void await(void) {
    char path[64], text[512];
    for (int waits = 0; waits < 10;) {
        rest();
        if (thread == 0) continue;
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t count = read(file, text, sizeof text - 1);
        close(file);
        text[count > 0 ? count : 0] = 0;
        char *end = strrchr(text, ')');
        waits = end && strchr("DS", end[2]) ? waits + 1 : 0;
    }
}

static void withhold_memory(void) {
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, withheld("once"), 0);
    begin(map);
    begin(touch);
    await();
    thread = 0;
    is_touched = 1;
    await();
}

#ifdef LIBRARY

static void *await_go(void *go) {
    char byte;
    int file = open(go, O_RDONLY | O_CLOEXEC);
    if (read(file, &byte, 1) != 0) _exit(6);
    close(file);
    withhold_memory();
    unlink(go);
    return NULL;
}

__attribute__((constructor)) static void withhold(void) {
    pthread_t handle;
    char *go = getenv("GO");
    if (go && pthread_create(&handle, NULL, await_go, strdup(go)) != 0) _exit(6);
}

#else

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "";
    if (strcmp(mode, "polls") == 0) {
        polled = withheld("silent");
        poller = epoll_create1(EPOLL_CLOEXEC);
        begin(watch);
        await();
    } else if (strcmp(mode, "prints") == 0) {
        page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, withheld("silent"), 0);
        (void)!write(1, "here\n", 5);
        begin(print);
        for (;;) pause();
    } else if (strcmp(mode, "memory") == 0 || strcmp(mode, "pause") == 0) {
        withhold_memory();
    }
    if (strcmp(mode, "pause") == 0) {
        struct gr_header paused = {
            .magic = GR_WIRE_MAGIC, .version = GR_WIRE_VERSION, .type = GR_PAUSED, .status = 2, .threads = 3,
        };
        const char *channel = getenv("GREENROOM_CHANNEL");
        if (!channel || send(atoi(channel), &paused, sizeof paused, MSG_NOSIGNAL) < 0) _exit(7);
    }
    (void)!write(1, "here\n", 5);
    for (;;) pause();
}

#endif
