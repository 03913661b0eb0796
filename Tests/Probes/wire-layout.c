/// Prints the app channel's layout and values as the C header has them.
#include "../../Sources/CGreenroomLinux/include/gr_inherited.h"
#include "../../Sources/CPrewarm/wire.h"

#include <stdio.h>

#define FIELD(name) printf("offset " #name " %zu\n", offsetof(struct gr_header, name))
#define VALUE(name) printf("value " #name " %lld\n", (long long)(name))

int main(void) {
    printf("size header %zu\n", sizeof(struct gr_header));
    FIELD(magic);
    FIELD(version);
    FIELD(type);
    FIELD(flags);
    FIELD(argc);
    FIELD(envc);
    FIELD(string_byte_count);
    FIELD(umask);
    FIELD(descriptor_count);
    FIELD(cookie);
    FIELD(status);
    FIELD(threads);
    FIELD(roles);
    VALUE(GR_WIRE_MAGIC);
    VALUE(GR_WIRE_VERSION);
    VALUE(GR_WIRE_DESCRIPTOR_LIMIT);
    VALUE(GR_WIRE_INLINE_STRING_LIMIT);
    VALUE(GR_WIRE_STRING_LIMIT);
    VALUE(GR_PAUSED);
    VALUE(GR_STARTED);
    VALUE(GR_PONG);
    VALUE(GR_ERROR);
    VALUE(GR_WANTS_NAME);
    VALUE(GR_OPENING);
    VALUE(GR_OPENING_NEXT);
    VALUE(GR_OPENING_FAILED);
    VALUE(GR_OPENING_DONE);
    VALUE(GR_GO);
    VALUE(GR_PING);
    VALUE(GR_QUIT);
    VALUE(GR_INHERIT);
    VALUE(GR_NAME_IS_WATCHED);
    printf("size inherited %zu\n", sizeof(struct gr_inherited));
    VALUE(GR_PAUSED_AT_MAIN);
    VALUE(GR_PAUSED_BY_CALL);
    VALUE(GR_ANEW_OPTIONS);
    VALUE(GR_ANEW_PROGRAM);
    VALUE(GR_ANEW_HIDDEN);
    VALUE(GR_ANEW_CHANGED);
    VALUE(GR_ANEW_ENVIRONMENT);
    VALUE(GR_ANEW_SIGNALS);
    VALUE(GR_ANEW_FAILED);
    VALUE(GR_SET_COMMAND_LINE);
    VALUE(GR_NEW_SESSION);
    VALUE(GR_CONTROLLING_TERMINAL);
    VALUE(GR_DIRECTORY_BY_NAME);
    VALUE(GR_STRINGS_IN_DESCRIPTOR);
    VALUE(GR_IS_CALLED);
    VALUE(GR_GO_FLAGS);
    VALUE(GR_ROLE_WORKING_DIRECTORY);
    VALUE(GR_ROLE_STRINGS);
    VALUE(GR_UMASK_UNCHANGED);
    return 0;
}
