#define _GNU_SOURCE
#include "CApplicationKit.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* CoreFoundation's public interface, as much of it as is used here. ApplicationKit does not link
 * Foundation: a weak name is NULL unless the app links it. A name that only a library of the app
 * links is looked up. */
typedef const struct __CFRunLoop *run_loop;
typedef const struct __CFRunLoopSource *run_loop_source;
typedef const struct __CFString *run_loop_mode;

/* CFRunLoopSourceContext1 of Linux. */
struct source_context {
    long version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    const void *(*copy_description)(const void *info);
    unsigned char (*equal)(const void *one, const void *other);
    unsigned long (*hash)(const void *info);
    void *(*port)(void *info);
    void (*perform)(void *info);
};

extern run_loop CFRunLoopGetMain(void) __attribute__((weak));
extern run_loop_source CFRunLoopSourceCreate(const void *allocator, long order, struct source_context *context)
    __attribute__((weak));
extern void CFRunLoopAddSource(run_loop loop, run_loop_source source, run_loop_mode mode) __attribute__((weak));
extern int32_t CFRunLoopRunInMode(run_loop_mode mode, double seconds, unsigned char returns) __attribute__((weak));
extern const run_loop_mode kCFRunLoopDefaultMode __attribute__((weak));
extern const run_loop_mode kCFRunLoopCommonModes __attribute__((weak));

static run_loop (*main_loop)(void);
static int32_t (*run_in_mode)(run_loop_mode mode, double seconds, unsigned char returns);
static run_loop_mode default_mode;
static void (*perform)(void);

static void *symbol(void *linked, const char *name) { return linked ? linked : dlsym(RTLD_DEFAULT, name); }

static void *port_of(void *info) { return info; }

static void perform_now(void *info) {
    (void)info;
    perform();
}

bool cak_run_loop_join(int descriptor, void (*handler)(void)) {
    run_loop_source (*create)(const void *, long, struct source_context *) =
        symbol((void *)CFRunLoopSourceCreate, "CFRunLoopSourceCreate");
    void (*add)(run_loop, run_loop_source, run_loop_mode) = symbol((void *)CFRunLoopAddSource, "CFRunLoopAddSource");
    const run_loop_mode *usual = symbol((void *)&kCFRunLoopDefaultMode, "kCFRunLoopDefaultMode");
    const run_loop_mode *common = symbol((void *)&kCFRunLoopCommonModes, "kCFRunLoopCommonModes");
    main_loop = symbol((void *)CFRunLoopGetMain, "CFRunLoopGetMain");
    run_in_mode = symbol((void *)CFRunLoopRunInMode, "CFRunLoopRunInMode");
    if (!create || !add || !usual || !common || !main_loop || !run_in_mode) return false;
    perform = handler;
    default_mode = *usual;
    struct source_context context = {
        .version = 1, .info = (void *)(intptr_t)descriptor, .port = port_of, .perform = perform_now};
    run_loop_source source = create(NULL, 0, &context);
    if (!source) return false;
    add(main_loop(), source, *common);
    return true;
}

bool cak_run_loop_wait(void) {
    enum { FINISHED = 1 }; /* kCFRunLoopRunFinished: nothing is left that could happen */
    return run_in_mode(default_mode, 1e10, true) != FINISHED;
}
