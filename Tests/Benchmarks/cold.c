// Launches a program cold with the least work.
//   cold plain COUNT -- PROGRAM ARGUMENTS...          vfork and exec
//   cold app COUNT CGROUP -- PROGRAM ARGUMENTS...     with what an app gets: a cgroup of its own below
//                                                     CGROUP ("-": none), session, credentials, mask
//   cold relayed COUNT CGROUP -- PROGRAM ARGUMENTS... the same by a spawner behind a server, each a
//                                                     process, as in Greenroom: the request crosses two
//                                                     sockets before anything can start
//   cold burst COUNT -- PROGRAM ARGUMENTS...          vfork and exec of all, one after the other without
//                                                     waiting for any: prints the latest stamp alone.
//                                                     Their input ends when all are in main
//   cold burst-relayed COUNT CGROUP -- PROGRAM...     the same as "relayed": what the sockets, the cgroups
//                                                     and the sessions of all these launches cost by themselves
// Prints per launch, in ns after the call: main's first instruction, and the end of the output.
// The program must write its stamp first: probe, or anything else with BENCH_PRELOAD=stamp.so in the
// environment. PROGRAM is an absolute path (an app starts in /).
#include "bench.h"

#include <linux/sched.h>
#include <linux/close_range.h>

struct launch { pid_t pid; int pidfd; };

static void __attribute__((noreturn)) become(char **program, int output) {
    dup2(output, 1);
    execv(program[0], program);
    _exit(127);
}

static struct launch spawn_plain(char **program, int output) {
    pid_t pid = vfork();
    if (pid == 0) become(program, output);
    return (struct launch){check(pid, "vfork"), -1};
}

// Inline, because the child goes on in this frame, as after vfork. It would overwrite a return address
// on the stack before the parent uses it.
static inline __attribute__((always_inline)) long clone3_sharing_the_stack(struct clone_args *arguments) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result)
        : "a"(SYS_clone3), "D"(arguments), "S"(sizeof *arguments) : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_clone3;
    register long first __asm__("x0") = (long)arguments;
    register long second __asm__("x1") = sizeof *arguments;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second) : "memory");
    return first;
#else
#error "clone3 is spelled out for x86-64 and aarch64"
#endif
}

// Makes the same system calls between clone and exec as the spawner.
static struct launch spawn_app(char **program, int output, int cgroup) {
    int pidfd = -1;
    struct clone_args arguments = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uint64_t)(uintptr_t)&pidfd, .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)(cgroup >= 0 ? cgroup : 0)};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    long pid = clone3_sharing_the_stack(&arguments);
    if (pid == 0) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL);
        setsid();
        syscall(SYS_setgroups, 0, NULL);
        syscall(SYS_setresgid, getgid(), getgid(), getgid());
        syscall(SYS_setresuid, getuid(), getuid(), getuid());
        umask(022);
        if (chdir("/") != 0) _exit(126);
        dup2(output, 1);
        syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execv(program[0], program);
        _exit(127);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        errno = (int)-pid;
        die("clone3");
    }
    return (struct launch){(pid_t)pid, pidfd};
}

// --- Relayed: client -> server -> spawner, and the answers back.

enum { REQUEST_BYTES = 300, ORDER_BYTES = 600, DESCRIPTORS = 4, BURST_UNDER_WAY = 100 };

static int make_named_cgroup(int base, const char *name) {
    if (base < 0) return -1;
    check(mkdirat(base, name, 0755), "making a cgroup");
    return check(openat(base, name, O_PATH | O_DIRECTORY | O_CLOEXEC), "opening it");
}

static int make_cgroup(int base) { return make_named_cgroup(base, "cold"); }

static void finish(struct launch launch, int base, int cgroup, const char *program) {
    int status;
    check(waitpid(launch.pid, &status, 0), "waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) complain(program, "the program failed");
    if (launch.pidfd >= 0) close(launch.pidfd);
    if (cgroup < 0) return;
    close(cgroup);
    check(unlinkat(base, "cold", AT_REMOVEDIR), "removing the cgroup");
}

// Each request brings the four descriptors of a launch. The answer is sent once the program runs.
static void __attribute__((noreturn)) spawn_for_others(int orders, int base, char **program) {
    char order[ORDER_BYTES];
    for (;;) {
        int fds[DESCRIPTORS];
        size_t count;
        await_readable(orders, "an order");
        size_t size = receive_with_descriptors(orders, order, sizeof order, fds, DESCRIPTORS, &count);
        if (size == 0) exit(0);
        if (count != DESCRIPTORS) complain("the spawner", "four descriptors were expected");
        int cgroup = make_cgroup(base);
        struct launch launch = spawn_app(program, fds[1], cgroup);
        if (send(orders, order, 80, MSG_NOSIGNAL) < 0) die("the spawner's answer");
        for (size_t i = 0; i < count; i++) close(fds[i]);
        finish(launch, base, cgroup, program[0]);
    }
}

static void name_cgroup(char *name, size_t size, unsigned number) { snprintf(name, size, "cold-%u", number); }

// Waits for all programs after the last order, and for none before.
static void __attribute__((noreturn)) spawn_many_for_others(int orders, int base, char **program) {
    char order[ORDER_BYTES], name[32];
    unsigned made = 0;
    for (;; made++) {
        int fds[DESCRIPTORS];
        size_t count;
        await_readable(orders, "an order");
        size_t size = receive_with_descriptors(orders, order, sizeof order, fds, DESCRIPTORS, &count);
        if (size == 0) break;
        if (count != 2) complain("the spawner", "two descriptors were expected");
        check(dup2(fds[1], 0), "standard input");
        name_cgroup(name, sizeof name, made);
        int cgroup = make_named_cgroup(base, name);
        struct launch launch = spawn_app(program, fds[0], cgroup);
        if (send(orders, order, 80, MSG_NOSIGNAL) < 0) die("the spawner's answer");
        for (size_t i = 0; i < count; i++) close(fds[i]);
        close(launch.pidfd);
        if (cgroup >= 0) close(cgroup);
    }
    for (unsigned i = 0; i < made; i++) check(wait(NULL), "wait");
    for (unsigned i = 0; i < made && base >= 0; i++) {
        name_cgroup(name, sizeof name, i);
        check(unlinkat(base, name, AT_REMOVEDIR), "removing the cgroup");
    }
    exit(0);
}

static void __attribute__((noreturn)) serve(int client, int orders) {
    char request[ORDER_BYTES] = {0};
    for (;;) {
        int fds[DESCRIPTORS];
        size_t count;
        await_readable(client, "a request");
        size_t size = receive_with_descriptors(client, request, REQUEST_BYTES, fds, DESCRIPTORS, &count);
        if (size == 0) exit(0);
        send_with_descriptors(orders, request, ORDER_BYTES, fds, count);
        for (size_t i = 0; i < count; i++) close(fds[i]);
        await_readable(orders, "the spawner");
        if (recv(orders, request, sizeof request, 0) <= 0) complain("the spawner", "ended");
        if (send(client, request, REQUEST_BYTES, MSG_NOSIGNAL) < 0) die("the server's answer");
    }
}

static pid_t fork_end(int type, int *ours, int *theirs) {
    int ends[2];
    check(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), "socketpair");
    *ours = ends[0];
    *theirs = ends[1];
    return check(fork(), "fork");
}

typedef void spawner_loop(int orders, int base, char **program);

// Returns the client's end of the connection to the server, whose only client it is.
static int start_relay(int base, char **program, spawner_loop *spawn) {
    int client, server, orders, spawner;
    if (fork_end(SOCK_STREAM, &client, &server) == 0) {
        close(client);
        if (fork_end(SOCK_SEQPACKET, &orders, &spawner) == 0) {
            close(server);
            close(orders);
            spawn(spawner, base, program);
        }
        close(spawner);
        serve(server, orders);
    }
    close(server);
    return client;
}

static void launch_relayed(unsigned count, int base, char **program) {
    int client = start_relay(base, program, spawn_for_others);
    int null = check(open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
    int directory = check(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
    char request[REQUEST_BYTES] = {0};
    for (unsigned i = 0; i < count; i++) {
        int output[2];
        check(pipe2(output, O_CLOEXEC), "pipe2");
        int fds[DESCRIPTORS] = {null, output[1], null, directory};
        uint64_t start = now_ns();
        send_with_descriptors(client, request, sizeof request, fds, DESCRIPTORS);
        close(output[1]);
        await_readable(client, "the answer");
        if (recv(client, request, sizeof request, MSG_WAITALL) != sizeof request)
            complain("the server", "ended");
        uint64_t stamp = read_stamp(output[0]);
        uint64_t end = drain(output[0]);
        printf("%llu %llu\n", (unsigned long long)(stamp - start), (unsigned long long)(end - start));
        close(output[0]);
    }
    close(client);
    check(wait(NULL), "wait");
}

// Works as a client with as many connections would.
static void launch_all_relayed(unsigned count, int base, char **program) {
    int client = start_relay(base, program, spawn_many_for_others);
    char request[REQUEST_BYTES] = {0};
    struct burst_ends ends = open_burst();
    int theirs[] = {ends.output, ends.input};
    uint64_t start = now_ns();
    // Keeps as many requests under way as a burst has connections to Greenroom.
    for (unsigned sent = 0, done = 0; done < count; done++) {
        for (; sent < count && sent < done + BURST_UNDER_WAY; sent++)
            send_with_descriptors(client, request, sizeof request, theirs, 2);
        if (recv(client, request, sizeof request, MSG_WAITALL) != sizeof request)
            complain("the server", "ended");
    }
    printf("%llu\n", (unsigned long long)(latest_stamp(ends.stamps, count) - start));
    close(ends.stay);
    close(client);
    check(wait(NULL), "wait");
}

static void launch_all(unsigned count, char **program) {
    struct burst_ends ends = open_burst();
    check(dup2(ends.input, 0), "standard input");
    uint64_t start = now_ns();
    for (unsigned i = 0; i < count; i++) spawn_plain(program, ends.output);
    printf("%llu\n", (unsigned long long)(latest_stamp(ends.stamps, count) - start));
    close(ends.stay);
    for (unsigned i = 0; i < count; i++) check(wait(NULL), "wait");
}

int main(int argc, char **argv) {
    if (argc > 4 && strcmp(argv[1], "burst") == 0 && strcmp(argv[3], "--") == 0) {
        launch_all(parse_count(argv[2]), argv + 4);
        return 0;
    }
    int all_relayed = argc > 1 && strcmp(argv[1], "burst-relayed") == 0;
    int relayed = all_relayed || (argc > 1 && strcmp(argv[1], "relayed") == 0);
    int as_app = relayed || (argc > 1 && strcmp(argv[1], "app") == 0);
    int first = as_app ? 5 : 4;
    if (argc <= first || strcmp(argv[first - 1], "--") != 0)
        complain("usage", "cold plain|burst COUNT -- PROGRAM... | cold app|relayed|burst-relayed COUNT CGROUP -- PROGRAM...");
    char **program = argv + first;
    unsigned count = parse_count(argv[2]);
    // LD_PRELOAD is not given to this program, because the library would stamp it.
    const char *preload = getenv("BENCH_PRELOAD");
    if (preload) setenv("LD_PRELOAD", preload, 1);
    int base = -1;
    if (as_app && strcmp(argv[3], "-") != 0)
        base = check(open(argv[3], O_PATH | O_DIRECTORY | O_CLOEXEC), argv[3]);

    if (all_relayed) {
        launch_all_relayed(count, base, program);
        return 0;
    }
    if (relayed) {
        launch_relayed(count, base, program);
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        int output[2];
        check(pipe2(output, O_CLOEXEC), "pipe2");
        uint64_t start = now_ns();
        int cgroup = make_cgroup(base);
        struct launch launch = as_app
            ? spawn_app(program, output[1], cgroup) : spawn_plain(program, output[1]);
        close(output[1]);
        uint64_t stamp = read_stamp(output[0]);
        uint64_t end = drain(output[0]);
        finish(launch, base, cgroup, program[0]);
        printf("%llu %llu\n", (unsigned long long)(stamp - start), (unsigned long long)(end - start));
        close(output[0]);
    }
    return 0;
}
