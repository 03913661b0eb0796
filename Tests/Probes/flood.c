// An app that speaks the app channel by itself (greenroom-protocol(7)) and sends one message again and again:
// that a state would be too large to keep, which is refused at any time. Ends when argv[1] have been sent.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct header {
    uint32_t magic;
    uint16_t version, type;
    uint32_t flags, words, fields, size, umask, count;
    uint64_t cookie;
    int32_t status;
    uint32_t threads;
    int32_t roles[28];
};

static int channel;

static void send_message(uint16_t type, uint64_t cookie, int32_t status, const char *field) {
    unsigned char message[sizeof(struct header) + 64] = {0};
    struct header *header = (struct header *)message;
    uint32_t size = field ? (uint32_t)strlen(field) + 1 : 0;
    header->magic = 0x31435247;
    header->version = 1;
    header->type = type;
    header->fields = field ? 1 : 0;
    header->size = size;
    header->cookie = cookie;
    header->status = status;
    if (field) memcpy(message + sizeof *header, field, size);
    if (send(channel, message, sizeof *header + size, MSG_NOSIGNAL) < 0) exit(1);
}

int main(int argc, char **argv) {
    static unsigned char buffer[1 << 17];
    const char *name = getenv("GREENROOM_CHANNEL");
    if (!name || argc < 2) return 2;
    channel = atoi(name);
    if (recv(channel, buffer, sizeof buffer, 0) < (ssize_t)sizeof(struct header)) return 3;
    struct header launch;
    memcpy(&launch, buffer, sizeof launch);
    send_message(2, launch.cookie, 0, NULL);
    for (int left = atoi(argv[1]); left > 0; left--) send_message(80, 0, 2, "size=99999999");
    printf("sent\n");
    fflush(stdout);
    pause();
    return 0;
}
