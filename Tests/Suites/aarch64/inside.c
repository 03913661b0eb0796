/* Process 1 of a virtual machine: the child's half of a spawn (CGreenroomLinux) and the preload shim
 * on a real kernel of this architecture. One line for each test, then the power goes off. */
#define _GNU_SOURCE
#include "../../../Sources/CGreenroomLinux/include/CGreenroomLinux.h"
#include "../../../Sources/CPrewarm/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static const char program[] = "/probe", shim[] = "/lib/libgreenroom-prewarm.so";
static int failures, cgroup = -1, null = -1;

static void report(const char *name, bool good, const char *said) {
    printf("%s - %s\n", good ? "ok" : "not ok", name);
    if (!good && said) printf("--- %s\n---\n", said);
    failures += !good;
}

static void read_all(int fd, char *text, size_t size) {
    size_t used = 0;
    for (;;) {
        struct pollfd entry = {fd, POLLIN, 0};
        if (poll(&entry, 1, 30000) <= 0) break;
        long count = read(fd, text + used, size - 1 - used);
        if (count <= 0) break;
        used += (size_t)count;
    }
    text[used] = 0;
}

static int wait_for(pid_t pid) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

static struct gr_spawned spawn(const struct gr_spawn_request *request) {
    struct gr_spawned result;
    struct gr_spawn *under_way = gr_spawn_begin(request, NULL, -1, &result);
    if (!under_way) return result;
    wait_for(gr_waiter_pid(gr_spawn_waiter(under_way)));
    result = gr_spawn_end(under_way);
    if (result.error != 0 && result.pid > 0) {
        wait_for(result.pid);
        close(result.pidfd);
        result.pid = result.pidfd = -1;
    }
    return result;
}

/* --- What a process must have after both kinds of start. */
static const uint32_t groups[] = {7, 9};
static const struct gr_limit limits[] = {{RLIMIT_NOFILE, 1500, 2000}};
static const char *const environment[] = {"PATH=/bin", "WORD=a b", "LAST=", NULL};

static struct gr_spawn_request request(char *const *argv, char *const *envp,
                                       const struct gr_fd_mapping *fds, int count) {
    return (struct gr_spawn_request){
        .path = program, .argv = argv, .envp = envp, .cwd = "/tmp", .cwd_fd = -1, .cgroup = cgroup,
        .fds = fds, .fd_count = count, .limits = limits, .limit_count = 1, .groups = groups,
        .group_count = 2, .uid = 65534, .gid = 65533, .umask = 027, .oom_score_adjust = 321,
        .has_identity = true, .has_oom_score = true, .new_session = true,
    };
}

struct prewarmed { struct gr_spawned child; int channel; };

static struct prewarmed prewarm(int output, bool in_session) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) abort();
    struct stat status;
    fstat(pair[1], &status);
    char preload[128], channel[64], executable[64];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", shim);
    snprintf(channel, sizeof channel, "GREENROOM_CHANNEL=1023:%llu",
             (unsigned long long)status.st_ino);
    snprintf(executable, sizeof executable, "GREENROOM_EXECUTABLE=%s", program);
    char *argv[] = {(char *)program, NULL};
    char *envp[] = {"PATH=/bin", preload, channel, executable, NULL};
    struct gr_fd_mapping fds[] = {{null, 0}, {output, 1}, {2, 2}, {pair[1], 1023}};
    struct gr_spawn_request wanted = request(argv, envp, fds, 4);
    wanted.cwd = "/";
    wanted.new_session = in_session;
    struct prewarmed result = {spawn(&wanted), pair[0]};
    close(pair[1]);
    return result;
}

/* Returns the type of the next message; 0 at the channel's end. */
static int receive(int channel, struct gr_header *header) {
    struct pollfd entry = {channel, POLLIN, 0};
    if (poll(&entry, 1, 60000) <= 0) return -1;
    long size = recv(channel, header, sizeof *header, 0);
    return size < (long)sizeof *header ? 0 : header->type;
}

static bool say(int channel, struct gr_header header, const char *strings, const int *fds) {
    header.magic = GR_WIRE_MAGIC;
    header.version = GR_WIRE_VERSION;
    struct iovec parts[] = {{&header, sizeof header}, {(void *)strings, header.string_byte_count}};
    char control[CMSG_SPACE(sizeof(int) * GR_WIRE_DESCRIPTOR_LIMIT)] = {0};
    size_t size = sizeof(int) * header.descriptor_count;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (size > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(part), fds, size);
    }
    return sendmsg(channel, &message, 0) > 0;
}

/* Sends a GO with `argv` and the environment. The program finds the descriptors at 0, 1 and 2, and
   is in /tmp. */
static bool go(int channel, char *const *argv, const int fds[4], uint32_t flags) {
    char strings[1024];
    struct gr_header header = {.type = GR_GO, .flags = flags, .umask = 027, .cookie = 5,
                               .descriptor_count = 4, .roles = {0, 1, 2, GR_ROLE_WORKING_DIRECTORY}};
    for (; argv[header.argc]; header.argc++)
        header.string_byte_count +=
            (uint32_t)sprintf(strings + header.string_byte_count, "%s", argv[header.argc]) + 1;
    for (; environment[header.envc]; header.envc++)
        header.string_byte_count +=
            (uint32_t)sprintf(strings + header.string_byte_count, "%s", environment[header.envc]) + 1;
    return say(channel, header, strings, fds);
}

static char *arguments[] = {"/probe", "one", "two words", "", NULL};

static int run_cold(char *text, size_t size, bool without_clone3) {
    int out[2];
    if (pipe2(out, O_CLOEXEC) < 0) abort();
    struct gr_fd_mapping fds[] = {{null, 0}, {out[1], 1}, {2, 2}};
    struct gr_spawn_request wanted = request(arguments, (char **)environment, fds, 3);
    wanted.without_clone3 = without_clone3;
    struct gr_spawned child = spawn(&wanted);
    close(out[1]);
    if (child.pid < 0) {
        snprintf(text, size, "stage %d errno %d", child.stage, child.error);
        close(out[0]);
        return -1;
    }
    read_all(out[0], text, size);
    close(out[0]);
    close(child.pidfd);
    return wait_for(child.pid);
}

static int run_prewarmed(char *text, size_t size) {
    int early[2], out[2];
    if (pipe2(early, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) abort();
    struct prewarmed it = prewarm(early[1], true);
    close(early[1]);
    struct gr_header header;
    int type = it.child.pid < 0 ? -1 : receive(it.channel, &header);
    report("a program of glibc is paused before main", type == GR_PAUSED && header.status == 0
                                                            && header.threads == 1, NULL);
    if (type != GR_PAUSED) {
        snprintf(text, size, "stage %d errno %d type %d", it.child.stage, it.child.error, type);
        return -1;
    }
    say(it.channel, (struct gr_header){.type = GR_PING, .cookie = 99}, "", NULL);
    report("it answers while it is paused",
           receive(it.channel, &header) == GR_PONG && header.cookie == 99, NULL);
    int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    go(it.channel, arguments, (int[]){null, out[1], 2, tmp}, GR_SET_COMMAND_LINE);
    close(tmp);
    close(out[1]);
    report("an order to go is answered by STARTED, and then by nothing",
           receive(it.channel, &header) == GR_STARTED && header.cookie == 5
               && receive(it.channel, &header) == 0, NULL);
    char before[256];
    read_all(early[0], before, sizeof before);
    report("before that nothing of main has run", before[0] == 0, before);
    read_all(out[0], text, size);
    close(early[0]);
    close(out[0]);
    close(it.channel);
    return wait_for(it.child.pid);
}

static void abandoned(void) {
    int out[2];
    char text[256];
    if (pipe2(out, O_CLOEXEC) < 0) abort();
    struct prewarmed it = prewarm(out[1], true);
    close(out[1]);
    struct gr_header header;
    bool paused = receive(it.channel, &header) == GR_PAUSED;
    close(it.channel);
    read_all(out[0], text, sizeof text);
    report("without its daemon it ends, and main has not run",
           paused && wait_for(it.child.pid) == 0 && text[0] == 0, text);
    close(out[0]);
}

/* --- A terminal for the process alone: ^Z works, because there is a keeper (keeper.h). */
static char state_of(pid_t pid) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    long size = read(fd, text, sizeof text - 1);
    close(fd);
    char *end = size > 0 ? strrchr(text, ')') : NULL;
    return end ? end[2] : 0;
}

static bool reaches(pid_t pid, char state) {
    for (int i = 0; i < 3000; i++) {
        if (state_of(pid) == state) return true;
        poll(NULL, 0, 10);
    }
    return false;
}

static int keepers(void) {
    int count = 0;
    for (pid_t pid = 2; pid < 400; pid++) {
        char path[64], name[64] = "";
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        if (read(fd, name, sizeof name - 1) < 0) name[0] = 0;
        close(fd);
        char state = state_of(pid);
        count += !strncmp(name, "greenroom-tty", 13) && state && state != 'Z' && state != 'X';
    }
    return count;
}

static void stops(const char *name, bool is_prewarmed) {
    static char *waits[] = {"/probe", "wait", NULL};
    int controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (controller < 0 || grantpt(controller) < 0 || unlockpt(controller) < 0) {
        report(name, false, strerror(errno));
        return;
    }
    int terminal = open(ptsname(controller), O_RDWR | O_NOCTTY | O_CLOEXEC);
    pid_t pid;
    if (is_prewarmed) {
        struct prewarmed it = prewarm(null, false);
        struct gr_header header;
        receive(it.channel, &header);
        int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        go(it.channel, waits, (int[]){terminal, terminal, terminal, tmp},
           GR_NEW_SESSION | GR_CONTROLLING_TERMINAL);
        close(tmp);
        receive(it.channel, &header);
        close(it.channel);
        pid = it.child.pid;
    } else {
        struct gr_fd_mapping fds[] = {{terminal, 0}, {terminal, 1}, {terminal, 2}};
        struct gr_spawn_request wanted = request(waits, (char **)environment, fds, 3);
        wanted.controlling_terminal = true;
        pid = spawn(&wanted).pid;
    }
    char text[64] = "";
    struct pollfd entry = {controller, POLLIN, 0};
    bool waited = poll(&entry, 1, 30000) > 0 && read(controller, text, sizeof text - 1) > 0;
    int beside = keepers();
    bool sent = write(controller, "\x1a", 1) == 1;
    bool stopped = pid > 0 && reaches(pid, 'T');
    kill(pid, SIGCONT);
    bool continued = pid > 0 && reaches(pid, 'S');
    kill(pid, SIGKILL);
    wait_for(pid);
    for (int i = 0; i < 100 && keepers() > 0; i++) {
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        poll(NULL, 0, 10);
    }
    snprintf(text, sizeof text, "%d %d %d %d %d left %d", waited, beside, sent, stopped, continued,
             keepers());
    report(name, waited && beside == 2 && stopped && continued && keepers() == 0, text);
    close(terminal);
    close(controller);
}

static void fails(void) {
    static char *argv[] = {"/none", NULL};
    struct gr_fd_mapping fds[] = {{null, 0}};
    struct gr_spawn_request wanted = request(argv, (char **)environment, fds, 1);
    wanted.path = "/none";
    struct gr_spawned child = spawn(&wanted);
    bool good = child.pid < 0 && child.stage == GR_STAGE_EXECUTE && child.error == ENOENT;
    wanted.path = program;
    wanted.cwd = "/none";
    child = spawn(&wanted);
    report("a failure names its stage and errno",
           good && child.stage == GR_STAGE_DIRECTORY && child.error == ENOENT, NULL);
}

static void confined(void) {
    static char *writes[] = {"/probe", "write", "/read-only/x", NULL};
    static const struct gr_mount mounts[] = {
        {.kind = GR_MOUNT_ATTRIBUTES, .attributes = 1 /* MOUNT_ATTR_RDONLY */,
         .target = "/read-only"}};
    struct gr_confinement confinement = {
        .namespaces = CLONE_NEWNS | CLONE_NEWNET, .has_bounding_set = true, .mounts = mounts,
        .mount_count = 1};
    char text[256];
    int out[2];
    if (pipe2(out, O_CLOEXEC) < 0) abort();
    struct gr_fd_mapping fds[] = {{null, 0}, {out[1], 1}, {2, 2}};
    struct gr_spawn_request wanted = request(writes, (char **)environment, fds, 3);
    wanted.has_identity = false;
    wanted.confinement = &confinement;
    struct gr_spawned child = spawn(&wanted);
    close(out[1]);
    read_all(out[0], text, sizeof text);
    close(out[0]);
    if (child.pid < 0) snprintf(text, sizeof text, "stage %d errno %d", child.stage, child.error);
    report("a confined one cannot write where it may only read",
           child.pid > 0 && wait_for(child.pid) == 0 && strstr(text, "Read-only"), text);
}

int main(void) {
    static char cold[16384], old[16384], warm[16384];
    mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/dev", 0755), mkdir("/tmp", 01777);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sys", "/sys", "sysfs", 0, NULL);
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    mkdir("/dev/pts", 0755), mkdir("/cgroup", 0755), mkdir("/read-only", 0777);
    mount("pts", "/dev/pts", "devpts", 0, "ptmxmode=0666");
    mount("cgroup", "/cgroup", "cgroup2", 0, NULL);
    mount("read-only", "/read-only", "tmpfs", 0, NULL);
    mkdir("/cgroup/app", 0755);
    cgroup = open("/cgroup/app", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct utsname machine;
    uname(&machine);
    printf("== Linux %s, %s\n", machine.release, machine.machine);

    int status = run_cold(cold, sizeof cold, false);
    report("a program starts with its identity, limits, cgroup and descriptors",
           WIFEXITED(status) && WEXITSTATUS(status) == 7 && strstr(cold, "0::/app")
               && strstr(cold, "Uid:\t65534") && strstr(cold, "files 1500/2000")
               && strstr(cold, "argv two words") && strstr(cold, "umask 27"), cold);
    status = run_cold(old, sizeof old, true);
    report("so it does without clone3", status == 7 << 8 && !strcmp(cold, old), old);
    status = run_prewarmed(warm, sizeof warm);
    bool same = status == 7 << 8 && !strcmp(cold, warm);
    report("one that was paused sees nothing else than one that was not", same, warm);
    if (!same) printf("--- cold: %s\n", cold);
    abandoned();
    stops("^Z stops it in a terminal of its own", false);
    stops("so it does one that was paused", true);
    fails();
    confined();
    printf("aarch64: %d failed\n", failures);
    fflush(stdout);
    sync();
    reboot(RB_POWER_OFF);
    return 0;
}
