/* The app's credentials, in one file that nobody can change (a sealed memfd). Names and values alternate,
 * each a netstring: "5:token,6:secret,". */
#define _GNU_SOURCE 1
#include "app.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a file is sealed. Another file could be truncated while it is being read. */
static bool is_sealed(int file) {
    int seals = fcntl(file, F_GET_SEALS), needed = F_SEAL_WRITE | F_SEAL_SHRINK;
    return seals >= 0 && (seals & needed) == needed;
}

/* Maps new credentials. Earlier ones stay mapped, because the app may still read them. */
void take_credentials(struct greenroom_app *app, struct message *message) {
    if (message->descriptor_count == 0) return;
    int file = message->descriptors[--message->descriptor_count];
    struct stat status;
    if (is_sealed(file) && fstat(file, &status) == 0 && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            app->credentials = bytes;
            app->credentials_end = app->credentials + status.st_size;
        }
    }
    close(file);
}

/* The daemon hands the credentials over again after the unlock. The old ones stay mapped, as above. */
void protected_data_was_taken(struct greenroom_app *app) {
    app->is_unlocked = false;
    app->credentials = NULL;
}

/* The next netstring; NULL if it is malformed. */
static const char *next_string(const char **rest, const char *end, size_t *size) {
    const char *at = *rest;
    for (*size = 0; at < end && *at >= '0' && *at <= '9' && at - *rest < 8; at++) *size = *size * 10 + (size_t)(*at - '0');
    if (at == *rest || at == end || *at != ':' || (size_t)(end - at) < *size + 2 || at[*size + 1] != ',') return NULL;
    *rest = at + *size + 2;
    return at + 1;
}

const void *greenroom_app_credential(const struct greenroom_app *app, const char *name, size_t *size) {
    /* The device is unlocked, but the daemon could not read the credentials that the manifest names. */
    bool may_come = !app->credentials && app->launch.header.flags & LAUNCH_NAMES_CREDENTIALS;
    if (!app->is_unlocked || may_come) return errno = EAGAIN, NULL;
    size_t name_size = 0;
    for (const char *rest = app->credentials; rest && rest < app->credentials_end;) {
        const char *found = next_string(&rest, app->credentials_end, &name_size);
        const char *value = found ? next_string(&rest, app->credentials_end, size) : NULL;
        if (!value) return errno = EBADMSG, NULL;
        if (name_size == strlen(name) && memcmp(found, name, name_size) == 0) return value;
    }
    return errno = ENOENT, NULL;
}
