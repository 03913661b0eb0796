/// Pauses at a point of its choice, by a function of the shim. It finds the function by name, so
/// that it also runs without the shim.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv, char **envp) {
    printf("before\n");
    fflush(stdout);
    int (*prewarm_pause)(int *, char ***, char ***) = dlsym(RTLD_DEFAULT, "greenroom_prewarm_pause");
    int paused = prewarm_pause ? prewarm_pause(&argc, &argv, &envp) : 0;
    printf("paused %d argc %d last %s A=%s again %d\n", paused, argc, argv[argc - 1], getenv("A"),
           prewarm_pause ? prewarm_pause(&argc, &argv, &envp) : 0);
    return 0;
}
