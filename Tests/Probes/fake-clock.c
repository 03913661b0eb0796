/* Preloaded into greenroomd: a wall clock that a test may set, without setting the machine's. FAKE_CLOCK
 * names a file with nanoseconds (int64_t) that are added to the time of the day; when the test has changed
 * them it writes a byte into the FIFO FAKE_CLOCK.set. What the kernel does then is done here: a timer with
 * TFD_TIMER_CANCEL_ON_SET becomes readable and its read gives ECANCELED, the others of that clock come when
 * the new time says so (timerfd_create(2)). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { TIMER_LIMIT = 64, SECOND = 1000000000 };
static const volatile int64_t *offset;
static struct {
    int fd;
    struct itimerspec value;
} timers[TIMER_LIMIT];
static int watch = -1;

__attribute__((constructor)) static void begin(void) {
    for (int i = 0; i < TIMER_LIMIT; i++) timers[i].fd = -1;
    static const int64_t none;
    offset = &none;
    const char *path = getenv("FAKE_CLOCK");
    if (!path) return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *memory = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    if (file < 0 || memory == MAP_FAILED) abort();
    offset = memory;
    close(file);
}

static struct timespec shifted(struct timespec time, int64_t by) {
    int64_t sum = time.tv_sec * (int64_t)SECOND + time.tv_nsec + by;
    if (sum < 1) sum = 1; /* 0 would disarm the timer */
    return (struct timespec){sum / SECOND, sum % SECOND};
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) *time = shifted(*time, *offset);
    return result;
}

static int arm(int fd, const struct itimerspec *value) {
    static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
    if (!real) real = dlsym(RTLD_NEXT, "timerfd_settime");
    struct itimerspec there = *value;
    /* A time in the far future means for ever, and must not overflow. */
    if ((there.it_value.tv_sec || there.it_value.tv_nsec) && there.it_value.tv_sec < INT32_MAX * (time_t)4)
        there.it_value = shifted(there.it_value, -*offset);
    return real(fd, TFD_TIMER_ABSTIME, &there, NULL);
}

int timerfd_create(int clock, int flags) {
    static int (*real)(int, int);
    if (!real) real = dlsym(RTLD_NEXT, "timerfd_create");
    int fd = real(clock, flags);
    for (int i = 0; i < TIMER_LIMIT && fd >= 0 && clock == CLOCK_REALTIME; i++) {
        if (timers[i].fd >= 0 && timers[i].fd != fd) continue;
        timers[i].fd = fd;
        break;
    }
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old) {
    for (int i = 0; i < TIMER_LIMIT; i++) {
        if (timers[i].fd != fd) continue;
        if (flags & TFD_TIMER_CANCEL_ON_SET) {
            char path[4096];
            snprintf(path, sizeof path, "%s.set", getenv("FAKE_CLOCK"));
            int fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
            if (fifo < 0 || dup3(fifo, fd, O_CLOEXEC) < 0) abort();
            close(fifo);
            timers[i].fd = -1;
            watch = fd;
            return 0;
        }
        timers[i].value = *value;
        return arm(fd, value);
    }
    static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
    if (!real) real = dlsym(RTLD_NEXT, "timerfd_settime");
    return real(fd, flags, value, old);
}

ssize_t read(int fd, void *bytes, size_t count) {
    static ssize_t (*real)(int, void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "read");
    if (fd != watch || watch < 0) return real(fd, bytes, count);
    char byte;
    ssize_t result = real(fd, &byte, 1);
    if (result <= 0) return result;
    for (int i = 0; i < TIMER_LIMIT; i++)
        if (timers[i].fd >= 0) arm(timers[i].fd, &timers[i].value);
    errno = ECANCELED;
    return -1;
}
