/* Pseudo-terminals. This is C because ioctl(2) is variadic, and because a handler of fatal signals
 * must be async-signal-safe. */
#define _GNU_SOURCE
#include "CGreenroomLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

int gr_open_pty(int *controller, int *terminal) {
    int unlocked = 0;
    *controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (*controller < 0) return -1;
    if (ioctl(*controller, TIOCSPTLCK, &unlocked) == 0) {
        *terminal = ioctl(*controller, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (*terminal >= 0) return 0;
    }
    int error = errno;
    close(*controller);
    errno = error;
    return -1;
}

int gr_copy_window_size(int from, int to) {
    struct winsize size;
    if (ioctl(from, TIOCGWINSZ, &size) < 0) return -1;
    return ioctl(to, TIOCSWINSZ, &size);
}

int gr_pty_signal(int controller, int signal) {
    return ioctl(controller, TIOCSIG, signal);
}

static volatile sig_atomic_t crash_terminal = -1;
static struct termios crash_attributes;

static void restore_and_die(int number) {
    if (crash_terminal >= 0) (void)tcsetattr(crash_terminal, TCSANOW, &crash_attributes);
    (void)raise(number); /* blocked until we return; then it has its default action */
}

void gr_restore_on_crash(int fd, const struct termios *attributes) {
    static const int fatal[] = { SIGSEGV, SIGBUS,  SIGILL,  SIGTRAP,   SIGABRT, SIGFPE,  SIGSYS,
                                 SIGPIPE, SIGALRM, SIGXCPU, SIGVTALRM, SIGPROF, SIGXFSZ, SIGIO,
                                 SIGPWR,  SIGSTKFLT };
    crash_terminal = -1;
    if (!attributes) return;
    crash_attributes = *attributes;
    crash_terminal = fd;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        struct sigaction action = { .sa_handler = restore_and_die, .sa_flags = SA_RESETHAND };
        struct sigaction before;
        sigfillset(&action.sa_mask);
        if (sigaction(fatal[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        (void)sigaction(fatal[i], &action, NULL);
    }
}
