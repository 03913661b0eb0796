/* Writes numbers that only the child knows into its environment, between clone and exec, over
 * digits that the parent has reserved: LISTEN_PID (sd_listen_fds(3)), and, for a program that is to
 * pause, the number of bytes that the child has written so far (proc_pid_io(5)). */
#include "job.h"

#include <fcntl.h>

CHILD_HALF_BEGIN

static bool is_same(const char *one, const char *other) {
    while (*one && *one == *other) one++, other++;
    return *one == *other;
}

/* `room` is NAME= and as many zeros as there may be digits. Only a variable that we laid out
 * ourselves is changed, because one of the caller's may have no room. */
static void tell(char *_Nullable const *environment, const char *room, uint64_t number) {
    enum { DIGITS = 20 };
    int start = 0, length = 0, count = 0;
    char digits[DIGITS];
    while (room[start] != '=') start++;
    start++;
    while (room[start + length]) length++;
    do { digits[count++] = (char)('0' + number % 10); } while ((number /= 10) != 0);
    if (count > length) return;
    for (; *environment; environment++) {
        char *text = *environment;
        if (!is_same(text, room)) continue;
        for (int i = 0; i < count; i++) text[start + i] = digits[count - 1 - i];
        text[start + count] = '\0';
    }
}

void gr_tell_listen_pid(char *_Nullable const *environment) {
    tell(environment, "LISTEN_PID=0000000000", (uint64_t)call(SYS_getpid));
}

/* Leaves the zeros if the kernel does not count, or if there is no /proc. */
void gr_tell_written(char *_Nullable const *environment) {
    static const char name[] = "wchar: ";
    enum { NAME = sizeof name - 1, SIZE = 512 };
    char text[SIZE];
    int fd = call_open("/proc/self/io", O_RDONLY);
    if (fd < 0) return;
    long size = call(SYS_read, fd, text, SIZE - 1);
    call_close(fd);
    for (long at = 0; at + NAME < size; at++) {
        int same = 0;
        // The analyzer does not see what the kernel writes; clearing the text would call memset(3).
        __attribute__((suppress)) while (same < NAME && text[at + same] == name[same]) same++;
        if (same < NAME) continue;
        uint64_t count = 0;
        for (at += NAME; at < size && text[at] >= '0' && text[at] <= '9'; at++)
            count = 10 * count + (uint64_t)(text[at] - '0');
        return tell(environment, "GREENROOM_WRITTEN=00000000000000000000", count);
    }
}

CHILD_HALF_END
