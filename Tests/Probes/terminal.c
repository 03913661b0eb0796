/// An interactive program without a terminal library: it repeats lines, says its window's size
/// whenever that changes, and ends as the terminal's keys say. With `raw` it reads single keys and
/// stops on ^Z, as vim does: it restores the terminal, then sends a signal to its own group.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static volatile sig_atomic_t resized;

static void note(int number) {
    (void)number;
    resized = 1;
}

static void print_size(void) {
    struct winsize size = {0};
    ioctl(1, TIOCGWINSZ, &size);
    printf("size %d %d\n", size.ws_row, size.ws_col);
    resized = 0;
}

static struct termios cooked;

static void make_raw(void) {
    struct termios raw = cooked;
    cfmakeraw(&raw);
    raw.c_oflag |= OPOST | ONLCR;
    tcsetattr(0, TCSANOW, &raw);
}

static void stop(void) {
    tcsetattr(0, TCSANOW, &cooked);
    printf("stopping\n");
    kill(0, SIGTSTP);
    make_raw();
    printf("going on\n");
}

int main(int argc, char **argv) {
    int is_raw = argc > 1 && strcmp(argv[1], "raw") == 0;
    sigset_t mask, none;
    sigemptyset(&none);
    sigemptyset(&mask);
    sigaddset(&mask, SIGWINCH);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signal(SIGWINCH, note);
    setvbuf(stdout, NULL, _IOLBF, 0);
    tcgetattr(0, &cooked);
    if (is_raw) make_raw();
    printf("waiting\n");
    for (;;) {
        struct pollfd entry = {.fd = 0, .events = POLLIN};
        if (ppoll(&entry, 1, NULL, &none) < 0) {
            if (resized) print_size();
            continue;
        }
        char line[256];
        ssize_t count = read(0, line, sizeof line - 1);
        if (count <= 0) break;
        line[count] = 0;
        if (is_raw && line[0] == 26) {
            stop();
        } else if (is_raw && line[0] == 'q') {
            break;
        } else {
            line[strcspn(line, "\r\n")] = 0;
            printf("got %s\n", line);
        }
    }
    tcsetattr(0, TCSANOW, &cooked);
    return 3;
}
