/// Writes a line in a constructor, another in main, then waits for ever.
#include <unistd.h>

__attribute__((constructor)) static void talk(void) {
    if (write(1, "early\n", 6) != 6) _exit(1);
}

int main(void) {
    if (write(1, "late\n", 5) != 5) _exit(1);
    for (;;) pause();
}
