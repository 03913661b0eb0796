// `floor` preloads this into a program. It holds the program at main's first instruction until a caller
// sends its descriptors.
#include "entry.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "floor.h"

static int held_main(int argc, char **argv, char **environment) {
    unsetenv("LD_PRELOAD");
    int fds[DESCRIPTORS];
    size_t count;
    char request[REQUEST_BYTES];
    if (send(CHANNEL, "p", 1, MSG_NOSIGNAL) != 1) _exit(122);
    size_t size = receive_with_descriptors(CHANNEL, request, sizeof request, fds, DESCRIPTORS, &count);
    if (size == 0) _exit(0);
    if (count != DESCRIPTORS) _exit(123);
    for (int target = 0; target < 3; target++) dup2(fds[target], target);
    (void)!fchdir(fds[3]);
    for (int i = 0; i < DESCRIPTORS; i++) close(fds[i]);
    close(CHANNEL);
    return call_main(argc, argv, environment);
}

__attribute__((constructor)) static void arm(void) { replace_main(held_main); }
