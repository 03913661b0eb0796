/* Makes the keeper's processes (keeper.h) where the code by which they wait lies in another block of
 * memory than the code that calls it. Prints in which state (proc_pid_stat(5)) both are then: S if
 * they wait, Z if they have died. */
#include <stdint.h>

static _Noreturn void keeper_wait(uint64_t, uint64_t, uint64_t, uint64_t)
    __attribute__((aligned(65536)));

#include "../../Sources/CGreenroomLinux/keeper.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static int number_in(const char *path) {
    int number = 0;
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%d", &number) != 1) number = 0;
    if (file) fclose(file);
    return number;
}

static int only_child_of(int pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    return number_in(path);
}

/* Waits until the process is not runnable, and returns its state. */
static char resting_state_of(int pid) {
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    while (state == 'R') {
        FILE *file = fopen(path, "re");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
        if (file) fclose(file);
        sched_yield();
    }
    return state;
}

int main(void) {
    keep_job_control();
    int keeper = only_child_of(getpid());
    /* When a keeper dies, its child ends, too. */
    char state = resting_state_of(keeper);
    printf("%c %c\n", state, state == 'S' ? resting_state_of(only_child_of(keeper)) : '-');
    return 0;
}
