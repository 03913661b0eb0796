/// The windows that the program has mapped and nobody sees.

#include "withhold.h"

#include <pthread.h>

/// More top-level windows than any program shows at its start. One with more is not held.
#define WINDOW_LIMIT 64

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t first = PTHREAD_COND_INITIALIZER;
static struct held_window windows[WINDOW_LIMIT];
static size_t count;
static bool has_begun;

static bool has_main(void) {
    for (size_t i = 0; i < count; i++)
        if (windows[i].is_main) return true;
    return false;
}

enum held windows_hold(int server, uint32_t window, bool is_raised, bool is_main) {
    bool begins = false;
    pthread_mutex_lock(&mutex);
    bool is_on = withhold_is_on();
    if (is_on) {
        size_t i = 0;
        while (i < count && windows[i].id != window) i++;
        if (i == WINDOW_LIMIT || !is_own_server(server)) withhold_fail(WITHHOLD_OTHER_DISPLAY);
        if (i == count) windows[count++] = (struct held_window){.id = window};
        windows[i].is_raised |= is_raised;
        windows[i].is_main |= is_main;
        begins = is_main && !has_begun;
        has_begun |= begins;
        pthread_cond_signal(&first);
    }
    pthread_mutex_unlock(&mutex);
    return begins ? HELD_AS_FIRST : is_on ? HELD : NOT_HELD;
}

bool windows_drop(uint32_t window) {
    if (!withhold_is_on()) return false;
    bool was_held = false;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count && withhold_is_on(); i++) {
        if (windows[i].id != window) continue;
        was_held = true;
        count--;
        for (; i < count; i++) windows[i] = windows[i + 1];
    }
    pthread_mutex_unlock(&mutex);
    return was_held;
}

void windows_await_first(void) {
    pthread_mutex_lock(&mutex);
    while (!has_main()) pthread_cond_wait(&first, &mutex);
    pthread_mutex_unlock(&mutex);
}

bool windows_are_held(void) {
    pthread_mutex_lock(&mutex);
    bool are_held = has_main();
    pthread_mutex_unlock(&mutex);
    return are_held;
}

/// The program may unmap a window at this moment. It waits for the mutex, so that its request comes
/// after that which maps the window.
bool windows_release(bool (*show)(const struct held_window *windows, size_t count, void *context),
                     void *context) {
    pthread_mutex_lock(&mutex);
    bool is_shown = has_main() && show(windows, count, context);
    withhold_end();
    pthread_mutex_unlock(&mutex);
    return is_shown;
}
