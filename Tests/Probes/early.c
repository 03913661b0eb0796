/// Prints what the executable's own constructor saw: its arguments, and what it read about its
/// process. Rust's standard library, CMake and groff read such things before main.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int count;
static char **arguments;
static char directory[4096];
static const char *variable;
static unsigned types[3];
static mode_t mask;

static void read_early(int argc, char **argv) {
    count = argc;
    arguments = argv;
    if (!getcwd(directory, sizeof directory)) directory[0] = 0;
    variable = getenv("A");
    mask = umask(0);
    umask(mask);
    for (int number = 0; number < 3; number++) {
        struct stat status;
        types[number] = fstat(number, &status) == 0 ? status.st_mode >> 12 : 0;
    }
}

// musl hands no arguments to a constructor.
#ifdef __GLIBC__
__attribute__((constructor)) static void constructor(int argc, char **argv) {
    read_early(argc, argv);
}
#else
__attribute__((constructor)) static void constructor(void) { read_early(0, NULL); }
#endif

int main(void) {
    for (int i = 0; i < count; i++) printf("%s\n", arguments[i]);
    printf("%s %s %03o %o %o %o\n", directory, variable ? variable : "-", mask, types[0], types[1],
           types[2]);
    return 3;
}
