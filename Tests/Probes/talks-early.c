/// Writes a line when its library is loaded (-DLIBRARY), another in main, then waits for ever.
#include <unistd.h>

#ifdef LIBRARY
__attribute__((constructor)) static void talk(void) {
    if (write(1, "early\n", 6) != 6) _exit(1);
}
#else
int main(void) {
    if (write(1, "late\n", 5) != 5) _exit(1);
    for (;;) pause();
}
#endif
