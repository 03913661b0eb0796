#include "../CGreenroomLinux/include/version.h"

/* So that a file can be asked which Greenroom it is of ("greenroomctl doctor" does), as one that was
 * left behind by an upgrade must be. */
__attribute__((used)) static const char version[] = "greenroom-prewarm " GREENROOM_VERSION;
