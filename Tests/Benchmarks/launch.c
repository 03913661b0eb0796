// Talks Varlink to greenroomd on one connection, with requests that were written before the clock
// starts.
//   launch call SOCKET COUNT REQUEST
//       prints COUNT round trips in ns
//   launch start SOCKET COUNT BEFORE REQUEST EXPECTED
//       per launch sends BEFORE and awaits its answer (so that a paused instance is there), then
//       sends REQUEST with /dev/null, a pipe and /dev/null as descriptors 0, 1, 2 and "/" as 3. Prints, in ns
//       after the request was written: main's first instruction, the end of the output, the answer.
//       Each launch begins when its predecessor has ended.
//       BEFORE may be "" for none. An answer without the text EXPECTED ends the run.
//   launch talk SOCKET COUNT BEFORE PATH
//       per sample sends BEFORE and awaits its answer (so that the app is suspended), then connects to PATH, sends
//       a byte there and awaits one. Prints that time in ns. BEFORE may be "" for none.
//   launch burst SOCKET CONNECTIONS
//       sends the requests that are the lines of standard input, all at once over this many connections,
//       each with a pipe to write to as descriptor 0 and one to read from as 1, whose end comes when
//       all are in main. Prints, in ns after the first was written: the latest first instruction of a
//       main, and the last answer. Ends when all that was launched has ended.
// Requests are JSON texts, without the NUL.
#include "bench.h"

enum { LARGEST_ANSWER = 1 << 20 };
static char answer[LARGEST_ANSWER];

static size_t read_answer(int fd) {
    size_t have = 0;
    for (;;) {
        ssize_t n = recv(fd, answer + have, sizeof answer - have, 0);
        if (n == 0) complain("greenroomd", "closed the connection");
        if (n < 0) die("recv");
        have += (size_t)n;
        if (answer[have - 1] == 0) return have;
        if (have == sizeof answer) complain("greenroomd", "an answer of more than 1 MiB");
    }
}

static void demand(const char *expected) {
    if (strstr(answer, "\"error\"") || !strstr(answer, expected)) complain("unexpected answer", answer);
}

static void call(int fd, unsigned count, const char *request) {
    size_t size = strlen(request) + 1;
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = now_ns();
        if (send(fd, request, size, MSG_NOSIGNAL) != (ssize_t)size) die("send");
        size_t answered = read_answer(fd);
        uint64_t end = now_ns();
        demand("");
        printf("%llu %zu\n", (unsigned long long)(end - start), answered);
    }
}

// Awaits the end of the instance that the answer names, so that cleaning up after one launch is not
// measured as part of the next. The references also wait for their child.
static void await_end(int fd) {
    const char *named = strstr(answer, "\"instance\":");
    if (!named) complain("no instance in the answer", answer);
    char wait[128];
    int size = snprintf(wait, sizeof wait,
        "{\"method\":\"io.greenroom.Control.Wait\",\"parameters\":{\"instance\":%lu}}",
        strtoul(named + strlen("\"instance\":"), NULL, 10)) + 1;
    if (send(fd, wait, (size_t)size, MSG_NOSIGNAL) != size) die("send");
    read_answer(fd);
    // If there are many ends, the daemon forgets the first ones before they are asked for.
    if (!strstr(answer, ".NotRunning\"")) demand("\"exited_self\"");
}

static void start(int fd, unsigned count, const char *before, const char *request, const char *expected) {
    size_t before_size = strlen(before) + 1, size = strlen(request) + 1;
    int null = check(open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
    int directory = check(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
    for (unsigned i = 0; i < count; i++) {
        if (before_size > 1) {
            if (send(fd, before, before_size, MSG_NOSIGNAL) != (ssize_t)before_size) die("send");
            read_answer(fd);
            demand("");
        }
        rest();
        int output[2];
        check(pipe2(output, O_CLOEXEC), "pipe2");
        int fds[] = {null, output[1], null, directory};
        uint64_t began = now_ns();
        send_with_descriptors(fd, request, size, fds, 4);
        close(output[1]);
        await_readable(fd, "the answer to a launch");
        read_answer(fd);
        uint64_t answered = now_ns();
        demand(expected);
        uint64_t stamp = read_stamp(output[0]);
        uint64_t end = drain(output[0]);
        close(output[0]);
        await_end(fd);
        printf("%llu %llu %llu\n", (unsigned long long)(stamp - began),
            (unsigned long long)(end - began), (unsigned long long)(answered - began));
    }
}

static void talk(int fd, unsigned count, const char *before, const char *path) {
    size_t before_size = strlen(before) + 1;
    for (unsigned i = 0; i < count; i++) {
        if (before_size > 1) {
            if (send(fd, before, before_size, MSG_NOSIGNAL) != (ssize_t)before_size) die("send");
            read_answer(fd);
            demand("\"suspended\"");
        }
        char byte = 'x';
        uint64_t began = now_ns();
        int connection = connect_stream(path);
        if (send(connection, &byte, 1, MSG_NOSIGNAL) != 1) die("send");
        await_readable(connection, "the app's byte");
        if (recv(connection, &byte, 1, 0) != 1) die("recv");
        printf("%llu\n", (unsigned long long)(now_ns() - began));
        close(connection);
    }
}

// --- Many at once.

enum { LARGEST_BURST = 4096, REQUEST_SIZE = 512, CONNECTIONS = 512 };

static size_t read_requests(char (*requests)[REQUEST_SIZE]) {
    size_t count = 0;
    while (count < LARGEST_BURST && fgets(requests[count], REQUEST_SIZE, stdin))
        requests[count][strcspn(requests[count], "\n")] = 0, count++;
    if (count == 0) complain("usage", "one request a line on standard input");
    return count;
}

// Reads this many answers. The daemon answers a call before it looks at the connection's next call.
static uint64_t read_answers(int fd, size_t count, unsigned long *instances) {
    size_t have = 0, done = 0;
    while (done < count) {
        await_readable(fd, "the answers");
        ssize_t n = recv(fd, answer + have, sizeof answer - have, 0);
        if (n <= 0) die("recv");
        have += (size_t)n;
        done = 0;
        for (size_t i = 0; i < have; i++) done += answer[i] == 0;
    }
    uint64_t now = now_ns();
    char *at = answer;
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1) {
        const char *named = strstr(at, "\"instance\":");
        if (!named) complain("no instance in the answer", at);
        instances[i] = strtoul(named + strlen("\"instance\":"), NULL, 10);
    }
    return now;
}

// The daemon has ended a connection. Complains with the last text that it sent there.
static void complain_of_end(const struct pollfd *connections) {
    while (!(connections->revents & POLLRDHUP)) connections++;
    ssize_t size = recv(connections->fd, answer, sizeof answer - 1, 0);
    answer[size > 0 ? size : 0] = 0;
    for (char *at = answer; at + 1 < answer + size; at++)
        if (!*at) *at = '\n';
    complain("greenroomd ended a connection", answer);
}

// Returns the stamp of the last program that reaches main. Ends the run if the daemon ends a
// connection, because that connection's launches never come.
static uint64_t await_stamps(int stamps, size_t count, const int *fds, size_t connections) {
    struct pollfd entries[CONNECTIONS + 1] = {{.fd = stamps, .events = POLLIN}};
    for (size_t i = 0; i < connections; i++)
        entries[i + 1] = (struct pollfd){.fd = fds[i], .events = POLLRDHUP};
    uint64_t latest = 0;
    for (size_t i = 0; i < count; i++) {
        int ready = check(poll(entries, connections + 1, PATIENCE_MS), "poll");
        if (ready == 0) complain("the burst", "timed out before all were in main");
        if (!(entries[0].revents & POLLIN)) complain_of_end(entries + 1);
        uint64_t stamp = read_stamp(stamps);
        if (stamp > latest) latest = stamp;
    }
    return latest;
}

static void burst(const char *path, size_t connections) {
    static char requests[LARGEST_BURST][REQUEST_SIZE];
    static unsigned long instances[LARGEST_BURST];
    size_t count = read_requests(requests);
    if (connections > CONNECTIONS || connections > count) complain("burst", "too many connections");
    int fds[CONNECTIONS];
    for (size_t i = 0; i < connections; i++) fds[i] = connect_stream(path);
    struct burst_ends ends = open_burst();
    int theirs[] = {ends.output, ends.input};
    uint64_t began = now_ns();
    for (size_t i = 0; i < count; i++)
        send_with_descriptors(
            fds[i % connections], requests[i], strlen(requests[i]) + 1, theirs, 2);
    uint64_t latest = await_stamps(ends.stamps, count, fds, connections), answered = 0;
    size_t read = 0;
    for (size_t i = 0; i < connections; i++) {
        size_t share = count / connections + (i < count % connections);
        uint64_t now = read_answers(fds[i], share, instances + read);
        if (now > answered) answered = now;
        read += share;
    }
    printf("%llu %llu\n", (unsigned long long)(latest - began), (unsigned long long)(answered - began));
    close(ends.stay);
    for (size_t i = 0; i < count; i++) {
        snprintf(answer, sizeof answer, "\"instance\":%lu", instances[i]);
        await_end(fds[0]);
    }
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "burst") == 0) {
        burst(argv[2], parse_count(argv[3]));
        return 0;
    }
    int calling = argc == 5 && strcmp(argv[1], "call") == 0;
    int starting = argc == 7 && strcmp(argv[1], "start") == 0;
    int talking = argc == 6 && strcmp(argv[1], "talk") == 0;
    if (!calling && !starting && !talking)
        complain("usage", "launch talk SOCKET COUNT BEFORE PATH | launch call SOCKET COUNT REQUEST | launch burst SOCKET CONNECTIONS | launch start SOCKET COUNT BEFORE REQUEST EXPECTED");
    int fd = connect_stream(argv[2]);
    unsigned count = parse_count(argv[3]);
    if (calling) call(fd, count, argv[4]);
    else if (talking) talk(fd, count, argv[4], argv[5]);
    else start(fd, count, argv[4], argv[5], argv[6]);
    return 0;
}
