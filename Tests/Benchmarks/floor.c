// Measures the least time of a program that starts through a client, a server and a process paused at
// main: without names, rights, limits or accounts. Linked statically, as greenroom-run is.
//   floor serve SOCKET LIBRARY -- WORDS...   holds one process of the program at a time
//   floor SOCKET                             the client: ends as the program does
#include "floor.h"

static int client(const char *path) {
    int directory = check(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), ".");
    int fds[DESCRIPTORS] = {0, 1, 2, directory};
    char request[REQUEST_BYTES] = {0};
    int fd = connect_stream(path), status = 0;
    send_with_descriptors(fd, request, sizeof request, fds, DESCRIPTORS);
    if (recv(fd, &status, sizeof status, 0) != sizeof status) return 125;
    return WEXITSTATUS(status);
}

struct held { pid_t pid; int channel; };

static struct held hold(char **words, const char *library) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
    pid_t pid = fork();
    if (pid == 0) {
        int null = check(open("/dev/null", O_RDWR), "/dev/null");
        for (int target = 0; target < 3; target++) dup2(null, target);
        dup2(ends[1], CHANNEL);
        setenv("LD_PRELOAD", library, 1);
        execv(words[0], words);
        _exit(127);
    }
    check(pid, "fork");
    close(ends[1]);
    char event;
    await_readable(ends[0], "a held process");
    if (recv(ends[0], &event, 1, 0) != 1) complain(words[0], "cannot be held");
    return (struct held){pid, ends[0]};
}

static void launch(int connection, struct held held) {
    static char request[REQUEST_BYTES];
    int fds[DESCRIPTORS], status;
    size_t count;
    size_t size = receive_with_descriptors(connection, request, sizeof request, fds, DESCRIPTORS, &count);
    if (size != sizeof request || count != DESCRIPTORS) complain("floor", "a bad request");
    send_with_descriptors(held.channel, request, sizeof request, fds, count);
    check(waitpid(held.pid, &status, 0), "waitpid");
    if (send(connection, &status, sizeof status, MSG_NOSIGNAL) != sizeof status) die("the end");
    for (size_t i = 0; i < count; i++) close(fds[i]);
    close(held.channel);
    close(connection);
}

static int listen_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) complain(path, "socket path is too long");
    strcpy(address.sun_path, path);
    int listener = check(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    check(bind(listener, (struct sockaddr *)&address, sizeof address), path);
    check(listen(listener, 8), "listen");
    return listener;
}

// The caller connects first. Each word on its connection asks for a held process. Then the client
// connects.
static void serve_caller(int listener, const char *library, char **words) {
    int caller = check(accept4(listener, NULL, NULL, SOCK_CLOEXEC), "accept");
    char word[64];
    while (recv(caller, word, sizeof word, 0) > 0) {
        struct held held = hold(words, library);
        if (send(caller, "", 1, MSG_NOSIGNAL) != 1) die("the answer");
        launch(check(accept4(listener, NULL, NULL, SOCK_CLOEXEC), "accept"), held);
    }
    close(caller);
}

int main(int argc, char **argv) {
    if (argc == 2) return client(argv[1]);
    if (argc < 6 || strcmp(argv[1], "serve") != 0 || strcmp(argv[4], "--") != 0)
        complain("usage", "floor SOCKET | floor serve SOCKET LIBRARY -- WORDS...");
    int listener = listen_at(argv[2]);
    for (;;) serve_caller(listener, argv[3], argv + 5);
}
