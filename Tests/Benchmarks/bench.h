// The parts that the bench programs share: one clock, one way to fail, one way to report. Each program
// prints one sample per line in nanoseconds; bench.py interleaves them and does the statistics.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000ull

// The time limit for everything here: far more than a cold start of the largest program.
enum { PATIENCE_MS = 30000 };

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static inline void __attribute__((noreturn)) die(const char *what) {
    fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}
static inline void __attribute__((noreturn)) complain(const char *what, const char *detail) {
    fprintf(stderr, "bench: %s: %s\n", what, detail);
    exit(1);
}

static inline int check(int result, const char *what) {
    if (result < 0) die(what);
    return result;
}

// Rests before each sample if BENCH_REST_MSEC is set, to measure launches that follow nothing.
static inline void rest(void) {
    const char *text = getenv("BENCH_REST_MSEC");
    if (!text) return;
    struct timespec time = {.tv_sec = atol(text) / 1000, .tv_nsec = atol(text) % 1000 * 1000000};
    nanosleep(&time, NULL);
}

// Waits until `fd` can be read or is at its end.
static inline void await_readable(int fd, const char *what) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (;;) {
        int n = poll(&p, 1, PATIENCE_MS);
        if (n > 0) return;
        if (n == 0) complain(what, "no answer in 30 s");
        if (errno != EINTR) die(what);
    }
}

// The 8 bytes that the launched program wrote first: CLOCK_MONOTONIC at its main's first instruction.
static inline uint64_t read_stamp(int fd) {
    uint64_t stamp = 0;
    await_readable(fd, "waiting for the program's stamp");
    ssize_t n = read(fd, &stamp, sizeof stamp);
    if (n != sizeof stamp) complain("reading the stamp", "the program wrote something else first");
    return stamp;
}

// Reads to the end of the pipe, which comes when the program and its children have ended.
static inline uint64_t drain(int fd) {
    char buffer[65536];
    for (;;) {
        await_readable(fd, "waiting for the program's end");
        ssize_t n = read(fd, buffer, sizeof buffer);
        if (n == 0) return now_ns();
        if (n < 0 && errno != EINTR) die("reading the program's output");
    }
}

// The descriptors that all programs of a burst share. Their stamps are read from `stamps`. Programs
// that wait (`probe wait`) stay in main until `stay` is closed.
struct burst_ends { int output, input, stamps, stay; };

static inline struct burst_ends open_burst(void) {
    int output[2], input[2];
    check(pipe2(output, O_CLOEXEC), "pipe2");
    check(pipe2(input, O_CLOEXEC), "pipe2");
    return (struct burst_ends){
        .output = output[1], .input = input[0], .stamps = output[0], .stay = input[1]};
}

static inline uint64_t latest_stamp(int stamps, size_t count) {
    uint64_t latest = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t stamp = read_stamp(stamps);
        if (stamp > latest) latest = stamp;
    }
    return latest;
}

static inline int connect_stream(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) complain(path, "socket path is too long");
    strcpy(address.sun_path, path);
    int fd = check(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    check(connect(fd, (struct sockaddr *)&address, sizeof address), path);
    return fd;
}

// Sends `size` bytes with descriptors on the first of them.
static inline void send_with_descriptors(
    int fd, const void *bytes, size_t size, const int *descriptors, size_t count
) {
    union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int) * 8)]; } control;
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
    }
    ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (n < 0) die("sendmsg");
    if ((size_t)n != size) complain("sendmsg", "message was sent in part");
}

// Receives one message and up to `capacity` descriptors; returns its size, 0 at the end.
static inline size_t receive_with_descriptors(
    int fd, void *bytes, size_t size, int *descriptors, size_t capacity, size_t *count
) {
    union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int) * 32)]; } control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes};
    ssize_t n;
    do n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC); while (n < 0 && errno == EINTR);
    if (n < 0) die("recvmsg");
    *count = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        *count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        if (*count > capacity) complain("recvmsg", "more descriptors than expected");
        memcpy(descriptors, CMSG_DATA(header), *count * sizeof(int));
    }
    return (size_t)n;
}

static inline unsigned parse_count(const char *word) {
    long n = strtol(word, NULL, 10);
    if (n < 1 || n > 1000000) complain(word, "a count from 1 to 1000000 was expected");
    return (unsigned)n;
}
