/// Writes one byte as early as it can: the end of a launch's latency.
#include <unistd.h>
int main(void) { return write(1, "x", 1) == 1 ? 0 : 1; }
