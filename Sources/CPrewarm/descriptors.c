#include "descriptors.h"

#include "../CGreenroomLinux/keeper.h"
#include "system.h"

#include <asm/ioctls.h>

/// The highest number for a descriptor. Linux allows far higher ones, but nobody uses them.
#define TARGET_LIMIT (1 << 20)

int descriptor_with_role(const struct incoming *message, enum gr_descriptor_role role) {
    for (unsigned i = 0; i < message->descriptor_count; i++)
        if (message->header.roles[i] == (int32_t)role) return message->descriptors[i];
    return -1;
}

bool descriptors_are_valid(const struct incoming *message, bool strings_in_descriptor) {
    const int32_t *roles = message->header.roles;
    bool has_strings = false;
    for (unsigned i = 0; i < message->descriptor_count; i++) {
        bool known = (roles[i] >= 0 && roles[i] < TARGET_LIMIT && roles[i] != channel_number())
            || roles[i] == GR_ROLE_WORKING_DIRECTORY || roles[i] == GR_ROLE_STRINGS;
        if (!known) return false;
        has_strings |= roles[i] == GR_ROLE_STRINGS;
        for (unsigned j = 0; j < i; j++)
            if (roles[i] == roles[j]) return false;
    }
    return has_strings == strings_in_descriptor;
}

/// Also succeeds if the process already leads its session, as the spawner's children do.
static int enter_new_session(void) {
    int result = sys_setsid();
    return result >= 0 || sys_getsid() == sys_getpid() ? 0 : -result;
}

/// Moves each received descriptor that is in the place of another above all places. They have the
/// lowest free numbers, and copying to a place closes what is there.
static int move_above_targets(struct incoming *message) {
    int highest = 2;
    for (unsigned i = 0; i < message->descriptor_count; i++)
        if (message->header.roles[i] > highest) highest = message->header.roles[i];
    for (unsigned i = 0; i < message->descriptor_count; i++) {
        int old = message->descriptors[i];
        bool is_a_place = false;
        for (unsigned j = 0; j < message->descriptor_count; j++)
            is_a_place |= message->header.roles[j] == old;
        if (!is_a_place) continue;
        int moved = sys_fcntl(old, F_DUPFD_CLOEXEC, highest + 1);
        if (moved < 0) return -moved;
        sys_close(old);
        message->descriptors[i] = moved;
    }
    return 0;
}

/// Checks that no file is in a place that the launch needs. A library's constructor may have opened
/// one before the pause (apt's does), and the program would lose it. Such a program must be started
/// again, with the places filled first.
static int check_places_are_free(const struct incoming *message) {
    for (unsigned i = 0; i < message->descriptor_count; i++) {
        int target = message->header.roles[i];
        if (target > 2 && sys_fcntl(target, F_GETFD, 0) >= 0) return EEXIST;
    }
    return 0;
}

/// Enters a directory by its path, in the process's own mounts and with its own rights.
static long enter_by_name(int directory) {
    char link[sizeof "/proc/self/fd/" + 10] = "/proc/self/fd/";
    char path[4096], digits[10];
    size_t length = sizeof "/proc/self/fd/" - 1, count = 0;
    do {
        digits[count++] = (char)('0' + directory % 10);
    } while ((directory /= 10) != 0);
    while (count > 0) link[length++] = digits[--count];
    link[length] = 0;
    long size = sys_readlink(link, path, sizeof path);
    if (size < 0) return size;
    if (size == (long)sizeof path) return -ENAMETOOLONG;
    path[size] = 0;
    return sys_chdir(path);
}

static int put_in_place(const struct incoming *message) {
    for (unsigned i = 0; i < message->descriptor_count; i++) {
        int target = message->header.roles[i];
        long result = 0;
        if (target >= 0)
            result = sys_dup3(message->descriptors[i], target, 0);
        else if (target == GR_ROLE_WORKING_DIRECTORY)
            result = message->header.flags & GR_DIRECTORY_BY_NAME
                ? enter_by_name(message->descriptors[i])
                : sys_fchdir(message->descriptors[i]);
        if (result < 0) return (int)-result;
    }
    return 0;
}

/// Takes the first of descriptors 0, 1 and 2 that is a terminal. Standard input may be a pipe.
static int take_terminal(void) {
    int result = -ENOTTY;
    for (int number = 0; number <= 2 && result < 0; number++)
        result = sys_ioctl(number, TIOCSCTTY, 0);
    if (result < 0) return -result;
    keep_job_control();
    return 0;
}

int descriptors_apply(struct incoming *message) {
    uint32_t flags = message->header.flags;
    int error = 0;
    if (flags & GR_NEW_SESSION) error = enter_new_session();
    if (!error) error = move_above_targets(message);
    if (!error) error = check_places_are_free(message);
    if (!error) error = put_in_place(message);
    incoming_close_descriptors(message);
    if (!error && (flags & GR_CONTROLLING_TERMINAL)) error = take_terminal();
    return error;
}
