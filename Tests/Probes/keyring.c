/// The session keyring (session-keyring(7)):
///   enter PROGRAM ARGUMENT…  executes the program with a new keyring
///   add NAME                 adds a key; exits with 0
///   find NAME                exits with 0 if there is such a key, else with 1
#define _GNU_SOURCE
#include <linux/keyctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char *words[]) {
    if (count > 2 && strcmp(words[1], "enter") == 0) {
        if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0) return 3;
        execv(words[2], words + 2);
        return 3;
    }
    if (count < 3) return 2;
    if (strcmp(words[1], "add") == 0)
        return syscall(SYS_add_key, "user", words[2], "secret", 6, KEY_SPEC_SESSION_KEYRING) < 0;
    return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", words[2], 0) < 0;
}
