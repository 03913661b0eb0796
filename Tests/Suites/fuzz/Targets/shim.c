/* Fuzzes how a paused process handles what the daemon's end of its channel sends. This runs the shim's own C with a
 * simulated kernel: its system calls come to `system_call` (see Tests/Suites/fuzz/build), and the input says what
 * arrives. */
#include "arguments.h"
#include "channel.h"
#include "pause.h"
#include "symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void greenroom_fuzz_shim(const uint8_t *bytes, size_t size);
long system_call(long number, long a, long b, long c, long d, long e, long f);

/* Higher numbers are refused, as by a limit. */
enum { CHANNEL = 200, NUMBERS = 256, INODE = 7 };
static enum { CLOSED, OPEN, RECEIVED } table[NUMBERS];
static const uint8_t *whole, *next;
static size_t whole_size, left;
static jmp_buf gone;
/* What the process does with each signal: an interpreter handles some and ignores others. */
static uintptr_t handlers[65];
static uint64_t mask;

/* At most one mapping of the inline size and some of strings in files are alive. */
static struct { char *start; size_t size; } maps[8];

#define REQUIRE(fact) do { if (!(fact)) { fprintf(stderr, "broken: %s\n", #fact); abort(); } } while (0)

static bool is_open(long number) { return number >= 0 && number < NUMBERS && table[number] != CLOSED; }
static long lowest_free(long from) {
    for (long number = from; number < NUMBERS; number++) if (table[number] == CLOSED) return number;
    return -EMFILE;
}
static void require_none_kept(void) {
    for (int number = 0; number < NUMBERS; number++) REQUIRE(table[number] != RECEIVED);
}
static unsigned choice(void) { return left ? (left--, *next++) : 0; }

static long receive(struct msghdr *message) {
    require_none_kept();
    if (!left) return 0;
    unsigned descriptors = choice(), flags = choice(), length = choice() | choice() << 8;
    size_t done = 0;
    if (length > left) length = (unsigned)left;
    for (size_t i = 0; i < message->msg_iovlen && done < length; i++) {
        size_t part = message->msg_iov[i].iov_len < length - done ? message->msg_iov[i].iov_len : length - done;
        memcpy(message->msg_iov[i].iov_base, next + done, part);
        done += part;
    }
    message->msg_flags = done < length ? MSG_TRUNC : 0;
    next += length, left -= length;
    if (flags & 1) message->msg_flags |= MSG_CTRUNC;
    /* The kernel gives no more than there is room for. */
    size_t room = (message->msg_controllen - CMSG_LEN(0)) / sizeof(int);
    size_t count = descriptors % 32;
    if (count > room) count = room, message->msg_flags |= MSG_CTRUNC;
    message->msg_controllen = 0;
    if (count) {
        struct cmsghdr *part = message->msg_control;
        *part = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET,
                                 .cmsg_type = flags & 2 ? SCM_CREDENTIALS : SCM_RIGHTS};
        for (size_t i = 0; i < count; i++) {
            int number = (int)lowest_free(0);
            if (!(flags & 2)) table[number] = RECEIVED;
            memcpy(CMSG_DATA(part) + i * sizeof number, &number, sizeof number);
        }
        message->msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    return (long)done;
}

static void fill_status(long number, struct stat *status) {
    *status = (struct stat){.st_mode = number == CHANNEL ? S_IFSOCK : S_IFREG, .st_ino = number == CHANNEL ? INODE : 1,
                            .st_size = (off_t)whole_size, .st_nlink = 3};
}

long system_call(long number, long a, long b, long c, long d, long e, long f) {
    (void)e, (void)f;
    switch (number) {
    case SYS_exit_group: longjmp(gone, 1);
    case SYS_recvmsg: REQUIRE(a == CHANNEL); return receive((struct msghdr *)b);
    case SYS_sendto: REQUIRE(a == CHANNEL); return c;
    case SYS_close:
        REQUIRE(is_open(a));
        table[a] = CLOSED;
        return 0;
    case SYS_fstat:
        if (!is_open(a)) return -EBADF;
        fill_status(a, (struct stat *)b);
        return 0;
    case SYS_newfstatat: fill_status(-1, (struct stat *)c); return 0;
    case SYS_fcntl: {
        if (!is_open(a)) return -EBADF;
        if (b != F_DUPFD_CLOEXEC) return 0;
        long copy = c >= NUMBERS ? -EINVAL : lowest_free(c);
        if (copy >= 0) table[copy] = table[a];
        return copy;
    }
    case SYS_dup3:
        if (!is_open(a) || b < 0 || b >= NUMBERS) return -EBADF;
        REQUIRE(a != b && b != CHANNEL);
        table[b] = OPEN;
        return b;
    case SYS_fchdir: return is_open(a) ? 0 : -EBADF;
    case SYS_pread64: {
        if (!is_open(a)) return -EBADF;
        size_t rest = (size_t)d < whole_size ? whole_size - (size_t)d : 0;
        if ((size_t)c < rest) rest = (size_t)c;
        memcpy((void *)b, whole + (rest ? d : 0), rest);
        return (long)rest;
    }
    case SYS_mmap:
        for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
            if (!maps[i].start) {
                maps[i].size = (size_t)b;
                maps[i].start = calloc(1, (size_t)b);
                return (long)maps[i].start;
            }
        REQUIRE(!"too many mappings");
        return -ENOMEM;
    case SYS_munmap:
        for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
            char *start = maps[i].start;
            if (!start || (char *)a < start || (char *)a >= start + maps[i].size) continue;
            REQUIRE((char *)a + b <= start + maps[i].size);
            if ((char *)a == start) free(start), maps[i].start = NULL; /* (A tail is left.) */
            return 0;
        }
        REQUIRE(!"an unmapping of what is not mapped");
        return -EINVAL;
    case SYS_prlimit64: *(struct rlimit *)d = (struct rlimit){1 << 20, 1 << 20}; return 0;
    case SYS_clock_gettime: *(struct timespec *)b = (struct timespec){0, 0}; return 0;
    case SYS_rt_sigaction:
        REQUIRE(a >= 1 && a <= 64 && d == 8);
        if (c) memcpy((void *)c, &handlers[a], sizeof handlers[a]);
        if (b && a != SIGKILL && a != SIGSTOP) memcpy(&handlers[a], (void *)b, sizeof handlers[a]);
        return 0;
    case SYS_rt_sigprocmask: mask = *(uint64_t *)b; return 0;
    case SYS_setsid: case SYS_getsid: case SYS_getpid: return 5;
    case SYS_umask: REQUIRE((unsigned)a <= 0777); return 0;
    default: return -ENOSYS;
    }
}

/* The C library's variables. The shim sets them to the launch's values. */
static char *given[] = {NULL, "GIVEN=1", "PATH=/bin", NULL}, *now[] = {"GIVEN=1", "PATH=/bin", "OWN=yes", "PATH_OWN=2", NULL};
static char **environment = now, *full_name, *short_name;
void *symbol_find(const char *name) {
    if (strcmp(name, "environ") == 0) return &environment;
    if (strcmp(name, "program_invocation_name") == 0) return &full_name;
    return strcmp(name, "__progname") == 0 ? &short_name : NULL;
}

static bool signals_are_ignored(void) {
    for (int signal = 1; signal <= 64; signal++) if (handlers[signal] == (uintptr_t)SIG_IGN) return true;
    return false;
}

static void check(struct arguments arguments, const struct launch *launch) {
    REQUIRE(arguments.argc == (int)launch->argc && arguments.argc > 0 && !arguments.argv[arguments.argc]);
    size_t bytes = 0;
    for (int i = 0; i < arguments.argc; i++) bytes += strlen(arguments.argv[i]) + 1;
    uint32_t count = 0;
    for (; arguments.envp[count]; count++) if (count < launch->envc) bytes += strlen(arguments.envp[count]) + 1;
    REQUIRE(count >= launch->envc && bytes == launch->string_byte_count);
    REQUIRE(environment == arguments.envp && full_name == arguments.argv[0] && !strchr(short_name, '/'));
}

void greenroom_fuzz_shim(const uint8_t *bytes, size_t size) {
    static bool is_prepared;
    static const ElfW(auxv_t) auxiliary[2];
    if (!is_prepared) {
        arguments_prepare(0, given, auxiliary);
        arguments_find_own_variables();
        is_prepared = true;
    }
    whole = next = bytes, whole_size = left = size;
    unsigned way = choice();
    bool on_stack = way & 1, by_hook = way & 2;
    for (int signal = 1; signal <= 64; signal++) handlers[signal] = 0;
    handlers[SIGINT] = 1000, handlers[SIGPIPE] = (uintptr_t)SIG_IGN, mask = 1;
    memset(table, 0, sizeof table);
    table[0] = table[1] = table[2] = table[CHANNEL] = OPEN;
    char *volatile stack = NULL;
    if (setjmp(gone) == 0) {
        REQUIRE(channel_open(CHANNEL, INODE));
        struct launch launch = pause_until_launch(GR_PAUSED_AT_MAIN, 1);
        require_none_kept();
        if (by_hook) {
            check(arguments_apply(&launch, NULL), &launch);
            bool must_start_anew = handles_ignored_signals();
            reset_signals();
            for (int signal = 1; signal <= 64; signal++) REQUIRE(handlers[signal] < 2);
            REQUIRE(!must_start_anew || signals_are_ignored());
            report_start(launch.cookie, GR_ANEW_OPTIONS);
            REQUIRE(!is_open(CHANNEL));
            longjmp(gone, 1);
        }
        size_t needed = on_stack ? arguments_stack_byte_count(&launch) : 0;
        if (needed) stack = malloc(needed);
        check(launch_become(&launch, stack), &launch);
        REQUIRE(!is_open(CHANNEL));
    }
    free(stack);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) free(maps[i].start), maps[i].start = NULL;
}
