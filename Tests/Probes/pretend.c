// A program that finds the channel of a prewarm and says on it that it is paused, and goes on.
#include <stdint.h>
#include <sys/socket.h>

struct header {
    uint32_t magic;
    uint16_t version, type;
    uint32_t flags, words, fields, size, umask, count;
    uint64_t cookie;
    int32_t status;
    uint32_t threads;
    int32_t roles[28];
};

int main(void) {
    struct header paused = {.magic = 0x31435247, .version = 1, .type = 1, .status = 1, .threads = 1};
    for (int descriptor = 3; descriptor < 1024; descriptor++) {
        int type = 0;
        socklen_t size = sizeof type;
        if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET)
            send(descriptor, &paused, sizeof paused, MSG_NOSIGNAL);
    }
    for (;;) {}
}
