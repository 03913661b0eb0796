// Measures the least time of a prewarmed launch: client -> server -> paused process, in C, with the
// system calls that greenroomd and the preload shim make.
//   relay COUNT      prints per launch, in ns after the request was written: main's first
//                    instruction, and the answer at the client
//   relay burst COUNT [wait]
//                    COUNT launches at once, with as many requests under way as the benchmark has
//                    connections to Greenroom: prints only the latest first instruction. With
//                    "wait" none ends before all are in main
#include "bench.h"

#include <linux/prctl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum {
    REQUEST_BYTES = 300,  // a Launch call with a descriptor
    STRING_BYTES = 1300,  // argv and environment of a desktop session
    HEADER_BYTES = 160,   // the size of the app channel's header
    DESCRIPTORS = 4,      // standard input, output, error, working directory
    CHANNEL = 1000,       // the paused process's channel
};

// --- The paused process: what the shim does between the message and main.

// The fields of /proc/self/stat that PR_SET_MM_MAP requires. They are read before the pause, as the
// shim does.
static void read_memory_map(struct prctl_mm_map *map) {
    char text[2048];
    int fd = check(open("/proc/self/stat", O_RDONLY | O_CLOEXEC), "/proc/self/stat");
    ssize_t n = read(fd, text, sizeof text - 1);
    if (n <= 0) die("/proc/self/stat");
    close(fd);
    text[n] = 0;
    uint64_t fields[64] = {0};
    char *at = strrchr(text, ')') + 2;
    for (int field = 3; *at && field < 60; field++) {
        fields[field] = strtoull(at, NULL, 10);
        while (*at && *at != ' ') at++;
        if (*at) at++;
    }
    *map = (struct prctl_mm_map){.start_code = fields[26], .end_code = fields[27],
        .start_stack = fields[28], .start_data = fields[45], .end_data = fields[46],
        .start_brk = fields[47], .exe_fd = (uint32_t)-1};
}

// The shim checks before each use whether the descriptor still is its socket.
static void verify_channel(void) {
    struct stat status;
    if (fstat(CHANNEL, &status) != 0 || !S_ISSOCK(status.st_mode)) die("the channel");
}

static void apply(const char *strings, int *fds, struct prctl_mm_map *map) {
    for (int i = 0; i < DESCRIPTORS; i++) {
        if (fds[i] > 2) continue;
        int above = check(fcntl(fds[i], F_DUPFD_CLOEXEC, 3), "F_DUPFD_CLOEXEC");
        close(fds[i]);
        fds[i] = above;
    }
    for (int target = 0; target < 3; target++) check(dup3(fds[target], target, 0), "dup3");
    check(fchdir(fds[3]), "fchdir");
    for (int i = 0; i < DESCRIPTORS; i++) close(fds[i]);
    umask(022);
    map->brk = (uint64_t)syscall(SYS_brk, 0);
    map->arg_start = (uint64_t)(uintptr_t)strings;
    map->arg_end = map->arg_start + 20;
    map->env_start = map->arg_end;
    map->env_end = map->arg_start + STRING_BYTES;
    // This fails if the kernel lacks CHECKPOINT_RESTORE, in the shim too.
    (void)prctl(PR_SET_MM, PR_SET_MM_MAP, map, sizeof *map, 0);
}

static int paused(int waits) {
    fcntl(CHANNEL, F_SETFD, FD_CLOEXEC);
    struct prctl_mm_map map;
    read_memory_map(&map);
    char *buffer = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED) die("mmap");
    char event[HEADER_BYTES] = {1};
    if (send(CHANNEL, event, sizeof event, MSG_NOSIGNAL) < 0) die("PAUSED");
    int fds[DESCRIPTORS];
    size_t count;
    verify_channel();
    size_t size = receive_with_descriptors(CHANNEL, buffer, 1 << 17, fds, DESCRIPTORS, &count);
    if (size == 0) return 0;
    if (size != HEADER_BYTES + STRING_BYTES || count != DESCRIPTORS) complain("relay", "a bad message");
    apply(buffer + HEADER_BYTES, fds, &map);
    // Gives back the memory that the strings do not fill.
    munmap(buffer + 4096, (1 << 18) - 4096);
    verify_channel();
    if (send(CHANNEL, event, sizeof event, MSG_NOSIGNAL) < 0) die("STARTED");
    verify_channel();
    close(CHANNEL);
    uint64_t stamp = now_ns();  // main's first instruction
    if (write(1, &stamp, sizeof stamp) != sizeof stamp) return 1;
    if (waits) drain(0);
    return 0;
}

// --- The server: one request, one message to the paused process, STARTED, the answer.

struct instance { pid_t pid; int channel; };

static struct instance prewarm(int waits) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
    char *arguments[] = {"relay", "paused", waits ? "wait" : NULL, NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(ends[1], CHANNEL);
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    check(pid, "vfork");
    close(ends[1]);
    char event[HEADER_BYTES];
    await_readable(ends[0], "a paused process");
    if (recv(ends[0], event, sizeof event, 0) != sizeof event) complain("relay", "no PAUSED");
    return (struct instance){pid, ends[0]};
}

// Opens the file while there is time, as greenroomd does.
static int open_oom_score(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
    return check(open(path, O_WRONLY | O_CLOEXEC), path);
}

// When memory runs out, a launched program is no longer the first to be killed. As in greenroomd, a
// failure is ignored, because a user may not lower a score.
static void apply_oom_score(int fd) {
    (void)!write(fd, "500", 3);
    close(fd);
}

static void await_event(int epoll, int expected) {
    struct epoll_event event;
    int n;
    do n = epoll_wait(epoll, &event, 1, PATIENCE_MS); while (n < 0 && errno == EINTR);
    if (n != 1 || event.data.fd != expected) complain("relay", "an event nobody waited for");
}

static void watch(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void serve(int client) {
    int epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    watch(epoll, client);
    char request[REQUEST_BYTES], event[HEADER_BYTES];
    static char message[HEADER_BYTES + STRING_BYTES];
    for (;;) {
        struct instance instance = prewarm(0);
        watch(epoll, instance.channel);
        int oom_score = open_oom_score(instance.pid);
        // Tells the client that the next process is ready. This time is not measured.
        if (send(client, "ready", 5, MSG_NOSIGNAL) != 5) exit(0);
        await_event(epoll, client);
        int fds[DESCRIPTORS];
        size_t count;
        size_t size = receive_with_descriptors(client, request, sizeof request, fds, DESCRIPTORS, &count);
        if (size == 0) exit(0);
        if (count != DESCRIPTORS) complain("relay", "four descriptors were expected");
        apply_oom_score(oom_score);
        send_with_descriptors(instance.channel, message, sizeof message, fds, count);
        await_event(epoll, instance.channel);
        if (recv(instance.channel, event, sizeof event, 0) != sizeof event)
            complain("relay", "no STARTED");
        if (send(client, request, sizeof request, MSG_NOSIGNAL) < 0) die("the answer");
        for (size_t i = 0; i < count; i++) close(fds[i]);
        close(instance.channel);
        check(waitpid(instance.pid, NULL, 0), "waitpid");
    }
}

// --- Many at once.

enum { LARGEST_BURST = 4096, UNDER_WAY = 100 };

static void raise_open_files(void) {
    struct rlimit limit;
    check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

// Passes the next request to the next paused process.
static void pass_on(int client, struct instance instance, int oom_score) {
    static char message[HEADER_BYTES + STRING_BYTES];
    char request[REQUEST_BYTES];
    int fds[DESCRIPTORS];
    size_t count;
    size_t size = receive_with_descriptors(client, request, sizeof request, fds, DESCRIPTORS, &count);
    if (size != sizeof request || count != DESCRIPTORS) complain("relay", "a bad request");
    apply_oom_score(oom_score);
    send_with_descriptors(instance.channel, message, sizeof message, fds, count);
    for (size_t i = 0; i < count; i++) close(fds[i]);
}

static void serve_many(int client, unsigned count, int waits) {
    static struct instance instances[LARGEST_BURST];
    static int oom_scores[LARGEST_BURST];
    raise_open_files();
    int epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    watch(epoll, client);
    // The number is taken, so that no end of a socket gets it.
    check(fcntl(dup2(client, CHANNEL), F_SETFD, FD_CLOEXEC), "F_SETFD");
    for (unsigned i = 0; i < count; i++) {
        instances[i] = prewarm(waits);
        oom_scores[i] = open_oom_score(instances[i].pid);
        watch(epoll, instances[i].channel);
    }
    if (send(client, "ready", 5, MSG_NOSIGNAL) != 5) exit(0);
    char event[REQUEST_BYTES] = {0};
    for (unsigned sent = 0, started = 0; started < count;) {
        struct epoll_event next;
        if (epoll_wait(epoll, &next, 1, PATIENCE_MS) != 1) complain("relay", "nothing happens");
        if (next.data.fd == client) {
            pass_on(client, instances[sent], oom_scores[sent]);
            sent++;
            continue;
        }
        if (recv(next.data.fd, event, sizeof event, 0) != HEADER_BYTES) complain("relay", "no STARTED");
        if (send(client, event, REQUEST_BYTES, MSG_NOSIGNAL) < 0) die("the answer");
        close(next.data.fd);
        started++;
    }
    for (unsigned i = 0; i < count; i++) check(wait(NULL), "wait");
    exit(0);
}

static void burst(unsigned count, int waits) {
    if (count == 0 || count > LARGEST_BURST) complain("usage", "relay burst COUNT, at most 4096");
    int ends[2], null = check(open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
    int directory = check(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    if (check(fork(), "fork") == 0) {
        close(ends[0]);
        serve_many(ends[1], count, waits);
    }
    close(ends[1]);
    struct burst_ends programs = open_burst();
    int fds[DESCRIPTORS] = {programs.input, programs.output, null, directory};
    char request[REQUEST_BYTES] = {0};
    if (recv(ends[0], request, 5, MSG_WAITALL) != 5) complain("relay", "the server ended");
    uint64_t start = now_ns();
    for (unsigned sent = 0, done = 0; done < count; done++) {
        for (; sent < count && sent < done + UNDER_WAY; sent++)
            send_with_descriptors(ends[0], request, sizeof request, fds, DESCRIPTORS);
        if (recv(ends[0], request, sizeof request, MSG_WAITALL) != sizeof request)
            complain("relay", "the server ended");
    }
    printf("%llu\n", (unsigned long long)(latest_stamp(programs.stamps, count) - start));
    close(programs.stay);
    close(ends[0]);
    check(wait(NULL), "wait");
}

int main(int argc, char **argv) {
    int waits = strcmp(argv[argc - 1], "wait") == 0;
    if (argc == 2 + waits && strcmp(argv[1], "paused") == 0) return paused(waits);
    if (argc == 3 + waits && strcmp(argv[1], "burst") == 0) {
        burst(parse_count(argv[2]), waits);
        return 0;
    }
    if (argc != 2) complain("usage", "relay COUNT | relay burst COUNT [wait]");
    unsigned count = parse_count(argv[1]);

    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    pid_t server = check(fork(), "fork");
    if (server == 0) {
        close(ends[0]);
        serve(ends[1]);
    }
    close(ends[1]);

    int output[2], null = check(open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
    int directory = check(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
    check(pipe2(output, O_CLOEXEC), "pipe2");
    int fds[DESCRIPTORS] = {null, output[1], null, directory};
    char request[REQUEST_BYTES] = {0}, answer[REQUEST_BYTES];
    for (unsigned i = 0; i < count; i++) {
        await_readable(ends[0], "the server");
        if (recv(ends[0], answer, 5, MSG_WAITALL) != 5) complain("relay", "the server ended");
        rest();
        uint64_t start = now_ns();
        send_with_descriptors(ends[0], request, sizeof request, fds, DESCRIPTORS);
        if (recv(ends[0], answer, sizeof answer, MSG_WAITALL) != sizeof answer)
            complain("relay", "the server ended");
        uint64_t answered = now_ns();
        printf("%llu %llu\n", (unsigned long long)(read_stamp(output[0]) - start),
            (unsigned long long)(answered - start));
    }
    close(ends[0]);
    check(waitpid(server, NULL, 0), "waitpid");
    return 0;
}
