#include "../CGreenroomLinux/include/version.h"

/* The file contains its version, so that "greenroomctl doctor" can recognize a file of an earlier version that
 * was not upgraded. */
__attribute__((used)) static const char version[] = "greenroom-prewarm " GREENROOM_VERSION;
