#include "CApplicationKit.h"

#include "../CGreenroomLinux/keeper.h"

#include <sys/ioctl.h>

int cak_take_terminal(void) {
    int number = 0;
    while (ioctl(number, TIOCSCTTY, 0) < 0)
        if (++number > 2) return errno;
    keep_job_control();
    return 0;
}
