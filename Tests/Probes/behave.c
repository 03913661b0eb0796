/// Does what its arguments say, one word after the other:
///   print TEXT      writes TEXT and a newline
///   exit N          exits with N
///   signal N        kills itself with signal N
///   fork            goes on in a child; the parent exits with 0
///   child           starts a child that waits for ever, and goes on
///   ignore-term     ignores SIGTERM
///   close-all       closes every descriptor from 3 up
///   wait-input      waits for the end of stdin
///   wait-forever    waits for a signal
///   lock FILE       takes a write lock on FILE
///   hold MEGABYTES  fills this much memory and keeps it
///   notify          says READY=1 to $NOTIFY_SOCKET (sd_notify(3))
///   signals         prints the number of each signal it then gets, until it is killed
/// With -DLIBRARY, the program's library, which does BEHAVE_CONSTRUCTOR=word of the environment
/// when loaded.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int is(const char *word, const char *name) { return word && strcmp(word, name) == 0; }

static void notify(void) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof address.sun_path) _exit(1);
    strcpy(address.sun_path, path);
    int number = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (number < 0) _exit(1);
    if (sendto(number, "READY=1", 7, 0, (struct sockaddr *)&address, sizeof address) < 0) _exit(1);
    close(number);
}

static void print_signals(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    dprintf(1, "waiting\n");
    for (int number;;) {
        // Being frozen and thawed ends the wait with EINTR.
        if ((number = sigwaitinfo(&all, NULL)) > 0) dprintf(1, "%d\n", number);
        else if (errno != EINTR) return;
    }
}

/// Returns how many words were used.
static int perform(const char *word, const char *next) {
    if (is(word, "print")) {
        dprintf(1, "%s\n", next ? next : "");
        return 2;
    }
    if (is(word, "exit")) _exit(next ? atoi(next) : 0);
    if (is(word, "signal")) {
        raise(next ? atoi(next) : SIGKILL);
        return 2;
    }
    if (is(word, "fork") && fork() > 0) _exit(0);
    if (is(word, "child") && fork() == 0)
        for (;;) pause();
    if (is(word, "ignore-term")) signal(SIGTERM, SIG_IGN);
    if (is(word, "close-all"))
        for (int number = 3; number < 1100; number++) close(number); // musl has no closefrom
    if (is(word, "wait-input")) {
        char byte;
        while (read(0, &byte, 1) > 0) continue;
    }
    if (is(word, "notify")) notify();
    if (is(word, "signals")) print_signals();
    if (is(word, "wait-forever"))
        for (;;) pause();
    if (is(word, "hold")) {
        size_t size = (size_t)(next ? atoi(next) : 1) << 20;
        static char *memory;  // held to the end
        memory = malloc(size);
        if (!memory) _exit(1);
        memset(memory, 1, size);
        return 2;
    }
    if (is(word, "lock")) {
        int file = open(next ? next : "/dev/null", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || fcntl(file, F_SETLK, &(struct flock){.l_type = F_WRLCK}) < 0) _exit(1);
        return 2;
    }
    return 1;
}

#ifdef LIBRARY
__attribute__((constructor)) static void before_main(void) {
    const char *word = getenv("BEHAVE_CONSTRUCTOR");
    if (word) perform(word, "constructor");
}
#else
int main(int argc, char **argv) {
    for (int i = 1; i < argc;) i += perform(argv[i], argv[i + 1]);
    return 0;
}
#endif
