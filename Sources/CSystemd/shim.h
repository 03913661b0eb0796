#pragma once
#include <stddef.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
/* Otherwise a macro of the same name hides the function from Swift. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>
#include <sys/eventfd.h>
