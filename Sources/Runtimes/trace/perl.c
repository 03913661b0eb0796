/// The function of perl/inspect.pl, which DynaLoader installs as a subroutine. Perl reads variables
/// without getenv(3), so its inspection needs this function. `library/perl.c` says how Perl calls
/// it.
#include "trace.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define WEAK __attribute__((weak))

typedef struct perl perl;
typedef struct scalar scalar;

WEAK scalar *Perl_get_sv(perl *interpreter, const char *name, int flags);
WEAK char *Perl_sv_2pv_flags(perl *interpreter, scalar *value, size_t *size, uint32_t flags);

/// Carries out $Greenroom::command.
EXPORT void greenroom_perl_trace(perl *interpreter, void *function);
EXPORT void greenroom_perl_trace(perl *interpreter, void *function) {
    (void)function;
    scalar *command = Perl_get_sv(interpreter, "Greenroom::command", 0);
    if (command) trace_obey(Perl_sv_2pv_flags(interpreter, command, NULL, 0));
}
