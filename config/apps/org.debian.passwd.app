# A program that is never prewarmed, whatever its manifest says; it shows what Greenroom does then.
#
# passwd is setuid root. For such a program the dynamic linker ignores LD_PRELOAD, so nothing could
# stop it before its main function: a prewarm would be a real run, as root. Greenroom sees the mode
# before it executes anything, launches the program cold, and says why:
#
#   greenroomctl explain org.debian.passwd
#
# The same applies to static programs (/sbin/ldconfig) and to those with file capabilities.

[App]
Name=Password status
Exec=/usr/bin/passwd --status
ForegroundGroup=none
# Without this a setuid program could not work; it is the default.
NoNewPrivileges=no

[Prewarm]
Depth=main
When=boot
