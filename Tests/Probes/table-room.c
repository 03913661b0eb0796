/* Prints how many descriptors its table has room for when other processes begin to share it (FDSize in
 * proc_pid_status(5)). */
#include "../../Sources/CGreenroomLinux/disposal.c"
#include "../../Sources/CGreenroomLinux/worker.c"

#include <stdio.h>

int gr_pidfd_open(int32_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int main(void) {
    if (gr_disposal_begin() < 0) return 1;
    gr_disposal_leave();
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    int size = 0;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "FDSize: %d", &size) == 1) printf("%d\n", size);
    if (status) fclose(status);
    return 0;
}
