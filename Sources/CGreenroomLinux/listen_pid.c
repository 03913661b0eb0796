/* Only the child knows the value of LISTEN_PID (sd_listen_fds(3)), so it is written between clone
 * and exec, over the ten bytes that the parent has reserved. */
#include "job.h"

CHILD_HALF_BEGIN

static bool is_same(const char *one, const char *other) {
    while (*one && *one == *other) one++, other++;
    return *one == *other;
}

void gr_tell_listen_pid(char *_Nullable const *environment) {
    static const char room[] = "LISTEN_PID=0000000000";
    enum { ROOM = 10, NAME = sizeof room - 1 - ROOM };
    for (; *environment; environment++) {
        char *text = *environment;
        /* Only a variable that we laid out ourselves: one of the caller's may have no room. */
        if (!is_same(text, room)) continue;
        char digits[ROOM];
        int count = 0;
        long pid = call(SYS_getpid);
        do { digits[count++] = (char)('0' + pid % 10); } while ((pid /= 10) != 0 && count < ROOM);
        for (int i = 0; i < count; i++) text[NAME + i] = digits[count - 1 - i];
        text[NAME + count] = '\0';
    }
}

CHILD_HALF_END
