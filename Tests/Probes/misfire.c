/* A library (-DLIBRARY) whose constructor starts another program, a child or a thread, as $MISFIRE
 * says, and a program with the library. A process that runs against the rules leaves the file
 * $MARK. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern int begin_answering(void);

static void leave_mark(void) {
    const char *path = getenv("MARK");
    int file = path ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644) : -1;
    if (file >= 0) close(file);
}

#ifdef LIBRARY

extern char **environ;
static char **arguments;
static sem_t question, answer;

int begin_answering(void) {
    if (sem_post(&question) < 0) return -1;
    while (sem_wait(&answer) < 0)
        if (errno != EINTR) return -1;
    return 0;
}

static void *await_question(void *unused) {
    (void)unused;
    while (sem_wait(&question) < 0)
        if (errno != EINTR) return NULL;
    sem_post(&answer);
    return NULL;
}

static void *fork_child(void *unused) {
    (void)unused;
    pid_t child = fork();
    if (child == 0) {
        leave_mark();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return NULL;
}

static void *clone_child(void *unused) {
    (void)unused;
    long child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (child == 0) {
        leave_mark();
        syscall(SYS_exit_group, 0);
    }
    waitpid((pid_t)child, NULL, __WALL);
    return NULL;
}

static void *execute_again(void *unused) {
    (void)unused;
    execv("/proc/self/exe", arguments);
    return NULL;
}

static void *return_at_once(void *unused) { return unused; }

static void in_thread(void *(*start)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, start, NULL) == 0) pthread_join(thread, NULL);
}

static void touch_by_spawn(void) {
    char *words[] = { "touch", getenv("MARK"), NULL };
    pid_t child;
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0) waitpid(child, NULL, 0);
}

__attribute__((constructor)) static void begin(int argc, char **argv) {
    (void)argc;
    arguments = argv;
    const char *how = getenv("MISFIRE");
    if (!how || getenv("AGAIN")) return;
    setenv("AGAIN", "1", 1);
    if (strcmp(how, "exec") == 0) execute_again(NULL);
    if (strcmp(how, "fork") == 0) fork_child(NULL);
    if (strcmp(how, "clone") == 0) clone_child(NULL);
    if (strcmp(how, "system") == 0 && system("touch \"$MARK\"") != 0) abort();
    if (strcmp(how, "spawn") == 0) touch_by_spawn();
    if (strcmp(how, "thread-fork") == 0) in_thread(fork_child);
    if (strcmp(how, "thread-exec") == 0) in_thread(execute_again);
    if (strcmp(how, "close-fork") == 0) {
        closefrom(3);
        fork_child(NULL);
    }
    if (strcmp(how, "threads") == 0) {
        for (int i = 0; i < 50; i++) in_thread(return_at_once);
        pthread_t thread;
        for (int i = 0; i < 3; i++) pthread_create(&thread, NULL, await_question, NULL);
    }
}

#else

int main(void) {
    leave_mark();
    const char *how = getenv("MISFIRE");
    for (int i = 0; how && strcmp(how, "threads") == 0 && i < 3; i++)
        if (begin_answering() != 0) return 1;
    puts("ran");
    return 0;
}

#endif
