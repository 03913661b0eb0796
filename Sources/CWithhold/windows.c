/// The held windows: those that the program has mapped and that are not shown.

#include "withhold.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t first = PTHREAD_COND_INITIALIZER;
static struct held_window windows[WINDOW_LIMIT];
static size_t count;
static bool has_begun;

static bool has_main(void) {
    for (size_t i = 0; i < count; i++)
        if (windows[i].is_main) return true;
    return false;
}

void windows_lock(void) {
    pthread_mutex_lock(&mutex);
}

void windows_unlock(void) {
    pthread_mutex_unlock(&mutex);
}

/// The window's index in the list, or the end of the list if the window is not held.
static size_t place_of(uint32_t id, bool is_surface) {
    size_t i = 0;
    while (i < count && (windows[i].id != id || windows[i].is_surface != is_surface)) i++;
    return i;
}

static enum held hold(struct held_window window, int server) {
    bool begins = false;
    windows_lock();
    bool is_on = withhold_is_on();
    if (is_on) {
        size_t i = place_of(window.id, window.is_surface);
        if (i == WINDOW_LIMIT || (!window.is_surface && !is_own_server(server)))
            withhold_fail(WITHHOLD_OTHER_DISPLAY);
        if (i == count) {
            windows[count++] = window;
        } else {
            windows[i].is_raised |= window.is_raised;
            windows[i].is_main |= window.is_main;
        }
        begins = window.is_main && !has_begun;
        has_begun |= begins;
        pthread_cond_signal(&first);
    }
    windows_unlock();
    return begins ? HELD_AS_FIRST : is_on ? HELD : NOT_HELD;
}

enum held windows_hold(int server, uint32_t window, bool is_raised, bool is_main) {
    return hold((struct held_window){.id = window, .is_raised = is_raised, .is_main = is_main},
                server);
}

enum held windows_hold_surface(uint32_t surface) {
    return hold((struct held_window){.id = surface, .is_surface = true, .is_main = true}, -1);
}

static bool drop(uint32_t id, bool is_surface) {
    if (!withhold_is_on()) return false;
    windows_lock();
    size_t i = place_of(id, is_surface);
    bool was_held = withhold_is_on() && i < count;
    if (was_held)
        for (count--; i < count; i++) windows[i] = windows[i + 1];
    windows_unlock();
    return was_held;
}

bool windows_drop(uint32_t window) {
    return drop(window, false);
}

bool windows_drop_surface(uint32_t surface) {
    return drop(surface, true);
}

bool windows_have(uint32_t window) {
    windows_lock();
    bool has = withhold_is_on() && place_of(window, false) < count;
    windows_unlock();
    return has;
}

void windows_await_first(void) {
    windows_lock();
    while (!has_main()) pthread_cond_wait(&first, &mutex);
    windows_unlock();
}

bool windows_are_held(void) {
    windows_lock();
    bool are_held = has_main();
    windows_unlock();
    return are_held;
}

static bool has_kind(bool is_surface) {
    bool has = false;
    windows_lock();
    for (size_t i = 0; i < count; i++) has |= windows[i].is_surface == is_surface;
    windows_unlock();
    return has;
}

bool windows_need_server(void) {
    return has_kind(false);
}

bool windows_need_compositor(void) {
    return has_kind(true);
}

/// If the program unmaps a window at this moment, it waits for the mutex, so its request comes
/// after the one that maps the window.
bool windows_release(bool (*show)(const struct held_window *windows, size_t count, void *context),
                     void *context) {
    windows_lock();
    bool is_shown = has_main() && show(windows, count, context);
    // Otherwise the process is about to end, and other threads must not show anything until then.
    if (is_shown) withhold_end();
    windows_unlock();
    return is_shown;
}
