#define _GNU_SOURCE
#include "CSeccomp.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

/* The few functions of libseccomp that are used, with their types from its header. */
struct library {
    void *handle;
    __typeof__(seccomp_api_set) *api_set;
    __typeof__(seccomp_init) *init;
    __typeof__(seccomp_release) *release;
    __typeof__(seccomp_attr_set) *attr_set;
    __typeof__(seccomp_arch_add) *arch_add;
    __typeof__(seccomp_rule_add_array) *rule_add;
    __typeof__(seccomp_syscall_resolve_name) *resolve;
    __typeof__(seccomp_export_bpf) *export_bpf;
};

static bool load(struct library *l) {
    l->handle = dlopen("libseccomp.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!l->handle) return false;
#define LOAD(member, name) \
    ((l->member = (__typeof__(l->member))dlsym(l->handle, #name)) != NULL)
    if (LOAD(api_set, seccomp_api_set) && LOAD(init, seccomp_init) && LOAD(release, seccomp_release)
        && LOAD(attr_set, seccomp_attr_set) && LOAD(arch_add, seccomp_arch_add)
        && LOAD(rule_add, seccomp_rule_add_array) && LOAD(resolve, seccomp_syscall_resolve_name)
        && LOAD(export_bpf, seccomp_export_bpf))
        return true;
    dlclose(l->handle);
    return false;
}

/* Calls that are newer than libseccomp 2.5. From 424 on, all architectures use the same numbers. */
static int young_call(const char *name) {
    static const struct { const char *name; int number; } calls[] = {
        { "set_mempolicy_home_node", 450 }, { "cachestat", 451 }, { "fchmodat2", 452 },
        { "map_shadow_stack", 453 }, { "futex_wake", 454 }, { "futex_wait", 455 },
        { "futex_requeue", 456 }, { "statmount", 457 }, { "listmount", 458 },
        { "lsm_get_self_attr", 459 }, { "lsm_set_self_attr", 460 },
        { "lsm_list_modules", 461 }, { "mseal", 462 }, { "setxattrat", 463 },
        { "getxattrat", 464 }, { "listxattrat", 465 }, { "removexattrat", 466 },
        { "open_tree_attr", 467 }, { "file_getattr", 468 }, { "file_setattr", 469 },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0) return calls[i].number;
    return __NR_SCMP_ERROR;
}

static enum scmp_compare comparison(int word) {
    switch (word) {
    case GR_LESS: return SCMP_CMP_LT;
    case GR_GREATER: return SCMP_CMP_GT;
    case GR_MASKED: return SCMP_CMP_MASKED_EQ;
    case GR_NOT_EQUAL: return SCMP_CMP_NE;
    default: return SCMP_CMP_EQ;
    }
}

static uint32_t architecture(int word) {
    switch (word) {
    case GR_X86: return SCMP_ARCH_X86;
    case GR_X86_64: return SCMP_ARCH_X86_64;
    case GR_X32: return SCMP_ARCH_X32;
    case GR_ARM: return SCMP_ARCH_ARM;
    case GR_ARM64: return SCMP_ARCH_AARCH64;
    default: return SCMP_ARCH_NATIVE;
    }
}

static int add_rule(const struct library *l, scmp_filter_ctx context, const struct gr_rule *rule) {
    int number = l->resolve(rule->name);
    if (number == __NR_SCMP_ERROR) number = young_call(rule->name);
    if (number == __NR_SCMP_ERROR) return rule->must_exist ? -ENOENT : 0;
    struct scmp_arg_cmp arguments[3];
    for (int i = 0; i < rule->argument_count; i++) {
        const struct gr_argument *a = &rule->arguments[i];
        arguments[i] = (struct scmp_arg_cmp){
            a->index, comparison(a->comparison), a->value, a->masked,
        };
    }
    return l->rule_add(context, rule->action, number, (unsigned)rule->argument_count, arguments);
}

static struct gr_compiled outcome(int negative_error, int rule) {
    return (struct gr_compiled){ .error = -negative_error, .rule = rule, .fd = -1 };
}

static struct gr_compiled fill(const struct library *l, scmp_filter_ctx context,
                               const int *architectures, int architecture_count,
                               const struct gr_rule *rules, int rule_count) {
    /* With the numbers of another architecture, a call would mean a different call, so such a call
     * ends the app. */
    int error = l->attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (error < 0) return outcome(error, -1);
    /* A tree instead of a chain, if libseccomp has it (2.5). */
    (void)l->attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (int i = 0; i < architecture_count; i++) {
        error = l->arch_add(context, architecture(architectures[i]));
        if (error < 0 && error != -EEXIST) return outcome(error, -1);
    }
    for (int i = 0; i < rule_count; i++) {
        error = add_rule(l, context, &rules[i]);
        if (error < 0) return outcome(error, i);
    }
    int fd = memfd_create("greenroom-filter", MFD_CLOEXEC);
    if (fd < 0) return outcome(-errno, -1);
    error = l->export_bpf(context, fd);
    if (error >= 0) return (struct gr_compiled){ .error = 0, .rule = -1, .fd = fd };
    close(fd);
    return outcome(error, -1);
}

struct gr_compiled gr_compile_filter(uint32_t default_action, const int *architectures,
                                     int architecture_count, const struct gr_rule *rules,
                                     int rule_count) {
    struct library l;
    if (!load(&l)) return outcome(-ENOPKG, -1);
    /* libseccomp 2.5 asks the kernel with seccomp(2) which features it has, and this process may
     * not be allowed to make that call. Every kernel that Greenroom runs on has level 6 (Linux
     * 5.7), and the filter is for another process. A library that does not know this level asks the
     * kernel after all. */
    (void)l.api_set(6);
    scmp_filter_ctx context = l.init(default_action);
    struct gr_compiled result = context
        ? fill(&l, context, architectures, architecture_count, rules, rule_count)
        : outcome(-ENOMEM, -1);
    if (context) l.release(context);
    dlclose(l.handle);
    /* Compiling has used up to 1 MB for a moment, and this process should stay small. */
    (void)malloc_trim(0);
    return result;
}

uint64_t gr_personality(void) {
    int value = personality(0xffffffff);
    /* A process whose personality is locked may not read it, but then it is the usual one. */
    return value == -1 ? 0 : (uint32_t)value;
}
