/// Sends the daemon a descriptor whose close(2) takes as long as the test wants, says "sent", and stays
/// until its standard input ends.
///
/// stranger channel: over the channel of an app (greenroom-protocol(7)); says "refused" if that fails.
/// stranger control|half|notify SOCKET: a TCP socket that lingers (SO_LINGER in socket(7)).
/// stranger flush|stdout|many SOCKET FOLDER: a file that it serves (fuse(4)), and whose FLUSH it never answers:
/// with a call, as an app's standard output, or with 200 calls at once. Only root can mount the files at FOLDER.
/// stranger serve - FOLDER: only serves the files, and answers each FLUSH, but no READ and no POLL; the first READ of
/// the file "once" fails.
/// stranger notify-many SOCKET FOLDER: such a file, 250 times in each of 100 datagrams, as far as there is room.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINGER_SECONDS = 20, SILENT = 2, ONCE = 3 };

static void require(int condition, const char *what) {
    if (condition) return;
    dprintf(2, "stranger: %s: %s\n", what, strerror(errno));
    _exit(1);
}

static int unread = -1;

/* Returns a socket with unsent data. Its peer, in `unread`, reads nothing. */
static int lingering(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(listener >= 0 && bind(listener, (void *)&address, size) == 0 && listen(listener, 1) == 0
                && getsockname(listener, (void *)&address, &size) == 0, "listening");
    int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(end >= 0 && connect(end, (void *)&address, size) == 0, "connecting");
    unread = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    require(unread >= 0, "accepting");
    close(listener);
    static const char bytes[65536];
    while (send(end, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
    struct linger linger = {.l_onoff = 1, .l_linger = LINGER_SECONDS};
    require(setsockopt(end, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0, "SO_LINGER");
    return end;
}

static void pass(int socket, const char *bytes, size_t count, int descriptor) {
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr aligned; } control = {{0}};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control,
                            .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    require(sendmsg(socket, &header, MSG_NOSIGNAL) >= 0, "sending");
}

static int pass_many(int socket, int descriptor) {
    enum { COUNT = 250 };
    struct iovec vector = {.iov_base = "STATUS=", .iov_len = 7};
    static union { char bytes[CMSG_SPACE(sizeof(int) * COUNT)]; struct cmsghdr aligned; } control;
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control,
                            .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * COUNT);
    for (int i = 0; i < COUNT; i++)
        memcpy(CMSG_DATA(rights) + (size_t)i * sizeof(int), &descriptor, sizeof descriptor);
    return sendmsg(socket, &header, MSG_NOSIGNAL) >= 0;
}

static int connected(const char *path, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int end = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    require(end >= 0 && connect(end, (void *)&address, sizeof address) == 0, "connecting");
    return end;
}

/* Serves a folder with a file of any name. Reads are never answered; a flush is answered if
   `flushes` says so. */
static void serve(int device, int flushes) {
    static union { char bytes[1 << 17]; struct fuse_in_header header; } request;
    struct { struct fuse_out_header header; union {
        struct fuse_init_out init;
        struct fuse_entry_out entry;
        struct fuse_attr_out attributes;
        struct fuse_open_out opened;
    }; } answer;
    int has_failed = 0;
    while (read(device, &request, sizeof request) > 0) {
        memset(&answer, 0, sizeof answer);
        answer.header.unique = request.header.unique;
        struct fuse_attr file = {.ino = 2, .mode = S_IFREG | 0666, .nlink = 1, .size = 1 << 20};
        struct fuse_attr folder = {.ino = 1, .mode = S_IFDIR | 0755, .nlink = 1};
        size_t count = 0;
        switch (request.header.opcode) {
        case FUSE_INIT:
            answer.init.major = FUSE_KERNEL_VERSION;
            answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
            answer.init.max_write = 4096;
            count = sizeof answer.init;
            break;
        case FUSE_LOOKUP:
            answer.entry.nodeid = strcmp((char *)(&request.header + 1), "once") == 0 ? ONCE : SILENT;
            answer.entry.attr = file;
            count = sizeof answer.entry;
            break;
        case FUSE_GETATTR:
            answer.attributes.attr = request.header.nodeid == 1 ? folder : file;
            count = sizeof answer.attributes;
            break;
        case FUSE_OPEN: count = sizeof answer.opened; break;
        case FUSE_READ:
            if (request.header.nodeid != ONCE || has_failed) continue;
            has_failed = 1;
            answer.header.error = -EIO;
            break;
        case FUSE_FLUSH:
            if (!flushes) continue;
            answer.header.error = -ENOSYS;
            break;
        case FUSE_POLL: case FUSE_FORGET: case FUSE_BATCH_FORGET: case FUSE_WRITE:
        case FUSE_INTERRUPT: continue;
        default: answer.header.error = -ENOSYS;
        }
        answer.header.len = (uint32_t)(sizeof answer.header + count);
        if (write(device, &answer, answer.header.len) < 0) break;
    }
    _exit(0);
}

static void mount_and_serve(const char *folder, int flushes) {
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    require(device >= 0, "/dev/fuse");
    char options[128];
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
    require(mount("stranger", folder, "fuse", MS_NOSUID | MS_NODEV, options) == 0, "mounting");
    if (fork() == 0) serve(device, flushes);
    close(device);
}

static int unflushed(const char *folder) {
    mount_and_serve(folder, 0);
    char path[4096];
    snprintf(path, sizeof path, "%s/file", folder);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    require(file >= 0, path);
    return file;
}

static int channel(void) {
    const char *name = getenv("GREENROOM_CHANNEL");
    require(name != NULL, "the channel");
    static char buffer[1 << 17];
    require(recv(atoi(name), buffer, sizeof buffer, 0) > 0, "receiving");
    int sent = pass_many(atoi(name), 1);
    require(sent || errno == EPERM, "sending");
    printf("%s\n", sent ? "sent" : "refused");
    fflush(stdout);
    for (;;) pause();
}

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "channel") == 0) return channel();
    require(count > 2, "usage");
    const char *mode = words[1], *path = words[2];
    static const char list[] = "{\"method\":\"io.greenroom.Control.List\"}";
    static const char launch[] = "{\"method\":\"io.greenroom.Control.Launch\",\"parameters\":"
                                 "{\"app\":\"org.example.app\",\"standardOutputDescriptor\":0}}";
    int end = -1;
    if (strcmp(mode, "control") == 0) {
        int descriptor = lingering();
        end = connected(path, SOCK_STREAM);
        pass(end, list, sizeof list, descriptor);
        close(descriptor);
    } else if (strcmp(mode, "half") == 0) {
        int descriptor = lingering();
        end = connected(path, SOCK_STREAM);
        pass(end, list, 10, descriptor);
        close(descriptor);
        close(end);
    } else if (strcmp(mode, "notify") == 0) {
        int descriptor = lingering();
        end = connected(path, SOCK_DGRAM);
        pass(end, "STATUS=", 7, descriptor);
        close(descriptor);
    } else if (strcmp(mode, "serve") == 0) {
        require(count > 3, "usage");
        mount_and_serve(words[3], 1);
    } else if (strcmp(mode, "notify-many") == 0) {
        require(count > 3, "usage");
        int file = unflushed(words[3]);
        end = connected(path, SOCK_DGRAM);
        struct timeval patience = {.tv_sec = 1};
        require(setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0, "SO_SNDTIMEO");
        for (int i = 0; i < 100 && pass_many(end, file); i++) continue;
    } else {
        require(count > 3, "usage");
        int file = unflushed(words[3]);
        int times = strcmp(mode, "many") == 0 ? 200 : 1;
        const char *call = strcmp(mode, "stdout") == 0 ? launch : list;
        for (int i = 0; i < times; i++) {
            end = connected(path, SOCK_STREAM);
            pass(end, call, strlen(call) + 1, file);
        }
    }
    require(write(1, "sent\n", 5) == 5, "saying so");
    char none;
    while (read(0, &none, 1) > 0) continue;
    /* Whoever waits for the file system gets an error when it is gone. */
    if (count > 3) umount2(words[3], MNT_FORCE);
    if (count > 3) umount2(words[3], MNT_DETACH);
    _exit(0);
}
